"""Cumulative differences between outcomes and predictions: the curve, Kuiper's and the Kolmogorov-Smirnov test."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.catalogue import Shown, ordered
from calibrant.core.decorators import calibration_test, curve
from calibrant.core.grid import Grid
from calibrant.core.null import (
    FlippedWalks,
    Flips,
    asymptotic_words,
    check_null,
    ordered_pool,
    redrawn_pvalue,
    redrawn_words,
    resolved_null,
)
from calibrant.core.ordered import Ordered
from calibrant.core.pool import Pool, Walk, tie_ends
from calibrant.core.pvalues import brownian_max_sf, brownian_range_sf
from calibrant.core.results import Curve, TestResult
from calibrant.inputs.arrays import FloatArray

Extent = Callable[[Any, Any], Any]
"""Size of a walk from its highest and lowest point."""


@dataclass(frozen=True)
class CumulativeTest:
    """A test by the size of the cumulative differences."""

    name: str
    extent: Extent
    survival: Callable[[float], float]
    distribution: str

    def __call__(self, summary: Ordered | Grid, *, null: str, resamples: int, rng: Any) -> TestResult:
        """Run the test."""
        check_null(null)
        walk, total = _walk(summary), summary.total_weight
        size, sigma = float(self.extent(walk.high, walk.low)), math.sqrt(walk.variance)
        information = walk.variance / summary.weight_max**2
        details: dict[str, Any] = {"scale": sigma / total, "information": information}
        method = self.name
        if isinstance(summary, Grid):
            details["rounding"] = self._exceeded(summary)
            method += f" on a grid, the estimate exceeded by at most {details['rounding']:.3g}"
        if sigma == 0:
            statistic, pvalue, how = _certain(size)
        else:
            statistic = size / sigma
            if resolved_null(null, information) == "asymptotic":
                pvalue, how = self.survival(statistic), asymptotic_words(self.distribution, information)
            else:
                pvalue = self._redrawn(ordered_pool(summary), size, scale=sigma, resamples=resamples, rng=rng)
                how = redrawn_words(summary, resamples)
        return TestResult(statistic, pvalue, size / total, f"{method}; {how}", summary.n, details)

    def rounding(self, grid: Grid, *, null: str, **_: Any) -> dict[str, float]:
        """Return by how much the rows may exceed what a grid of them tells; no word on a redrawn p-value."""
        walk, exceeded = _walk(grid), self._exceeded(grid)
        if walk.variance == 0:  # all scores are 0 or 1, and each in a cell of its own
            return {"estimate": exceeded, "statistic": 0.0, "pvalue": 0.0}
        sigma = math.sqrt(walk.variance)
        statistic, more = float(self.extent(walk.high, walk.low)) / sigma, exceeded * grid.total_weight / sigma
        bounds = {"estimate": exceeded, "statistic": more}
        if resolved_null(null, walk.variance / grid.weight_max**2) == "asymptotic":
            bounds["pvalue"] = self.survival(statistic) - self.survival(statistic + more)
        return bounds

    def _exceeded(self, grid: Grid) -> float:
        """Return by how much the estimate of the rows may exceed that of their grid, which is never above it."""
        walk = _walk(grid)
        more: float = self.extent(*_grid_reach(grid)) - self.extent(walk.high, walk.low)
        return max(0.0, float(more)) / grid.total_weight

    def _redrawn(self, pool: Pool, size: float, *, scale: float, resamples: int, rng: Any) -> float:
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

        return redrawn_pvalue(pool, size, of_events, of_flips, scale=scale, resamples=resamples, rng=rng)


def _certain(size: float) -> tuple[float, float, str]:
    """All scores are 0 or 1: either every outcome agrees, or one happened that was ruled out."""
    if size == 0:
        return 0.0, 1.0, "all scores are 0 or 1, and right"
    return math.inf, 0.0, "all scores are 0 or 1, and an outcome happened that was ruled out"


def _grid_reach(grid: Grid) -> tuple[float, float]:
    """Return a height and a depth that the walk of the rows cannot leave, wherever they lie within their cells."""
    cells = grid.cells()
    difference = cells.wy - cells.wp
    start = np.cumsum(difference) - difference
    return float((start + cells.rise).max(initial=0.0)), float((start - cells.fall).min(initial=0.0))


def _walk(summary: Ordered | Grid) -> Walk:
    """Return the extremes of the walk, of a grid at the ends of its cells."""
    if isinstance(summary, Ordered):
        return summary.walk
    cells = summary.cells()
    partial = np.cumsum(cells.wy - cells.wp)
    return Walk(float(partial.max(initial=0.0)), float(partial.min(initial=0.0)), float(cells.w2v.sum()))


def _rounding(grid: Grid) -> dict[str, float]:
    """Return how far the walk of the rows may be from the line between two neighbouring points of their grid's."""
    cells = grid.cells()
    return {"difference": float(np.maximum(cells.rise, cells.fall).max()) / grid.total_weight}


@curve(reads=(Ordered, Grid), summarise=ordered, on_grid=lambda options: True, rounding=_rounding)
def cumulative_differences(summary: Ordered | Grid) -> Curve:
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

    Notes
    -----
    No bins: the slope over any stretch is the mean of y - p there, so a rising stretch means predictions that are too
    low. If the predictions are calibrated C/σ looks like a Brownian motion; `kuiper_test` and
    `kolmogorov_smirnov_test` judge its range and its largest height. C depends on ties only through their sums, never
    on the order of the rows.

    Of a `Grid` the points are the ends of its cells in use, where A and C are exact, and `score` has the means of the
    cells. In between, C of the rows is no further from the line than the events of one cell can raise it, or its other
    rows lower it.

    Examples
    --------
    >>> walk = cumulative_differences([0, 1, 1, 0], [0.25, 0.5, 0.5, 1.0])
    >>> walk.difference.tolist()
    [0.0, -0.0625, 0.1875, -0.0625]
    >>> walk.abscissa.tolist()
    [0.0, 0.25, 0.75, 1.0]
    """
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


_run = CumulativeTest(
    name="Kuiper test of cumulative differences",
    extent=lambda high, low: high - low,
    survival=brownian_range_sf,
    distribution="limit law of the range of a Brownian motion",
)


@calibration_test(
    reads=(Ordered, Grid),
    summarise=ordered,
    on_grid=lambda options: True,
    rounding=_run.rounding,
    audit={"": Shown("range of the cumulative differences (Kuiper)")},
)
def kuiper_test(summary: Ordered | Grid, *, null: str = "auto", resamples: int = 9999, rng: Any = 0) -> TestResult:
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

    Notes
    -----
    The range never lies below the Kolmogorov-Smirnov height nor above twice it. MAPIE 1.6.0 leaves out
    :math:`C_0`, and its Kuiper value can fall below its Kolmogorov-Smirnov value.

    A `Grid` tells the walk at the ends of its cells, and how far rows within a cell can lead it beyond: `details` has
    this bound on the estimate, `rounding`. Outcomes are then redrawn from the mean score of each cell.

    Examples
    --------
    Two predictions of 0.25 that did not happen, then two of 0.75 that did: C falls to -0.125 and rises back to 0.

    >>> kuiper_test([0, 0, 1, 1], [0.25, 0.25, 0.75, 0.75]).estimate
    0.125
    """
    return _run(summary, null=null, resamples=resamples, rng=rng)


_run_kolmogorov_smirnov_test = CumulativeTest(
    name="Kolmogorov-Smirnov test of cumulative differences",
    extent=lambda high, low: np.maximum(high, np.abs(low)),
    survival=brownian_max_sf,
    distribution="limit law of the largest height of a Brownian motion",
)


@calibration_test(
    reads=(Ordered, Grid),
    summarise=ordered,
    on_grid=lambda options: True,
    rounding=_run_kolmogorov_smirnov_test.rounding,
    audit={"": Shown("largest cumulative difference (Kolmogorov-Smirnov)")},
)
def kolmogorov_smirnov_test(
    summary: Ordered | Grid, *, null: str = "auto", resamples: int = 9999, rng: Any = 0
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
        ``"asymptotic"`` (the limit law), ``"monte-carlo"`` (outcomes redrawn from the scores: holds its level at any n,
        with ties and weights), or ``"auto"``: the limit law if Σw²p(1-p)/max w² is at least 25, else Monte Carlo.
    resamples, rng
        Redraws of the Monte Carlo null.

    Returns
    -------
    TestResult
        `estimate` is the absolute mean of y - p over the rows with the lowest scores up to the worst place, times
        their share of all rows. `details` has `scale` (σ) and `information`.

    Notes
    -----
    No bins and no smoothing. It measures from the lowest score upwards; `kuiper_test` finds the worst stretch wherever
    it begins, and loses less where the sign of the error changes. In small samples the limit law errs on the safe side.

    A `Grid` tells the walk at the ends of its cells, and how far rows within a cell can lead it beyond: `details` has
    this bound on the estimate, `rounding`. Outcomes are then redrawn from the mean score of each cell.

    Examples
    --------
    All four predictions are too high, so C falls from 0 to -0.75; σ = √0.7/4:

    >>> result = kolmogorov_smirnov_test([0, 0, 0, 0], [0.6, 0.7, 0.8, 0.9])
    >>> round(result.estimate, 12), round(result.statistic, 6)
    (0.75, 3.585686)
    """
    return _run_kolmogorov_smirnov_test(summary, null=null, resamples=resamples, rng=rng)
