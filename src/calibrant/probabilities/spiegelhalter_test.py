"""Spiegelhalter's test of calibration."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Alternative, Labels, Outcomes, Rng
from calibrant.core.catalogue import Entry, Shown, enter, public
from calibrant.core.dispatch import chunks
from calibrant.core.grid import ROUNDING as ROUNDING_PER_ROW
from calibrant.core.grid import Grid
from calibrant.core.means import RowScores, moments_of
from calibrant.core.moments import Moments
from calibrant.core.null import (
    Flips,
    Null,
    NullOptions,
    RedrawnRows,
    asymptotic_words,
    base_events,
    flip_signs,
    flipped_sums,
)
from calibrant.core.ordered import Ordered
from calibrant.core.pvalues import normal_sf
from calibrant.core.results import TestResult
from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.kinds import Rows
from calibrant.inputs.probabilities import Binary

NAMES = EXCESS, VARIANCE, OUTCOME_VARIANCE, THIRD, SQUARES = tuple(
    f"spiegelhalter_test.{part}" for part in ("excess", "variance", "v", "third", "squares")
)
ROUNDING = 1e-12  # a variance of cells that is smaller, relative to that of the outcomes, is rounding
CANCELLED = 1e-6  # below this ratio of the two variances so many digits are lost that the rounding is stated

SIDES: dict[str, Callable[[Any], Any]] = {"two-sided": abs, "greater": lambda z: z, "less": lambda z: -z}


@public
def spiegelhalter_test(
    y: Outcomes,
    prediction: ArrayLike | None = None,
    *,
    alternative: Alternative = "two-sided",
    null: Null = "auto",
    resamples: int = 9999,
    rng: Rng = 0,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: object = None,
) -> TestResult:
    r"""Test whether the Brier score is what calibrated predictions would have.

    .. math:: Z = \frac{\sum_i w_i (y_i - p_i)(1 - 2 p_i)}{\bigl(\sum_i w_i^2 (1 - 2 p_i)^2 p_i (1 - p_i)\bigr)^{1/2}}

    is standard normal in the limit if the predictions are calibrated.

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`; one probability per row.
    alternative
        ``"two-sided"``; ``"greater"``: over-confident, the Brier score lies above its expectation; ``"less"``:
        under-confident.
    null, resamples, rng
        As in `kolmogorov_smirnov_test`; ``"auto"`` takes the limit from 100 rows and up to a skewness of 0.2. With
        ``null="asymptotic"`` nothing is sorted, and a summary has constant size.

    Returns
    -------
    TestResult
        `estimate` is the Brier score minus its expectation under calibration. `details` has `information`.

    Examples
    --------
    Both rows have 1 - 2p = 0.6, so the excess is (0.8 · 0.6 - 0.2 · 0.6)/2 and Z = 0.36/√(2 · 0.36 · 0.16):

    >>> result = spiegelhalter_test([1, 0], [0.2, 0.2], null="asymptotic")
    >>> round(result.estimate, 12), round(result.statistic, 6)
    (0.18, 1.06066)
    """
    options = SpiegelhalterOptions(null, resamples, rng, alternative)
    return SPIEGELHALTER_TEST(y, prediction, options, weights=weights, classes=classes, pos_label=pos_label)


@dataclass(frozen=True)
class SpiegelhalterOptions(NullOptions):
    alternative: Alternative


def _summarise(rows: Rows, options: SpiegelhalterOptions) -> Moments | Ordered:
    """Keep the scores unless outcomes will never be redrawn; the choice must be the same for every batch."""
    if options.null == "asymptotic":
        return moments_of(rows, _row_scores)
    return Ordered.of(cast(Binary, rows))


def _row_scores(rows: Rows) -> RowScores:
    return dict(zip(NAMES, row_terms(rows.y, cast(Binary, rows).p, rows.w), strict=True))


def row_terms(y: Any, p: Any, w: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Return the terms of the excess, its variance, that of the outcomes, the third cumulant, and squared variances.

    Sums of all but the first have weights w². They are NumPy arrays or torch tensors, as y, p and w are.
    """
    tilt, v = 1 - 2 * p, p * (1 - p)
    variance = tilt * tilt * v
    return (y - p) * tilt, variance, v, w * tilt * tilt * variance, (w * variance) ** 2


def _tested(summary: Moments | Ordered | Grid, options: SpiegelhalterOptions) -> TestResult:
    side, sums = SIDES[options.alternative], _sums(summary)
    if sums.variance == 0:
        z, pvalue, how = _without_variance(sums, options.alternative, in_cells=isinstance(summary, Grid))
    else:
        z = sums.excess / math.sqrt(sums.variance)
        if options.resolved(sums.information) == "asymptotic":
            pvalue = min(1.0, normal_sf(side(z)) * (2 if options.alternative == "two-sided" else 1))
            how = asymptotic_words("normal limit", sums.information)
        else:
            source = RedrawnRows.of(summary, options)
            pvalue, how = _redrawn(source, _sums(source.rows) if source.pooled else sums, options), source.words
    words, details = f"Spiegelhalter test, {options.alternative}; {how}", {"information": sums.information}
    return TestResult(z, pvalue, sums.excess / sums.weight, words, summary.n, details)


class _Sums(NamedTuple):
    excess: float  # Σ a r, with a = w(1 - 2p)
    variance: float  # Σ a² v
    information: float  # see `_information`
    certain: bool  # whether all scores are 0 or 1
    weight: float


def _information(variance: float, third: float, squares: float) -> float:
    """Return 1/skewness² or a quarter of the number of rows that contribute, whichever is smaller.

    `variance` and `third` are Σ a² v and Σ w³ (1 - 2p)⁴ v, cumulants of the excess, and `squares` is Σ (a² v)², in
    units of the largest weight.
    """
    if variance == 0:
        return 0.0
    rows = variance**2 / squares if squares else 0.0
    return min(variance * (variance / third) ** 2 if third else math.inf, rows / 4)


def _sums(summary: Moments | Ordered | Grid) -> _Sums:
    if isinstance(summary, Grid):
        return _of_cells(summary)
    if isinstance(summary, Moments):
        unit, w2 = summary.weight_max, summary.w2 / summary.weight_max**2
        variance, certain, third, squares = (w2 * summary.mean2_of(name) for name in NAMES[1:])
        information = _information(variance, third / unit, squares / unit / unit)
        return _Sums(summary.mean_of(EXCESS) * summary.w, variance * unit**2, information, certain == 0, summary.w)
    excess = variance = third = squares = 0.0
    heaviest = summary.weight_max
    for part in chunks(summary.score.size):
        p, w, count, events = (column[part] for column in summary.pool)
        share, tilt = w / heaviest, 1 - 2 * p
        excess += float((w * tilt * (events - count * p)).sum())
        terms = (share * tilt) ** 2 * p * (1 - p)
        variance += float((count * terms).sum())
        third += float((count * terms * share * tilt * tilt).sum())
        squares += float((count * terms * terms).sum())
    information, certain = _information(variance, third, squares), summary.walk.variance == 0
    return _Sums(excess, variance * heaviest**2, information, certain, summary.total_weight)


def _of_cells(grid: Grid) -> _Sums:
    """Return the sums of a grid: r(1 - 2p) = r² - v, as y² = y, and (1 - 2p)² = 1 - 4v.

    The information is estimated, with the mean of (1 - 2p)² in each cell and the largest weight.
    """
    cells, heaviest = grid.cells(), grid.weight_max
    variance = cells.w2v - 4 * cells.w2v2
    seen = variance > ROUNDING * cells.w2v  # else all scores of the cell are 0, 0.5 or 1
    V = variance[seen] / heaviest**2
    squared_tilt, v = variance[seen] / cells.w2v[seen], cells.wv[seen] / cells.w[seen]
    total, third, squares = (float(column.sum()) for column in (V, V * squared_tilt, V * squared_tilt * v))
    excess, information = (
        float((cells.wr2 - cells.wv)[seen | (cells.w2v == 0)].sum()),
        _information(total, third, squares),
    )
    return _Sums(excess, float(variance[seen].sum()), information, not cells.w2v.any(), grid.total_weight)


def _redrawn(source: RedrawnRows, sums: _Sums, options: SpiegelhalterOptions) -> float:
    pool, side = source.rows.pool, SIDES[options.alternative]
    tilt = 1 - 2 * pool.score
    base = float((pool.weight * tilt * (base_events(pool) - pool.rows * pool.score)).sum())

    def of_events(events: NDArray[Any]) -> FloatArray:
        values: FloatArray = side((events - pool.rows * pool.score) @ (pool.weight * tilt))
        return values

    def of_flips(flips: Flips) -> FloatArray:
        values: FloatArray = side(base + flipped_sums(flips, flip_signs(pool) * tilt))
        return values

    return source.pvalue(side(sums.excess), of_events, of_flips, options, scale=math.sqrt(sums.variance))


def _without_variance(sums: _Sums, alternative: str, *, in_cells: bool) -> tuple[float, float, str]:
    """Return statistic, p-value and words where all scores are 0, 0.5 or 1, or too near for sums of cells to tell."""
    if sums.excess != 0:  # an outcome happened that was ruled out; it only ever raises the Brier score
        return math.inf, 1.0 if alternative == "less" else 0.0, "an outcome happened that was ruled out"
    if sums.certain:
        return 0.0, 1.0, "all scores are 0 or 1, and right"
    if in_cells:
        raise NotApplicableError(
            "every score is 0, 0.5 or 1, or so near that sums of a Grid cannot tell. Pass the rows, or use kuiper_test"
        )
    raise NotApplicableError(
        "every score is 0, 0.5 or 1, where the Brier score cannot vary; expected other scores too. "
        "Use kuiper_test or kolmogorov_smirnov_test"
    )


def _rounding(grid: Grid, options: SpiegelhalterOptions) -> float | dict[str, float]:
    """Return how far the result may be off; there is no bound for a redrawn p-value.

    Sums over cells are exact, except where all scores are so near 0.5 that they are small differences of large sums.
    A sum over m rows is then off by m roundings of its terms.
    """
    cells, sums = grid.cells(), _sums(grid)
    asymptotic = sums.variance == 0 or options.resolved(sums.information) == "asymptotic"
    if sums.variance == 0 or sums.variance > CANCELLED * cells.w2v.sum():
        return 0.0 if asymptotic else {"statistic": 0.0, "estimate": 0.0}
    roundings, sigma = ROUNDING_PER_ROW * cells.count, math.sqrt(sums.variance)
    excess = float((roundings * (cells.wr2 + cells.wv)).sum())
    variance = float((roundings * (cells.w2v + 4 * cells.w2v2)).sum())
    z = excess / sigma + abs(sums.excess) / sigma * variance / sums.variance
    bounds = {"statistic": z, "estimate": excess / sums.weight}
    return {**bounds, "pvalue": z} if asymptotic else bounds  # a normal has a density below 1/2


SPIEGELHALTER_TEST = enter(
    Entry(
        spiegelhalter_test,
        SpiegelhalterOptions,
        _summarise,
        _tested,
        reads=(Ordered, Moments, Grid),
        kind="test",
        on_grid=lambda options: True,
        rounding=_rounding,
        audit={"": Shown("Brier score beyond its expectation (Spiegelhalter)")},
    )
)
