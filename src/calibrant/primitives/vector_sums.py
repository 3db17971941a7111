"""Double sums of class probabilities with a product kernel, h_ij = k_P(p_i, p_j) · (S_i · R_j): two bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.kernels import Kernel
from calibrant.kernels.distances import SCIPY_NAMES, distance_of_points
from calibrant.kernels.forms import VectorForm
from calibrant.primitives.dispatch import on_tiles, takes_fast_double_sum
from calibrant.primitives.profile_fast import EXP_TERMS, has_profile, profile_of

Tile = Callable[[slice, slice], FloatArray]
"""A function of two ranges of rows I, J that returns an array (rows of I, rows of J)."""

TILE = 128  # rows: what a tile needs stays in the cache
MOST_COPIED = 1 << 20  # numbers handed to a user's distance at once
ONE_THREAD = 1 << 18  # multiplications of the largest product that BLAS does without threads of its own


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


def _compiled() -> Any:
    from calibrant.primitives.profile_loops import sum_classes  # imports Numba

    return sum_classes
