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
    monte_carlo_words,
    ordered_pool,
    redrawn_pvalue,
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
        walk, total = (summary.walk, summary.total_weight) if isinstance(summary, Ordered) else _grid_walk(summary)
        size, sigma = float(self.extent(walk.high, walk.low)), math.sqrt(walk.variance)
        information = walk.variance / summary.weight_max**2
        details: dict[str, Any] = {"scale": sigma / total, "information": information}
        method = self.name
        if isinstance(summary, Grid):
            details["rounding"] = max(0.0, float(self.extent(*_grid_reach(summary))) - size) / total
            method += f" on a grid, the estimate exceeded by at most {details['rounding']:.3g}"
        if sigma == 0:
            statistic, pvalue, how = _certain(size)
        else:
            statistic = size / sigma
            if resolved_null(null, information) == "asymptotic":
                pvalue, how = self.survival(statistic), asymptotic_words(self.law, information)
            else:
                pvalue = self._redrawn(ordered_pool(summary), size, scale=sigma, resamples=resamples, rng=rng)
                how = monte_carlo_words(resamples)
        return TestResult(statistic, pvalue, size / total, f"{method}; {how}", summary.n, details)

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
    """Return a height and a depth that the walk of the rows cannot leave, wherever they lie within their cells.

    In a cell the walk rises by the sum of w(1 - p) over events and falls by the sum of wp over non-events, in some
    order. Their sum is Σw(r² + v), their difference Σwr.
    """
    cells = grid.cells()
    difference = cells.wy - cells.wp
    start = np.cumsum(difference) - difference
    rise, fall = (cells.wr2 + cells.wv + difference) / 2, (cells.wr2 + cells.wv - difference) / 2
    return float((start + rise).max(initial=0.0)), float((start - fall).min(initial=0.0))


def _grid_walk(grid: Grid) -> tuple[Walk, float]:
    cells = grid.cells()
    partial = np.cumsum(cells.wy - cells.wp)
    high, low = float(partial.max(initial=0.0)), float(partial.min(initial=0.0))
    return Walk(high, low, float(cells.w2v.sum())), float(cells.w.sum())
