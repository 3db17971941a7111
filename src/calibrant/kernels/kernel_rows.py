"""Rows as kernels see them: coverage in place of intervals, sets and quantiles, and an order of their own.

Intervals, sets and quantiles carry no distribution; what is judged is coverage given the prediction. With
e = 1{y in C} - level, h = 2 k_P e e', and for several levels h is the mean over the levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, NotApplicableError, SummaryError
from calibrant.inputs.arrays import FloatArray, take_weights
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.rows import DistributionRows, DrawnRows, RegionRows

KernelRows = DrawnRows | RegionRows
"""Rows of the predictions that kernel errors judge."""

ORDERING_COLUMNS = 8  # parameters of a distribution by which its rows are ordered


@dataclass(frozen=True, eq=False)
class CoverageRows:
    """Points of the predictions (n, L, c), residuals e of the hits (n, L), the levels (L,), and weights (n,)."""

    points: FloatArray
    e: FloatArray
    levels: FloatArray
    w: FloatArray

    @classmethod
    def of(cls, rows: Any) -> Self:
        prediction = rows.prediction
        if prediction.levels is None:
            raise InputError("Sets without a level cannot be compared with one; pass Sets(mask, level)")
        points = rows.points
        bad = ~np.isfinite(points)
        if bad.any():
            row = int(np.argwhere(bad)[0][0])
            raise InputError(
                "a kernel on {kind} measures distances between them, so they must be finite; {row} of those with "
                "a weight is infinite. Leave such rows out, or use regions.coverage_hsic",
                kind=type(prediction).__name__,
                row=row,
            )
        return cls(points, rows.covered - prediction.levels, prediction.levels, rows.w)

    @property
    def n(self) -> int:
        return len(self.e)

    def take(self, rows: NDArray[np.intp]) -> CoverageRows:
        return CoverageRows(self.points[rows], self.e[rows], self.levels, take_weights(self.w, rows))


def canonical_order(rows: KernelRows, *, with_outcomes: bool = False) -> NDArray[np.intp]:
    """Return an order of the rows that does not depend on the one they came in: by prediction, weight, and outcome.

    Outcomes count only if asked for: which rows are drawn for something must not depend on them.
    """
    if isinstance(rows, DistributionRows):
        outcomes = _columns(rows.y) if with_outcomes else []
        return np.lexsort([*outcomes, rows.w, *_of_distribution(rows.distribution)[::-1]])
    if isinstance(rows, RegionRows):
        coverage = CoverageRows.of(rows)
        hits = list(coverage.e.T) if with_outcomes else []
        return np.lexsort([*hits, rows.w, *coverage.points.reshape(rows.n, -1).T[::-1]])
    last = [rows.y] if with_outcomes else []
    return np.lexsort([*last, rows.w, *_columns(rows.prediction)])


def _columns(array: NDArray[Any]) -> list[NDArray[Any]]:
    return [array] if array.ndim == 1 else list(array.T)


def _of_distribution(distribution: Distribution) -> list[NDArray[Any]]:
    """Return a few columns that tell the predictions apart: parameters, or quantiles, or nothing."""
    try:
        return list(distribution.columns()[1].T[:ORDERING_COLUMNS])
    except SummaryError:
        pass
    try:
        return list(distribution.ppf(np.broadcast_to([0.1, 0.5, 0.9], (distribution.n, 3))).T)
    except NotApplicableError:
        return []
