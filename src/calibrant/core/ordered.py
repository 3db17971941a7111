"""The rows sorted by score, equal ones pooled: nothing is lost but the order of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.core.bins import (
    COLUMNS,
    BinTable,
    bin_of,
    edges_at,
    joined_edges,
    mass_ends,
    rounded,
    similar_ends,
    width_edges,
)
from calibrant.core.pool import Pool, WalkRange, merge_pools, pool_rows, tie_ends, walk
from calibrant.core.summary import Summary, one_precision
from calibrant.inputs.arrays import FloatArray, is_unit, take_weights, unit_weights
from calibrant.inputs.probabilities import Binary


@dataclass(frozen=True, eq=False, repr=False)
class Ordered(Summary):
    """One entry per different (score, weight), in that order: its number of rows and of events.

    Different weights have different entries, so outcomes can be redrawn from the scores, and every weighted sum
    follows. `dtype` is the precision of the scores, in which bin edges are compared.
    """

    grows = True
    score: FloatArray
    weight: FloatArray
    count: NDArray[np.int64]
    events: NDArray[np.int64]
    dtype: str

    def __post_init__(self) -> None:
        if self.weight.strides != (0,) and (self.weight == 1).all():
            object.__setattr__(self, "weight", unit_weights(self.weight.size))
        super().__post_init__()

    @classmethod
    def of(cls, rows: Binary) -> Self:
        """Sort and pool these rows."""
        return cls(*pool_rows(rows.y, rows.p, rows.w), rows.p.dtype.name)

    @classmethod
    def of_bins(cls, table: BinTable, *, weight: float | None) -> Self:
        """Return one entry per bin that contains rows; `weight` is that of every row, or None if weights differ.

        An entry has the mean score of its bin, (Σw)²/Σw² rows (rounded), and the weight that makes their sum Σw. Sums
        of weights, predictions and events stay exact, and redrawn event weights have the mean and nearly the variance
        that they have row by row. The events need not be whole numbers.
        """
        filled = table.count > 0
        w, w2, wp, wy = (column[filled] for column in (table.w, table.w2, table.wp, table.wy))
        rows = np.maximum(np.rint(w * w / w2), 1).astype(np.int64)
        weights = w / rows if weight is None else np.full(w.size, weight)
        events: Any = wy / weights
        return cls(_ascending(np.minimum(wp / w, 1.0)), weights, rows, events, "float64")

    def merged(self, other: Self) -> Self:
        return type(self)(*merge_pools(self.pool, other.pool), one_precision(self.dtype, other.dtype))

    @property
    def n(self) -> int:
        return int(self.count.sum())

    @property
    def pool(self) -> Pool:
        """The four columns."""
        return Pool(self.score, self.weight, self.count, self.events)

    @property
    def weight_max(self) -> float:
        """Largest weight."""
        return float(self.weight.max(initial=0.0))

    @property
    def has_equal_weights(self) -> bool:
        """Whether all rows weigh the same."""
        return is_unit(self.weight) or bool(self.weight.min() == self.weight.max())

    @cached_property
    def walk(self) -> WalkRange:
        """Extremes of the cumulative differences, before division by the total weight."""
        return walk(self.pool)

    @cached_property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.n) if is_unit(self.weight) else float((self.weight * self.count).sum())

    @property
    def effective(self) -> float:
        """The number of rows of equal weight that tell as much, W²/Σw²."""
        return self.total_weight**2 / float((self.weight**2 * self.count).sum())

    @property
    def mean_score(self) -> float:
        """Mean of the scores."""
        return sum(float((w * rows * p).sum()) for p, w, rows, _ in self.pool.pieces()) / self.total_weight

    def rows_at(self, numbers: NDArray[np.intp]) -> Binary:
        """Return rows by their number in the order of (score, weight); events come first among equal rows."""
        ends = np.cumsum(self.count)
        entry = np.searchsorted(ends, numbers, side="right")
        y = numbers - (ends[entry] - self.count[entry]) < self.events[entry]
        return Binary(y.view(np.uint8), self.score[entry], take_weights(self.weight, entry))

    def starts(self) -> NDArray[np.intp]:
        """Return the first entry of each different score."""
        ends = np.flatnonzero(tie_ends(self.score))
        return np.concatenate(([0], ends[:-1] + 1)).astype(np.intp)

    def by_score(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return the sums of a column over the entries of each different score."""
        if is_unit(self.weight):  # one entry per score
            return column
        return np.asarray(np.add.reduceat(column, self.starts()))

    @property
    def unique_scores(self) -> FloatArray:
        """The different scores, ascending."""
        return self.score if is_unit(self.weight) else self.score[self.starts()]

    @property
    def weight_by_score(self) -> NDArray[Any]:
        """Σw of each different score: whole numbers when there are no weights."""
        return self.count if is_unit(self.weight) else self.by_score(self.weight * self.count)

    @property
    def event_weight_by_score(self) -> NDArray[Any]:
        """Σwy of each different score: whole numbers when there are no weights."""
        return self.events if is_unit(self.weight) else self.by_score(self.weight * self.events)

    def edges(self, m: int, strategy: str) -> FloatArray:
        """Return the edges of m width bins, of at most m mass bins, or of at most m ranges of similar scores."""
        if strategy == "width":
            return width_edges(m)
        ends = {"mass": mass_ends, "similar": similar_ends}[strategy]
        return edges_at(self.unique_scores, ends(np.cumsum(self.weight_by_score), m))

    def bin_starts(self, edges: FloatArray) -> NDArray[np.intp]:
        """Return the first entry of each bin, and the number of entries; edges are compared as the scores see them."""
        inner = np.searchsorted(self.score, rounded(edges, self.dtype)[1:-1], side="right")
        return np.concatenate(([0], inner, [self.score.size])).astype(np.intp)

    def bins(self, edges: FloatArray) -> BinTable:
        """Return the table of the bins between these edges, in chunks: no column is as long as the data."""
        seen, m = rounded(edges, self.dtype), edges.size - 1
        sums = np.zeros((len(COLUMNS), m))
        for piece in self.pool.pieces():
            number = bin_of(piece.score, seen)
            for row, column in enumerate(cell_columns(piece)):
                sums[row] += np.bincount(number, column, minlength=m)
        return BinTable(edges, sums)

    @cached_property
    def _similar(self) -> dict[int, BinTable]:
        return {}

    def similar(self, m: int) -> BinTable:
        """Return the table of at most m ranges of similar scores; it is kept, because much is read off it."""
        if m not in self._similar:
            self._similar[m] = self.bins(self.edges(m, "similar"))
        return self._similar[m]

    def at_most(self, m: int, *, width_bins: int = 1) -> Ordered:
        """Return the rows themselves if they have at most m entries, else one entry per mass bin, about m of them.

        The bins are also cut at the edges of the given width bins, whose sums stay exact; see `of_bins`.
        """
        if self.score.size <= m:
            return self
        table = self.bins(joined_edges(self.edges(m, "mass"), width_edges(width_bins)))
        return Ordered.of_bins(table, weight=1.0 if is_unit(self.weight) else None)


def _ascending(score: FloatArray) -> FloatArray:
    """Return means of consecutive bins, each above the one before it even where rounding made them equal."""
    step = np.arange(score.size)
    bits = np.maximum.accumulate(score.view(np.int64) - step) + step  # the bits of numbers from 0 on order like them
    most = np.ones(()).view(np.int64) - step[::-1]
    return np.asarray(np.minimum(bits, most).view(np.float64))


class TwoColumns(Ordered):
    """An `Ordered` of two columns (1 - p, p), by the second column.

    The total variation distance of two rows is |p - p'|, as for one probability per row; other distances are longer.
    """


def cell_columns(pool: Pool) -> Iterator[NDArray[Any]]:
    """Yield the columns of a grid for each entry, one at a time, in the order of `COLUMNS`."""
    p, w, rows, events = pool
    v = p * (1 - p)
    r2 = events * (1 - p) ** 2 + (rows - events) * p**2
    yield from (rows, w * rows, w * w * rows, w * p * rows, w * events, w * w * events)
    yield from (w * v * rows, w * w * v * rows, w * r2, w * w * r2, (w * v) ** 2 * rows)


SAME_WITHOUT_WEIGHTS = {"w": "n", "w2": "n", "w2y": "wy", "w2v": "wv", "w2r2": "wr2"}


def sums_by_key(rows: Binary, key: NDArray[np.intp], size: int) -> FloatArray:
    """Return the sums (11, size) of the columns of a grid over the rows of each key, a number below `size`."""
    found: dict[str, FloatArray] = {}
    p = rows.p.astype(np.float64, copy=False)
    columns = cell_columns(Pool(p, rows.w, unit_weights(p.size), rows.y))  # type: ignore[arg-type]  # one row each
    for name, column in zip(COLUMNS, columns, strict=True):
        same = SAME_WITHOUT_WEIGHTS.get(name) if is_unit(rows.w) else None
        found[name] = found[same] if same else np.bincount(key, column, minlength=size).astype(np.float64)
    return np.stack(list(found.values()))
