"""Sums per cell of the simplex: what the canonical notion with width bins needs of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from calibrant.errors import SummaryError
from calibrant.inputs import Binary, Classes
from calibrant.inputs.probabilities import two_columns
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.simplex_cells import (
    CellSums,
    KeyArray,
    added_cells,
    bin_numbers,
    distinct,
    sums_by_cell,
)
from calibrant.summaries.base import Summary


@dataclass(frozen=True, eq=False, repr=False)
class SimplexCells(Summary):
    """One entry per cell that holds rows, in the order of the keys: the numbers of the width bins of its components.

    A vector is put into its cell in the precision it came in. Two classes have the key of the second one alone, so
    that (1 - p, p) and p make the same cells.
    """

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
        """Whether it takes more room the more rows it is of."""
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
