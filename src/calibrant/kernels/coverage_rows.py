"""Intervals, sets and quantiles as a kernel sees them: where they lie, and by how much a hit exceeds its level.

They carry no law; what is judged is coverage given the prediction. With e = 1{y in C} - level, h = 2 k_P e e', and for
several levels h is the mean over the levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError
from calibrant.inputs.arrays import FloatArray, take_weights
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.rows import DrawnRows, IntervalRows, Judged, QuantileRows, SetRows


@dataclass(frozen=True, eq=False)
class CoverageRows:
    """Points of the predictions (n, L, c), residuals e of the hits (n, L), the levels (L,), weights, and what they are.

    `kind` is "Intervals", "Sets" or "Quantiles": a quantile and the size of a set are both one number, and no distance
    lies between them.
    """

    points: FloatArray
    e: FloatArray
    levels: FloatArray
    w: FloatArray
    kind: str

    @classmethod
    def of(cls, rows: Judged) -> Self:
        """Return what a kernel sees of these rows."""
        prediction = rows.prediction
        if prediction.levels is None:
            raise InputError("Sets without a level cannot be compared with one; pass Sets(mask, level)")
        assert isinstance(rows, (IntervalRows, SetRows, QuantileRows))
        points = _points(rows)
        bad = ~np.isfinite(points)
        if bad.any():
            row = int(np.argwhere(bad)[0][0])
            raise InputError(
                f"a kernel on {type(prediction).__name__} measures distances between them, so that they must be "
                "finite; {row} of those with a weight is infinite. Leave such rows out, or use coverage_hsic",
                row=row,
            )
        kind = type(prediction).__name__
        return cls(points, rows.covered - prediction.levels, prediction.levels, rows.w, kind)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.e)

    @property
    def y(self) -> FloatArray:
        """What is judged: the residuals of the hits."""
        return self.e

    def take(self, rows: NDArray[np.intp]) -> CoverageRows:
        """Return these rows alone."""
        return CoverageRows(self.points[rows], self.e[rows], self.levels, take_weights(self.w, rows), self.kind)


def _points(rows: IntervalRows | SetRows | QuantileRows) -> FloatArray:
    """Return (lower, upper), the size of the set, or the quantile."""
    prediction: Any = rows.prediction
    if isinstance(prediction, Intervals):
        return np.stack([prediction.lower, prediction.upper], axis=2)
    return rows.sizes[:, :, None] if isinstance(rows, SetRows) else prediction.values[:, :, None]


KernelRows = DrawnRows | CoverageRows
