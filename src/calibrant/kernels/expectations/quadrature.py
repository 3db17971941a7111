"""Means under any law of real outcomes that has a quantile function."""

from __future__ import annotations

from functools import cache

import numpy as np

from calibrant.inputs.laws import Law
from calibrant.inputs.weights import FloatArray
from calibrant.kernels.expectations.points import PointMeans
from calibrant.kernels.kernel import Kernel

POINTS = 129
FARTHEST = 8.3  # standard normal; what lies beyond has probability 1e-16
CHECKED = 64  # rows, the widest ones, on which the rule is compared with one twice as fine
TOLERANCE = 1e-6


@cache
def normal_rule(size: int = POINTS) -> tuple[FloatArray, FloatArray]:
    """Return equidistant points and weights for means under the standard normal law.

    The trapezoidal rule converges faster than any power of the spacing for integrands as smooth as this one.
    """
    x = np.linspace(-FARTHEST, FARTHEST, size)
    weights = np.exp(-0.5 * x * x)
    weights /= weights.sum()
    for array in (x, weights):
        array.flags.writeable = False
    return x, weights


def quantile_points(law: Law, size: int = POINTS) -> tuple[FloatArray, FloatArray]:
    """Return points (n, size) and weights (size,): z = F⁻¹(Φ(x)) at the points x of `normal_rule`.

    Right of the median the survival side is used, so that no tail is rounded away.
    """
    from scipy.special import ndtr

    x, weights = normal_rule(size)
    left, right = ndtr(x[x <= 0]), ndtr(-x[x > 0])
    low = law.ppf(np.broadcast_to(left, (law.n, left.size)))
    high = law.isf(np.broadcast_to(right, (law.n, right.size)))
    return np.concatenate([low, high], axis=1), weights


def quadrature_means(law: Law, kernel: Kernel) -> PointMeans | None:
    """Return the means of a smooth kernel under a law with a quantile function; None where the rule is too coarse.

    E k(Z, Z') at a length scale equal to the law's scale is right to 1e-12 for normal, logistic and gamma laws, to 1e-7
    for heavy tails (t with 3 degrees of freedom) or a kink in the density (Laplace). It gets worse as the length scale
    shrinks and points lie farther apart than the kernel is wide; a rule off by more than 1e-6 is not used.
    """
    points, weights = quantile_points(law)
    means = PointMeans(points, weights, kernel)
    width = points[:, 3 * POINTS // 4] - points[:, POINTS // 4]
    rows = np.argsort(width)[-CHECKED:]
    finer = PointMeans(*quantile_points(law.take(rows), 2 * POINTS - 1), kernel)
    off = np.abs(means.double(rows, rows) - finer.own)
    return means if (off <= TOLERANCE).all() else None
