"""Coverage and width of intervals, and the range of the outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from calibrant.inputs.judged import IntervalRows
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.interval_sums import sums_of_levels
from calibrant.summaries.base import Summary
from calibrant.summaries.moments import Moments


@dataclass(frozen=True, eq=False, repr=False)
class IntervalMoments(Summary):
    """Moments of coverage and width at each level, least and greatest outcome."""

    levels: FloatArray  # (L,)
    single: bool
    moments: tuple[Moments, ...]  # one; in a tuple, as it travels as bytes of its own
    extremes: FloatArray  # (2,)

    @classmethod
    def of(cls, rows: IntervalRows) -> Self:
        """Return the moments of these rows."""
        columns = [*rows.covered.T, *rows.sizes.T]
        moments = Moments.of(dict(zip(_names(rows), columns, strict=True)), rows.w)
        return cls._made(rows, moments, rows.y.min(), rows.y.max())

    @classmethod
    def in_one_pass(cls, rows: IntervalRows) -> Self:
        """Return the moments of many rows of weight 1."""
        sums = sums_of_levels(rows, "width", "hits", "range")
        moments = Moments.of_sums(_names(rows), [*(s.of_hits for s in sums), *sums])
        return cls._made(rows, moments, sums[0].low, sums[0].high)

    @classmethod
    def _made(cls, rows: IntervalRows, moments: Moments, low: float, high: float) -> Self:
        return cls(rows.prediction.levels, rows.prediction.single, (moments,), np.array([low, high]))

    @classmethod
    def zero(cls) -> Self:
        """Return the moments of no rows, of no levels."""
        return cls(np.zeros(0), True, (Moments.zero(),), np.array([np.inf, -np.inf]))

    def merged(self, other: Self) -> Self:
        """Return the moments of the rows of both."""
        if not self.n or not other.n:
            return other if not self.n else self
        low, high = np.minimum(self.extremes, other.extremes)[0], np.maximum(self.extremes, other.extremes)[1]
        moments = self.moments[0] + other.moments[0]
        return type(self)(self.levels, self.single and other.single, (moments,), np.array([low, high]))

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.moments[0].n

    @property
    def coverage(self) -> FloatArray:
        """Σwc/Σw at each level."""
        return self._means("coverage")

    @property
    def width(self) -> FloatArray:
        """Mean width at each level, infinite if one is."""
        return self._means("width")

    def _means(self, what: str) -> FloatArray:
        moments = self.moments[0]
        return np.array([moments.mean_of(name) for name in moments.names if name.startswith(what)])

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> Self:
        """Build from decoded values, reading the nested moments."""
        moments = tuple(Moments.from_bytes(part) for part in values.get("moments", ()))
        return super()._checked({**values, "moments": moments})


def _names(rows: IntervalRows) -> list[str]:
    return [f"{what} {level:.10g}" for what in ("coverage", "width") for level in rows.prediction.levels]
