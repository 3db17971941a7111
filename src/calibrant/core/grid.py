"""Sums per cell of a fixed grid of [0, 1]: constant size, whatever the number of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.core.bins import GRID_ORDER, BinTable, IndexArray, grid_edges, grid_starts, width_edges
from calibrant.core.cells import COLUMNS, Piece, cell_of, cell_sums, cell_sums_of_pieces
from calibrant.core.ordered import Ordered
from calibrant.core.summary import MOST_ROWS, Summary, one_precision
from calibrant.errors import SummaryError
from calibrant.inputs.arrays import FloatArray, is_unit
from calibrant.inputs.groups import Grouping
from calibrant.inputs.probabilities import Binary

CELLS = 4150  # the Farey fractions of order 100 and the finer edges near 0 and 1 cut [0, 1] into so many
ROUNDING = 2.0**-52  # of a sum, per row of it
SLACK = 1e-6  # by which rounding may make one sum of many rows larger than another


@dataclass(frozen=True, eq=False, repr=False)
class Grid(Summary):
    """Eleven sums per cell. Its edges include every k/m with m <= 100, so that such width bins are exact.

    Near 0 and 1 cells are finer and finer, so that they tell scores of rare events apart. A score is put into its cell
    in the precision it came in, `dtype`, which is empty if nobody knows it. `weight_max` is the largest weight seen.
    """

    POSITIVE: ClassVar[tuple[str, ...]] = ("sums", "weight_max")
    sums: FloatArray  # (11, CELLS), rows named by core.cells.COLUMNS
    weight_max: float
    dtype: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sums.shape != (len(COLUMNS), CELLS):
            raise SummaryError(f"a Grid has sums of shape {(len(COLUMNS), CELLS)}; got {self.sums.shape}")

    def check_values(self) -> None:
        """Refuse sums that no rows have."""
        super().check_values()
        check_cells(self, self.sums)

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


def check_cells(summary: Summary, sums: FloatArray) -> None:
    """Refuse sums per cell (11, m) that no rows have: fractions of rows, weight without rows, more events than rows."""
    count, w, _, wp, wy, *_ = sums
    if (count != np.floor(count)).any() or count.sum() > MOST_ROWS:
        raise SummaryError(f"a {type(summary).__name__} must count whole rows, at most 2^53; these bytes hold others")
    if ((count > 0) != (w > 0)).any() or (np.maximum(wp, wy) > w * (1 + SLACK)).any():
        raise SummaryError(
            f"the cells of a {type(summary).__name__} must have weight where they have rows, and no more events or "
            "predicted events than that; these bytes hold others"
        )


MOST_CELLS = 1 << 23  # of all groups, for which a table takes less time than to sort the rows


@dataclass(frozen=True, eq=False, repr=False)
class GroupCells(Summary):
    """Sums per group and cell, in the order of the groups' names and the cells.

    `names` are those of the groups, in order; `group` and `cell` say which sums a column of `sums` has; `weight_max` is
    the largest weight of each group.
    """

    POSITIVE: ClassVar[tuple[str, ...]] = ("cell", "sums", "weight_max")
    names: tuple[str, ...]
    group: NDArray[np.int64]
    cell: NDArray[np.int64]
    sums: FloatArray  # (11, columns), rows named by primitives.cells.COLUMNS
    weight_max: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        k = self.group.size
        if self.cell.shape != (k,) or self.sums.shape != (len(COLUMNS), k):
            raise SummaryError(
                f"GroupCells of {k} entries has sums of shape {(len(COLUMNS), k)}; got {self.sums.shape}"
            )
        if self.weight_max.shape != (len(self.names),):
            raise SummaryError(
                f"GroupCells of {len(self.names)} groups has as many weights; got {self.weight_max.shape}"
            )
        if k and not (self.group.min() >= 0 and self.group.max() < len(self.names) and self.cell.max() < CELLS):
            raise SummaryError("GroupCells has an entry of a group or a cell that it does not know")

    def check_values(self) -> None:
        """Refuse sums that no rows have."""
        super().check_values()
        check_cells(self, self.sums)

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
        sums = np.stack(
            [np.bincount(entry, column, minlength=key.size).astype(np.float64) for column in _columns(rows)]
        )
        return cls(tuple(grouping.names[i] for i in order), key // CELLS, key % CELLS, sums, heaviest)

    @classmethod
    def zero(cls) -> Self:
        """Return the summary of no rows, in no groups."""
        none = np.zeros(0, np.int64)
        return cls((), none, none, np.zeros((len(COLUMNS), 0)), np.zeros(0))

    def merged(self, other: Self) -> Self:
        """Merge group by group; those of one name are one."""
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
        """Number of rows."""
        return int(self.sums[0].sum())

    def grids(self) -> Iterator[tuple[str, Grid]]:
        """Yield each group's name and grid."""
        starts = np.searchsorted(self.group, np.arange(len(self.names) + 1))
        for g, name in enumerate(self.names):
            part = slice(starts[g], starts[g + 1])
            sums = np.zeros((len(COLUMNS), CELLS))
            sums[:, self.cell[part]] = self.sums[:, part]
            yield name, Grid(sums, float(self.weight_max[g]))


def _different(key: NDArray[np.intp], size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the different keys, all below `size`, and the place of each row's among them."""
    if size > MOST_CELLS:
        found, entry = np.unique(key, return_inverse=True)
        return found, entry
    there = np.zeros(size, bool)
    there[key] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[key]


def _columns(rows: Binary) -> Iterator[NDArray[Any]]:
    """Yield the columns of a grid for each row, in the order of `COLUMNS`."""
    y, p, w = rows.y, rows.p.astype(np.float64, copy=False), rows.w
    v, r2 = p * (1 - p), (y - p) ** 2
    known = {"n": np.ones(len(p)), "w": w, "wp": w * p, "wy": w * y, "wv": w * v, "wr2": w * r2}
    known |= {"w2": w * w, "w2y": w * w * y, "w2v": w * w * v, "w2r2": w * w * r2, "w2v2": w * w * v * v}
    yield from (known[name] for name in COLUMNS)
