"""Sums per cell of the fixed grid: the one pass behind all binned errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray, is_unit
from calibrant.primitives.bins import grid_edges
from calibrant.primitives.cell_lookup import cell_of, lookup
from calibrant.primitives.cell_steps import cell_steps
from calibrant.primitives.dispatch import CACHE_LINE, chunks, on_threads, takes_fast_body

COLUMNS = ("n", "w", "w2", "wp", "wy", "w2y", "wv", "w2v", "wr2", "w2r2", "w2v2")
"""n rows, then sums of w, w², wp, wy, w²y, wv, w²v, wr², w²r², w²v² with v = p(1-p) and r = y - p."""

FAST_CHUNK = 1 << 20


class Piece(NamedTuple):
    """Outcomes and scores of consecutive rows of weight 1."""

    y: NDArray[np.uint8]
    p: NDArray[np.floating[Any]]


def cell_sums(y: NDArray[np.uint8], p: NDArray[np.floating[Any]], w: FloatArray) -> FloatArray:
    """Return an array (11, cells) of the sums named in `COLUMNS`."""
    body = _fast if takes_fast_body(p.shape[0]) else _reference
    return _columns(body(y, p, w))


def cell_sums_of_pieces(pieces: Iterable[Piece]) -> FloatArray | None:
    """Return what `cell_sums` returns of the rows of all pieces by its compiled body, to the bit, without joining them.

    Rows need not be legal: None is returned if an outcome is not 0 or 1, or a score not in [0, 1]. Each piece is asked
    for when the one before is counted.
    """
    from calibrant.primitives.cell_loops import of_rows  # imports Numba

    sums = _no_sums(4)
    total, room = np.zeros_like(sums), FAST_CHUNK
    for y, p in pieces:
        tables = (*lookup(p.dtype.name), *cell_steps(p.dtype.name))
        start = 0
        while start < p.shape[0]:
            if room == 0:  # the same cuts, so the same rounding
                total += sums
                sums[:] = 0
                room = FAST_CHUNK
            part = slice(start, start + room)
            q = np.ascontiguousarray(p[part], dtype=np.float64)
            if not of_rows(np.ascontiguousarray(y[part]), q, *tables, sums):
                return None
            start, room = start + q.shape[0], room - q.shape[0]
    total += sums
    return _columns(_spread_unit(total.T))


def _no_sums(columns: int) -> FloatArray:
    """Return a row of zeros for each cell and outcome; none lies in two lines of the cache."""
    rows, line = 2 * (grid_edges().size - 1), CACHE_LINE // 8
    room = np.zeros(rows * columns + line)
    start = -(room.ctypes.data // 8) % line
    return room[start : start + rows * columns].reshape(rows, columns)


def _columns(sums: Sequence[FloatArray]) -> FloatArray:
    """Turn the sums of (1, w, w², wt, w²t, wt², w²t², w²v²) per cell and outcome into the columns of a grid.

    t is the smaller one of p and 1 - p, which of them depends on the cell. No difference below loses digits, however
    near p is to 0 or 1: v = t - t², and r² is t² where the outcome was the probable one, else 1 - 2t + t².
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


def _spread_unit(total: FloatArray) -> Sequence[FloatArray]:
    """Return the eight sums from those of (1, t, t², v²), which suffice for weights of 1."""
    return [total[k] for k in (0, 0, 0, 1, 1, 2, 2, 3)]


def _fast(y: NDArray[np.uint8], p: NDArray[np.floating[Any]], w: FloatArray) -> Sequence[FloatArray]:
    from calibrant.primitives.cell_loops import of_rows, of_weighted_rows  # imports Numba

    unit, tables = is_unit(w), lookup(p.dtype.name)

    def work(part: slice) -> FloatArray:
        sums = _no_sums(4 if unit else 8)
        rows = (np.ascontiguousarray(y[part]), np.ascontiguousarray(p[part], dtype=np.float64))
        if unit:
            of_rows(*rows, *tables, *cell_steps(p.dtype.name), sums)
        else:
            of_weighted_rows(*rows, np.ascontiguousarray(w[part]), *tables, sums)
        return sums

    total = sum(on_threads(work, p.shape[0], size=FAST_CHUNK), np.zeros(()))
    return _spread_unit(total.T) if unit else list(total.T)
