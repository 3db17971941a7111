"""MMD² of small pieces of two sets: of consecutive pairs of points, and of blocks of them."""

from __future__ import annotations

import numpy as np

from calibrant.inputs.weights import FloatArray
from calibrant.kernels import Kernel
from calibrant.kernels.distances import distance_of_points
from calibrant.kernels.point_kernels import PointKernel, Polynomial
from calibrant.primitives.point_tiles import by_products, centred, multiplies
from calibrant.progress import steps

MOST = 1 << 20  # kernel values, or coordinates, at once
LABEL = "summing blocks of points"


def linear_terms(y: FloatArray, points: FloatArray, kernel: PointKernel) -> FloatArray:
    """Return h = k(y, y') + k(x, x') - k(y, x') - k(y', x) of consecutive pairs (y, y') and (x, x') of two sets.

    Both have the same even number of points.
    """
    found = np.empty(len(y) // 2)
    for start, stop in steps(found.size, size=max(1, MOST // (4 * y.shape[1])), label=LABEL):
        a, c, b, d = (  # (pairs, 1, coordinates)
            side[2 * start + odd : 2 * stop : 2, None, :] for side in (y, points) for odd in (0, 1)
        )
        found[start:stop] = (
            _values(a, c, kernel) + _values(b, d, kernel) - _values(a, d, kernel) - _values(c, b, kernel)
        )[:, 0, 0]
    return found


def block_terms(y: FloatArray, points: FloatArray, kernel: PointKernel, b: int) -> FloatArray:
    """Return the unbiased MMD² of every block of b points of each set; both have the same number of whole blocks."""
    Y, X = (side.reshape(-1, b, side.shape[1]) for side in (y, points))
    found = np.empty(len(Y))
    for start, stop in steps(len(Y), size=max(1, MOST // (b * max(b, y.shape[1]))), label=LABEL):
        A, B = Y[start:stop], X[start:stop]
        within = _off_diagonal(_values(A, A, kernel)) + _off_diagonal(_values(B, B, kernel))
        found[start:stop] = within / (b * (b - 1)) - 2 * _values(A, B, kernel).mean(axis=(1, 2))
    return found


def _off_diagonal(K: FloatArray) -> FloatArray:
    """Return the sums of each matrix without its diagonal."""
    b = K.shape[1]
    K[:, np.arange(b), np.arange(b)] = 0.0
    return np.asarray(K.sum(axis=(1, 2)))


def _values(A: FloatArray, B: FloatArray, kernel: PointKernel) -> FloatArray:
    """Return k of all points of A (blocks, a, d) with those of the same block of B (blocks, c, d): (blocks, a, c)."""
    if isinstance(kernel, Polynomial):
        return kernel.of_products(A @ B.swapaxes(1, 2), A.shape[2])
    if callable(kernel.distance):
        return _own_values(A, B, kernel)
    squared = kernel.distance == "euclidean"
    if multiplies(kernel.distance, A.shape[2]) and A.shape[1] > 1:
        D = _by_products(A, B)
    else:
        D = np.zeros((len(A), A.shape[1], B.shape[1]))
        for k in range(A.shape[2]):
            apart = A[:, :, None, k] - B[:, None, :, k]
            D += apart * apart if squared else np.abs(apart)
    return kernel.of_distance(np.sqrt(D) if squared else D)


def _by_products(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return squared distances within blocks from matrix products of centred points."""
    both = centred(np.concatenate([A.reshape(-1, A.shape[2]), B.reshape(-1, B.shape[2])]))
    P, Q = both[: A.shape[0] * A.shape[1]].reshape(A.shape), both[A.shape[0] * A.shape[1] :].reshape(B.shape)
    return by_products(P, Q, np.square(P).sum(axis=2), np.square(Q).sum(axis=2))


def _own_values(A: FloatArray, B: FloatArray, kernel: Kernel) -> FloatArray:
    Z = np.concatenate([A.reshape(-1, A.shape[2]), B.reshape(-1, B.shape[2])])
    distance = distance_of_points(Z, kernel.distance or "euclidean")
    i = np.arange(A.shape[0] * A.shape[1]).reshape(A.shape[:2])[:, :, None]
    j = np.arange(len(Z) - B.shape[0] * B.shape[1], len(Z)).reshape(B.shape[:2])[:, None, :]
    return kernel.of_distance(distance(i, j))
