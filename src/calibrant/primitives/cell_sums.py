"""Sums per cell of the fixed grid: the one pass behind all binned errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray, is_unit
from calibrant.primitives.bins import IndexArray, fine_edges, grid_edges, grid_uppers
from calibrant.primitives.cell_loops import BELOW, BUCKETS, FIRST_KEY, KEY_SHIFT, TAIL, TAIL_KEYS, cell_loops
from calibrant.primitives.dispatch import chunks, on_threads, takes_fast_body

COLUMNS = ("n", "w", "w2", "wp", "wy", "w2y", "wv", "w2v", "wr2", "w2r2", "w2v2")
"""n rows, then sums of w, w², wp, wy, w²y, wv, w²v, wr², w²r², w²v² with v = p(1-p) and r = y - p."""

FAST_CHUNK = 1 << 20


class Lookup(NamedTuple):
    """How scores of one precision find their cells: `upper` edges, and the first cell a bucket meets."""

    upper: FloatArray
    table: NDArray[np.uint16]


class Piece(NamedTuple):
    """Outcomes and scores of consecutive rows of weight 1."""

    y: NDArray[np.uint8]
    p: NDArray[np.floating[Any]]


def cell_sums(y: NDArray[np.uint8], p: NDArray[np.floating[Any]], w: FloatArray) -> FloatArray:
    """Return an array (11, cells) of the sums named in `COLUMNS`."""
    body = _fast if takes_fast_body(p.shape[0]) else _reference
    return _columns(body(y, p, w))


def cell_sums_of_pieces(pieces: Iterable[Piece]) -> FloatArray:
    """Return what `cell_sums` returns of the rows of all pieces by its compiled body, to the bit, without joining them.

    Each piece is asked for when the one before is counted, so that it is in the cache still when it is made here.
    """
    loop = cell_loops().of_rows
    total = sums = np.zeros((2 * (grid_edges().size - 1), 4))
    room = 0
    for y, p in pieces:
        upper, table = lookup(p.dtype.name)
        start = 0
        while start < p.shape[0]:
            if room == 0:  # the same cuts, so the same rounding
                total = total + sums
                sums, room = np.zeros_like(total), FAST_CHUNK
            part = slice(start, start + room)
            q = np.ascontiguousarray(p[part], dtype=np.float64)
            loop(np.ascontiguousarray(y[part]), q, upper, table, sums)
            start, room = start + q.shape[0], room - q.shape[0]
    return _columns(_spread_unit(np.ascontiguousarray((total + sums).T)))


def cell_of(p: NDArray[np.floating[Any]]) -> IndexArray:
    """Return the cell of each score: the first whose upper edge is not below it."""
    upper, table = lookup(p.dtype.name)
    q = p.astype(np.float64, copy=False)
    cell: IndexArray = table.take(_bucket(q)).astype(np.intp)
    cell += q > upper.take(cell)
    return cell


def _bucket(q: FloatArray) -> IndexArray:
    """Return the place of each score in the table."""
    bucket: IndexArray = (q * BUCKETS).astype(np.intp)
    t = np.minimum(q, 1 - q)
    tail = np.flatnonzero(t < TAIL)
    # Near 0 and 1: the exponent and the first 5 bits of the distance; all below 2^-24 share one key.
    key = np.maximum(t.take(tail).view(np.int64) >> KEY_SHIFT, FIRST_KEY)
    bucket[tail] = BELOW + key + TAIL_KEYS * (q.take(tail) > 0.5)
    return bucket


def _columns(sums: FloatArray) -> FloatArray:
    """Turn the sums of (1, w, w², wt, w²t, wt², w²t², w²v²) per cell and outcome into the columns of a grid.

    t is the smaller one of p and 1 - p, which of them depends on the cell. No difference below loses digits, however
    near p is to 0 or 1: v = t - t², and r² is t² where the outcome was the probable one, else 1 - 2t + t².
    """
    (n, w, w2, wt, w2t, wtt, w2tt, w2v2) = sums.reshape(8, -1, 2).transpose(0, 2, 1)
    high = grid_edges()[:-1] >= 0.5
    surprise = np.stack([high, ~high])  # (outcome, cell)
    wp = np.where(high, w - wt, wt)
    wr2, w2r2 = np.where(surprise, w - 2 * wt + wtt, wtt), np.where(surprise, w2 - 2 * w2t + w2tt, w2tt)
    both = [column[0] + column[1] for column in (n, w, w2, wp, wt - wtt, w2t - w2tt, wr2, w2r2, w2v2)]
    return np.stack([*both[:4], w[1], w2[1], *both[4:]])


def _reference(y: NDArray[np.uint8], p: NDArray[np.floating[Any]], w: FloatArray) -> FloatArray:
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
    return _spread_unit(total) if unit else total


def _of_rows(t: FloatArray) -> Iterator[FloatArray]:
    """Yield the columns t, t², v²."""
    tt = t * t
    yield from (t, tt, (t - tt) ** 2)


def _of_weighted_rows(t: FloatArray, w: FloatArray) -> Iterator[FloatArray]:
    """Yield the columns w, w², wt, w²t, wt², w²t², w²v², one at a time."""
    w2, wt = w * w, w * t
    wtt = wt * t
    yield from (w, w2, wt)
    yield w * wt
    yield wtt
    yield w * wtt
    yield (wt - wtt) ** 2


def _spread_unit(total: FloatArray) -> FloatArray:
    """Return the eight sums from those of (1, t, t², v²), which suffice for weights of 1."""
    return total[[0, 0, 0, 1, 1, 2, 2, 3]]


@cache
def lookup(dtype: str) -> Lookup:
    """Return how scores of this precision find their cells: after the table at most one step is left."""
    fine = fine_edges()[: TAIL_KEYS - 1]  # the least number of each key but the first
    least = [np.arange(BUCKETS + 1) / BUCKETS, [0.0], fine, np.nextafter(1 - np.append(fine, TAIL), 1)]
    upper = grid_uppers(dtype)
    return Lookup(upper, np.searchsorted(upper, _next(np.concatenate(least), dtype)).astype(np.uint16))


def _next(numbers: FloatArray, dtype: str) -> FloatArray:
    """Return the least score of this precision that is not below each number: what a coarse score skips is no step."""
    seen = numbers.astype(dtype)
    above = np.nextafter(seen, np.ones((), dtype))
    return np.where(seen < numbers, above, seen).astype(np.float64)


def _fast(y: NDArray[np.uint8], p: NDArray[np.floating[Any]], w: FloatArray) -> FloatArray:
    upper, table = lookup(p.dtype.name)
    unit = is_unit(w)
    loop = cell_loops().of_rows if unit else cell_loops().of_weighted_rows

    def work(part: slice) -> FloatArray:
        sums = np.zeros((2 * upper.size, 4 if unit else 8))
        rows = (np.ascontiguousarray(y[part]), np.ascontiguousarray(p[part], dtype=np.float64))
        weights = () if unit else (np.ascontiguousarray(w[part]),)
        loop(*rows, *weights, upper, table, sums)
        return sums

    total = sum(on_threads(work, p.shape[0], size=FAST_CHUNK), np.zeros(()))
    columns = np.ascontiguousarray(total.T)
    return _spread_unit(columns) if unit else columns
