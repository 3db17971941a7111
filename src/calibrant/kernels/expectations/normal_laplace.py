"""Means that mix a normal part with Laplace parts.

In units of the length scale a Gaussian kernel is √(2π) times a normal density and an exponential kernel twice a Laplace
density. So these means are densities of sums of independent variables: one Normal(0, s), and one or two Laplace(0, b),
Laplace(0, c). The kernel is the normal one with s = 1, or a Laplace one with c = 1.
"""

from __future__ import annotations

import math

import numpy as np

from calibrant.inputs.weights import FloatArray
from calibrant.kernels.expectations.normal import ROOT_HALF, folded, normal_exponential

ROOT_TWO_PI = math.sqrt(2 * math.pi)
UNIT = np.ones(())
NEARLY_EQUAL = 0.01  # relative; the quotient loses two digits there, three Gauss-Legendre nodes none
NODES = tuple((0.5 + 0.5 * x, 0.5 * w) for x, w in zip(*np.polynomial.legendre.leggauss(3), strict=True))
FRACTION_FROM = 5.0  # 1 - x m(x) has lost 25 eps here, and the continued fraction none
FRACTION_DEPTH = 32


def laplace_gaussian(d: FloatArray, b: FloatArray) -> FloatArray:
    """Return E exp(-Z²/2) of Z ~ Laplace(d, b).

    >>> float(laplace_gaussian(np.array(0.0), np.array(1.0)).round(12))
    0.655679542419
    """
    return ROOT_TWO_PI * _one(d, UNIT, b)


def laplace_laplace_gaussian(d: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """Return E exp(-(Z - Z')²/2) of Z ~ Laplace(d, b) and Z' ~ Laplace(0, c)."""
    return ROOT_TWO_PI * _two(d, UNIT, b, c)


def normal_laplace_gaussian(d: FloatArray, s: FloatArray, b: FloatArray) -> FloatArray:
    """Return E exp(-(Z - Z')²/2) of Z ~ Normal(d, s) and Z' ~ Laplace(0, b)."""
    return ROOT_TWO_PI * _one(d, np.sqrt(1 + s * s), b)


def normal_laplace_exponential(d: FloatArray, s: FloatArray, b: FloatArray) -> FloatArray:
    """Return E exp(-|Z - Z'|) of Z ~ Normal(d, s) and Z' ~ Laplace(0, b)."""
    return 2 * _two(d, s, b, UNIT)


def _one(gap: FloatArray, s: FloatArray, b: FloatArray) -> FloatArray:
    """Return the density of Normal(0, s) + Laplace(0, b) at gap."""
    return np.asarray(normal_exponential(gap / b, s / b) / (2 * b))


def _two(gap: FloatArray, s: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """Return the density of Normal(0, s) + Laplace(0, b) + Laplace(0, c) at gap.

    The characteristic function of the two Laplace variables is 1/((1 + b²ω²)(1 + c²ω²)): the difference quotient of
    u/(1 + uω²) between u = b² and u = c², which cancels where they are nearly equal, and the mean over u between them
    of the derivative 1/(1 + uω²)², which is the case of equal scales.
    """
    gap, s, b, c = np.broadcast_arrays(gap, s, b, c)
    b, c = np.maximum(b, c), np.minimum(b, c)
    close = b - c < NEARLY_EQUAL * b
    if close.all():
        return _nearly_equal(gap, s, b, c)
    distinct = np.where(close, 2 * b, b)
    value = np.asarray(
        (distinct * normal_exponential(gap / distinct, s / distinct) - c * normal_exponential(gap / c, s / c))
        / (2 * (distinct - c) * (distinct + c))
    )
    if close.any():
        value[close] = _nearly_equal(gap[close], s[close], b[close], c[close])
    return value


def _nearly_equal(gap: FloatArray, s: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    if (b == c).all():
        return _equal(gap, s, b)
    # (b - c)(b + c) and not b² - c², so that the nodes lie between the two to the last digit
    return np.asarray(sum(w * _equal(gap, s, np.sqrt(c * c + x * (b - c) * (b + c))) for x, w in NODES))


def _equal(gap: FloatArray, s: FloatArray, b: FloatArray) -> FloatArray:
    """Return the density of Normal(0, s) + two Laplace(0, b): E (1 + |D|/b) exp(-|D|/b) / (4b), D ~ Normal(gap, s)."""
    r, s = gap / s, s / b
    right, left, g = folded(gap / b, r, s)
    g = g / ROOT_TWO_PI
    x = s - r
    slope = np.where(x < 0, g - x * right, g * _first_moment(np.maximum(x, 0.0))) + g * _first_moment(s + r)
    return np.asarray((right + left + s * slope) / (4 * b))


def _first_moment(x: FloatArray) -> FloatArray:
    """Return ∫ t exp(-xt - t²/2) dt over t > 0, for x >= 0: 1 - x m(x) with the Mills ratio m.

    Far out the difference cancels; there m = 1/(x + 1/(x + 2/(x + ...))) gives it as a quotient of positive terms.
    """
    from scipy.special import erfcx

    value = np.asarray(1 - x * (ROOT_TWO_PI / 2) * erfcx(ROOT_HALF * x))
    far = x > FRACTION_FROM
    if far.any():
        z = x[far]
        rest = z
        for k in range(FRACTION_DEPTH, 1, -1):
            rest = z + k / rest
        value[far] = 1 / (1 + z * rest)
    return value
