"""Vendi score: how many different points a set has, as far as a kernel tells them apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.options import as_number, generator
from calibrant.inputs.points import read_points
from calibrant.inputs.weights import FloatArray, read_weights
from calibrant.kernels import Kernel
from calibrant.kernels.point_kernels import point_kernel
from calibrant.primitives.hill_number import hill_number
from calibrant.primitives.kernel_spectrum import MOST, Similarity, eigenvalues, sum_of_squares

NAMES = ("gaussian", "laplace", "cosine")
NO_SHARE = 1e-16  # times n: what rounding may make of an eigenvalue 0
NEGATIVE = 1e-6  # what it does not make of one


def vendi_score(
    points: Any,
    *,
    order: float = 1,
    kernel: Any = "gaussian",
    bandwidth: Any = "median",
    weights: Any = None,
    rng: Any = 0,
) -> float:
    r"""Effective number of different points: the Hill number of the eigenvalues of their kernel matrix.

    .. math:: \Bigl(\sum_i \lambda_i^q\Bigr)^{1/(1-q)}, \quad \exp\Bigl(-\sum_i \lambda_i \log \lambda_i\Bigr)
              \text{ for } q = 1, \qquad \lambda = \operatorname{eig} \bigl(\sqrt{p_i p_j}\, K_{ij}\bigr)

    with p the weights divided by their sum, 1/n without. It is 1 for points that are all alike and n for points no two
    of which are.

    Parameters
    ----------
    points
        One set of points (n, d); there is no truth.
    order
        q, a number from 0 on, or ``math.inf`` for 1/max λ. The larger, the less rare points count. Order 2 is
        :math:`1 / \sum_{ij} p_i p_j K_{ij}^2`, needs no eigenvalues and takes any number of points. Order 0 counts the
        eigenvalues that are not 0. Below 1 the value hangs on eigenvalues near 0, which rounding decides; for a smooth
        kernel it is not to be trusted.
    kernel
        ``"gaussian"``, exp(-d²/2σ²) of the Euclidean distance; ``"laplace"``, exp(-d/σ) of the L1 distance;
        ``"cosine"``, of the angle at 0; or a kernel such as ``Matern32(1.0)``, with value 1 at distance 0.
    bandwidth
        σ: a number, or ``"median"``, the median of the kernel's distance over pairs of points. A kernel object has a
        length scale of its own.
    weights
        Importance weights. A point of weight 0 is left out; one of weight 2 is the same as the point twice, for a
        bandwidth that is a number. The median takes each point of positive weight once, whatever its weight.
    rng
        A Generator or a whole number: which 4,096 of more points the median is taken of.

    Returns
    -------
    float
        From 1 to n; a larger order never gives a larger value.

    Notes
    -----
    The score of Friedman and Dieng (2023); their package vendi-score 0.0.3 drops the order on one of its paths.
    Diversity is not correctness: noise is diverse. A value says little alone, and most beside that of real points. It
    grows with n and hangs on σ, so that two sets compare only at one n and one σ, given as a number. ``"median"`` takes
    σ from the set itself: points spread out twice as far have the same score. `compare_samples` scores its sets with
    one σ and one n.

    Points that are all alike have score 1 whatever σ is, also where a median finds none. An eigenvalue below n · 1e-16
    counts as 0. Orders other than 2 need all eigenvalues, in time n³ and memory n²: more than 5,000 points are
    refused. For ``"cosine"`` those of a d × d matrix do, so that one of n and d must be at most 5,000; a point at 0
    has no angle and is refused.

    References
    ----------
    Friedman and Dieng (2023), The Vendi score: a diversity evaluation metric for machine learning; Pasarkar and Dieng
    (2024), Cousins of the Vendi score, for orders other than 1.

    Examples
    --------
    Two places far apart, one with three points and one with one: shares 3/4 and 1/4.

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
    if found == "cosine":
        refuse_zero_rows(X, kept)
    return diversity(X, w, found, q)


def read_order(order: Any) -> float:
    """Return the order as a number."""
    q = as_number(order)
    if not q >= 0:
        raise InputError(f"order must be a number of at least 0, such as 1, 2 or math.inf; got {shown(order)}")
    return q


def similarity(kernel: Any, bandwidth: Any, X: FloatArray, rng: np.random.Generator) -> Similarity:
    """Return the kernel that the options mean for these points, with a number as its length scale."""
    if isinstance(kernel, str) and kernel == "cosine":
        if not (isinstance(bandwidth, str) and bandwidth == "median"):
            raise InputError(f'kernel="cosine" has no length scale; leave bandwidth out; got {shown(bandwidth)}')
        return "cosine"
    if not np.ptp(X, axis=0).any():  # every length scale gives the same
        if isinstance(kernel, Kernel) and kernel.lengthscale == "median":
            kernel = kernel.with_lengthscale(1.0)
        elif isinstance(kernel, str) and isinstance(bandwidth, str) and bandwidth == "median":
            bandwidth = 1.0
    found = point_kernel(kernel, bandwidth, X, rng, names=NAMES, what="the points")
    assert isinstance(found, Kernel)  # the names leave no other
    if abs(found.at_zero - 1) > 1e-12:
        raise InputError(
            f"the kernel must be 1 at distance 0, so that one point counts as one; {found!r} is {found.at_zero:.6g}"
        )
    return found


def refuse_zero_rows(X: FloatArray, rows: NDArray[np.intp], name: str = "points") -> None:
    """Refuse a point at 0, which has no angle; `rows` are the numbers that its rows have for the user."""
    zero = ~X.any(axis=1)
    if zero.any():
        raise InputError(
            'kernel="cosine" compares angles at 0; {row} of {name} is 0 in every column. '
            "Drop such rows, or take another kernel",
            row=int(rows[np.argmax(zero)]),
            name=name,
        )


def diversity(X: FloatArray, w: FloatArray, kernel: Similarity, q: float) -> float:
    """Return the score of order q of points X (n, d) of positive weights w."""
    n = len(X)
    if q == 2:
        value = 1 / sum_of_squares(X, w, kernel)
        smallest = 0.0
    else:
        _refuse_many(n, X.shape[1], kernel, q)
        values = eigenvalues(X, w, kernel)
        value, smallest = hill_number(values[values > n * NO_SHARE], q), float(values[0])
    if value < 1 - NEGATIVE or smallest < -NEGATIVE:
        raise InputError(
            f"{kernel!r} is no kernel of these points: its matrix has negative eigenvalues. "
            "calibrant.testing.check_kernel says whether a kernel is positive definite"
        )
    return min(max(value, 1.0), float(n))  # beyond by rounding only


def _refuse_many(n: int, d: int, kernel: Similarity, q: float) -> None:
    size, what = (min(n, d), "points or columns") if isinstance(kernel, str) else (n, "points")
    if size > MOST:
        raise NotApplicableError(
            f"order={q:g} needs the eigenvalues of a matrix with {size:,} rows, in time that grows with their cube; it "
            f"is for at most {MOST:,} {what}. Use order=2, which takes any number, or a random subset, such as "
            f"points[numpy.random.default_rng(0).choice({n}, {MOST}, replace=False)]; scores of different n do not "
            "compare"
        )
