"""Cells of the simplex, kept sparsely: of the m^K products of K width bins at most n hold a row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.bins import IndexArray, bin_of, rounded, width_edges

KeyArray = NDArray[np.int64]

LARGEST_CODE = 2**62


class CellSums(NamedTuple):
    """Sums over the rows of each of c cells."""

    rows: NDArray[np.int64]  # (c,)
    w: FloatArray  # (c,) Σw
    wp: FloatArray  # (c, K) Σwp
    wy: FloatArray  # (c, K) Σw e_y


def bin_numbers(P: NDArray[np.floating[Any]], m: int) -> KeyArray:
    """Return the width bin of every component, an array of the shape of P; edges are compared in its dtype."""
    edges = rounded(width_edges(m), P.dtype.name)
    keys = np.empty(P.shape, np.int64)
    for k in range(P.shape[1]):
        keys[:, k] = bin_of(P[:, k].astype(np.float64, copy=False), edges)
    return keys


def distinct(keys: KeyArray) -> tuple[KeyArray, IndexArray]:
    """Return the different rows of keys >= 0 in lexicographic order, and the place of each row among them.

    A row is read as the digits of one whole number. Where that would grow too large the numbers so far are replaced
    by their ranks, which keeps their order: nothing is hashed, so that nothing collides.
    """
    if not keys.shape[0]:
        return keys, np.zeros(0, np.intp)
    code, span = np.zeros(keys.shape[0], np.int64), 1
    for column in keys.T:
        base = int(column.max()) + 1
        if span > LARGEST_CODE // base:
            values, code = np.unique(code, return_inverse=True)
            span = values.size
        code = code * base + column
        span *= base
    _, first, place = np.unique(code, return_index=True, return_inverse=True)
    return keys[first], place


def sums_by_cell(
    place: IndexArray, cells: int, y: NDArray[Any], P: NDArray[np.floating[Any]], w: FloatArray
) -> CellSums:
    """Return the sums over the rows of each cell, given the cell of each row."""
    K = P.shape[1]

    def summed(column: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(place, column, minlength=cells), dtype=np.float64)

    wp = np.empty((cells, K))
    for k in range(K):
        wp[:, k] = summed(w * P[:, k])
    wy: FloatArray = np.bincount(place * K + y, w, minlength=cells * K).astype(np.float64).reshape(cells, K)
    return CellSums(np.bincount(place, minlength=cells), summed(w), wp, wy)


def added_cells(keys: KeyArray, sums: CellSums, others: KeyArray, more: CellSums) -> tuple[KeyArray, CellSums]:
    """Return the cells of two sets of rows, each with its different keys."""
    found, place = distinct(np.concatenate([keys, others]))
    here, there = place[: keys.shape[0]], place[keys.shape[0] :]

    def added(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        total = np.zeros((found.shape[0], *a.shape[1:]), a.dtype)
        total[here] = a
        total[there] += b
        return total

    return found, CellSums(*(added(a, b) for a, b in zip(sums, more, strict=True)))
