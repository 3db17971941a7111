"""Outcomes and quantile forecasts as they are: for measurements that no smaller value can serve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from calibrant.core.summary import Summary
from calibrant.errors import SummaryError
from calibrant.inputs.arrays import FloatArray, is_unit, unit_weights
from calibrant.inputs.options import DIGITS
from calibrant.inputs.rows import QuantileRows


@dataclass(frozen=True, eq=False, repr=False)
class KeptQuantiles(Summary):
    """Outcomes y, quantiles of them, weights w, in the order in which the rows came. It grows with the rows."""

    POSITIVE: ClassVar[tuple[str, ...]] = ("levels", "w")
    FINITE: ClassVar[tuple[str, ...]] = ("y",)
    y: FloatArray  # (n,)
    values: FloatArray  # (n, Q)
    levels: FloatArray  # (Q,)
    single: bool  # one level, given as a number
    w: FloatArray  # (n,)

    def __post_init__(self) -> None:
        if self.w.strides != (0,) and (self.w == 1).all():
            object.__setattr__(self, "w", unit_weights(self.w.size))
        super().__post_init__()
        if self.values.shape != (self.y.size, self.levels.size) or self.w.shape != self.y.shape:
            raise SummaryError("the columns of a KeptQuantiles must have one length")

    @classmethod
    def of(cls, rows: QuantileRows) -> Self:
        """Keep these rows."""
        prediction = rows.prediction
        w = rows.w if is_unit(rows.w) else rows.w.copy()
        return cls(rows.y.astype(np.float64), prediction.values, prediction.levels, prediction.single, w)

    @classmethod
    def zero(cls) -> Self:
        """Return no rows, of no levels."""
        return cls(np.zeros(0), np.zeros((0, 0)), np.zeros(0), False, unit_weights(0))

    def merged(self, other: Self) -> Self:
        """Return the rows of both, one after the other."""
        if not self.n or not other.n:
            return other if not self.n else self
        if not np.array_equal(self.levels.round(DIGITS), other.levels.round(DIGITS)):
            levels = (", ".join(f"{level:.10g}" for level in one.levels) for one in (self, other))
            raise SummaryError("quantiles of levels {} do not merge with levels {}".format(*levels))
        unit = is_unit(self.w) and is_unit(other.w)
        return type(self)(
            np.concatenate([self.y, other.y]),
            np.concatenate([self.values, other.values]),
            self.levels,
            self.single and other.single,
            unit_weights(self.n + other.n) if unit else np.concatenate([self.w, other.w]),
        )

    @property
    def grows(self) -> bool:
        """Whether it takes more room the more rows it is of."""
        return True

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.y.size)
