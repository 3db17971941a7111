"""The double sum of class probabilities for many redrawn outcomes at once, predictions held fixed.

With r* = e_y* - p, U = K0 (w P) G and K0 the kernel matrix without its diagonal,

    Σ_{i≠j} w_i w_j k_ij r*_iᵀ G r*_j = Σ_{i≠j} w_i w_j k_ij G[y*_i, y*_j] - 2 Σ_i w_i U[i, y*_i] + Σ_i w_i p_i · U_i,

so that only the first sum meets every pair for every redraw.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.kernels.forms import VectorForm
from calibrant.primitives.dispatch import chunks, on_tiles, takes_fast_double_sum
from calibrant.primitives.pair_sums import each_block
from calibrant.primitives.vector_sums import ONE_THREAD, TILE, prediction_tile

LabelArray = NDArray[np.integer[Any]]

LABEL = "summing pairs of rows for redrawn outcomes"
ROWS_AT_ONCE = 1024
PRODUCT_GAIN = 8  # so many multiplications of a large product take the time of one term of a tile
GATHER_CLASSES = 4  # up to here a product per class is faster than looking up G for every pair and redraw


def redrawn_sums(form: VectorForm, Y: LabelArray, w: FloatArray) -> FloatArray:
    """Return Σ w_i w_j h_ij over i ≠ j for each row of labels Y (B, n), which replace the outcomes of the form."""
    x = form.P * w[:, None]
    same, U = (_fast if _takes_fast_body(form, len(Y)) else _reference)(form, Y, w, x)
    if form.G is not None:
        U = U @ form.G
    linear = np.zeros(len(Y))
    for part in chunks(form.n, ROWS_AT_ONCE):
        weighted = U[part] * w[part, None]
        linear += weighted[np.arange(len(weighted)), Y[:, part]].sum(axis=1)
    return np.asarray(2 * same - 2 * linear + (x * U).sum())


def _takes_fast_body(form: VectorForm, resamples: int) -> bool:
    K = form.P.shape[1]
    return (form.G is None or K > GATHER_CLASSES) and takes_fast_double_sum(form.n, resamples * K // PRODUCT_GAIN)


def _reference(form: VectorForm, Y: LabelArray, w: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Σ_{i<j} w_i w_j k_ij G[y_i, y_j] for each row of labels, and Σ_j k_ij w_j p_j: one product per class."""
    same, U = np.zeros(len(Y)), np.zeros_like(x)
    for rows, columns, values in each_block(prediction_tile(form), form.n, label=LABEL, threads=False):
        U[rows] += values @ x[columns]
        U[columns] += values.T @ x[rows]
        k = values * w[rows, None] * w[columns]
        first, second = Y[:, rows], Y[:, columns]
        for label in range(form.P.shape[1]):
            chosen = second == label
            here = chosen.any(axis=0)
            if form.G is None:
                left = first == label
                there = left.any(axis=0)
                left, part = left[:, there].astype(np.float64), k[np.ix_(there, here)]
            else:
                left, part = form.G[first, label], k[:, here]
            same += ((left @ part) * chosen[:, here]).sum(axis=1)
    return same, U


def _fast(form: VectorForm, Y: LabelArray, w: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the same as `_reference`, at a cost per pair that does not depend on the number of classes."""
    n, K = form.P.shape
    tile, rows = prediction_tile(form), list(chunks(n, TILE))
    labels = np.zeros(
        (len(rows) * TILE, len(Y)), dtype=np.uint8 if K <= 256 else np.uint16 if K <= 65536 else np.uint32
    )
    labels[:n] = Y.T
    compiled = _compiled() if form.G is None else _compiled_for_targets()
    target = () if form.G is None else (np.ascontiguousarray(form.G),)

    def work(tiles: NDArray[np.intp]) -> tuple[FloatArray, dict[int, FloatArray]]:
        same, parts = np.zeros(len(Y)), dict[int, FloatArray]()
        k = np.zeros((TILE, TILE))
        for a, b in tiles.tolist():
            values = tile(rows[a], rows[b])
            if a == b:
                values = np.triu(values, 1)
            for here, part in (a, _small_products(values, x[rows[b]])), (b, _small_products(values.T, x[rows[a]])):
                parts[here] = parts[here] + part if here in parts else part
            k[:] = 0.0
            np.multiply(values * w[rows[a], None], w[rows[b]], out=k[: len(values), : values.shape[1]])
            compiled(k, labels[a * TILE : (a + 1) * TILE], labels[b * TILE : (b + 1) * TILE], *target, same)
        return same, parts

    same, U = np.zeros(len(Y)), np.zeros_like(x)
    for some, parts in on_tiles(work, len(rows), label=LABEL):
        same += some
        for here, part in parts.items():
            U[rows[here]] += part
    return same, U


def _small_products(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return A B by products so small that BLAS starts no threads."""
    width = max(1, ONE_THREAD // A.size)
    product = np.empty((len(A), B.shape[1]))
    for k in range(0, B.shape[1], width):
        product[:, k : k + width] = A @ B[:, k : k + width]
    return product


@cache
def _compiled() -> Any:
    import numba

    @numba.njit(nogil=True, cache=True, fastmath={"contract"})
    def kernel(k, first, second, total):  # type: ignore[no-untyped-def]  # pragma: no cover
        # Four rows meet four at a time; the inner loop runs over the redraws, so that it becomes vector code.
        for i in range(0, k.shape[0], 4):
            y0, y1, y2, y3 = first[i], first[i + 1], first[i + 2], first[i + 3]
            for j in range(0, k.shape[1], 4):
                z0, z1, z2, z3 = second[j], second[j + 1], second[j + 2], second[j + 3]
                a0, a1, a2, a3 = k[i, j], k[i, j + 1], k[i, j + 2], k[i, j + 3]
                b0, b1, b2, b3 = k[i + 1, j], k[i + 1, j + 1], k[i + 1, j + 2], k[i + 1, j + 3]
                c0, c1, c2, c3 = k[i + 2, j], k[i + 2, j + 1], k[i + 2, j + 2], k[i + 2, j + 3]
                d0, d1, d2, d3 = k[i + 3, j], k[i + 3, j + 1], k[i + 3, j + 2], k[i + 3, j + 3]
                for t in range(total.shape[0]):
                    p, q, r, s = z0[t], z1[t], z2[t], z3[t]
                    y = y0[t]
                    v = (a0 if p == y else 0.0) + (a1 if q == y else 0.0)
                    v += (a2 if r == y else 0.0) + (a3 if s == y else 0.0)
                    y = y1[t]
                    v += (b0 if p == y else 0.0) + (b1 if q == y else 0.0)
                    v += (b2 if r == y else 0.0) + (b3 if s == y else 0.0)
                    y = y2[t]
                    v += (c0 if p == y else 0.0) + (c1 if q == y else 0.0)
                    v += (c2 if r == y else 0.0) + (c3 if s == y else 0.0)
                    y = y3[t]
                    v += (d0 if p == y else 0.0) + (d1 if q == y else 0.0)
                    v += (d2 if r == y else 0.0) + (d3 if s == y else 0.0)
                    total[t] += v

    return kernel


@cache
def _compiled_for_targets() -> Any:
    import numba

    @numba.njit(nogil=True, cache=True, fastmath={"contract"})
    def kernel(k, first, second, G, total):  # type: ignore[no-untyped-def]  # pragma: no cover
        for i in range(k.shape[0]):
            y = first[i]
            for j in range(0, k.shape[1], 4):
                a, b, c, d = k[i, j], k[i, j + 1], k[i, j + 2], k[i, j + 3]
                p, q, r, s = second[j], second[j + 1], second[j + 2], second[j + 3]
                for t in range(total.shape[0]):
                    v = a * G[y[t], p[t]] + b * G[y[t], q[t]]
                    total[t] += v + c * G[y[t], r[t]] + d * G[y[t], s[t]]

    return kernel
