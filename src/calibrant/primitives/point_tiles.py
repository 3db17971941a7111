"""Kernel values and squared distances of points, tile by tile."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.inputs.weights import FloatArray
from calibrant.kernels.point_kernels import PointKernel, Polynomial
from calibrant.primitives.dispatch import takes_products
from calibrant.primitives.vector_sums import Tile, own_tile

NAMES = {"euclidean": "euclidean", "l1": "cityblock"}


def centred(Z: FloatArray) -> FloatArray:
    """Return the points less their mean, so that products of them are as small as they can be.

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
        return own_tile(Z, kernel)
    distance = distance_tile(Z, kernel.distance or "euclidean")
    return lambda rows, columns: kernel.of_distance(distance(rows, columns))


def distance_tile(Z: FloatArray, distance: str) -> Tile:
    """Return the Euclidean or L1 distances of points Z (N, d) as a function of two ranges of rows."""
    if multiplies(distance, Z.shape[1]):
        return _product_tile(centred(Z))
    from scipy.spatial.distance import cdist

    return lambda rows, columns: np.asarray(cdist(Z[rows], Z[columns], NAMES[distance]))


def _product_tile(Z: FloatArray) -> Tile:
    lengths = np.einsum("ij,ij->i", Z, Z)

    def tile(rows: slice, columns: slice) -> FloatArray:
        D = by_products(Z[rows], Z[columns], lengths[rows], lengths[columns])
        return np.sqrt(D, out=D)

    return tile
