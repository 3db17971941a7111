"""What the Kolmogorov-Smirnov and the Kuiper test share: the extent of the cumulative differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inference.null import (
    asymptotic_words,
    check_null,
    ordered_pool,
    redrawn_pvalue,
    redrawn_words,
    resolved_null,
)
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.flips import FlippedWalks, Flips
from calibrant.primitives.pool import Pool
from calibrant.primitives.walk import Walk, tie_ends
from calibrant.results import TestResult
from calibrant.summaries import Grid, Ordered

Extent = Callable[[Any, Any], Any]
"""Size of a walk from its highest and lowest point."""


@dataclass(frozen=True)
class CumulativeTest:
    """A test by the size of the cumulative differences."""

    name: str
    extent: Extent
    survival: Callable[[float], float]
    law: str

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
                pvalue, how = self.survival(statistic), asymptotic_words(self.law, information)
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
