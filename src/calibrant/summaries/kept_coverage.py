"""Where intervals, sets or quantiles lie and whether they held the outcome, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from calibrant.errors import SummaryError, shown
from calibrant.inputs.weights import FloatArray, is_unit, unit_weights
from calibrant.kernels.coverage_rows import CoverageRows
from calibrant.summaries.base import Summary

COORDINATES = {"Intervals": 2, "Sets": 1, "Quantiles": 1, "": 0}
"""How many numbers say where a prediction lies, by what it is."""


@dataclass(frozen=True, eq=False, repr=False)
class KeptCoverage(Summary):
    """Points (n, L, c), residuals of the hits (n, L), levels (L,), weights (n,), and what the predictions are.

    It grows with the rows.
    """

    points: FloatArray
    e: FloatArray
    levels: FloatArray
    w: FloatArray
    kind: str  # "Intervals", "Sets", "Quantiles"; "": no rows yet

    def __post_init__(self) -> None:
        if self.w.strides != (0,) and (self.w == 1).all():
            object.__setattr__(self, "w", unit_weights(self.w.size))
        super().__post_init__()
        n, L = self.e.shape if self.e.ndim == 2 else (-1, -1)
        if self.points.ndim != 3 or (self.points.shape[:2], self.levels.shape, self.w.shape) != ((n, L), (L,), (n,)):
            raise SummaryError("the columns of a KeptCoverage must belong to the same rows and levels")
        if COORDINATES.get(self.kind) != self.points.shape[2]:
            raise SummaryError(
                f"a KeptCoverage holds Intervals by two numbers, Sets or Quantiles by one; got {shown(self.kind)} "
                f"by {self.points.shape[2]}"
            )

    @classmethod
    def of(cls, rows: CoverageRows) -> Self:
        """Keep these rows."""
        return cls(rows.points, rows.e, rows.levels, rows.w, rows.kind)

    @classmethod
    def zero(cls) -> Self:
        """Return no rows, of no levels."""
        return cls(np.zeros((0, 0, 0)), np.zeros((0, 0)), np.zeros(0), unit_weights(0), "")

    def merged(self, other: Self) -> Self:
        """Return the rows of both, one after the other."""
        if not self.n or not other.n:
            return other if not self.n else self
        if self.kind != other.kind:
            raise SummaryError(
                f"rows of {self.kind} do not merge with rows of {other.kind}; summarize each kind of prediction alone"
            )
        if not np.array_equal(self.levels, other.levels):
            raise SummaryError(f"predictions of levels {self.levels} do not merge with those of {other.levels}")
        unit = is_unit(self.w) and is_unit(other.w)
        return type(self)(
            np.concatenate([self.points, other.points]),
            np.concatenate([self.e, other.e]),
            self.levels,
            unit_weights(self.n + other.n) if unit else np.concatenate([self.w, other.w]),
            self.kind,
        )

    @property
    def grows(self) -> bool:
        """Whether it takes more room the more rows it is of."""
        return True

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.e)

    @property
    def rows(self) -> CoverageRows:
        """The rows."""
        return CoverageRows(self.points, self.e, self.levels, self.w, self.kind)
