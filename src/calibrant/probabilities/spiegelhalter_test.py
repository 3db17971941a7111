"""Spiegelhalter's test of calibration."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from numpy.typing import NDArray

from calibrant.core.catalogue import Shown
from calibrant.core.decorators import calibration_test
from calibrant.core.dispatch import chunks
from calibrant.core.grid import Grid
from calibrant.core.kinds import Rows
from calibrant.core.means import RowScores, moments_of
from calibrant.core.moments import Moments
from calibrant.core.null import (
    Flips,
    asymptotic_words,
    base_events,
    check_null,
    flip_signs,
    flipped_sums,
    ordered_pool,
    redrawn_pvalue,
    redrawn_words,
    resolved_null,
)
from calibrant.core.ordered import Ordered
from calibrant.core.pool import Pool
from calibrant.core.pvalues import normal_sf
from calibrant.core.results import TestResult
from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_choice
from calibrant.inputs.probabilities import Binary

NAMES = EXCESS, VARIANCE, OUTCOME_VARIANCE = tuple(f"spiegelhalter_test.{part}" for part in ("excess", "variance", "v"))
ROUNDING = 1e-12
UNIT = 2.0**-53  # of a floating-point number

Side = Callable[[Any], Any]
SIDES: dict[str, Side] = {"two-sided": abs, "greater": lambda z: z, "less": lambda z: -z}


class _Sums(NamedTuple):
    excess: float  # Σ w r(1 - 2p)
    variance: float  # Σ w² (1 - 2p)² v
    information: float  # Σ w² v / max w²
    weight: float


def row_terms(y: Any, p: Any) -> tuple[Any, Any, Any]:
    """Return r(1 - 2p), (1 - 2p)² v and v of each row, of NumPy arrays or torch tensors."""
    tilt, v = 1 - 2 * p, p * (1 - p)
    return (y - p) * tilt, tilt * tilt * v, v


def _row_scores(rows: Rows) -> RowScores:
    return dict(zip(NAMES, row_terms(rows.y, cast(Binary, rows).p), strict=True))


def _summarise(rows: Rows, *, null: str, **_: Any) -> Moments | Ordered:
    """Keep the scores unless outcomes will never be redrawn; the choice must be the same for every batch."""
    check_null(null)
    return moments_of(rows, _row_scores) if null == "asymptotic" else Ordered.of(cast(Binary, rows))


def _rounding(grid: Grid, *, null: str, **_: Any) -> float | dict[str, float]:
    """Return 0 unless nearly all scores are so close to 0.5 that the sums of a grid cancel; a redrawn p-value has none.

    The excess is a difference of Σ w r² and Σ w v, the variance one of Σ w² v and 4 Σ w² v²; a sum of n numbers of one
    sign is off by at most (n + 4) units in the last place.
    """
    cells, sums = grid.cells(), _sums(grid)
    asymptotic = resolved_null(null, sums.information) == "asymptotic"
    lost = float(cells.w2v.sum()) / sums.variance if sums.variance > 0 else 1.0
    if UNIT * lost < ROUNDING:
        return 0.0 if asymptotic else {"statistic": 0.0, "estimate": 0.0}
    unit = (grid.n + 4) * UNIT
    of_excess = unit * float((cells.wr2 + cells.wv).sum())
    of_variance = min(2 * unit * lost, 0.5)  # relative
    z = abs(sums.excess) / math.sqrt(sums.variance)
    of_statistic = of_excess / math.sqrt(sums.variance / 2) + z * of_variance
    found = {"statistic": of_statistic, "estimate": of_excess / sums.weight}
    return {**found, "pvalue": min(1.0, of_statistic)} if asymptotic else found


@calibration_test(
    reads=(Ordered, Moments, Grid),
    summarise=_summarise,
    on_grid=lambda options: True,
    rounding=_rounding,
    audit={"": Shown("Brier score beyond its expectation (Spiegelhalter)")},
)
def spiegelhalter_test(
    summary: Moments | Ordered | Grid,
    *,
    alternative: str = "two-sided",
    null: str = "auto",
    resamples: int = 9999,
    rng: Any = 0,
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
        As in `kolmogorov_smirnov_test`. With ``null="asymptotic"`` nothing is sorted, and a summary has constant size.

    Returns
    -------
    TestResult
        `estimate` is the Brier score minus its expectation under calibration. `details` has `information`.

    Notes
    -----
    It tests one number, E[(y - p)(1 - 2p)] = 0: powerful against over- and under-confidence, blind to errors that
    cancel there, and to all errors at p = 0.5. MAPIE 1.6.0 reports the one-sided p-value and so never rejects
    under-confidence. Where all scores are 0, 0.5 or 1 the Brier score cannot vary and the test is refused, except for
    scores of 0 and 1 alone.

    A `Grid` has the sums that Z is made of. Outcomes are redrawn from the mean score of each of its cells.

    Examples
    --------
    Both rows have 1 - 2p = 0.6, so that the excess is (0.8 · 0.6 - 0.2 · 0.6)/2 and Z = 0.36/√(2 · 0.36 · 0.16):

    >>> result = spiegelhalter_test([1, 0], [0.2, 0.2], null="asymptotic")
    >>> round(result.estimate, 12), round(result.statistic, 6)
    (0.18, 1.06066)
    """
    check_null(null)
    check_choice("alternative", alternative, *SIDES)
    side = SIDES[alternative]
    sums = _sums(summary)
    if sums.variance == 0:
        z, pvalue, how = _without_variance(sums, alternative)
    else:
        z = sums.excess / math.sqrt(sums.variance)
        if resolved_null(null, sums.information) == "asymptotic":
            pvalue = min(1.0, normal_sf(side(z)) * (2 if alternative == "two-sided" else 1))
            how = asymptotic_words("normal limit", sums.information)
        else:
            pvalue = _redrawn(ordered_pool(summary), sums, side, resamples=resamples, rng=rng)
            how = redrawn_words(summary, resamples)
    return TestResult(
        statistic=z,
        pvalue=pvalue,
        estimate=sums.excess / sums.weight,
        method=f"Spiegelhalter test, {alternative}; {how}",
        n=summary.n,
        details={"information": sums.information},
    )


def _redrawn(pool: Pool, sums: _Sums, side: Side, *, resamples: Any, rng: Any) -> float:
    """Return the p-value from redrawn outcomes; the statistic is linear in the events."""
    tilt = 1 - 2 * pool.score
    base = float((pool.weight * tilt * (base_events(pool) - pool.rows * pool.score)).sum())

    def of_events(events: NDArray[Any]) -> FloatArray:
        values: FloatArray = side((events - pool.rows * pool.score) @ (pool.weight * tilt))
        return values

    def of_flips(flips: Flips) -> FloatArray:
        values: FloatArray = side(base + flipped_sums(flips, flip_signs(pool) * tilt))
        return values

    scale = math.sqrt(sums.variance)
    return redrawn_pvalue(pool, side(sums.excess), of_events, of_flips, scale=scale, resamples=resamples, rng=rng)


def _sums(summary: Moments | Ordered | Grid) -> _Sums:
    if isinstance(summary, Grid):
        return _of_cells(summary)
    if isinstance(summary, Moments):
        return _Sums(
            excess=summary.mean_of(EXCESS) * summary.w,
            variance=summary.sum2_of(VARIANCE),
            information=summary.sum2_of(OUTCOME_VARIANCE) / summary.weight_max**2,
            weight=summary.w,
        )
    excess = variance = 0.0
    for part in chunks(summary.score.size):
        p, w, count, events = (column[part] for column in summary.pool)
        tilt = w * (1 - 2 * p)
        excess += float((tilt * (events - count * p)).sum())
        variance += float((tilt * tilt * count * p * (1 - p)).sum())
    return _Sums(excess, variance, summary.walk.variance / summary.weight_max**2, summary.total_weight)


def _of_cells(grid: Grid) -> _Sums:
    """Return the sums of a grid: r(1 - 2p) = r² - v, as y² = y, and (1 - 2p)² = 1 - 4v."""
    cells = grid.cells()
    variance = cells.w2v - 4 * cells.w2v2
    seen = (variance > ROUNDING * cells.w2v) | (cells.w2v == 0)  # else all scores are 0.5, and what is left is rounding
    return _Sums(
        excess=float((cells.wr2 - cells.wv)[seen].sum()),
        variance=float(variance[seen].sum()),
        information=float(cells.w2v.sum()) / grid.weight_max**2,
        weight=grid.total_weight,
    )


def _without_variance(sums: _Sums, alternative: str) -> tuple[float, float, str]:
    """All scores are 0, 0.5 or 1."""
    if sums.excess != 0:  # an outcome happened that was ruled out; it only ever raises the Brier score
        return math.inf, 1.0 if alternative == "less" else 0.0, "an outcome happened that was ruled out"
    if sums.information == 0:
        return 0.0, 1.0, "all scores are 0 or 1, and right"
    raise NotApplicableError(
        "every score is 0, 0.5 or 1, where the Brier score cannot vary; expected other scores too. "
        "Use kuiper_test or kolmogorov_smirnov_test"
    )
