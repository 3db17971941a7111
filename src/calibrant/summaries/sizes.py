"""Widths of intervals or sizes of sets in order, with how many rows of each are covered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import NotApplicableError, SummaryError
from calibrant.inputs.judged import IntervalRows, SetRows
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.pool import CountArray
from calibrant.primitives.pool_sizes import pool_sizes
from calibrant.primitives.tied_widths import largest_bound, tie_starts, tolerance_of
from calibrant.summaries.base import Summary
from calibrant.summaries.ordered import Ordered


class SizeColumns(NamedTuple):
    """One entry per size, ascending, sizes that differ by rounding taken as one.

    Without weights all columns but the first are whole numbers.
    """

    size: FloatArray
    rows: CountArray  # how many
    hits: CountArray  # rows whose outcome is covered
    weight: NDArray[Any]  # Σw
    hit_weight: NDArray[Any]  # Σwc


@dataclass(frozen=True, eq=False, repr=False)
class Sizes(Summary):
    """For each level, the rows sorted by size as an `Ordered`: a score is a size, an event a covered outcome.

    Sizes are kept as they came. Which of them are tied is decided when all rows are together, from the largest finite
    bound of each level and eps of the bounds' dtype. `kind` is "Intervals" or "Sets", `K` the number of labels, 0 for
    intervals; `levels` is empty where none is known.
    """

    kind: str
    K: int
    levels: FloatArray
    single: bool
    eps: float
    largest: FloatArray
    parts: tuple[Ordered, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.parts) != self.largest.size or self.levels.size not in (0, len(self.parts)):
            raise SummaryError("the parts of Sizes must be one per level")

    @classmethod
    def of(cls, rows: IntervalRows | SetRows) -> Self:
        """Sort these rows by size, level by level."""
        columns = zip(rows.sizes.T, rows.covered.T, strict=True)
        parts = tuple(Ordered(*pool_sizes(size, covered, rows.w), "float64") for size, covered in columns)
        if isinstance(rows, IntervalRows):
            intervals = rows.prediction
            largest = largest_bound(intervals.lower, intervals.upper)
            return cls("Intervals", 0, intervals.levels, intervals.single, intervals.eps, largest, parts)
        sets = rows.prediction
        levels = np.zeros(0) if sets.levels is None else sets.levels
        return cls("Sets", sets.K, levels, sets.single, 0.0, np.zeros(len(parts)), parts)

    @classmethod
    def zero(cls) -> Self:
        """Return the summary of no rows, of no levels."""
        return cls("", 0, np.zeros(0), True, 0.0, np.zeros(0), ())

    def merged(self, other: Self) -> Self:
        """Merge level by level."""
        if not self.parts or not other.parts:
            return other if not self.parts else self
        if self._words != other._words or self.single != other.single:
            raise SummaryError(f"sizes of {self._words} do not merge with sizes of {other._words}")
        return type(self)(
            self.kind,
            self.K,
            self.levels,
            self.single,
            max(self.eps, other.eps),
            np.maximum(self.largest, other.largest),
            tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)),
        )

    @property
    def grows(self) -> bool:
        """Whether it takes more room the more rows it is of."""
        return True

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.parts[0].n if self.parts else 0

    @property
    def L(self) -> int:
        """Number of levels."""
        return len(self.parts)

    def tied(self, k: int) -> SizeColumns:
        """Return the columns of level number k, tied sizes pooled."""
        ordered = self.parts[k]
        size = ordered.unique_scores
        starts = tie_starts(size, float(tolerance_of(self.largest[k], self.eps)))
        columns = (
            ordered.by_score(ordered.count),
            ordered.by_score(ordered.events),
            ordered.weight_by_score,
            ordered.event_weight_by_score,
        )
        if starts.size == size.size:
            return SizeColumns(size, *columns)
        return SizeColumns(size[starts], *(np.add.reduceat(column, starts) for column in columns))

    def level(self, k: int) -> float:
        """Return nominal coverage number k; sets may have none."""
        if not self.levels.size:
            raise NotApplicableError("these sets have no level to compare coverage with; pass Sets(mask, level)")
        return float(self.levels[k])

    def per_level(self, values: list[float]) -> float | FloatArray:
        """Return one number per level as the caller gets it: a float for a prediction of one level."""
        return values[0] if self.single else np.array(values)

    @property
    def _words(self) -> str:
        labels = f" of {self.K} labels" if self.K else ""
        levels = ", ".join(f"{level:.10g}" for level in self.levels)
        return f"{self.kind}{labels} " + (f"at level {levels}" if levels else f"with {self.L} columns without a level")

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> Self:
        """Build from decoded values, reading the nested summaries."""
        parts = tuple(Ordered.from_bytes(part) for part in values.get("parts", ()))
        return super()._checked({**values, "parts": parts})
