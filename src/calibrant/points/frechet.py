"""Fréchet distance of two sets of points, from their means and covariances."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Rng
from calibrant.core.catalogue import public
from calibrant.core.dispatch import chunks
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import generator
from calibrant.kernels.median import point_order
from calibrant.points.inputs import check_names, read_points
from calibrant.points.moments import PointMoments
from calibrant.progress import steps

EPS = float(np.finfo(np.float64).eps)
MIN_CHUNK_POINTS = 4096  # factorised together
MAX_ERROR = 1e-11  # of the trace, in units of tr S₁ + tr S₂
SUBSET_SIXTHS = (2, 3, 4, 5, 6)  # of a set, in the nested subsets of an extrapolation
MIN_SUBSET_POINTS = 10
EIGENVALUES_TOGETHER = 1024  # paired with all others at once


@public
def frechet_distance(
    y: ArrayLike | PointMoments, points: ArrayLike | PointMoments, *, extrapolate: bool = False, rng: Rng | None = None
) -> float:
    r"""Squared Fréchet distance of the normal distributions with the means and covariances of two sets of points.

    .. math:: |\mu_1 - \mu_2|^2 + \operatorname{tr} S_1 + \operatorname{tr} S_2
              - 2 \operatorname{tr} (S_1 S_2)^{1/2}

    Parameters
    ----------
    y
        Real points (n, d), or their `PointMoments`.
    points
        Generated points (m, d), or their `PointMoments`; n and m may differ.
    extrapolate
        Remove the bias by extrapolating to infinitely many points with a line. Needs the points of both sets.
    rng
        A Generator or a whole number that draws the subsets; needed for ``extrapolate=True``.

    Returns
    -------
    float
        At least 0; 0 if means and covariances agree. With ``extrapolate=True`` it can be negative.

    Examples
    --------
    Means 1 and 4, standard deviations 1 and 3 (divisor n - 1): (4 - 1)² + (3 - 1)².

    >>> round(frechet_distance([[0.0], [1.0], [2.0]], [[1.0], [4.0], [7.0]]), 12)
    13.0

    Batch by batch:

    >>> y = PointMoments.of([[0.0], [1.0]]) + PointMoments.of([[2.0]])
    >>> round(frechet_distance(y, [[1.0], [4.0], [7.0]]), 12)
    13.0
    """
    first, second = _read(y, "y"), _read(points, "points")
    check_names(y, points)
    if _columns(first) != _columns(second):
        raise InputError(
            f"y and points must have the same number of columns; got {_columns(first)} in y and {_columns(second)} in "
            "points. Take the same coordinates of both, in the same order"
        )
    if extrapolate:
        return _extrapolated(first, second, rng)
    if isinstance(first, PointMoments):
        origin = first.mean
    else:  # with an origin near both sets a large offset costs no digits
        origin = second.mean if isinstance(second, PointMoments) else first[0]
    return _distance(_side(first, origin), _side(second, origin))


class Side(NamedTuple):
    """The part of the distance that comes from one set: its mean about a common origin, and its covariance."""

    mean: FloatArray
    trace: float  # of the covariance
    covariance: FloatArray | None  # None for n ≤ d points: it is singular, and may be far larger than the points
    factor: Callable[[], FloatArray]  # returns F with FᵀF the covariance


def _read(values: ArrayLike | PointMoments, name: str) -> FloatArray | PointMoments:
    if not isinstance(values, PointMoments):
        return read_points(values, name)
    if values.n < 2:
        raise InputError(f"{name} must have at least 2 points; these are the moments of {values.n}")
    return values


def _columns(points: FloatArray | PointMoments) -> int:
    return points.d if isinstance(points, PointMoments) else int(points.shape[1])


def _side(values: FloatArray | PointMoments, origin: FloatArray) -> Side:
    if isinstance(values, PointMoments):
        S = values.covariance
        return Side(values.mean - origin, float(np.trace(S)), S, lambda: factor_of_covariance(S))
    base = values[0] - origin
    if len(values) <= values.shape[1]:
        centre = (values - values[0]).mean(axis=0)
        F = factor_of_rows(values, centre)
        return Side(base + centre, float(np.vdot(F, F)), None, lambda: F)
    moments = PointMoments.about(values, origin)
    S = moments.covariance
    return Side(moments.mean, float(np.trace(S)), S, lambda: factor_of_rows(values, moments.mean - base))


def _distance(first: Side, second: Side) -> float:
    root = None
    if first.covariance is not None and second.covariance is not None:
        root = root_trace(first.covariance, second.covariance)
    if root is None:
        root = nuclear_norm(first.factor(), second.factor())
    step = first.mean - second.mean
    with np.errstate(over="ignore", invalid="ignore"):  # values that are not finite are refused
        found = float(step @ step) + first.trace + second.trace - 2 * root
    if not math.isfinite(found):
        raise InputError("the means or the spreads are too large for their squares; give the points in other units")
    return max(0.0, found)


def _extrapolated(first: FloatArray | PointMoments, second: FloatArray | PointMoments, rng: Rng | None) -> float:
    """Return the distance at infinitely many points, extrapolated from nested subsets."""
    if isinstance(first, PointMoments) or isinstance(second, PointMoments):
        raise InputError("extrapolate=True needs the points of both sets, not their PointMoments: it takes subsets")
    if rng is None:
        raise InputError("extrapolate=True takes random subsets; pass rng, such as rng=0, to make it repeatable")
    chance = generator(rng)
    least = max(MIN_SUBSET_POINTS, 2 * first.shape[1])
    if (few := min(len(first), len(second))) < 3 * least:
        raise NotApplicableError(
            f"extrapolate=True needs at least {3 * least} points of {first.shape[1]} dimensions in each set: a third "
            f"of them must be at least {MIN_SUBSET_POINTS}, and twice the number of dimensions; got {few}"
        )
    orders = [chance.permutation(point_order(X)) for X in (first, second)]  # does not depend on the order of the rows
    found, ends = [PointMoments.zero(), PointMoments.zero()], [0, 0]
    inverse, value = np.empty(len(SUBSET_SIXTHS)), np.empty(len(SUBSET_SIXTHS))
    for k, _ in steps(len(SUBSET_SIXTHS), size=1, label="extrapolating"):
        for side, X in enumerate((first, second)):
            start, ends[side] = ends[side], round(len(X) * SUBSET_SIXTHS[k] / 6)
            found[side] += PointMoments.about(X, first[0], orders[side][start : ends[side]])
        inverse[k] = 1 / ends[0] + 1 / ends[1]
        value[k] = _distance(*(_side(moments, found[1].mean) for moments in found))
    step = inverse - inverse.mean()
    return float(value.mean() - (step @ value) / (step @ step) * inverse.mean())


def expected_frechet(first: PointMoments, second: PointMoments) -> float:
    r"""Return the leading term of the expected `frechet_distance` of two sets of one normal distribution.

    .. math:: \Bigl(\frac1n + \frac1m\Bigr) \Bigl[\sum_i \lambda_i
              + \frac12 \sum_{i, j} (1 + \delta_{ij}) \frac{\lambda_i \lambda_j}{\lambda_i + \lambda_j}\Bigr]

    with λ the eigenvalues of the pooled covariance within the sets, divisor n + m - 2. It is the distance that chance
    alone gives. Each set is centred at its own mean, so the value is also valid for sets that differ in location.

    The first sum belongs to the means, the second to the covariances: a sample covariance S + E has
    E[E_ij²] = (1 + δ_ij) λ_i λ_j / n in the eigenvectors of S, and the distance of S from S + E is
    Σ E_ij² / 2(λ_i + λ_j) to second order. It needs more points than dimensions, and nearly normal distributions.

    Two sets of two numbers, each with variance 2: (1/2 + 1/2)(2 + 2/2).

    >>> first, second = PointMoments.of([[0.0], [2.0]]), PointMoments.of([[5.0], [7.0]])
    >>> expected_frechet(first, second)
    3.0
    """
    pooled = (first.scatter + second.scatter) / (first.n + second.n - 2)
    values = np.maximum(np.linalg.eigvalsh(pooled), 0.0)
    positive = values[values > 0]
    pairs = positive.sum() / 2  # the terms i = j once more
    for part in chunks(positive.size, EIGENVALUES_TOGETHER):
        own = positive[part, None]
        pairs += (own / (own + positive) * positive).sum()
    return float((1 / first.n + 1 / second.n) * (values.sum() + pairs / 2))


def root_trace(S1: FloatArray, S2: FloatArray) -> float | None:
    r"""Return tr (S₁S₂)^½ from the covariances alone: the nuclear norm of L₁ᵀL₂; None if that is not accurate.

    A change E of S₁ changes the trace by tr(TE)/2, T = L₂QL₁⁻¹ with Q orthogonal. Rounding makes E about ε s_i s_j, s_i
    the standard deviations; with D = diag(s) this is at most ε √d ‖DL₂‖ ‖L₁⁻¹D‖ / 2 if errors have random signs.
    """
    from scipy.linalg import solve_triangular

    live = (np.diagonal(S1) > 0) & (np.diagonal(S2) > 0)  # a column that is constant in one set adds nothing
    if not live.any():
        return 0.0
    largest = float(max(S1.diagonal().max(), S2.diagonal().max()))
    unit = math.ldexp(1.0, math.frexp(largest)[1] - 1)  # no product of both overflows
    S1, S2 = (S[np.ix_(live, live)] / unit for S in (S1, S2))
    try:
        L1, L2 = (np.asarray(np.linalg.cholesky(S), dtype=np.float64) for S in (S1, S2))
    except np.linalg.LinAlgError:
        return None
    error = 0.0
    for L, other in ((L1, L2), (L2, L1)):
        size = np.sqrt(np.einsum("ij,ij->i", L, L))
        scaled = solve_triangular(L, np.diag(size), lower=True, check_finite=False)
        error += float(np.linalg.norm(size[:, None] * other) * np.linalg.norm(scaled))
    if EPS * np.sqrt(len(L1)) * error / 2 > MAX_ERROR * float(np.trace(S1) + np.trace(S2)):
        return None
    return unit * nuclear_norm(L1.T, L2.T)


def nuclear_norm(F1: FloatArray, F2: FloatArray) -> float:
    """Return the sum of the singular values of F₁F₂ᵀ, which is tr (S₁S₂)^½ for S = FᵀF."""
    if not (F1.size and F2.size):
        return 0.0
    return float(np.linalg.svd(F1 @ F2.T, compute_uv=False).sum())


def factor_of_rows(X: FloatArray, centre: FloatArray) -> FloatArray:
    """Return F with FᵀF the covariance of n points: the centred points, or if n > d their factor R.

    `centre` is their mean minus the first point: a large offset then costs no digits.
    """
    n, d = X.shape
    if n <= d:
        return np.asarray(((X - X[0]) - centre) / np.sqrt(n - 1))
    R = np.zeros((0, d))
    for start, stop in steps(n, size=max(MIN_CHUNK_POINTS, 2 * d), label="factorising points"):
        part = X[start:stop] - X[0]
        part -= centre
        R = np.asarray(np.linalg.qr(np.concatenate([R, part]), mode="r"))
    return np.asarray(R / np.sqrt(n - 1))


def factor_of_covariance(S: FloatArray) -> FloatArray:
    """Return F with FᵀF = S, a covariance; eigenvalues within rounding of 0 count as 0.

    The eigenvectors are those of the correlation matrix, to keep the digits of columns with small numbers.
    """
    size = np.sqrt(np.diagonal(S))
    live = size > 0
    C = S[np.ix_(live, live)] / size[live] / size[live, None]
    F = np.zeros((len(C), len(S)))
    if not len(C):
        return F
    values, vectors = np.linalg.eigh(C)
    values[values <= len(C) * EPS * values[-1]] = 0.0
    F[:, live] = np.sqrt(values)[:, None] * vectors.T * size[live]
    return F[values > 0]
