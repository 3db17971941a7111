"""Ranks of outcomes among their draws, coordinate by coordinate or by quantities that a user defines."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Outcomes, Rng
from calibrant.core.dispatch import chunks
from calibrant.errors import InputError, shown
from calibrant.inputs.rows import CdfRows, DistributionRows, QuantileRows
from calibrant.inputs.samples import Samples
from calibrant.ranking.counting import JUDGED, Forecast, Ranked, as_compared, marginal_ranks, rank_counts
from calibrant.ranking.covariates import read_covariates
from calibrant.ranking.effects import check_rng
from calibrant.ranking.members import tie_broken
from calibrant.ranking.verbs import RankArray, enter_ranks, public_ranks

Quantity = Callable[..., Any]


@public_ranks
def ranks(
    y: Outcomes | None,
    prediction: Forecast | None = None,
    *,
    quantity: Quantity | Mapping[str, Quantity] | None = None,
    covariates: ArrayLike | None = None,
    rng: Rng | None = None,
) -> RankArray:
    r"""Number of draws below the outcome: uniform on 0 to M if outcome and draws are exchangeable.

    .. math:: r_i = \#\{j : x_{ij} < y_i\} + U_i, \quad U_i \text{ uniform on } 0, \dots, \#\{j : x_{ij} = y_i\}

    Parameters
    ----------
    y
        Outcomes, numbers (n,) or vectors (n, D); None for `CdfValues`.
    prediction
        `Samples` of draws (n, M) or (n, M, D), those of row i in ``draws[i]``. Or a distribution, `Quantiles` or
        `CdfValues`.
    quantity
        For `Samples`: a function f whose values are ranked in place of the coordinates, or a mapping from names to such
        functions. ``f(z)`` receives the members, an array (n, M + 1, D), or (n, M + 1) for numbers, with the outcome at
        ``z[:, 0]`` and the draws after it, and returns values (n, M + 1). A function of two arguments without
        defaults is called as ``f(z, x)``. It must treat the members alike, which is checked in one row.
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
    The rank is exactly uniform on 0 to M, whatever the distribution, if outcome and draws are exchangeable
    given what is known of the row. Draws of a Markov chain are not (thin them), and one set of draws used for all rows
    makes the rows dependent. A shift of the draws shows as ranks that are mostly high or low, too little spread as too
    many ranks near 0 and M. Do not divide by M: r/M is not uniform, and neither is (r + ½)/(M + 1).

    Outcomes and draws are compared in the coarser of their types, so a number equals its float32 rounding. Infinite
    draws are legal. A prediction other than `Samples` has no draws; its ranks have M = 999: the cell of F(y) among
    1000 of equal width.

    Draws of the marginal distribution, the same for every row, have uniform ranks too. A quantity that uses the
    covariates exposes them: the log likelihood of x at z, or the distance of z to an estimate from x (Modrák et al.
    2023).

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
    return RANKS(y, prediction, RankOptions(quantity, covariates, rng))


@dataclass(frozen=True)
class RankOptions:
    """The options of `ranks`."""

    quantity: Quantity | Mapping[str, Quantity] | None
    covariates: ArrayLike | None
    rng: Rng | None

    def __post_init__(self) -> None:
        if self.quantity is not None:
            check_quantities(self.quantity)
        elif self.covariates is not None:
            raise InputError("covariates= goes with quantity=, a function f(z, x) that uses them")
        check_rng(self.rng)


def _ranked(rows: DistributionRows | QuantileRows | CdfRows, options: RankOptions) -> Ranked:
    quantity, covariates = options.quantity, options.covariates
    if quantity is None:
        return marginal_ranks(rows, options.rng)
    if not isinstance(rows, DistributionRows) or not isinstance(rows.distribution, Samples):
        got = type(rows.distribution if isinstance(rows, DistributionRows) else rows.prediction).__name__
        raise InputError(
            f"quantity= is for Samples: it is computed from draws; got {got}. Pass draws of the distribution"
        )
    functions = quantities_by_name(quantity)
    with_covariates = {name for name, f in functions.items() if takes_covariates(f)}
    if with_covariates and covariates is None:
        which = ", ".join(map(repr, sorted(with_covariates))) if with_covariates != {""} else "it"
        raise InputError(f"quantity f(z, x) needs covariates=, which is x; {which} has two arguments")
    if covariates is not None and not with_covariates:
        raise InputError(
            "covariates= goes with a quantity f(z, x) of two arguments without defaults; none of these has"
        )
    x = read_covariates(covariates, rows.n, rows.keep) if with_covariates else None
    z = _members(rows, rows.distribution)
    less, equal = np.empty((2, rows.n, len(functions)), np.int64)
    for c, (name, f) in enumerate(functions.items()):
        values = values_of(name, f, z, x if name in with_covariates else None)
        less[:, c], equal[:, c] = rank_counts(values[:, 0], values[:, 1:], values.dtype)
    if callable(quantity):
        less, equal = less[:, 0], equal[:, 0]
    M, names = rows.distribution.M, tuple(functions)
    return tie_broken(less, equal, options.rng, M=M, what="the quantity", names=names)


RANKS = enter_ranks(ranks, RankOptions, _ranked, predictions=JUDGED)


def _members(rows: DistributionRows, distribution: Samples) -> NDArray[Any]:
    """Return outcome and draws in one array, (n, M + 1) or (n, M + 1, D), as the coarser of their types."""
    y = as_compared(rows.y, rows.dtype)
    z = np.empty((rows.n, distribution.M + 1, *distribution.shape), y.dtype)
    z[:, 0] = y
    for part in chunks(rows.n):
        z[part, 1:] = as_compared(distribution.held[part], rows.dtype)
    return z


def check_quantities(quantity: Any) -> None:
    """Refuse what is neither a function nor a mapping from names to functions."""
    if callable(quantity):
        return
    if not isinstance(quantity, Mapping) or not quantity:
        raise InputError(
            f"quantity must be a function of the members z, or a mapping from names to such functions; got "
            f"{shown(quantity)}"
        )
    for name, f in quantity.items():
        if not isinstance(name, str) or not callable(f):
            raise InputError(f"quantity must map names to functions; got {shown(name)}: {shown(f)}")


def quantities_by_name(quantity: Quantity | Mapping[str, Quantity]) -> dict[str, Quantity]:
    """Return quantities by their names; a function by itself has the name it was defined with, "" for a lambda."""
    if not callable(quantity):
        return dict(quantity)
    name = getattr(quantity, "__name__", "")
    return {"" if name == "<lambda>" else str(name): quantity}


def takes_covariates(f: Quantity) -> bool:
    """Tell whether a function is f(z, x): whether it has a second argument without a default.

    >>> takes_covariates(lambda z, x: z), takes_covariates(lambda z: z), takes_covariates(np.abs)
    (True, False, False)
    """
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):  # some built-in functions do not tell
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters) > 1


def values_of(name: str, f: Quantity, z: NDArray[Any], x: Any) -> NDArray[Any]:
    """Return the values of all members, (n, M + 1), from z (n, M + 1, D) or (n, M + 1); x None is left out.

    f is asked a second time with the members of one row moved round, and their values must move with them.
    """
    given = () if x is None else (x,)
    found = _asked(name, f, z, given).copy()  # f may write its next values into the same array
    differs = (z[:, 0] != z[:, -1]).reshape(len(z), -1).any(axis=1)
    row = int(np.argmax(differs))  # in which moving the members round is visible
    turned = z.copy()
    turned[row] = np.roll(z[row], 1, axis=0)
    again = _asked(name, f, turned, given)[row]
    if not _same(again, np.roll(found[row], 1), z.dtype):
        raise InputError(
            "{name} must treat the outcome, z[:, 0], and the draws alike: a value may depend on its member, "
            "on the set of members of its row and on x. The values of {row} did not move with its members",
            name=_named(name),
            row=row,
        )
    return found


def _asked(name: str, f: Quantity, z: NDArray[Any], given: tuple[Any, ...]) -> NDArray[Any]:
    z.flags.writeable = False
    values = np.asarray(f(z.view(), *given))  # of a view nobody can make it writeable
    n, m = z.shape[:2]
    if values.shape != (n, m):
        raise InputError(
            f"{_named(name)} must return one value per row and member, shape (n, M + 1) = ({n}, {m}), from z of shape "
            f"{z.shape}; got shape {values.shape}"
        )
    if values.dtype.kind not in "biuf":
        raise InputError(f"{_named(name)} must return real numbers; got values of type {values.dtype}")
    bad = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
    if bad.any():
        row, member = np.unravel_index(int(np.argmax(bad)), bad.shape)
        which = "the outcome" if member == 0 else f"draw {int(member) - 1}"
        raise InputError(
            "{name} must not be missing; it is nan at {which} of {row}", name=_named(name), which=which, row=int(row)
        )
    return _native(values)


def _native(values: NDArray[Any]) -> NDArray[Any]:
    """Return values in a type that compiled code knows."""
    if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
        return values.astype(np.float32 if values.dtype.itemsize < 4 else np.float64)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _same(a: NDArray[Any], b: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Tell whether values are equal up to what sums taken in another order leave."""
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    coarser = dtype if np.finfo(dtype).eps > np.finfo(a.dtype).eps else a.dtype
    finite = np.isfinite(b)
    size = float(np.abs(b[finite]).max(initial=0.0))
    with np.errstate(invalid="ignore"):  # inf - inf, where both are the same
        near = np.abs(a - b) <= np.sqrt(np.finfo(coarser).eps) * size
    return bool((near | (a == b)).all())


def _named(name: str) -> str:
    return f"quantity {name!r}" if name else "quantity"
