"""Ranks of outcomes among their draws, coordinate by coordinate or by quantities that a user defines."""

from __future__ import annotations

from numpy.typing import ArrayLike

from calibrant.core.annotations import Outcomes, Quantities, Quantity, Rng
from calibrant.core.catalogue import public
from calibrant.ranking.counting import JUDGED, Forecast
from calibrant.ranking.quantities import RankedBy, ranked_by
from calibrant.ranking.verbs import RankArray, enter_ranks


@public
def ranks(
    y: Outcomes | None,
    prediction: Forecast | None = None,
    *,
    quantity: Quantities | None = None,
    covariates: ArrayLike | None = None,
    log_likelihood: Quantity | None = None,
    log_density_y: ArrayLike | None = None,
    draws: int | None = None,
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
        For `Samples`: what is ranked in place of the coordinates. A function f, the name of a ready quantity, a list of
        these, or a mapping from your names to them. ``f(z)`` receives the members, an array (n, M + 1, D), or
        (n, M + 1) for numbers, with the outcome at ``z[:, 0]`` and the draws after it, and returns values (n, M + 1). A
        function of two arguments without defaults is called as ``f(z, x)``. It must treat the members alike, which is
        checked in one row. Ready ones: ``"sum"``, ``"max"``, ``"min"``, ``"range"`` of the coordinates; ``"norm"``
        (Euclidean, coordinates over their pooled standard deviation); ``"product"`` (of each pair of coordinates, at
        most 10 of them); ``"mean_distance"`` (as in `joint_ranks`); ``"log_density"`` (as in `energy_ranks`, high ranks
        are improbable outcomes); ``"log_likelihood"``.
    covariates
        What the predictions were made from, with one value, vector or array per row: the x of ``f(z, x)``.
    log_likelihood
        The function ``f(z, x)`` of the quantity ``"log_likelihood"``: the log likelihood of x at each member.
    log_density_y
        For the quantity ``"log_density"``: the log density of the prediction at each outcome, (n,).
    draws
        Among how many draws outcomes are ranked: random ones of each row, all if not given. Rows with unequal numbers
        of draws keep as many as the shortest has.
    rng
        Generator or seed for U. Needed as soon as an outcome equals a draw, a distribution function jumps at it, or
        draws are chosen.

    Returns
    -------
    ndarray of int64
        (n,) for numbers, (n, D) for vectors, coordinate by coordinate; (n,) for one quantity and (n, Q) for a list or
        mapping of Q.

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
    >>> ranks([[0.0, 3.0]], samples, quantity="sum")
    array([1])
    """
    return RANKS(y, prediction, RankedBy(quantity, covariates, log_likelihood, log_density_y, draws, rng))


RANKS = enter_ranks(ranks, RankedBy, ranked_by, predictions=JUDGED)
