"""Sums of a term over pairs of rows of two different blocks: what is left where each block was summed alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calibrant.core.dispatch import chunks, on_one_thread
from calibrant.inputs.arrays import FloatArray, is_unit
from calibrant.kernels import pair_sums as vector_sums
from calibrant.kernels.forms import Form, VectorForm
from calibrant.kernels.pair_sums import tile_of
from calibrant.kernels.point_kernels import PointKernel
from calibrant.kernels.profile import profile_of
from calibrant.points.sums import pair_sums


def cross_sum(form: Form, w: FloatArray, split: int) -> float:
    """Return Σ w_i w_j h_ij over i < split <= j: every row of a first block with every row of a second one.

    In one thread: whoever cuts rows into blocks works at several of them at once.
    """
    if not 0 < split < form.n:
        return 0.0
    if isinstance(form, VectorForm) and vector_sums.takes_fast_body(form):
        return _fast_cross_sum(form, w, split)
    tile, unit, total = tile_of(form), is_unit(w), 0.0
    for rows in chunks(split, vector_sums.TILE):
        for columns in _after(split, form.n, vector_sums.TILE):
            h = tile(rows, columns)
            total += float(h.sum() if unit else w[rows] @ (h @ w[columns]))
    return total


def _fast_cross_sum(form: VectorForm, w: FloatArray, split: int) -> float:
    """Return the same, compiled: the body of `vector_sums` on panels that hold rows of one block each."""
    first, second = slice(0, split), slice(split, None)
    weights = w[:, None]

    def panels(X: FloatArray) -> FloatArray:
        return np.concatenate([vector_sums._panels(X[first]), vector_sums._panels(X[second])])

    P, R = panels(form.P), panels(form.R * weights)
    S = R if form.S is form.R else panels(form.S * weights)
    m = -(-split // vector_sums.TILE)
    tiles = _tiles(m, len(P))
    return float(vector_sums._compiled()(tiles, P, S, R, *profile_of(form.kernel)))


def point_cross_sum(A: FloatArray, B: FloatArray, kernel: PointKernel) -> float:
    """Return Σ k(a, b) over all points of two sets, in one thread."""
    if not len(A) or not len(B):
        return 0.0
    with on_one_thread():
        return float(pair_sums(np.concatenate([A, B]), kernel, (len(A), len(B)), within=False)[0, 1])


def _after(start: int, stop: int, size: int) -> Iterator[slice]:
    for part in chunks(stop - start, size):
        yield slice(part.start + start, part.stop + start)


def _tiles(split: int, m: int) -> np.ndarray[tuple[int, int], np.dtype[np.intp]]:
    """Return pairs (I, J), I < split <= J < m."""
    first, second = np.meshgrid(np.arange(split), np.arange(split, m), indexing="ij")
    return np.stack([first.reshape(-1), second.reshape(-1)], axis=1)
