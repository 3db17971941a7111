"""Vendi score: the effective number of different points of a set."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Rng
from calibrant.core.catalogue import public
from calibrant.core.dispatch import chunks
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray, read_weights
from calibrant.inputs.options import as_number, generator
from calibrant.kernels.kernel import Kernel
from calibrant.kernels.pair_sums import each_block, kernel_tile, multiplies
from calibrant.kernels.point_kernels import point_kernel
from calibrant.points.blocks import Bandwidth
from calibrant.points.inputs import read_points
from calibrant.points.sums import pair_sums
from calibrant.progress import steps

SimilarityOption: TypeAlias = Literal["gaussian", "laplace", "cosine"] | Kernel
Similarity: TypeAlias = Kernel | Literal["cosine"]
"""A kernel with a number as its length scale, or the cosine of the angle at the origin."""

NAMES = ("gaussian", "laplace", "cosine")
ZERO_EIGENVALUE = 1e-16  # times n: rounding of an eigenvalue 0
NEGATIVE_EIGENVALUE = 1e-6  # more than rounding
INFINITE_ORDER = 1e300  # of which no digit differs from that of order infinity
NEAR_ONE = 0.01  # orders this close to 1: sums of powers are close to 1 and lose digits
MAX_MATRIX_ROWS = 5000  # whose eigenvalues are computed
CHUNK_NUMBERS = 1 << 20  # coordinates that are summed together
BLOCK_POINTS = 1024  # in one matrix product


@public
def vendi_score(
    points: ArrayLike,
    *,
    order: float = 1,
    kernel: SimilarityOption = "gaussian",
    bandwidth: Bandwidth = "median",
    weights: ArrayLike | None = None,
    rng: Rng = 0,
) -> float:
    r"""Effective number of different points: the Hill number of the eigenvalues of their kernel matrix.

    .. math:: \Bigl(\sum_i \lambda_i^q\Bigr)^{1/(1-q)}, \quad \exp\Bigl(-\sum_i \lambda_i \log \lambda_i\Bigr)
              \text{ for } q = 1, \qquad \lambda = \operatorname{eig} \bigl(\sqrt{p_i p_j}\, K_{ij}\bigr)

    with p the weights divided by their sum, or 1/n. It is 1 if all points are alike, and n if no two are.

    Parameters
    ----------
    points
        One set of points (n, d); no real points are needed.
    order
        q, a number of at least 0, or ``math.inf`` for 1/max λ. A larger order gives less weight to rare points. Order 2
        is :math:`1 / \sum_{ij} p_i p_j K_{ij}^2`, needs no eigenvalues and takes any number of points. Order 0 counts
        the eigenvalues that are not 0. Below 1 the value depends on eigenvalues near 0, which are mostly rounding for a
        smooth kernel; do not use it there.
    kernel
        ``"gaussian"``, exp(-d²/2σ²) of the Euclidean distance; ``"laplace"``, exp(-d/σ) of the L1 distance;
        ``"cosine"``, of the angle at 0; or a kernel such as ``Matern32(1.0)``, with value 1 at distance 0.
    bandwidth
        σ: a number, or ``"median"``, the median of the kernel's distance over pairs of points. A kernel object has its
        own length scale.
    weights
        Importance weights. Points of weight 0 are left out; if the bandwidth is a number, a point of weight 2 equals
        the point twice. The median takes each point of positive weight once.
    rng
        A Generator or a whole number; it draws 4,096 of more points for the median.

    Returns
    -------
    float
        From 1 to n; a larger order never gives a larger value.

    Examples
    --------
    Two distant places, one with three points and one with one: shares 3/4 and 1/4.

    >>> import math
    >>> points = [[0.0], [0.0], [0.0], [100.0]]
    >>> round(vendi_score(points, order=2, bandwidth=1.0), 12)  # 1 / (9/16 + 1/16)
    1.6
    >>> round(vendi_score(points, order=math.inf, bandwidth=1.0), 12)
    1.333333333333
    """
    q, chance = read_order(order), generator(rng)
    X = read_points(points, "points", least=1)
    w = read_weights(weights, len(X))
    kept = np.flatnonzero(w)
    if kept.size < len(X):
        X, w = X[kept], w[kept]
    found = similarity(kernel, bandwidth, X, chance)
    if found == "cosine" and (zero := ~X.any(axis=1)).any():
        raise InputError(
            'kernel="cosine" compares angles at 0; {row} of points is 0 in every column. Drop such rows, or take '
            "another kernel",
            row=int(kept[np.argmax(zero)]),
        )
    return diversity(X, w, found, q)


def read_order(order: object) -> float:
    q = as_number(order)
    if not q >= 0:
        raise InputError(f"order must be a number of at least 0, such as 1, 2 or math.inf; got {shown(order)}")
    return q


def similarity(kernel: SimilarityOption, bandwidth: Bandwidth, X: FloatArray, rng: np.random.Generator) -> Similarity:
    """Return the kernel that the options mean for these points, with a number as its length scale."""
    if isinstance(kernel, str) and kernel == "cosine":
        if not (isinstance(bandwidth, str) and bandwidth == "median"):
            raise InputError(f'kernel="cosine" has no length scale; leave bandwidth out; got {shown(bandwidth)}')
        return "cosine"
    if not np.ptp(X, axis=0).any():  # all length scales give the same score
        if isinstance(kernel, Kernel) and kernel.lengthscale == "median":
            kernel = kernel.with_lengthscale(1.0)
        elif isinstance(kernel, str) and isinstance(bandwidth, str) and bandwidth == "median":
            bandwidth = 1.0
    found = point_kernel(kernel, bandwidth, X, rng, names=NAMES, what="the points")
    assert isinstance(found, Kernel)  # for these names
    if abs(found.at_zero - 1) > 1e-12:
        raise InputError(
            f"the kernel must be 1 at distance 0, to count each point as one; {found!r} is {found.at_zero:.6g}"
        )
    return found


def diversity(X: FloatArray, w: FloatArray, kernel: Similarity, q: float) -> float:
    """Return the score of order q of points X (n, d) of positive weights w."""
    n = len(X)
    if q == 2:
        value = 1 / sum_of_squares(X, w, kernel)
        smallest = 0.0
    else:
        size, what = (min(X.shape), "points or columns") if isinstance(kernel, str) else (n, "points")
        if size > MAX_MATRIX_ROWS:
            raise NotApplicableError(
                f"order={q:g} needs the eigenvalues of a matrix with {size:,} rows, whose time grows with their cube; "
                f"at most {MAX_MATRIX_ROWS:,} {what} are possible. Use order=2, which takes any number, or a random "
                f"subset, such as points[numpy.random.default_rng(0).choice({n}, {MAX_MATRIX_ROWS}, replace=False)]"
            )
        values = eigenvalues(X, w, kernel)
        value, smallest = hill_number(values[values > n * ZERO_EIGENVALUE], q), float(values[0])
    if value < 1 - NEGATIVE_EIGENVALUE or smallest < -NEGATIVE_EIGENVALUE:
        raise InputError(
            f"{kernel!r} is not positive definite on these points: its matrix has negative eigenvalues. "
            "calibrant.testing.check_kernel checks a kernel"
        )
    return min(max(value, 1.0), float(n))  # outside only by rounding


def hill_number(share: FloatArray, q: float) -> float:
    r"""Return the Hill number of order q of positive shares; they are divided by their sum first.

    .. math:: \Bigl(\sum_i \lambda_i^q\Bigr)^{1/(1-q)}, \quad \exp\Bigl(-\sum_i \lambda_i \log \lambda_i\Bigr)
              \text{ for } q = 1, \quad 1 / \max_i \lambda_i \text{ for } q = \infty

    Order 0 counts the shares.

    >>> shares = np.array([0.5, 0.25, 0.25])
    >>> [round(hill_number(shares, q), 4) for q in (0, 1, 2, math.inf)]
    [3.0, 2.8284, 2.6667, 2.0]
    """
    share = share / share.sum()
    if q == 0:
        return float(share.size)
    if q >= INFINITE_ORDER:
        return float(1 / share.max())
    log = np.log(share)
    if q == 1:
        return math.exp(-float(share @ log))
    if abs(q - 1) < NEAR_ONE:  # Σ λ^q = 1 + Σ λ (λ^(q-1) - 1)
        return math.exp(-math.log1p(float(share @ np.expm1((q - 1) * log))) / (q - 1))
    power = q * log
    most = float(power.max())  # λ^q may be too small for float64
    return math.exp((most + math.log(float(np.exp(power - most).sum()))) / (1 - q))


def eigenvalues(X: FloatArray, w: FloatArray, kernel: Similarity) -> FloatArray:
    """Return the eigenvalues, in ascending order, of points X (n, d) with weights w, from the smaller matrix."""
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
    """Return Σ_ij p_i p_j K_ij², the sum of the squared eigenvalues, without an array of n × n numbers."""
    if isinstance(kernel, Kernel):
        pairs = float(pair_sums(X, kernel, [len(X)], w, squared=True)[0, 0])
        return (float(w @ w) + 2 * pairs) / float(w.sum()) ** 2
    p = w / w.sum()
    if X.shape[1] < len(X) and X.shape[1] <= MAX_MATRIX_ROWS:
        A = _twin(X, p)
        return float(np.vdot(A, A))
    return sum(_squares_by_blocks(X, p), 0.0)


def unit_rows(X: FloatArray) -> FloatArray:
    """Return the rows divided by their lengths; no row is 0."""
    rows = X / np.abs(X).max(axis=1, keepdims=True)  # no square underflows
    rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return np.asarray(rows)


def _kernel_matrix(X: FloatArray, p: FloatArray, kernel: Kernel) -> FloatArray:
    """Return √(p_i p_j) K_ij on and above the diagonal, and 0 below."""
    n, root = len(X), np.sqrt(p)
    A = np.zeros((n, n))
    cheap = multiplies(kernel.distance, X.shape[1])  # one matrix product, which BLAS runs on threads
    for rows, columns, K in each_block(kernel_tile(X, kernel), n, label="kernel of pairs of points", threads=not cheap):
        A[rows, columns] = K * root[columns]
        A[rows, columns] *= root[rows, None]
    A[np.diag_indices(n)] = p
    return A


def _twin(X: FloatArray, p: FloatArray) -> FloatArray:
    """Return Σ_i p_i u_i u_iᵀ, of points u of length 1."""
    n, d = X.shape
    A = np.zeros((d, d))
    for start, stop in steps(n, size=max(BLOCK_POINTS, CHUNK_NUMBERS // d), label="summing points"):
        rows = unit_rows(X[start:stop])
        rows *= np.sqrt(p[start:stop])[:, None]
        A += rows.T @ rows
    return A


def _squares_by_blocks(X: FloatArray, p: FloatArray) -> Iterator[float]:
    """Yield sums of p_i p_j (u_i · u_j)², of points u of length 1."""
    parts = list(chunks(len(X), BLOCK_POINTS))
    pairs = [(a, b) for a in range(len(parts)) for b in range(a, len(parts))]
    for at, _ in steps(len(pairs), size=1, label="summing pairs of points"):
        first, second = (parts[k] for k in pairs[at])
        K = unit_rows(X[first]) @ unit_rows(X[second]).T
        K *= K
        yield float(p[first] @ (K @ p[second])) * (1 if first == second else 2)
