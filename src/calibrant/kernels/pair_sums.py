"""Sums over pairs of rows of a term h(i, j), tile by tile: no array of n × n numbers ever exists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import chunks, on_threads, on_tiles, takes_products
from calibrant.inputs.arrays import FloatArray, is_unit
from calibrant.kernels.composed import SCIPY_NAMES, distance_of_points
from calibrant.kernels.forms import Form, VectorForm
from calibrant.kernels.kernel import Kernel
from calibrant.kernels.point_kernels import PointKernel, Polynomial
from calibrant.progress import steps

Tile = Callable[[slice, slice], FloatArray]
"""A function of two ranges of rows I, J that returns an array (rows of I, rows of J)."""

TILE = 128  # rows: what a tile needs stays in the cache
COPIED_NUMBERS_AT_ONCE = 1 << 20  # numbers handed to a user's distance at once
ONE_THREAD = 1 << 18  # multiplications of the largest product that BLAS does without threads of its own
MIN_WIDTH = 8  # terms of each entry that a product adds at once


def prediction_tile(form: VectorForm) -> Tile:
    """Return the values of k_P as a function of two ranges of rows."""
    P, kernel, name = form.P, form.kernel, form.kernel.distance or "tv"
    if callable(name):
        return custom_distance_tile(P, kernel)
    from scipy.spatial.distance import cdist

    scale = 2 if name == "tv" else 1
    return lambda rows, columns: kernel.of_distance(cdist(P[rows], P[columns], SCIPY_NAMES[name]) / scale)


def custom_distance_tile(points: FloatArray, kernel: Kernel) -> Tile:
    """Return the values of a kernel with a distance of the user, which gets copies of both rows of every pair."""
    distance = distance_of_points(points, kernel.distance or "tv")

    def tile(rows: slice, columns: slice) -> FloatArray:
        i, j = np.arange(rows.start, rows.stop)[:, None], np.arange(columns.start, columns.stop)[None, :]
        step = max(1, COPIED_NUMBERS_AT_ONCE // (j.size * points.shape[1]))
        return np.concatenate([kernel.of_distance(distance(i[s : s + step], j)) for s in range(0, i.size, step)])

    return tile


def products(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return A Bᵀ by products so small that BLAS starts no threads, which would fight with those of `on_tiles`."""
    most = max(1, ONE_THREAD // (len(A) * MIN_WIDTH))  # columns of the product, more of which are made one by one
    if len(B) > most:
        return np.concatenate([products(A, B[part]) for part in chunks(len(B), most)], axis=1)
    width = max(1, ONE_THREAD // (len(A) * len(B)))
    total: FloatArray = A[:, :width] @ B[:, :width].T
    for k in range(width, A.shape[1], width):
        total += A[:, k : k + width] @ B[:, k : k + width].T
    return total


CountArray = NDArray[np.uint16]

PRODUCT_ROWS = 512  # rows that meet as many in one large product of counts, on the threads of BLAS
CHEAP_CLASSES = 64  # up to here a block of h costs less than the product that follows
DRAWS_AT_ONCE = 1 << 17  # at once: their counts stay in the cache


def pair_sum(form: Form, w: FloatArray) -> float:
    """Return Σ w_i w_j h_ij over the pairs i < j."""
    tile, rows, unit = tile_of(form), list(chunks(form.n, TILE)), is_unit(w)

    def work(tiles: NDArray[np.intp]) -> float:
        total = 0.0
        for a, b in tiles.tolist():
            h = tile(rows[a], rows[b])
            if a == b:
                h = np.triu(h, 1)
            total += float(h.sum() if unit else ((h * w[rows[b]]).sum(axis=1) * w[rows[a]]).sum())
        return total

    return sum(on_tiles(work, len(rows), label="summing pairs of rows"), 0.0)


def tile_of(form: Form) -> Tile:
    """Return h as a function of two ranges of rows, of which only what stands above the diagonal is meant."""
    if isinstance(form, VectorForm):
        kernel = prediction_tile(form)
        return lambda rows, columns: products(form.S[rows], form.R[columns]) * kernel(rows, columns)

    def tile(rows: slice, columns: slice) -> FloatArray:
        i, j = np.arange(rows.start, rows.stop), np.arange(columns.start, columns.stop)
        if rows != columns:
            return form.h(i[:, None], j[None, :])
        above = np.triu_indices(i.size, 1)
        h = np.zeros((i.size, i.size))
        h[above] = form.h(i[above[0]], i[above[1]])
        return h

    return tile


def counted_sums(form: Form, C: CountArray) -> tuple[FloatArray, FloatArray]:
    """Return Σ_ij c_bi c_bj h_ij for each row b of counts, and Σ_j h_ij for each row i; both include i = j.

    Each block of H is formed once for all counts.
    """
    diagonal = form.diagonal()
    quadratic, sums = np.zeros(len(C)), diagonal.copy()
    cheap = isinstance(form, VectorForm) and form.P.shape[1] <= CHEAP_CLASSES
    label = "summing pairs of rows for the bootstrap"
    for rows, columns, H in each_block(tile_of(form), form.n, label=label, threads=not cheap):
        sums[rows] += H.sum(axis=1)
        sums[columns] += H.sum(axis=0)
        if rows == columns:
            np.fill_diagonal(H, diagonal[rows] / 2)
        halves = C[:, rows].astype(np.float64) @ H
        halves *= C[:, columns]
        quadratic += 2 * halves.sum(axis=1)
    return quadratic, sums


def each_block(tile: Tile, n: int, *, label: str, threads: bool) -> Iterator[tuple[slice, slice, FloatArray]]:
    """Yield (I, J, values) for I not after J, together all pairs i < j; other values are 0.

    A block is larger than a tile, for products that BLAS spreads over the cores. Costly tiles ask for threads; for
    cheap ones these only fight with those of BLAS.
    """
    parts = list(chunks(n, PRODUCT_ROWS))
    pairs = [(a, b) for a in range(len(parts)) for b in range(a, len(parts))]
    for at, _ in steps(len(pairs), size=1, label=label):
        rows, columns = (parts[k] for k in pairs[at])
        yield rows, columns, _block(tile, rows, columns, threads)


def _block(tile: Tile, rows: slice, columns: slice, threads: bool) -> FloatArray:
    H = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
    down, across = list(chunks(H.shape[0], TILE)), list(chunks(H.shape[1], TILE))
    wanted = [(i, j) for i in down for j in across if rows != columns or i.start <= j.start]

    def fill(part: slice) -> None:
        for i, j in wanted[part]:
            here = slice(i.start + rows.start, i.stop + rows.start)
            H[i, j] = tile(here, slice(j.start + columns.start, j.stop + columns.start))

    if threads:
        list(on_threads(fill, len(wanted), size=2))
    else:
        fill(slice(None))
    return np.triu(H, 1) if rows == columns else H


def multinomial_counts(n: int, resamples: int, rng: np.random.Generator) -> CountArray:
    """Return how often each of n rows is drawn when n rows are drawn with replacement, once per resample."""
    counts = np.empty((resamples, n), dtype=np.uint16)
    for part in chunks(resamples, max(1, DRAWS_AT_ONCE // n)):
        size = part.stop - part.start
        drawn = rng.integers(n, size=(size, n))
        drawn += n * np.arange(size)[:, None]
        counts[part] = np.bincount(drawn.reshape(-1), minlength=size * n).reshape(size, n)
    return counts


def centred(Z: FloatArray) -> FloatArray:
    """Return the points less their mean, which makes products of them as small as possible.

    Numbers as close together as rounding leaves them have a mean beside them: it is taken of what is left again.
    """
    moved = Z - Z.mean(axis=0)
    return np.asarray(moved - moved.mean(axis=0))


def squared_distances(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return |a - b|² of every row of A with every row of B.

    Up to 16 coordinates by differences, exact for points that are equal; above by products of points that should be
    `centred`, with an error of about 1e-15 (|a|² + |b|²).
    """
    if takes_products(A.shape[1]):
        return by_products(A, B, np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B))
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(A, B, "sqeuclidean"))


def by_products(A: FloatArray, B: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return |a - b|² from one matrix product, or of a stack of A and B from one for each of them.

    `a` and `b` hold the squared lengths of the rows.
    """
    D = A @ B.swapaxes(-1, -2)
    D *= -2.0
    D += a[..., :, None]
    D += b[..., None, :]
    return np.asarray(np.maximum(D, 0.0, out=D))


def multiplies(distance: Any, d: int) -> bool:
    """Tell whether this distance of points of d coordinates comes from products of matrices."""
    return distance == "euclidean" and takes_products(d)


def kernel_tile(Z: FloatArray, kernel: PointKernel) -> Tile:
    """Return the kernel's values of points Z (N, d) as a function of two ranges of rows."""
    if isinstance(kernel, Polynomial):
        return lambda rows, columns: kernel.of_products(Z[rows] @ Z[columns].T, Z.shape[1])
    if callable(kernel.distance):
        return custom_distance_tile(Z, kernel)
    distance = distance_tile(Z, kernel.distance or "euclidean")
    return lambda rows, columns: kernel.of_distance(distance(rows, columns))


def distance_tile(Z: FloatArray, distance: str) -> Tile:
    """Return the Euclidean or L1 distances of points Z (N, d) as a function of two ranges of rows."""
    if multiplies(distance, Z.shape[1]):
        Z = centred(Z)
        lengths = np.einsum("ij,ij->i", Z, Z)
        return lambda rows, columns: np.sqrt(by_products(Z[rows], Z[columns], lengths[rows], lengths[columns]))
    from scipy.spatial.distance import cdist

    return lambda rows, columns: np.asarray(cdist(Z[rows], Z[columns], SCIPY_NAMES[distance]))
