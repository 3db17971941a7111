"""Where intervals, sets or quantiles lie and whether they held the outcome, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from calibrant.errors import SummaryError
from calibrant.inputs.weights import FloatArray, is_unit, unit_weights
from calibrant.kernels.coverage_rows import CoverageRows
from calibrant.summaries.base import Summary


@dataclass(frozen=True, eq=False, repr=False)
class KeptCoverage(Summary):
    """Points (n, L, c), residuals of the hits (n, L), levels (L,), weights (n,). It grows with the rows."""

    points: FloatArray
    e: FloatArray
    levels: FloatArray
    w: FloatArray

    def __post_init__(self) -> None:
        if self.w.strides != (0,) and (self.w == 1).all():
            object.__setattr__(self, "w", unit_weights(self.w.size))
        super().__post_init__()
        n, L = self.e.shape if self.e.ndim == 2 else (-1, -1)
        if self.points.ndim != 3 or (self.points.shape[:2], self.levels.shape, self.w.shape) != ((n, L), (L,), (n,)):
            raise SummaryError("the columns of a KeptCoverage must belong to the same rows and levels")

    @classmethod
    def of(cls, rows: CoverageRows) -> Self:
        """Keep these rows."""
        return cls(rows.points, rows.e, rows.levels, rows.w)

    @classmethod
    def zero(cls) -> Self:
        """Return no rows, of no levels."""
        return cls(np.zeros((0, 0, 0)), np.zeros((0, 0)), np.zeros(0), unit_weights(0))

    def merged(self, other: Self) -> Self:
        """Return the rows of both, one after the other."""
        if not self.n or not other.n:
            return other if not self.n else self
        if self.points.shape[1:] != other.points.shape[1:] or not np.array_equal(self.levels, other.levels):
            raise SummaryError(f"predictions of levels {self.levels} do not merge with those of {other.levels}")
        unit = is_unit(self.w) and is_unit(other.w)
        return type(self)(
            np.concatenate([self.points, other.points]),
            np.concatenate([self.e, other.e]),
            self.levels,
            unit_weights(self.n + other.n) if unit else np.concatenate([self.w, other.w]),
        )

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.e)

    @property
    def rows(self) -> CoverageRows:
        """The rows."""
        return CoverageRows(self.points, self.e, self.levels, self.w)
