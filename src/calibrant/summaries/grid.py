"""Sums per cell of a fixed grid of [0, 1]: constant size, whatever the number of rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from calibrant.errors import SummaryError
from calibrant.inputs import Binary
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.bins import GRID_ORDER, IndexArray, grid_edges, grid_starts, width_edges
from calibrant.primitives.cells import COLUMNS, Piece, cell_sums, cell_sums_of_pieces
from calibrant.summaries.base import Summary
from calibrant.summaries.bin_table import BinTable
from calibrant.summaries.ordered import Ordered
from calibrant.summaries.precision import one_precision

CELLS = 4150  # the Farey fractions of order 100 and the finer edges near 0 and 1 cut [0, 1] into so many
ROUNDING = 2.0**-52  # of a sum, per row of it


@dataclass(frozen=True, eq=False, repr=False)
class Grid(Summary):
    """Eleven sums per cell. Its edges include every k/m with m <= 100, so that such width bins are exact.

    Near 0 and 1 cells are finer and finer, so that they tell scores of rare events apart. A score is put into its cell
    in the precision it came in, `dtype`, which is empty if nobody knows it. `weight_max` is the largest weight seen.
    """

    sums: FloatArray  # (11, CELLS), rows named by primitives.cells.COLUMNS
    weight_max: float
    dtype: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sums.shape != (len(COLUMNS), CELLS):
            raise SummaryError(f"a Grid has sums of shape {(len(COLUMNS), CELLS)}; got {self.sums.shape}")

    @classmethod
    def of(cls, rows: Binary) -> Self:
        """Return the grid of these rows."""
        return cls(cell_sums(rows.y, rows.p, rows.w), float(rows.w.max(initial=0.0)), rows.p.dtype.name)

    @classmethod
    def of_pieces(cls, pieces: Iterable[Piece], dtype: str) -> Self | None:
        """Return the grid of the rows of all pieces, without joining them; None if one of the rows is not legal."""
        sums = cell_sums_of_pieces(pieces)
        return None if sums is None else cls(sums, 1.0, dtype)

    @classmethod
    def zero(cls) -> Self:
        """Return the grid of no rows."""
        return cls(np.zeros((len(COLUMNS), CELLS)), 0.0)

    def merged(self, other: Self) -> Self:
        """Return the grid of the rows of both."""
        dtype = one_precision(self.dtype, other.dtype)
        return type(self)(self.sums + other.sums, max(self.weight_max, other.weight_max), dtype)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.sums[0].sum())

    def bins(self, m: int) -> BinTable:
        """Return the exact table of m <= 100 width bins."""
        if m > GRID_ORDER:
            raise SummaryError(
                f"a Grid holds width bins up to {GRID_ORDER}; got bins={m}. Make the summary with these bins instead"
            )
        return BinTable(width_edges(m), np.add.reduceat(self.sums, grid_starts(m), axis=1))

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.cells().w.sum())

    @property
    def has_equal_weights(self) -> bool:
        """Whether all rows weigh the same, as far as the rounding of their sum lets one tell."""
        table = self.cells()
        heaviest = table.count * self.weight_max
        return bool((heaviest - table.w <= ROUNDING * table.count * heaviest).all())

    def ordered(self) -> Ordered:
        """Return one entry per cell in use, as `Ordered.of_bins` makes it: sums stay exact, outcomes can be redrawn.

        Scores are the means of their cells, whatever precision they came in; `entry_starts` tells which bins they
        belong to.
        """
        return Ordered.of_bins(self.cells(), weight=self.weight_max if self.has_equal_weights else None)

    def entry_starts(self, m: int) -> IndexArray:
        """Return the first entry of `ordered()` in each of m <= 100 width bins, and the number of entries."""
        filled = np.flatnonzero(self.cells().count)
        return np.searchsorted(filled, np.append(grid_starts(m), CELLS))

    def cells(self) -> BinTable:
        """Return the table of the cells themselves."""
        return BinTable(grid_edges(), self.sums)
