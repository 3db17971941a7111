"""Cells of the fixed grid: the cell of each score, and the sums per cell behind all binned errors.

The cell of a score is looked up in a table. The key is the leading bits of t, the distance of the score from 0 or 1,
whichever is nearer: its exponent and the first 12 bits of its fraction. Scores with the same key lie in one cell or in
two neighbouring ones, so one comparison with the upper edge of the first decides.

The sums have two bodies, one in NumPy and one in `cell_loops`, which is imported when it is first needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.bins import COLUMNS, FINEST, IndexArray, grid_edges, grid_uppers
from calibrant.core.dispatch import chunks, on_threads, takes_fast_body
from calibrant.inputs.arrays import FloatArray, is_unit

KEY_SHIFT = 40  # leaves the exponent of a float64 and 12 bits: steps of 2^-14 near 1/2, where cells are 1/9900 or wider
FAST_CHUNK = 1 << 20


class Lookup(NamedTuple):
    """The table that gives the cells of scores of one precision.

    A key is the leading bits of the distance t. `table` has the first cell of each key from `first_key` on; its second
    half is for scores above 1/2. `upper` has the upper edge of each cell, and `key_shift` is `KEY_SHIFT`.
    """

    upper: FloatArray
    table: NDArray[np.uint16]
    key_shift: int
    first_key: int


@cache
def lookup(dtype: str) -> Lookup:
    finest, half = np.array([2.0**-FINEST, 0.5]).view(np.int64) >> KEY_SHIFT
    smallest = (np.arange(finest, half + 2) << KEY_SHIFT).view(np.float64)  # distance of each key, and of the next
    distances = np.concatenate([[0.0], smallest])  # distances below 2^-24 share the first key
    low, high = distances[:-1], np.nextafter(1 - distances[1:], 1)
    upper = grid_uppers(dtype)
    table = np.searchsorted(upper, _rounded_up(np.concatenate([low, high]), dtype))
    return Lookup(upper, table.astype(np.uint16), KEY_SHIFT, int(finest) - 1)


def _rounded_up(numbers: FloatArray, dtype: str) -> FloatArray:
    """Return the smallest score of this precision that is not below each number."""
    seen = numbers.astype(dtype)
    above = np.nextafter(seen, np.ones((), dtype))
    return np.where(seen < numbers, above, seen).astype(np.float64)


def cell_of(p: NDArray[np.floating[Any]]) -> IndexArray:
    """Return the cell of each score: the first whose upper edge is not below it."""
    upper, table, key_shift, first_key = lookup(p.dtype.name)
    q = p.astype(np.float64, copy=False)
    t = np.minimum(q, 1 - q)
    key = np.maximum(t.view(np.int64) >> key_shift, first_key) - first_key + table.size // 2 * (q > 0.5)
    cell: IndexArray = table.take(key).astype(np.intp)
    cell += q > upper.take(cell)
    return cell


class UnitRows(NamedTuple):
    """Outcomes and scores of consecutive rows of weight 1."""

    y: NDArray[np.uint8]
    p: NDArray[np.floating[Any]]


def cell_sums(y: NDArray[np.uint8], p: NDArray[np.floating[Any]], w: FloatArray) -> FloatArray:
    body = _fast if takes_fast_body(p.shape[0]) else _reference
    return _columns(body(y, p, w))


def cell_sums_of_pieces(pieces: Iterable[UnitRows]) -> FloatArray | None:
    """Return the `cell_sums` of the rows of all pieces, as the compiled body computes them, without joining the pieces.

    Rows are checked: None is returned if an outcome is not 0 or 1, or if a score is not in [0, 1]. Each piece is
    requested after the previous one has been counted.
    """
    from calibrant.core.cell_loops import add_rows

    sums = _no_sums(4)
    total, room = np.zeros_like(sums), FAST_CHUNK
    for y, p in pieces:
        start = 0
        while start < p.shape[0]:
            if room == 0:  # cut where `_fast` cuts, to round in the same way
                total += sums
                sums[:] = 0
                room = FAST_CHUNK
            part = slice(start, start + room)
            q = np.ascontiguousarray(p[part], dtype=np.float64)
            if not add_rows(np.ascontiguousarray(y[part]), q, *lookup(p.dtype.name), sums):
                return None
            start, room = start + q.shape[0], room - q.shape[0]
    total += sums
    return _columns(_spread_unit(total.T))


def _no_sums(columns: int) -> FloatArray:
    return np.zeros((2 * (grid_edges().size - 1), columns))


def _columns(sums: Sequence[FloatArray]) -> FloatArray:
    """Turn the sums of (1, w, w², wt, w²t, wt², w²t², w²v²) per cell and outcome into the columns of a grid.

    t is the smaller of p and 1 - p; which of them depends on the cell. No difference below loses digits, however near p
    is to 0 or 1: v = t - t², and r² is t² if the outcome was the more probable one, else 1 - 2t + t².
    """
    high = grid_edges()[:-1] >= 0.5
    found = np.zeros((len(COLUMNS), high.size))
    for outcome in (0, 1):
        n, w, w2, wt, w2t, wtt, w2tt, w2v2 = (column[outcome::2] for column in sums)
        surprise = ~high if outcome else high
        wr2, w2r2 = np.where(surprise, w - 2 * wt + wtt, wtt), np.where(surprise, w2 - 2 * w2t + w2tt, w2tt)
        events = (w, w2) if outcome else (0.0, 0.0)
        more = (n, w, w2, np.where(high, w - wt, wt), *events, wt - wtt, w2t - w2tt, wr2, w2r2, w2v2)
        for k, column in enumerate(more):
            found[k] += column
    return found


def _reference(y: NDArray[np.uint8], p: NDArray[np.floating[Any]], w: FloatArray) -> Sequence[FloatArray]:
    size = 2 * (grid_edges().size - 1)
    unit = is_unit(w)
    total = np.zeros((4 if unit else 8, size))
    for part in chunks(p.shape[0]):
        q = p[part].astype(np.float64, copy=False)
        key = cell_of(p[part])
        key *= 2
        key += y[part]
        t = np.minimum(q, 1 - q)
        total[0] += np.bincount(key, minlength=size)
        for row, column in enumerate(_of_rows(t) if unit else _of_weighted_rows(t, w[part]), start=1):
            total[row] += np.bincount(key, column, minlength=size)
    return _spread_unit(total) if unit else list(total)


def _of_rows(t: FloatArray) -> Sequence[FloatArray]:
    tt = t * t
    return t, tt, (t - tt) ** 2


def _of_weighted_rows(t: FloatArray, w: FloatArray) -> Sequence[FloatArray]:
    wt = w * t
    wtt = wt * t
    return w, w * w, wt, w * wt, wtt, w * wtt, (wt - wtt) ** 2


def _spread_unit(total: FloatArray) -> Sequence[FloatArray]:
    """Return the eight sums from the sums of (1, t, t², v²), which suffice for weights of 1."""
    return [total[k] for k in (0, 0, 0, 1, 1, 2, 2, 3)]


def _fast(y: NDArray[np.uint8], p: NDArray[np.floating[Any]], w: FloatArray) -> Sequence[FloatArray]:
    from calibrant.core.cell_loops import add_rows, add_weighted_rows

    unit, tables = is_unit(w), lookup(p.dtype.name)

    def work(part: slice) -> FloatArray:
        sums = _no_sums(4 if unit else 8)
        rows = (np.ascontiguousarray(y[part]), np.ascontiguousarray(p[part], dtype=np.float64))
        if unit:
            add_rows(*rows, *tables, sums)
        else:
            add_weighted_rows(*rows, np.ascontiguousarray(w[part]), *tables, sums)
        return sums

    total = sum(on_threads(work, p.shape[0], size=FAST_CHUNK), _no_sums(4 if unit else 8))
    return _spread_unit(total.T) if unit else list(total.T)
