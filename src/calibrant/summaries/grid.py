"""Sums per cell of a fixed grid of [0, 1]: constant size, whatever the number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from calibrant.errors import SummaryError
from calibrant.inputs import Binary
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.bins import GRID_ORDER, grid_edges, grid_starts, width_edges
from calibrant.primitives.cell_sums import COLUMNS, cell_sums
from calibrant.summaries.base import Summary
from calibrant.summaries.bin_table import BinTable

CELLS = 3044  # the Farey fractions of order 100 cut [0, 1] into so many


@dataclass(frozen=True, eq=False, repr=False)
class Grid(Summary):
    """Ten sums per cell. Its edges include every k/m with m <= 100, so that such width bins are exact.

    A score is put into its cell in the precision it came in. `weight_max` is the largest weight seen.
    """

    sums: FloatArray  # (10, CELLS), rows named by primitives.cell_sums.COLUMNS
    weight_max: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sums.shape != (len(COLUMNS), CELLS):
            raise SummaryError(f"a Grid has sums of shape {(len(COLUMNS), CELLS)}; got {self.sums.shape}")

    @classmethod
    def of(cls, rows: Binary) -> Self:
        """Return the grid of these rows."""
        return cls(cell_sums(rows.y, rows.p, rows.w), float(rows.w.max(initial=0.0)))

    @classmethod
    def zero(cls) -> Self:
        """Return the grid of no rows."""
        return cls(np.zeros((len(COLUMNS), CELLS)), 0.0)

    def merged(self, other: Self) -> Self:
        """Return the grid of the rows of both."""
        return type(self)(self.sums + other.sums, max(self.weight_max, other.weight_max))

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

    def cells(self) -> BinTable:
        """Return the table of the cells themselves."""
        return BinTable(grid_edges(), self.sums)
