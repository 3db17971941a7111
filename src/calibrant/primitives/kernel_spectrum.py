r"""Eigenvalues of :math:`\sqrt{p_i p_j} K_{ij}`, K the kernel of n points with shares p, and the sum of their squares.

A kernel of distances needs the n × n matrix for its eigenvalues. The cosine :math:`u_i \cdot u_j` of points u of length
1 has a twin: the d × d matrix :math:`\sum_i p_i u_i u_i^T`, which has the same eigenvalues other than 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from calibrant.inputs.weights import FloatArray
from calibrant.kernels import Kernel
from calibrant.primitives.dispatch import chunks
from calibrant.primitives.pair_sums import each_block
from calibrant.primitives.point_sums import pair_sums
from calibrant.primitives.point_tiles import kernel_tile, multiplies
from calibrant.progress import steps

Similarity = Kernel | Literal["cosine"]
"""A kernel with a number as its length scale, or the cosine of the angle at 0."""

MOST = 5000  # rows of a matrix whose eigenvalues are found
CHUNK_NUMBERS = 1 << 20  # of the points that are looked at together
BLOCK = 1024  # points that meet as many in one matrix product


def eigenvalues(X: FloatArray, w: FloatArray, kernel: Similarity) -> FloatArray:
    """Return all eigenvalues, in ascending order, of points X (n, d) of weights w: those of the smaller matrix."""
    from scipy.linalg import eigvalsh

    p = w / w.sum()
    if isinstance(kernel, Kernel):
        A = _kernel_matrix(X, p, kernel)
    elif X.shape[1] < len(X):
        A = _twin(X, p)
    else:
        rows = unit_rows(X) * np.sqrt(p)[:, None]
        A = rows @ rows.T
    return np.asarray(eigvalsh(A.T, lower=True, overwrite_a=True, check_finite=False))


def sum_of_squares(X: FloatArray, w: FloatArray, kernel: Similarity) -> float:
    """Return Σ_ij p_i p_j K_ij², which is that of the squared eigenvalues, without an array of n × n numbers."""
    if isinstance(kernel, Kernel):
        pairs = float(pair_sums(X, kernel, [len(X)], w, squared=True)[0, 0])
        return (float(w @ w) + 2 * pairs) / float(w.sum()) ** 2
    p = w / w.sum()
    if X.shape[1] < len(X) and X.shape[1] <= MOST:
        A = _twin(X, p)
        return float(np.vdot(A, A))
    return sum(_squares_by_blocks(X, p), 0.0)


def unit_rows(X: FloatArray) -> FloatArray:
    """Return the rows over their lengths; none is 0."""
    rows = X / np.abs(X).max(axis=1, keepdims=True)  # so that no square is too small for float64
    rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return np.asarray(rows)


def _kernel_matrix(X: FloatArray, p: FloatArray, kernel: Kernel) -> FloatArray:
    """Return √(p_i p_j) K_ij on and above the diagonal, and 0 below."""
    n, root = len(X), np.sqrt(p)
    A = np.zeros((n, n))
    cheap = multiplies(kernel.distance, X.shape[1])  # one matrix product, on the threads of BLAS
    for rows, columns, K in each_block(kernel_tile(X, kernel), n, label="kernel of pairs of points", threads=not cheap):
        A[rows, columns] = K * root[columns]
        A[rows, columns] *= root[rows, None]
    A[np.diag_indices(n)] = p
    return A


def _twin(X: FloatArray, p: FloatArray) -> FloatArray:
    """Return Σ_i p_i u_i u_iᵀ, of points u of length 1."""
    n, d = X.shape
    A = np.zeros((d, d))
    for start, stop in steps(n, size=max(BLOCK, CHUNK_NUMBERS // d), label="summing points"):
        rows = unit_rows(X[start:stop])
        rows *= np.sqrt(p[start:stop])[:, None]
        A += rows.T @ rows
    return A


def _squares_by_blocks(X: FloatArray, p: FloatArray) -> Iterator[float]:
    """Yield sums of p_i p_j (u_i · u_j)², of points u of length 1."""
    parts = list(chunks(len(X), BLOCK))
    pairs = [(a, b) for a in range(len(parts)) for b in range(a, len(parts))]
    for at, _ in steps(len(pairs), size=1, label="summing pairs of points"):
        first, second = (parts[k] for k in pairs[at])
        K = unit_rows(X[first]) @ unit_rows(X[second]).T
        K *= K
        yield float(p[first] @ (K @ p[second])) * (1 if first == second else 2)
