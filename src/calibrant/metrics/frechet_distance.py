"""Fréchet distance of two sets of points: of their means and covariances."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.options import check_choice, generator
from calibrant.inputs.point_order import point_order
from calibrant.inputs.points import check_names, read_points
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.root_trace import factor_of_covariance, factor_of_rows, nuclear_norm, root_trace
from calibrant.progress import steps
from calibrant.summaries.point_moments import PointMoments

SIXTHS = (2, 3, 4, 5, 6)  # of the points of a set, in the nested subsets of an extrapolation
LEAST_SUBSET = 10  # points of the smallest of them


class Side(NamedTuple):
    """What the distance needs of one set: its mean about an origin that both sets have, and its covariance."""

    mean: FloatArray
    trace: float  # of the covariance
    covariance: FloatArray | None  # None for n ≤ d points: it has no inverse, and may be far larger than they are
    factor: Callable[[], FloatArray]  # returns F with FᵀF the covariance


def frechet_distance(y: Any, points: Any, *, extrapolate: bool = False, rng: Any = None) -> float:
    r"""Squared Fréchet distance of the Gaussian laws with the means and covariances of two sets of points.

    .. math:: |\mu_1 - \mu_2|^2 + \operatorname{tr} S_1 + \operatorname{tr} S_2
              - 2 \operatorname{tr} (S_1 S_2)^{1/2}

    Parameters
    ----------
    y
        Real points (n, d), or their `PointMoments`.
    points
        Generated points (m, d), or their `PointMoments`; n and m may differ.
    extrapolate
        Whether the bias is taken off: the value at infinitely many points, by a line. Needs the points of both sets.
    rng
        A Generator or a whole number, with ``extrapolate=True``: which points are in the subsets.

    Returns
    -------
    float
        At least 0, and 0 if means and covariances agree. With ``extrapolate=True`` it may be negative.

    Notes
    -----
    The square of the 2-Wasserstein distance of two Gaussian laws (Dowson and Landau 1982), in squared units of the
    coordinates; on features of an Inception network it is the FID (Heusel et al. 2017). It sees means and covariances
    alone: sets that differ in anything else have 0. Coordinates are not rescaled, so that one with large units decides.
    Covariances have divisor n - 1.

    The value is biased: two sets of one law have a positive one, about (1/n + 1/m) times a number that grows with d².
    Values at different n do not compare. For a Gaussian law in 50 dimensions with covariance 1 and n = m = 1600 it is
    0.861 on average. `compare_samples` prints what chance gives beside the value.

    ``extrapolate=True``: the points of each set are put in random order, and the distance is found for the first 2/6,
    3/6, 4/6, 5/6 and for all of them, of both sets at once. Returned is the intercept of the least-squares line of
    these five values in 1/n + 1/m, n and m those of the subset (after Chong and Forsyth 2020, who fit 15 sizes of one
    set). The smallest subset must have at least 2d points, and 10. Simulated means, with their standard errors:

    ========================================= ========== =============== ==================
    Gaussian laws                             true value found           extrapolated
    ========================================= ========== =============== ==================
    equal, d = 10, n = m = 200                0          0.377 ± 0.001   -0.003 ± 0.002
    equal, d = 10, n = m = 60                 0          1.264 ± 0.004   -0.032 ± 0.007
    equal, d = 5, n = m = 30                  0          0.843 ± 0.004   -0.047 ± 0.009
    equal, d = 30, n = m = 300                0          1.755 ± 0.004   -0.022 ± 0.008
    equal, d = 50, n = m = 1600               0          0.856 ± 0.003   -0.012 ± 0.006
    different, d = 10, n = m = 200            0.524      0.917 ± 0.002   0.517 ± 0.003
    different, d = 10, n = 500, m = 250       0.524      0.761 ± 0.002   0.521 ± 0.003
    different, d = 30, n = m = 300            1.611      3.356 ± 0.007   1.596 ± 0.011
    ========================================= ========== =============== ==================

    The different laws are 0.1 apart in every coordinate, with standard deviations 1 and 1 + 0.3 sin k. So it takes off
    nearly all of the bias, and 1 to 6 percent too much, most where n is near 6d. The value scatters more, with 1.4 to
    2.1 times the standard deviation; of sets of one law it is negative about every other time.

    Where a covariance has no inverse (n <= d) or nearly none, the points themselves are used, as the root of a matrix
    keeps only half of the digits there. `PointMoments` hold no points: a covariance that is nearly singular in one set
    and not in the other leaves about 8 digits. The root of the product of both covariances, which pytorch-fid takes by
    `scipy.linalg.sqrtm`, is never formed: rounding may make it complex. Time grows with n d² and d³, of `PointMoments`
    with d³.

    References
    ----------
    Dowson and Landau (1982), The Fréchet distance between multivariate normal distributions; Heusel et al. (2017),
    GANs trained by a two time-scale update rule converge to a local Nash equilibrium; Chong and Forsyth (2020),
    Effectively unbiased FID and Inception score and where to find them.

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
    check_choice("extrapolate", extrapolate, False, True)
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
    else:  # about an origin near both, a large offset costs no digits
        origin = second.mean if isinstance(second, PointMoments) else first[0]
    return _distance(_side(first, origin), _side(second, origin))


def _read(values: Any, name: str) -> FloatArray | PointMoments:
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
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
        found = float(step @ step) + first.trace + second.trace - 2 * root
    if not math.isfinite(found):
        raise InputError("the means or the spreads are too large for their squares; give the points in other units")
    return max(0.0, found)


def _extrapolated(first: FloatArray | PointMoments, second: FloatArray | PointMoments, rng: Any) -> float:
    """Return the distance at infinitely many points, from those of nested subsets."""
    if isinstance(first, PointMoments) or isinstance(second, PointMoments):
        raise InputError("extrapolate=True needs the points of both sets, not their PointMoments: it takes subsets")
    if rng is None:
        raise InputError("extrapolate=True takes random subsets; pass rng, such as rng=0, so that it can be repeated")
    chance = generator(rng)
    least = max(LEAST_SUBSET, 2 * first.shape[1])
    if (few := min(len(first), len(second))) < 3 * least:
        raise NotApplicableError(
            f"extrapolate=True needs at least {3 * least} points of {first.shape[1]} dimensions in each set, so that a "
            f"third of them has twice as many as dimensions and {LEAST_SUBSET} or more; got {few}"
        )
    orders = [chance.permutation(point_order(X)) for X in (first, second)]  # the order of the rows has no part in it
    found, ends = [PointMoments.zero(), PointMoments.zero()], [0, 0]
    inverse, value = np.empty(len(SIXTHS)), np.empty(len(SIXTHS))
    for k, _ in steps(len(SIXTHS), size=1, label="extrapolating"):
        for side, X in enumerate((first, second)):
            start, ends[side] = ends[side], round(len(X) * SIXTHS[k] / 6)
            found[side] += PointMoments.about(X, first[0], orders[side][start : ends[side]])
        inverse[k] = 1 / ends[0] + 1 / ends[1]
        value[k] = _distance(*(_side(moments, found[1].mean) for moments in found))
    step = inverse - inverse.mean()
    return float(value.mean() - (step @ value) / (step @ step) * inverse.mean())
