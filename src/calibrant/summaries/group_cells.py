"""A `Grid` for each of many groups of rows, of which only the cells in use are kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import SummaryError
from calibrant.inputs import Binary
from calibrant.inputs.groups import Grouping
from calibrant.inputs.weights import FloatArray, is_unit
from calibrant.primitives.cells import COLUMNS, cell_of
from calibrant.summaries.base import Summary
from calibrant.summaries.grid import CELLS, Grid

MOST_CELLS = 1 << 23  # of all groups, for which a table takes less time than to sort the rows


@dataclass(frozen=True, eq=False, repr=False)
class GroupCells(Summary):
    """Sums per group and cell, in the order of the groups' names and the cells.

    `names` are those of the groups, in order; `group` and `cell` say which sums a column of `sums` has; `weight_max` is
    the largest weight of each group.
    """

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
