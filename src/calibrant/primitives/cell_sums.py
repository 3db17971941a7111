"""Sums per cell of the fixed grid: the one pass behind all binned errors."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray, is_unit
from calibrant.primitives.bins import grid_edges, grid_uppers
from calibrant.primitives.dispatch import chunks, on_threads, takes_fast_body

COLUMNS = ("n", "w", "w2", "wp", "wy", "w2y", "wv", "w2v", "wr2", "w2r2")
"""n rows, then sums of w, w², wp, wy, w²y, wv, w²v, wr², w²r² with v = p(1-p) and r = y - p."""

BUCKETS = 1 << 14  # finer than the narrowest cell, 1/9900, so that a bucket of [0, 1] meets two cells at most
FAST_CHUNK = 1 << 20


def cell_sums(y: NDArray[np.uint8], p: NDArray[np.floating[Any]], w: FloatArray) -> FloatArray:
    """Return an array (10, cells) of the sums named in `COLUMNS`."""
    body = _fast if takes_fast_body(p.shape[0]) else _reference
    return _columns(body(y, p, w))


def cell_of(p: NDArray[np.floating[Any]]) -> NDArray[np.intp]:
    """Return the cell of each score: the first whose upper edge is not below it."""
    upper, table, steps = _lookup(p.dtype.name)
    q = p.astype(np.float64, copy=False)
    cell: NDArray[np.intp] = table[(q * BUCKETS).astype(np.intp)]
    for _ in range(steps):
        cell += q > upper[cell]
    return cell


def _columns(sums: FloatArray) -> FloatArray:
    """Turn the sums of (1, w, w², wp, w²p, wv, w²v) per cell and outcome into the columns of a grid.

    r² = p - v where y = 0 and (1 - p) - v where y = 1, so that no pass over r is needed.
    """
    (n, w, w2, wp, w2p, wv, w2v) = sums.reshape(7, -1, 2).transpose(0, 2, 1)
    wr2 = np.maximum(wp[0] - wv[0], 0) + np.maximum(w[1] - wp[1] - wv[1], 0)
    w2r2 = np.maximum(w2p[0] - w2v[0], 0) + np.maximum(w2[1] - w2p[1] - w2v[1], 0)
    both = [column[0] + column[1] for column in (n, w, w2, wp, wv, w2v)]
    return np.stack([*both[:4], w[1], w2[1], *both[4:], wr2, w2r2])


def _reference(y: NDArray[np.uint8], p: NDArray[np.floating[Any]], w: FloatArray) -> FloatArray:
    size = 2 * (grid_edges().size - 1)
    total = np.zeros((7, size))
    unit = is_unit(w)
    for part in chunks(p.shape[0]):
        q = p[part].astype(np.float64, copy=False)
        key = cell_of(p[part])
        key *= 2
        key += y[part]

        def summed(column: FloatArray, key: NDArray[np.intp] = key) -> FloatArray:
            return np.asarray(np.bincount(key, column, minlength=size), dtype=np.float64)

        v = q * (1 - q)
        total[0] += np.bincount(key, minlength=size)
        if unit:
            total[3] += summed(q)
            total[5] += summed(v)
            continue
        x = w[part]
        xx = x * x
        for row, column in enumerate((x, xx, x * q, xx * q, x * v, xx * v), start=1):
            total[row] += summed(column)
    return _spread_unit(total) if unit else total


def _spread_unit(total: FloatArray) -> FloatArray:
    """Fill in the weighted sums, which for weights of 1 equal the plain ones."""
    total[1], total[2], total[4], total[6] = total[0], total[0], total[3], total[5]
    return total


@cache
def _lookup(dtype: str) -> tuple[FloatArray, NDArray[np.intp], int]:
    """Return the upper edges, the first possible cell of each bucket, and how many cells may follow it."""
    upper = grid_uppers(dtype)
    table = np.searchsorted(upper, np.arange(BUCKETS + 1) / BUCKETS, side="left")
    return upper, table, int(np.diff(table).max())


def _fast(y: NDArray[np.uint8], p: NDArray[np.floating[Any]], w: FloatArray) -> FloatArray:
    upper, table, _ = _lookup(p.dtype.name)
    unit = is_unit(w)
    kernel = _compiled()

    def work(part: slice) -> FloatArray:
        sums = np.zeros((2 * upper.size, 7))
        x = w[:1] if unit else w[part]
        kernel(
            np.ascontiguousarray(y[part]),
            np.ascontiguousarray(p[part], dtype=np.float64),
            np.ascontiguousarray(x),
            unit,
            upper,
            table,
            sums,
        )
        return sums

    total = np.zeros((2 * upper.size, 7))
    for sums in on_threads(work, p.shape[0], size=FAST_CHUNK):
        total += sums
    columns = np.ascontiguousarray(total.T)
    return _spread_unit(columns) if unit else columns


@cache
def _compiled() -> Any:
    import numba

    @numba.njit(nogil=True, cache=True)
    def kernel(y, p, w, unit, upper, table, sums):  # type: ignore[no-untyped-def]  # pragma: no cover
        for j in range(p.shape[0]):
            q = p[j]
            cell = table[int(q * BUCKETS)]
            while q > upper[cell]:
                cell += 1
            row = sums[2 * cell + y[j]]
            v = q * (1 - q)
            row[0] += 1.0
            if unit:
                row[3] += q
                row[5] += v
            else:
                x = w[j]
                row[1] += x
                row[2] += x * x
                row[3] += x * q
                row[4] += x * x * q
                row[5] += x * v
                row[6] += x * x * v

    return kernel
