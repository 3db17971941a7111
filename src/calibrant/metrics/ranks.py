"""Ranks of outcomes among their draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.catalogue.rank_verbs import rank_verb
from calibrant.errors import InputError
from calibrant.inputs.covariates import read_covariates
from calibrant.inputs.judged import CdfRows, QuantileRows
from calibrant.inputs.laws import Samples
from calibrant.inputs.outcomes import LawRows
from calibrant.primitives.dispatch import chunks
from calibrant.primitives.marginal_ranks import marginal_ranks
from calibrant.primitives.member_ranks import tie_broken
from calibrant.primitives.quantities import read_quantities, takes_covariates, values_of
from calibrant.primitives.rank_counts import as_compared, rank_counts
from calibrant.primitives.ranked import Ranked


@rank_verb(predictions=("samples", "laws", "quantiles", "cdf"))
def ranks(
    rows: LawRows | QuantileRows | CdfRows, *, quantity: Any = None, covariates: Any = None, rng: Any = None
) -> Ranked:
    r"""Number of draws below the outcome: uniform on 0 to M if outcome and draws are exchangeable.

    .. math:: r_i = \#\{j : x_{ij} < y_i\} + U_i, \quad U_i \text{ uniform on } 0, \dots, \#\{j : x_{ij} = y_i\}

    Parameters
    ----------
    y
        Outcomes, numbers (n,) or vectors (n, D); None for `CdfValues`.
    prediction
        `Samples` of draws (n, M) or (n, M, D), those of row i in ``draws[i]``. Or a law, `Quantiles` or `CdfValues`.
    quantity
        For `Samples`: a function f whose values are ranked in place of the coordinates, or a mapping from names to such
        functions. ``f(z)`` gets the members, an array (n, M + 1, D), or (n, M + 1) for numbers, with the outcome at
        ``z[:, 0]`` and the draws after it, and returns values (n, M + 1). A function of two arguments without
        defaults is called as ``f(z, x)``. It must treat the members alike, which is looked at in one row.
    covariates
        What the predictions were made from, with one value, vector or array per row: the x of ``f(z, x)``.
    rng
        Generator or seed for U. Needed as soon as an outcome equals a draw, or a distribution function jumps at it.

    Returns
    -------
    ndarray of int64
        (n,) for numbers, (n, D) for vectors, coordinate by coordinate; (n,) for one quantity and (n, Q) for a mapping
        of Q.

    Notes
    -----
    The rank is exactly uniform on 0 to M, whatever the law, if outcome and draws are exchangeable given what is known
    of the row. Draws of a Markov chain are not (thin them), and one set of draws used for all rows makes the rows
    dependent. A shift of the draws shows as ranks that are mostly high or low, too little spread as too many ranks
    near 0 and M. Do not divide by M: r/M is not uniform, and neither is (r + ½)/(M + 1).

    Outcomes and draws are compared in the coarser of their types, so that a number equals its float32 rounding.
    Infinite draws are legal. A prediction that is no `Samples` has no draws; its ranks are those with M = 999: the
    cell of F(y) among 1000 of equal width.

    Draws of the marginal law, the same for every row, have uniform ranks too. A quantity that looks at the covariates
    shows them: the log likelihood of x at z, or the distance of z to an estimate from x (Modrák et al. 2023).

    ``summarize(ranks, y, samples)`` counts the ranks; tests and curves take these counts, or y and samples themselves.

    References
    ----------
    Talts, Betancourt, Simpson, Vehtari and Gelman (2018), Validating Bayesian inference algorithms with
    simulation-based calibration; Modrák et al. (2023), Simulation-based calibration checking for Bayesian computation.

    Examples
    --------
    >>> from calibrant import Samples
    >>> ranks([2.5, 0.0], Samples([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]))
    array([2, 0])

    The sum of the two coordinates is 3 for the outcome, 2 and 9 for the draws:

    >>> samples = Samples([[[1.0, 1.0], [4.0, 5.0]]])
    >>> ranks([[0.0, 3.0]], samples, quantity={"sum": lambda z: z.sum(axis=2)})
    array([[1]])
    """
    if quantity is not None:
        return _of_quantities(rows, quantity, covariates, rng)
    if covariates is not None:
        raise InputError("covariates= goes with quantity=, a function f(z, x) that looks at them")
    return marginal_ranks(rows, rng)


def _of_quantities(rows: Any, quantity: Any, covariates: Any, rng: Any) -> Ranked:
    if not isinstance(rows, LawRows) or not isinstance(rows.law, Samples):
        got = type(rows.law if isinstance(rows, LawRows) else rows.prediction).__name__
        raise InputError(f"quantity= is for Samples, of whose draws it is taken; got {got}. Pass draws of the law")
    functions = read_quantities(quantity)
    looking = {name for name, f in functions.items() if takes_covariates(f)}
    if looking and covariates is None:
        raise InputError(f"quantity f(z, x) needs covariates=, which is x; {_listed(looking)} has two arguments")
    if covariates is not None and not looking:
        raise InputError(
            "covariates= goes with a quantity f(z, x) of two arguments without defaults; none of these has"
        )
    x = read_covariates(covariates, rows.n, rows.keep) if looking else None
    z = _members(rows, rows.law)
    less, equal = np.empty((2, rows.n, len(functions)), np.int64)
    for c, (name, f) in enumerate(functions.items()):
        values = values_of(name, f, z, x if name in looking else None)
        less[:, c], equal[:, c] = rank_counts(values[:, 0], values[:, 1:], values.dtype)
    if callable(quantity):
        less, equal = less[:, 0], equal[:, 0]
    return tie_broken(less, equal, rng, M=rows.law.M, what="the quantity", names=tuple(functions))


def _members(rows: LawRows, law: Samples) -> NDArray[Any]:
    """Return outcome and draws in one array, (n, M + 1) or (n, M + 1, D), as the coarser of their types."""
    y = as_compared(rows.y, rows.dtype)
    z = np.empty((rows.n, law.M + 1, *law.shape), y.dtype)
    z[:, 0] = y
    for part in chunks(rows.n):
        z[part, 1:] = as_compared(law.held[part], rows.dtype)
    return z


def _listed(names: set[str]) -> str:
    return ", ".join(repr(name) for name in sorted(names)) if names != {""} else "it"
