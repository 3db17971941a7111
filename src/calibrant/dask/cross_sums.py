"""Sums of a term over pairs of rows of two different blocks: what is left where each block was summed alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calibrant.core.dispatch import chunks
from calibrant.inputs.arrays import FloatArray, is_unit, unit_weights
from calibrant.kernels import pair_sums as vector_sums
from calibrant.kernels.forms import Form, VectorForm
from calibrant.kernels.kernel import Kernel
from calibrant.kernels.pair_sums import centred, kernel_tile, multiplies, tile_of
from calibrant.kernels.point_kernels import PointKernel, Polynomial, check_kernel_values
from calibrant.kernels.profile import profile_of
from calibrant.points import sums as point_sums


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
    Z, sizes = np.concatenate([A, B]), (len(A), len(B))
    multiplied = isinstance(kernel, Polynomial) or multiplies(kernel.distance, Z.shape[1])
    if isinstance(kernel, Kernel) and point_sums._takes_fast_body(Z, kernel, False):
        found = _fast_products(Z, kernel, sizes) if multiplied else _fast_differences(Z, kernel, sizes)
    else:
        found = _points(Z, kernel, len(A), point_sums.BLOCK if multiplied else point_sums.TILE)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
        total = sum(found, 0.0)
    check_kernel_values(total)
    return total


def own_sum(Z: FloatArray, kernel: PointKernel) -> float:
    """Return Σ k(z, z) over points."""
    if isinstance(kernel, Polynomial):
        with np.errstate(over="ignore"):  # what is not finite is refused
            total = float(kernel.of_products(np.einsum("ij,ij->i", Z, Z), Z.shape[1]).sum())
        check_kernel_values(total)
        return total
    return len(Z) * kernel.at_zero


def _points(Z: FloatArray, kernel: PointKernel, split: int, size: int) -> Iterator[float]:
    tile = kernel_tile(Z, kernel)
    for rows in chunks(split, size):
        for columns in _after(split, len(Z), size):
            with np.errstate(over="ignore", invalid="ignore"):
                yield float(tile(rows, columns).sum())


def _fast_differences(Z: FloatArray, kernel: Kernel, sizes: tuple[int, int]) -> Iterator[float]:
    parts = point_sums.parts_of(sizes, point_sums.TILE)
    panels = np.zeros((len(parts), Z.shape[1], point_sums.TILE))
    weights = np.zeros((len(parts), point_sums.TILE))
    for k, part in enumerate(parts):
        many = part.rows.stop - part.rows.start
        panels[k, :, :many] = Z[part.rows].T
        weights[k, :many] = 1.0
    sets, total = np.array([part.set for part in parts]), np.zeros((2, 2))
    tiles = _tiles(int((sets == 0).sum()), len(parts))
    point_sums._compiled_differences()(tiles, panels, weights, sets, total, *profile_of(kernel))
    yield float(total[0, 1])


def _fast_products(Z: FloatArray, kernel: Kernel, sizes: tuple[int, int]) -> Iterator[float]:
    X = centred(Z)
    lengths, ones = np.einsum("ij,ij->i", X, X), np.array(unit_weights(len(X)))
    compiled, profile = point_sums._compiled_products(), profile_of(kernel)[1:]
    for rows in chunks(sizes[0], point_sums.BLOCK):
        for columns in _after(sizes[0], len(X), point_sums.BLOCK):
            G = X[rows] @ X[columns].T
            lines = lengths[rows], lengths[columns], ones[rows], ones[columns]
            yield float(compiled(0, len(G), G, *lines, False, *profile))


def _after(start: int, stop: int, size: int) -> Iterator[slice]:
    for part in chunks(stop - start, size):
        yield slice(part.start + start, part.stop + start)


def _tiles(split: int, m: int) -> np.ndarray[tuple[int, int], np.dtype[np.intp]]:
    """Return pairs (I, J), I < split <= J < m."""
    first, second = np.meshgrid(np.arange(split), np.arange(split, m), indexing="ij")
    return np.stack([first.reshape(-1), second.reshape(-1)], axis=1)
