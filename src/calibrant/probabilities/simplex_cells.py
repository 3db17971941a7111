"""Sums per cell of the simplex: what the canonical notion with width bins needs of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.core.bins import IndexArray, bin_of, rounded, width_edges
from calibrant.core.summary import Summary
from calibrant.errors import SummaryError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.probabilities import Binary, Classes, two_columns

KeyArray = NDArray[np.int64]

MAX_CODE = 2**62  # of cells as whole numbers, which int64 holds


class CellSums(NamedTuple):
    """Sums over the rows of each of c cells."""

    rows: NDArray[np.int64]  # (c,)
    w: FloatArray  # (c,) Σw
    wp: FloatArray  # (c, K) Σwp
    wy: FloatArray  # (c, K) Σw e_y


def bin_numbers(P: NDArray[np.floating[Any]], m: int) -> KeyArray:
    """Return the width bin of every component, an array of the shape of P; edges are compared in its dtype."""
    edges = rounded(width_edges(m), P.dtype.name)
    keys = np.empty(P.shape, np.int64)
    for k in range(P.shape[1]):
        keys[:, k] = bin_of(P[:, k].astype(np.float64, copy=False), edges)
    return keys


def distinct(keys: KeyArray) -> tuple[KeyArray, IndexArray]:
    """Return the different rows of keys >= 0 in lexicographic order, and the place of each row among them.

    A row is read as the digits of a whole number. Where that would grow too large the numbers so far are replaced by
    their ranks, which keep their order. Nothing is hashed, so there are no collisions.
    """
    if not keys.shape[0]:
        return keys, np.zeros(0, np.intp)
    code, span = np.zeros(keys.shape[0], np.int64), 1
    for column in keys.T:
        base = int(column.max()) + 1
        if span > MAX_CODE // base:
            values, code = np.unique(code, return_inverse=True)
            span = values.size
        code = code * base + column
        span *= base
    _, first, place = np.unique(code, return_index=True, return_inverse=True)
    return keys[first], place


def sums_by_cell(
    place: IndexArray, cells: int, y: NDArray[Any], P: NDArray[np.floating[Any]], w: FloatArray
) -> CellSums:
    """Return the sums over the rows of each cell, given the cell of each row."""
    K = P.shape[1]

    def summed(column: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(place, column, minlength=cells), dtype=np.float64)

    wp = np.empty((cells, K))
    for k in range(K):
        wp[:, k] = summed(w * P[:, k])
    wy: FloatArray = np.bincount(place * K + y, w, minlength=cells * K).astype(np.float64).reshape(cells, K)
    return CellSums(np.bincount(place, minlength=cells), summed(w), wp, wy)


def added_cells(keys: KeyArray, sums: CellSums, others: KeyArray, more: CellSums) -> tuple[KeyArray, CellSums]:
    """Return the cells of two sets of rows, each with its different keys."""
    found, place = distinct(np.concatenate([keys, others]))
    here, there = place[: keys.shape[0]], place[keys.shape[0] :]

    def added(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        total = np.zeros((found.shape[0], *a.shape[1:]), a.dtype)
        total[here] = a
        total[there] += b
        return total

    return found, CellSums(*(added(a, b) for a, b in zip(sums, more, strict=True)))


@dataclass(frozen=True, eq=False, repr=False)
class SimplexCells(Summary):
    """One entry per cell that holds rows, in the order of the keys: the numbers of the width bins of its components.

    A vector is put into its cell in its own precision. With two classes the key is that of the second class alone, and
    (1 - p, p) has the same cell as p.
    """

    COUNTS: ClassVar[tuple[str, ...]] = ("bins", "keys", "count")
    POSITIVE: ClassVar[tuple[str, ...]] = ("w", "wp", "wy")
    bins: int
    keys: KeyArray  # (c, K), or (c, 1) for two classes
    count: KeyArray  # (c,)
    w: FloatArray  # (c,)
    wp: FloatArray  # (c, K)
    wy: FloatArray  # (c, K)

    def __post_init__(self) -> None:
        super().__post_init__()
        c, K = self.wp.shape if self.wp.ndim == 2 else (-1, -1)
        shapes = [array.shape for array in (self.keys, self.count, self.w, self.wy)]
        if shapes != [(c, 1 if K == 2 else K), (c,), (c,), (c, K)]:
            raise SummaryError(f"the columns of SimplexCells must belong to the same cells; got shapes {shapes}")

    @classmethod
    def of(cls, rows: Binary | Classes, m: int) -> Self:
        """Return the cells of these rows with m width bins per component."""
        if isinstance(rows, Classes) and rows.K == 2:
            rows = rows.one_vs_rest(1)
        judged, P = (rows.p[:, None], two_columns(rows.p)) if isinstance(rows, Binary) else (rows.P, rows.P)
        keys, place = distinct(bin_numbers(judged, m))
        return cls(m, keys, *sums_by_cell(place, keys.shape[0], rows.y, P, rows.w))

    @classmethod
    def zero(cls) -> Self:
        """Return the cells of no rows, of no classes."""
        none, nothing = np.zeros(0), np.zeros((0, 0))
        return cls(0, nothing.astype(np.int64), none.astype(np.int64), none, nothing, nothing)

    def merged(self, other: Self) -> Self:
        """Add the sums of equal keys."""
        if not self.n or not other.n:
            return other if not self.n else self
        if (self.bins, self.K) != (other.bins, other.K):
            raise SummaryError(
                f"cells of {self.bins} bins and {self.K} classes do not merge with "
                f"cells of {other.bins} bins and {other.K} classes"
            )
        keys, sums = added_cells(self.keys, self.sums, other.keys, other.sums)
        return type(self)(self.bins, keys, *sums)

    @property
    def grows(self) -> bool:
        """Whether memory grows with the number of rows."""
        return True

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.count.sum())

    @property
    def K(self) -> int:
        """Number of classes."""
        return int(self.wp.shape[1])

    @property
    def sums(self) -> CellSums:
        """The sums of the cells."""
        return CellSums(self.count, self.w, self.wp, self.wy)
