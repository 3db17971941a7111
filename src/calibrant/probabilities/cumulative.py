"""Cumulative differences between outcomes and predictions: the curve, Kuiper's and the Kolmogorov-Smirnov test."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Labels, Outcomes, Rng
from calibrant.core.bins import width_edges
from calibrant.core.catalogue import Entry, NoOptions, Shown, enter, ordered, public
from calibrant.core.dispatch import chunks
from calibrant.core.grid import Grid
from calibrant.core.limits import Limits, Noise
from calibrant.core.null import (
    MIN_INFORMATION,
    FlippedWalks,
    Flips,
    Null,
    NullOptions,
    RedrawnRows,
    asymptotic_words,
    resampled_pvalue,
)
from calibrant.core.ordered import Ordered
from calibrant.core.pool import WalkRange, tie_ends, walk
from calibrant.core.pvalues import brownian_max_sf, brownian_range_sf
from calibrant.core.results import Curve, TestResult
from calibrant.inputs.arrays import FloatArray, is_unit
from calibrant.probabilities.limits import few_scores_limits, mean_frequency_limits, walk_limits

MIN_STEPS = 4 * MIN_INFORMATION
"""Least number of steps of a walk for which null="auto" uses the limit. Without ties
MIN_INFORMATION implies it."""


@public
def cumulative_differences(
    y: Outcomes,
    prediction: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: object = None,
) -> Curve:
    r"""Partial sums of outcome minus prediction, in the order of the predictions.

    With tied scores pooled into groups g = 1..G and r = y - p,

    .. math::

        \begin{aligned}
        C_0 &= 0, \quad C_g = \frac{1}{W} \sum_{i:\, \text{group} \le g} w_i r_i, \quad
        A_g = \frac{1}{W} \sum_{i:\, \text{group} \le g} w_i \\
        \sigma &= \frac{1}{W} \Bigl(\sum_i w_i^2 p_i (1 - p_i)\Bigr)^{1/2} .
        \end{aligned}

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`; one probability per row.

    Returns
    -------
    Curve
        G + 1 points: `abscissa` A, `difference` C, `score` (NaN, then the different scores); and the number `scale`,
        σ, which is the standard deviation of the last point if the predictions are calibrated.

    Examples
    --------
    >>> walk = cumulative_differences([0, 1, 1, 0], [0.25, 0.5, 0.5, 1.0])
    >>> walk.difference.tolist()
    [0.0, -0.0625, 0.1875, -0.0625]
    >>> walk.abscissa.tolist()
    [0.0, 0.25, 0.75, 1.0]
    """
    return CUMULATIVE_DIFFERENCES(y, prediction, NoOptions(), weights=weights, classes=classes, pos_label=pos_label)


def _differences(summary: Ordered | Grid, options: NoOptions) -> Curve:
    if isinstance(summary, Grid):
        cells, score = summary.cells(), summary.ordered().score
        w, residual = cells.w[cells.count > 0], (cells.wy - cells.wp)[cells.count > 0]
        variance, ends = float(cells.w2v.sum()), "cells"
    else:
        w, score, variance, ends = summary.weight_by_score, summary.unique_scores, summary.walk.variance, "tied scores"
        residual = summary.event_weight_by_score - w * score
    total = summary.total_weight
    return Curve(
        kind="cumulative",
        columns={
            "abscissa": np.concatenate(([0.0], np.cumsum(w) / total)),
            "difference": np.concatenate(([0.0], np.cumsum(residual) / total)),
            "score": np.concatenate(([np.nan], score)),
        },
        method=f"cumulative differences at ends of {ends}",
        n=summary.n,
        details={"scale": float(np.sqrt(variance)) / total},
    )


def _rounding_of_differences(grid: Grid, options: NoOptions) -> dict[str, float]:
    """Return how far the walk of the rows may be from the line between two neighbouring points of the grid's walk."""
    cells = grid.cells()
    return {"difference": float(np.maximum(cells.rise, cells.fall).max()) / grid.total_weight}


CUMULATIVE_DIFFERENCES = enter(
    Entry(
        cumulative_differences,
        NoOptions,
        ordered,
        _differences,
        reads=(Ordered, Grid),
        kind="curve",
        on_grid=lambda options: True,
        rounding=_rounding_of_differences,
    )
)


@public
def cutoff_error(
    y: Outcomes,
    prediction: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: object = None,
) -> float:
    r"""Largest error over any stretch of scores: the cutoff calibration error.

    With C of `cumulative_differences`, which starts at :math:`C_0 = 0`,

    .. math:: \max_g C_g - \min_g C_g =
        \max_{a \le b} \Bigl| \frac{1}{W} \sum_{i:\, a \le p_i \le b} w_i (y_i - p_i) \Bigr| .

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`. Of class probabilities it is the error of the most probable class.

    Examples
    --------
    Two predictions of 0.25 that did not happen, then two of 0.75 that did: C falls to -0.125 and rises back to 0.

    >>> cutoff_error([0, 0, 1, 1], [0.25, 0.25, 0.75, 0.75])
    0.125
    """
    return CUTOFF_ERROR(y, prediction, NoOptions(), weights=weights, classes=classes, pos_label=pos_label)


@public
def kuiper_test(
    y: Outcomes,
    prediction: ArrayLike | None = None,
    *,
    null: Null = "auto",
    resamples: int = 9999,
    rng: Rng = 0,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: object = None,
) -> TestResult:
    r"""Test calibration by the range of the cumulative differences between outcomes and predictions.

    With C (which starts at :math:`C_0 = 0`) and σ of `cumulative_differences`,

    .. math:: \text{estimate} = \max_g C_g - \min_g C_g, \qquad H = \text{estimate} / \sigma,

    and if the predictions are calibrated H tends to the range :math:`\max B - \min B` of a Brownian motion.

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`; one probability per row.
    null, resamples, rng
        As in `kolmogorov_smirnov_test`.

    Returns
    -------
    TestResult
        `estimate` is the largest absolute mean of y - p over a stretch of scores, times the share of rows in that
        stretch.
        `details` has `scale` (σ) and `information`.

    Examples
    --------
    Two predictions of 0.25 that did not happen, then two of 0.75 that did: C falls to -0.125 and rises back to 0.

    >>> kuiper_test([0, 0, 1, 1], [0.25, 0.25, 0.75, 0.75]).estimate
    0.125
    """
    options = NullOptions(null, resamples, rng)
    return KUIPER_TEST(y, prediction, options, weights=weights, classes=classes, pos_label=pos_label)


@public
def kolmogorov_smirnov_test(
    y: Outcomes,
    prediction: ArrayLike | None = None,
    *,
    null: Null = "auto",
    resamples: int = 9999,
    rng: Rng = 0,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: object = None,
) -> TestResult:
    r"""Test calibration by the largest cumulative difference between outcomes and predictions.

    With C and σ of `cumulative_differences`,

    .. math:: \text{estimate} = \max_g |C_g|, \qquad D = \text{estimate} / \sigma,

    and if the predictions are calibrated D tends to the largest height :math:`\max |B|` of a Brownian motion.

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`; one probability per row.
    null
        How the null distribution is found: ``"asymptotic"`` (its limit), ``"monte-carlo"`` (outcomes redrawn from the
        scores, which keeps the level at any n, with ties and weights), or ``"auto"``: the limit where it is accurate,
        else redraws (the page of this verb says when).
    resamples, rng
        Number of redraws, and the random generator or its seed.

    Returns
    -------
    TestResult
        `estimate` is the absolute mean of y - p over the rows with the lowest scores up to the worst place, times
        their share of all rows. `details` has `scale` (σ) and `information`.

    Examples
    --------
    All four predictions are too high, so C falls from 0 to -0.75; σ = √0.7/4:

    >>> result = kolmogorov_smirnov_test([0, 0, 0, 0], [0.6, 0.7, 0.8, 0.9])
    >>> round(result.estimate, 12), round(result.statistic, 6)
    (0.75, 3.585686)
    """
    options = NullOptions(null, resamples, rng)
    return KOLMOGOROV_SMIRNOV_TEST(y, prediction, options, weights=weights, classes=classes, pos_label=pos_label)


MAX_FEW_SCORES = 30  # different ones, whose frequencies can be limited one by one


@dataclass(frozen=True)
class CumulativeTest:
    """A test by the size of the cumulative differences, which `extent` finds from their highest and lowest point."""

    name: str
    extent: Callable[[Any, Any], Any]
    survival: Callable[[float], float]
    distribution: str

    def __call__(self, summary: Ordered | Grid, options: NullOptions) -> TestResult:
        path, total = _walk(summary), summary.total_weight
        size, sigma = float(self.extent(path.high, path.low)), math.sqrt(path.variance)
        information = path.variance / summary.weight_max**2
        details: dict[str, Any] = {"scale": sigma / total, "information": information}
        method = self.name
        if isinstance(summary, Grid):
            details["rounding"] = self.exceeded(summary)
            method += f" on a grid, the estimate exceeded by at most {details['rounding']:.3g}"
        if sigma == 0 and size == 0:
            statistic, pvalue, how = 0.0, 1.0, "all scores are 0 or 1, and right"
        elif sigma == 0:
            statistic, pvalue = math.inf, 0.0
            how = "all scores are 0 or 1, and an outcome happened that was ruled out"
        elif _resolved(summary, options, information) == "asymptotic":
            statistic = size / sigma
            pvalue, how = self.survival(statistic), self._words(summary, information)
        else:
            statistic, source = size / sigma, RedrawnRows.of(summary, options)
            pvalue, how = self._redrawn(source, size, sigma, options), source.words
            beyond = pvalue <= resampled_pvalue(0, options.resamples)  # no redraw reaches the statistic
            if options.null == "auto" and information >= MIN_INFORMATION and beyond:
                # Ties decided for redraws. The limit is conservative then, and its tail goes on where redraws end.
                pvalue, how = min(pvalue, self.survival(statistic)), f"{how}, and {self._words(summary, information)}"
        return TestResult(statistic, pvalue, size / total, f"{method}; {how}", summary.n, details)

    def estimate(self, summary: Ordered | Grid, options: object) -> float:
        path = _walk(summary)
        return float(self.extent(path.high, path.low)) / summary.total_weight

    def limits(self, summary: Ordered | Grid, options: object) -> Limits:
        table = summary.bins(1) if isinstance(summary, Grid) else summary.bins(width_edges(1))
        rounding = self.exceeded(summary) if isinstance(summary, Grid) else 0.0
        estimate, noise = self.estimate(summary, options), Noise.of_table(table, summary.weight_max)
        if noise.information < MIN_INFORMATION and summary.has_equal_weights:
            if isinstance(summary, Ordered) and summary.unique_scores.size <= MAX_FEW_SCORES:
                return few_scores_limits(summary, estimate)
            return mean_frequency_limits(table, estimate)
        return walk_limits(estimate, noise, self.survival, rounding=rounding)

    def rounding(self, grid: Grid, options: NullOptions) -> dict[str, float]:
        """Return by how much the rows may exceed what a grid of them tells; there is no bound for a redrawn p-value."""
        path, exceeded = _walk(grid), self.exceeded(grid)
        if path.variance == 0:  # all scores are 0 or 1, and each in a cell of its own
            return {"estimate": exceeded, "statistic": 0.0, "pvalue": 0.0}
        sigma = math.sqrt(path.variance)
        statistic, more = float(self.extent(path.high, path.low)) / sigma, exceeded * grid.total_weight / sigma
        bounds = {"estimate": exceeded, "statistic": more}
        if _resolved(grid, options, path.variance / grid.weight_max**2) == "asymptotic":
            bounds["pvalue"] = self.survival(statistic) - self.survival(statistic + more)
        return bounds

    def exceeded(self, grid: Grid) -> float:
        """Return by how much the estimate of the rows may exceed that of their grid, which is never above it."""
        path, cells = _walk(grid), grid.cells()
        difference = cells.wy - cells.wp
        start = np.cumsum(difference) - difference
        # The walk of the rows stays between these, wherever they lie within their cells.
        reach = float((start + cells.rise).max(initial=0.0)), float((start - cells.fall).min(initial=0.0))
        more: float = self.extent(*reach) - self.extent(path.high, path.low)
        return max(0.0, float(more)) / grid.total_weight

    def _words(self, summary: Ordered | Grid, information: float) -> str:
        words, steps = asymptotic_words(self.distribution, information), _steps(summary)
        if information < MIN_INFORMATION or steps >= MIN_STEPS:
            return words
        return f"{words}; only {steps:.3g} steps (100 wanted), so the test is conservative"

    def _redrawn(self, source: RedrawnRows, size: float, scale: float, options: NullOptions) -> float:
        pool = source.rows.pool
        if source.pooled:
            path = walk(pool)
            size, scale = float(self.extent(path.high, path.low)), math.sqrt(path.variance)
        ends = tie_ends(pool.score)
        flipped = FlippedWalks(pool)

        def of_events(events: NDArray[Any]) -> FloatArray:
            walks = np.cumsum(pool.weight * (events - pool.rows * pool.score), axis=1)
            walks = walks if ends.all() else walks[:, ends]
            sizes: FloatArray = self.extent(walks.max(axis=1, initial=0.0), walks.min(axis=1, initial=0.0))
            return sizes

        def of_flips(flips: Flips) -> FloatArray:
            sizes: FloatArray = self.extent(*flipped.extremes(flips))
            return sizes

        return source.pvalue(size, of_events, of_flips, options, scale=scale)


def _resolved(summary: Ordered | Grid, options: NullOptions, information: float) -> str:
    if options.null == "auto" and information >= MIN_INFORMATION and _steps(summary) < MIN_STEPS:
        return "monte-carlo"
    return options.resolved(information)


def _steps(summary: Ordered | Grid) -> float:
    r"""Return the number of steps of the walk, :math:`(\sum_g s_g^{3/2})^{-2}` with the share s of the variance.

    A walk is compared with a Brownian motion of the same variance, whose extremes may lie within a step. On a step of
    share s they exceed the ends by about 0.58 √s (Siegmund 1985), and fall on it with a probability of about s.
    """
    variance = _walk(summary).variance
    if isinstance(summary, Grid):
        return float(((summary.cells().w2v / variance) ** 1.5).sum()) ** -2
    unit = is_unit(summary.weight)
    if unit and summary.score.size == summary.n:
        return math.inf  # without ties MIN_INFORMATION decides
    total = 0.0
    for part in chunks(summary.score.size):
        score, weight, count = summary.score[part], summary.weight[part], summary.count[part]
        share = weight * weight * count * score * (1 - score) / variance
        if not unit:
            ends = np.flatnonzero(tie_ends(score))
            share = np.add.reduceat(share, np.concatenate(([0], ends[:-1] + 1)))
        total += float((share**1.5).sum())
    return total**-2


def _walk(summary: Ordered | Grid) -> WalkRange:
    if isinstance(summary, Ordered):
        return summary.walk
    cells = summary.cells()
    partial = np.cumsum(cells.wy - cells.wp)
    return WalkRange(float(partial.max(initial=0.0)), float(partial.min(initial=0.0)), float(cells.w2v.sum()))


def _entry(verb: Callable[..., TestResult], test: CumulativeTest, shown: str) -> Entry[NullOptions, TestResult]:
    return enter(
        Entry(
            verb,
            NullOptions,
            ordered,
            test,
            reads=(Ordered, Grid),
            kind="test",
            on_grid=lambda options: True,
            rounding=test.rounding,
            limits=test.limits,
            audit={"": Shown(shown)},
        )
    )


KUIPER = CumulativeTest(
    name="Kuiper test of cumulative differences",
    extent=lambda high, low: high - low,
    survival=brownian_range_sf,
    distribution="limit distribution of the range of a Brownian motion",
)
KUIPER_TEST = _entry(kuiper_test, KUIPER, "range of the cumulative differences (Kuiper)")

CUTOFF_ERROR = enter(
    Entry(
        cutoff_error,
        NoOptions,
        ordered,
        KUIPER.estimate,
        reads=(Ordered, Grid),
        predictions=("binary", "classes"),
        range=(0.0, 1.0),
        mean=True,
        on_grid=lambda options: True,
        rounding=lambda grid, options: KUIPER.exceeded(grid),
        limits=KUIPER.limits,
        audit={"": Shown("error over the worst stretch of scores (cutoff error)")},
    )
)

KOLMOGOROV_SMIRNOV_TEST = _entry(
    kolmogorov_smirnov_test,
    CumulativeTest(
        name="Kolmogorov-Smirnov test of cumulative differences",
        extent=lambda high, low: np.maximum(high, np.abs(low)),
        survival=brownian_max_sf,
        distribution="limit distribution of the largest height of a Brownian motion",
    ),
    "largest cumulative difference (Kolmogorov-Smirnov)",
)
