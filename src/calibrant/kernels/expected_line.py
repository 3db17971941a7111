"""Closed forms in one dimension: Normal and Laplace distributions with a Gaussian or an exponential kernel."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.parametric import Laplace, Normal
from calibrant.kernels.composed import RowIndex
from calibrant.kernels.kernel import Exponential, Gaussian, Kernel
from calibrant.kernels.target_means import TargetMeans

SERIES_TERMS = 22  # of the series in D for w < 1; the first one left out is below 1e-21
TINY = 1e-300


def laplace_exponential(z: FloatArray, beta: FloatArray) -> FloatArray:
    """Return E exp(-|Z|) of Z ~ Laplace(z, beta).

    >>> float(laplace_exponential(np.array(0.0), np.array(2.5)) * 3.5)
    1.0
    """
    return np.asarray(_once(z, beta) / (1 + beta))


def laplace_laplace_exponential(z: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """Return E exp(-|Z - Z'|) of Z ~ Laplace(z, b) and Z' ~ Laplace(0, c).

    >>> float(laplace_laplace_exponential(np.array(0.0), np.array(1.0), np.array(1.0)))
    0.375
    """
    b, c = np.maximum(b, c), np.minimum(b, c)  # c/b stays small, and the value is symmetric to the last bit
    twice = z * z * (c / b) * second_difference(z / b, z / c, z)
    return np.asarray(((c + b / (1 + b)) * _once(z, b) + twice) / ((1 + c) * (b + c)))


def phi(x: FloatArray) -> FloatArray:
    """Return (1 - exp(-x)) / x for x >= 0, 1 at 0."""
    x = np.maximum(x, TINY)
    return np.asarray(-np.expm1(-x) / x)


def second_difference(x: FloatArray, y: FloatArray, z: FloatArray) -> FloatArray:
    """Return the second divided difference of exp(-x) at three points >= 0."""
    low = np.minimum(np.minimum(x, y), z)
    high = np.maximum(np.maximum(x, y), z)
    middle = np.maximum(np.minimum(x, y), np.minimum(np.maximum(x, y), z))
    a, w = middle - low, high - low
    wide = np.maximum(w, 1.0)
    value = np.asarray((phi(a) - np.exp(-a) * phi(high - middle)) / wide)
    close = w < 1
    if close.any():
        value = np.where(close, 0.0, value)
        value[close] = _series(a[close], w[close])
    return np.asarray(np.exp(-low) * value)


def _series(a: FloatArray, w: FloatArray) -> FloatArray:
    """Return Σ_k (-1)^k c_k / (k+2)!, c_k = w c_{k-1} + a^k: the divided difference relative to its lowest point."""
    c, power = np.ones_like(w), np.ones_like(a)
    total = 0.5 * c
    for k in range(1, SERIES_TERMS):
        power *= a
        c *= w
        c += power
        total += ((-1) ** k / math.factorial(k + 2)) * c
    return total


def _once(z: FloatArray, b: FloatArray) -> FloatArray:
    """Return exp(-z) + z M(z/b, z), M the first divided difference of exp(-x) with its sign turned."""
    x = z / b
    return np.asarray(np.exp(-z) + z * np.exp(-np.minimum(x, z)) * phi(np.abs(x - z)))


ROOT_HALF = math.sqrt(0.5)


def normal_gaussian(d: FloatArray, s: FloatArray) -> FloatArray:
    """Return E exp(-D²/2) of D ~ Normal(d, s): exp(-d² / (2v)) / √v with v = 1 + s².

    >>> float(normal_gaussian(np.array(0.0), np.array(math.sqrt(3))).round(12))
    0.5
    """
    v = 1 + s * s
    return np.asarray(np.exp(-0.5 * d * d / v) / np.sqrt(v))


def normal_exponential(d: FloatArray, s: FloatArray) -> FloatArray:
    """Return E exp(-|D|) of D ~ Normal(d, s).

    >>> float(normal_exponential(np.array(0.0), np.array(1.0)).round(12))
    0.52315658373
    """
    right, left, _ = folded(d, d / s, s)
    return right + left


def folded(d: FloatArray, r: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return E exp(-|D|) of D ~ Normal(d, s) on {D > 0} and on {D < 0}, and exp(-r²/2); r = d/s.

    The first is exp(s²/2 - d) Φ(r - s), which for r <= s is written with erfcx, and nothing overflows.
    """
    from scipy.special import erfcx

    g = np.exp(-0.5 * r * r)
    near = 0.5 * g * erfcx(ROOT_HALF * np.abs(s - r))
    whole = np.exp(np.minimum(0.5 * s * s - d, 0.0))  # below 0 wherever it is used
    return np.where(r <= s, near, whole - near), 0.5 * g * erfcx(ROOT_HALF * (s + r)), g


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
    # (b - c)(b + c) and not b² - c²: the nodes then lie between the two to the last digit
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


LineDistribution = Normal | Laplace

# In length scales. Narrower acts like 0, farther or wider has means below 1e-99, and in between nothing overflows.
NARROWEST, WIDEST = 1e-50, 1e100

SINGLE: dict[tuple[type[LineDistribution], type[Kernel]], Callable[[FloatArray, FloatArray], FloatArray]] = {
    (Normal, Gaussian): normal_gaussian,
    (Normal, Exponential): normal_exponential,
    (Laplace, Gaussian): laplace_gaussian,
    (Laplace, Exponential): laplace_exponential,
}
DOUBLE: dict[
    tuple[type[LineDistribution], type[LineDistribution], type[Kernel]],
    Callable[[FloatArray, FloatArray, FloatArray], FloatArray],
] = {
    (Normal, Normal, Gaussian): lambda d, s, t: normal_gaussian(d, np.sqrt(s * s + t * t)),
    (Normal, Normal, Exponential): lambda d, s, t: normal_exponential(d, np.sqrt(s * s + t * t)),
    (Normal, Laplace, Gaussian): normal_laplace_gaussian,
    (Normal, Laplace, Exponential): normal_laplace_exponential,
    (Laplace, Normal, Gaussian): lambda d, b, s: normal_laplace_gaussian(d, s, b),
    (Laplace, Normal, Exponential): lambda d, b, s: normal_laplace_exponential(d, s, b),
    (Laplace, Laplace, Gaussian): laplace_laplace_gaussian,
    (Laplace, Laplace, Exponential): laplace_laplace_exponential,
}


@dataclass(frozen=True, eq=False)
class LineMeans(TargetMeans):
    """Means under a Normal or Laplace distribution."""

    distribution: LineDistribution
    kernel: Kernel

    @property
    def n(self) -> int:
        return self.distribution.n

    @property
    def centre(self) -> FloatArray:
        return self.distribution.parameters[0]

    @cached_property
    def spread(self) -> FloatArray:
        """Standard deviation or scale in units of the length scale."""
        with np.errstate(over="ignore"):
            return np.clip(self.distribution.parameters[1] / self.kernel.length, NARROWEST, WIDEST)

    def single(self, i: RowIndex, t: FloatArray) -> FloatArray:
        return SINGLE[type(self.distribution), type(self.kernel)](self._gap(self.centre[i], t), self.spread[i])

    def double_with(self, other: LineMeans, i: RowIndex, j: RowIndex) -> FloatArray:
        form = DOUBLE[type(self.distribution), type(other.distribution), type(self.kernel)]
        return form(self._gap(self.centre[i], other.centre[j]), self.spread[i], other.spread[j])

    def _gap(self, x: FloatArray, t: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.asarray(np.minimum(np.abs(x - t) / self.kernel.length, WIDEST))
