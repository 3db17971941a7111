"""Different sizes in order, with their weight: for medians."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import SummaryError
from calibrant.inputs.weights import FloatArray, is_unit
from calibrant.summaries.base import Summary

ROUNDING = 1e-12  # of the total weight: sums of weights that differ by less are equal


@dataclass(frozen=True, eq=False, repr=False)
class SizeWeights(Summary):
    """One entry per different size of each named column, ascending within the column: the size and its Σw.

    It grows with the number of different sizes: widths of conformal intervals may all be equal, those of a
    regression all different.
    """

    names: tuple[str, ...]
    rows: int
    size: FloatArray  # the columns one after another
    weight: FloatArray
    ends: NDArray[np.int64]  # where each column ends

    def __post_init__(self) -> None:
        super().__post_init__()
        entries = int(self.ends[-1]) if self.ends.size else 0
        if len(self.names) != self.ends.size or not self.size.shape == self.weight.shape == (entries,):
            raise SummaryError("the columns of SizeWeights must end where their entries do")

    @classmethod
    def of(cls, columns: Mapping[str, FloatArray], w: FloatArray) -> Self:
        """Sort and pool the sizes of these rows, column by column."""
        return cls._joined(tuple(columns), w.size, [_pooled(sizes, w) for sizes in columns.values()])

    @classmethod
    def zero(cls) -> Self:
        """Return the sizes of no rows, of no names."""
        return cls._joined((), 0, [])

    def merged(self, other: Self) -> Self:
        """Merge column by column."""
        if not self.rows or not other.rows:
            return other if not self.rows else self
        if self.names != other.names:
            raise SummaryError(f"sizes of {self.names} do not merge with sizes of {other.names}")
        pairs = zip(self.columns, other.columns, strict=True)
        pooled = [_pooled(np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]])) for a, b in pairs]
        return self._joined(self.names, self.rows + other.rows, pooled)

    @property
    def grows(self) -> bool:
        """Whether it takes more room the more rows it is of."""
        return True

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.rows

    @property
    def columns(self) -> list[tuple[FloatArray, FloatArray]]:
        """SizeWeights and weights of each column."""
        cuts = self.ends[:-1]
        return list(zip(np.split(self.size, cuts), np.split(self.weight, cuts), strict=True)) if self.names else []

    def median_of(self, name: str) -> float:
        """Return the size with half of the weight on either side, the mean of two where the weights split evenly."""
        if name not in self.names:
            raise SummaryError(f"these sizes are of {', '.join(self.names) or 'nothing'}, not of {name}")
        size, weight = self.columns[self.names.index(name)]
        below = np.cumsum(weight)
        half, slack = below[-1] / 2, ROUNDING * below[-1]
        low = size[np.searchsorted(below, half - slack, side="left")]
        high = size[np.searchsorted(below, half + slack, side="right")]
        return float(low / 2 + high / 2)  # one or both may be infinite, and their sum may be too large

    @classmethod
    def _joined(cls, names: tuple[str, ...], rows: int, columns: list[tuple[FloatArray, FloatArray]]) -> Self:
        size, weight = ([column[side] for column in columns] for side in (0, 1))
        ends = np.cumsum([len(column) for column in size], dtype=np.int64)
        return cls(names, rows, np.concatenate([np.zeros(0), *size]), np.concatenate([np.zeros(0), *weight]), ends)


def _pooled(sizes: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the different sizes, ascending, and the weight of each."""
    if is_unit(w):
        ordered = np.sort(sizes)
        starts = _starts(ordered)
        return ordered[starts], np.diff(np.append(starts, ordered.size)).astype(np.float64)
    order = np.argsort(sizes, kind="stable")
    ordered = sizes[order]
    starts = _starts(ordered)
    return ordered[starts], np.add.reduceat(w[order], starts)


def _starts(ordered: FloatArray) -> NDArray[np.intp]:
    return np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
