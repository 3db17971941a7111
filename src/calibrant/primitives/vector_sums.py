"""Double sums of class probabilities with a product kernel, h_ij = k_P(p_i, p_j) · (S_i · R_j): two bodies."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.kernels import Kernel
from calibrant.kernels.distances import SCIPY_NAMES, distance_of_points
from calibrant.kernels.forms import VectorForm
from calibrant.primitives.dispatch import on_tiles, takes_fast_double_sum
from calibrant.primitives.profile_fast import EXP_TERMS, compiled_profile, has_profile, profile_of

Tile = Callable[[slice, slice], FloatArray]
"""A function of two ranges of rows I, J that returns an array (rows of I, rows of J)."""

TILE = 128  # rows: what a tile needs stays in the cache
MOST_COPIED = 1 << 20  # numbers handed to a user's distance at once
ONE_THREAD = 1 << 18  # multiplications of the largest product that BLAS does without threads of its own
CLASSES = 64  # of a panel at a time, which then stay in the cache; an even number


def prediction_tile(form: VectorForm) -> Tile:
    """Return the values of k_P as a function of two ranges of rows."""
    P, kernel = form.P, form.kernel
    if callable(kernel.distance):
        return own_tile(P, kernel)
    from scipy.spatial.distance import cdist

    name = kernel.distance or "tv"
    scale = kernel.length * (2 if name == "tv" else 1)

    def tile(rows: slice, columns: slice) -> FloatArray:
        d = cdist(P[rows], P[columns], SCIPY_NAMES[name])
        with np.errstate(over="ignore"):  # as in `Kernel.of_distance`
            d /= scale
            return kernel.values(d)

    return tile


def own_tile(points: FloatArray, kernel: Kernel) -> Tile:
    """Return the values of a kernel with a distance of the user, which gets copies of both rows of every pair."""
    distance = distance_of_points(points, kernel.distance or "tv")

    def tile(rows: slice, columns: slice) -> FloatArray:
        i, j = np.arange(rows.start, rows.stop)[:, None], np.arange(columns.start, columns.stop)[None, :]
        step = max(1, MOST_COPIED // (j.size * points.shape[1]))
        return np.concatenate([kernel.of_distance(distance(i[s : s + step], j)) for s in range(0, i.size, step)])

    return tile


def term_tile(form: VectorForm) -> Tile:
    """Return the values of h as a function of two ranges of rows."""
    kernel = prediction_tile(form)

    def tile(rows: slice, columns: slice) -> FloatArray:
        h = products(form.S[rows], form.R[columns])
        h *= kernel(rows, columns)
        return h

    return tile


def products(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return A Bᵀ by products so small that BLAS starts no threads, which would fight with those of `on_tiles`."""
    width = max(1, ONE_THREAD // (len(A) * len(B)))
    total: FloatArray = A[:, :width] @ B[:, :width].T
    for k in range(width, A.shape[1], width):
        total += A[:, k : k + width] @ B[:, k : k + width].T
    return total


def takes_fast_body(form: VectorForm) -> bool:
    """Tell whether the compiled body serves this form and pays for itself."""
    return has_profile(form.kernel) and takes_fast_double_sum(form.n, form.P.shape[1] + EXP_TERMS)


def fast_pair_sum(form: VectorForm, w: FloatArray) -> float:
    """Return Σ w_i w_j h_ij over the pairs i < j, compiled."""
    P = _panels(form.P)
    R = _panels(form.R * w[:, None])
    S = R if form.S is form.R else _panels(form.S * w[:, None])
    options = profile_of(form.kernel)
    kernel = _compiled()

    def work(tiles: NDArray[np.intp]) -> float:
        return float(kernel(tiles, P, S, R, *options))

    return sum(on_tiles(work, len(P), label="summing pairs of rows"), 0.0)


def _panels(X: FloatArray) -> FloatArray:
    """Return the rows in panels (panel, column, row of the panel), rows and columns filled up with zeros."""
    n, K = X.shape
    m = -(-n // TILE)
    filled = np.zeros((m, K + K % 2, TILE))
    for panel, start in enumerate(range(0, n, TILE)):
        part = X[start : start + TILE]
        filled[panel, :K, : len(part)] = part.T
    return filled


@cache
def _compiled() -> Any:
    import numba

    add_profile = compiled_profile()

    @numba.njit(nogil=True, cache=True, fastmath={"contract"})
    def kernel(tiles, P, S, R, square, root, rate, a, b):  # type: ignore[no-untyped-def]  # pragma: no cover
        # Four rows at a time meet a whole panel; every inner loop runs over the panel, so that it becomes vector code.
        K, m = P.shape[1], P.shape[2]
        d, g = np.empty((m, m)), np.empty((m, m))
        turns, value = np.empty(m), np.empty(m)
        total = np.zeros(m)
        for t in range(tiles.shape[0]):
            p, s = P[tiles[t, 0]], S[tiles[t, 0]]
            q, r = P[tiles[t, 1]], R[tiles[t, 1]]
            for start in range(0, K, CLASSES):
                stop = min(start + CLASSES, K)
                for i in range(0, m, 4):
                    at = i if K > CLASSES else 0  # few classes need the same four rows of d and g again and again
                    d0, d1, d2, d3 = d[at], d[at + 1], d[at + 2], d[at + 3]
                    g0, g1, g2, g3 = g[at], g[at + 1], g[at + 2], g[at + 3]
                    if start == 0:
                        d[at : at + 4] = 0.0
                        g[at : at + 4] = 0.0
                    for k in range(start, stop, 2):
                        p0, p1, p2, p3 = p[k, i], p[k, i + 1], p[k, i + 2], p[k, i + 3]
                        u0, u1, u2, u3 = p[k + 1, i], p[k + 1, i + 1], p[k + 1, i + 2], p[k + 1, i + 3]
                        s0, s1, s2, s3 = s[k, i], s[k, i + 1], s[k, i + 2], s[k, i + 3]
                        v0, v1, v2, v3 = s[k + 1, i], s[k + 1, i + 1], s[k + 1, i + 2], s[k + 1, i + 3]
                        qk, ql, rk, rl = q[k], q[k + 1], r[k], r[k + 1]
                        if square:
                            for j in range(m):
                                x, y = qk[j], ql[j]
                                d0[j] += (x - p0) ** 2 + (y - u0) ** 2
                                d1[j] += (x - p1) ** 2 + (y - u1) ** 2
                                d2[j] += (x - p2) ** 2 + (y - u2) ** 2
                                d3[j] += (x - p3) ** 2 + (y - u3) ** 2
                                x, y = rk[j], rl[j]
                                g0[j] += s0 * x + v0 * y
                                g1[j] += s1 * x + v1 * y
                                g2[j] += s2 * x + v2 * y
                                g3[j] += s3 * x + v3 * y
                        else:
                            for j in range(m):
                                x, y = qk[j], ql[j]
                                d0[j] += abs(x - p0) + abs(y - u0)
                                d1[j] += abs(x - p1) + abs(y - u1)
                                d2[j] += abs(x - p2) + abs(y - u2)
                                d3[j] += abs(x - p3) + abs(y - u3)
                                x, y = rk[j], rl[j]
                                g0[j] += s0 * x + v0 * y
                                g1[j] += s1 * x + v1 * y
                                g2[j] += s2 * x + v2 * y
                                g3[j] += s3 * x + v3 * y
                    if stop < K:
                        continue
                    if tiles[t, 0] == tiles[t, 1]:
                        for row in range(4):
                            g[at + row, : i + row + 1] = 0.0
                    for row in range(at, at + 4):
                        add_profile(d[row], g[row], total, root, rate, a, b, turns, value)
        return total.sum()

    return kernel
