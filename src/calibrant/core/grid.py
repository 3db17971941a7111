"""Sums per cell of a fixed grid of [0, 1], over all rows or per group; their size does not grow with the rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from calibrant.core.bins import COLUMNS, GRID_ORDER, BinTable, IndexArray, grid_edges, grid_starts, width_edges
from calibrant.core.cells import UnitRows, cell_of, cell_sums, cell_sums_of_pieces
from calibrant.core.ordered import Ordered, sums_by_key
from calibrant.core.summary import Summary, one_precision
from calibrant.errors import SummaryError
from calibrant.inputs.arrays import FloatArray, is_unit
from calibrant.inputs.groups import Grouping
from calibrant.inputs.probabilities import Binary

CELLS = 4150  # between the Farey fractions of order 100 and the finer edges near 0 and 1
ROUNDING = 2.0**-52  # relative error of a sum, per row
MAX_TABLE_CELLS = 1 << 23  # of all groups together, up to which a table is quicker than sorting the rows


@dataclass(frozen=True, eq=False, repr=False)
class Grid(Summary):
    """Eleven sums per cell. The edges include every k/m with m <= 100, which makes such width bins exact.

    Cells get finer towards 0 and 1, to separate scores of rare events. A score is compared with edges in its original
    precision, `dtype`, which is empty if unknown. `weight_max` is the largest weight.
    """

    sums: FloatArray  # (11, CELLS), rows named by COLUMNS
    weight_max: float
    dtype: str = ""

    @classmethod
    def of(cls, rows: Binary) -> Self:
        """Return the grid of these rows."""
        return cls(cell_sums(rows.y, rows.p, rows.w), float(rows.w.max(initial=0.0)), rows.p.dtype.name)

    @classmethod
    def of_pieces(cls, pieces: Iterable[UnitRows], dtype: str) -> Self | None:
        """Return the grid of the rows of all pieces, without joining them; None if a row is not valid."""
        sums = cell_sums_of_pieces(pieces)
        return None if sums is None else cls(sums, 1.0, dtype)

    @classmethod
    def zero(cls) -> Self:
        return cls(np.zeros((len(COLUMNS), CELLS)), 0.0)

    def merged(self, other: Self) -> Self:
        dtype = one_precision(self.dtype, other.dtype)
        return type(self)(self.sums + other.sums, max(self.weight_max, other.weight_max), dtype)

    @property
    def n(self) -> int:
        return int(self.sums[0].sum())

    def bins(self, m: int) -> BinTable:
        """Return the exact table of m <= 100 width bins."""
        if m > GRID_ORDER:
            raise SummaryError(
                f"a Grid has width bins up to {GRID_ORDER}; got bins={m}. Make the summary with these bins instead"
            )
        return BinTable(width_edges(m), np.add.reduceat(self.sums, grid_starts(m), axis=1))

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.cells().w.sum())

    @property
    def effective(self) -> float:
        """The number of rows of equal weight that tell as much, W²/Σw²."""
        table = self.cells()
        return float(table.w.sum() ** 2 / table.w2.sum())

    @property
    def has_equal_weights(self) -> bool:
        """Whether all rows have the same weight, up to the rounding error of sums."""
        table = self.cells()
        heaviest = table.count * self.weight_max
        return bool((heaviest - table.w <= ROUNDING * table.count * heaviest).all())

    def ordered(self) -> Ordered:
        """Return one entry per cell in use, as `Ordered.of_bins` makes it: sums are exact, outcomes can be redrawn.

        Scores are the means of their cells, in float64; `entry_starts` tells which bins they belong to.
        """
        return Ordered.of_bins(self.cells(), weight=self.weight_max if self.has_equal_weights else None)

    def entry_starts(self, m: int) -> IndexArray:
        """Return the first entry of `ordered()` in each of m <= 100 width bins, and the number of entries."""
        filled = np.flatnonzero(self.cells().count)
        return np.searchsorted(filled, np.append(grid_starts(m), CELLS))

    def cells(self) -> BinTable:
        """Return the table of the cells themselves."""
        return BinTable(grid_edges(), self.sums)


@dataclass(frozen=True, eq=False, repr=False)
class GroupCells(Summary):
    """Sums per group and cell, ordered by the names of the groups and by cells.

    `names` are the sorted names of the groups; `group` and `cell` are those of each column of `sums`; `weight_max` is
    the largest weight of each group.
    """

    names: tuple[str, ...]
    group: NDArray[np.int64]
    cell: NDArray[np.int64]
    sums: FloatArray  # (11, columns), rows named by COLUMNS
    weight_max: FloatArray

    @classmethod
    def of(cls, rows: Binary, grouping: Grouping) -> Self:
        """Return the cells of these rows in these groups."""
        order = np.argsort(np.array(grouping.names, dtype=object), kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        code = place[grouping.code]
        key, entry = _different(code * CELLS + cell_of(rows.p), order.size * CELLS)
        heaviest = np.zeros(order.size)
        if is_unit(rows.w):
            heaviest[code] = 1.0
        else:
            np.maximum.at(heaviest, code, rows.w)
        sums = sums_by_key(rows, entry, key.size)
        return cls(tuple(grouping.names[i] for i in order), key // CELLS, key % CELLS, sums, heaviest)

    @classmethod
    def zero(cls) -> Self:
        none = np.zeros(0, np.int64)
        return cls((), none, none, np.zeros((len(COLUMNS), 0)), np.zeros(0))

    def merged(self, other: Self) -> Self:
        names = tuple(sorted({*self.names, *other.names}))
        place = {name: i for i, name in enumerate(names)}
        heaviest, keys = np.zeros(len(names)), []
        for part in (self, other):
            where = np.array([place[name] for name in part.names], dtype=np.int64)
            np.maximum.at(heaviest, where, part.weight_max)
            keys.append(where[part.group] * CELLS + part.cell)
        key, entry = np.unique(np.concatenate(keys), return_inverse=True)
        sums = np.zeros((len(COLUMNS), key.size))
        sums[:, entry[: keys[0].size]] = self.sums
        sums[:, entry[keys[0].size :]] += other.sums
        return type(self)(names, key // CELLS, key % CELLS, sums, heaviest)

    @property
    def n(self) -> int:
        return int(self.sums[0].sum())

    @property
    def group_sizes(self) -> NDArray[np.int64]:
        """The number of rows of each group."""
        return np.bincount(self.group, self.sums[0]).astype(np.int64)

    def grids(self) -> Iterator[Grid]:
        """Yield the sums of each group in all cells."""
        for g, (start, stop) in enumerate(pairwise([*self.starts, self.group.size])):
            sums = np.zeros((len(COLUMNS), CELLS))
            sums[:, self.cell[start:stop]] = self.sums[:, start:stop]
            yield Grid(sums, float(self.weight_max[g]))

    @property
    def starts(self) -> NDArray[np.intp]:
        """The first entry of each group."""
        return np.searchsorted(self.group, np.arange(len(self.names)))


def _different(key: NDArray[np.intp], size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the sorted different keys, all below `size`, and the index of each row's key among them."""
    if size > MAX_TABLE_CELLS:
        found, entry = np.unique(key, return_inverse=True)
        return found, entry
    there = np.zeros(size, bool)
    there[key] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[key]
