"""The rows as they are: for measurements that no smaller value can serve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import SummaryError
from calibrant.inputs import Binary, Classes
from calibrant.inputs.probabilities import two_columns
from calibrant.inputs.weights import FloatArray, is_unit, unit_weights
from calibrant.summaries.base import Summary


@dataclass(frozen=True, eq=False, repr=False)
class Kept(Summary):
    """Outcomes y as column numbers, class probabilities P, weights w, in the order in which the rows came.

    One probability per row is kept as the vectors (1 - p, p). It grows with the rows: n (K + 1) numbers, and n more
    if there are weights. `dtype` is the precision the probabilities came in.
    """

    y: NDArray[np.int64]  # (n,)
    P: FloatArray  # (n, K)
    w: FloatArray  # (n,)
    dtype: str

    def __post_init__(self) -> None:
        if self.w.strides != (0,) and (self.w == 1).all():
            object.__setattr__(self, "w", unit_weights(self.w.size))
        super().__post_init__()
        if self.P.ndim != 2 or not self.y.shape == self.w.shape == self.P.shape[:1]:
            raise SummaryError("the columns of a Kept must have one length")
        if self.n and not 0 <= self.y.min() <= self.y.max() < self.K:
            raise SummaryError(f"the outcomes of a Kept must be columns 0 to {self.K - 1}")

    @classmethod
    def of(cls, rows: Binary | Classes) -> Self:
        """Keep a copy of these rows."""
        given = rows.p if isinstance(rows, Binary) else rows.P
        P = two_columns(given) if isinstance(rows, Binary) else np.array(given, dtype=np.float64, order="C")
        w = rows.w if is_unit(rows.w) else rows.w.copy()
        return cls(rows.y.astype(np.int64), P, w, given.dtype.name)

    @classmethod
    def zero(cls) -> Self:
        """Return no rows, of no classes."""
        return cls(np.zeros(0, np.int64), np.zeros((0, 0)), unit_weights(0), "")

    def merged(self, other: Self) -> Self:
        """Return the rows of both, one after the other."""
        if not self.n or not other.n:
            return other if not self.n else self
        if self.K != other.K:
            raise SummaryError(f"rows of {self.K} classes do not merge with rows of {other.K} classes")
        if self.dtype != other.dtype:
            raise SummaryError(
                f"probabilities of type {self.dtype} and {other.dtype} fall into different bins at the edges; "
                "convert all batches to one type before they are summarised"
            )
        unit = is_unit(self.w) and is_unit(other.w)
        return type(self)(
            np.concatenate([self.y, other.y]),
            np.concatenate([self.P, other.P]),
            unit_weights(self.n + other.n) if unit else np.concatenate([self.w, other.w]),
            self.dtype,
        )

    @property
    def grows(self) -> bool:
        """Whether it takes more room the more rows it is of."""
        return True

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.y.size)

    @property
    def rows(self) -> Classes:
        """The rows."""
        return Classes(self.y.astype(np.intp, copy=False), self.P, self.w)

    @property
    def K(self) -> int:
        """Number of classes."""
        return int(self.P.shape[1])


class OneColumn(Kept):
    """The same of one probability per row, between which distances other than the total variation are shorter."""
