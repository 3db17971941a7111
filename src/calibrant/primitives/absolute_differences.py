r"""Expected absolute differences: of a law from a point, and of two independent laws.

They are what a CRPS in closed form is made of: it is E|X - y| - ½ E|X - X'| (Gneiting and Raftery 2007, eq. 21).
"""

from __future__ import annotations

import math

import numpy as np

from calibrant.errors import NotApplicableError
from calibrant.inputs.laws import Laplace, Law, Normal
from calibrant.inputs.weights import FloatArray
from calibrant.kernels.expectations.normal import normal_exponential

ROOT_HALF = math.sqrt(0.5)
ROOT_TWO_OVER_PI = math.sqrt(2 / math.pi)
NEARLY_EQUAL = 1e-5  # of the sum of two scales: the quotient loses five digits here, the limit's error is below 1e-10


def from_point(law: Law, y: FloatArray) -> FloatArray:
    r"""Return E|X - y| of each row.

    With d = y - centre: :math:`A(d, \sigma)` for a normal law, :math:`|d| + b e^{-|d|/b}` for a Laplace law.

    >>> from_point(Laplace([0.0, 0.0], 1.0), np.array([0.0, np.log(2)])).round(4)
    array([1.    , 1.1931])
    """
    if isinstance(law, Normal):
        return normal_mean(y - law.mean, law.std)
    if isinstance(law, Laplace):
        d = np.abs(y - law.loc)
        return np.asarray(d + law.scale * _decay(d, law.scale))
    raise _unknown(law)


def between(first: Law, second: Law) -> FloatArray:
    r"""Return E|X - X'| of two independent laws, row by row.

    With m the difference of the centres: :math:`A(m, \sqrt{s^2 + s'^2})` for two normal laws (Grimit et al. 2006),

    .. math:: |m| + \frac{b^3 e^{-|m|/b} - c^3 e^{-|m|/c}}{b^2 - c^2}

    for two Laplace laws, :math:`|m| + e^{-|m|/b}(3b + |m|)/2` if b = c, and
    :math:`A(m, s) + b\,\mathrm{E} e^{-|D|/b}` with D ~ Normal(m, s) for a normal and a Laplace law.

    >>> between(Normal(0.0, 3.0), Normal(0.0, 4.0)) / np.sqrt(2 / np.pi)
    array([5.])
    >>> between(Laplace(1.0, 2.0), Laplace(1.0, 2.0))
    array([3.])
    """
    if isinstance(first, Laplace) and isinstance(second, Normal):
        first, second = second, first
    if isinstance(first, Normal) and isinstance(second, Normal):
        return normal_mean(first.mean - second.mean, np.hypot(first.std, second.std))
    if isinstance(first, Laplace) and isinstance(second, Laplace):
        return _laplace_laplace(np.abs(first.loc - second.loc), first.scale, second.scale)
    if isinstance(first, Normal) and isinstance(second, Laplace):
        return _normal_laplace(np.abs(first.mean - second.loc), first.std, second.scale)
    raise _unknown(first if not isinstance(first, (Normal, Laplace)) else second)


def normal_mean(m: FloatArray, s: FloatArray) -> FloatArray:
    r"""Return E|D| of D ~ Normal(m, s): A(m, s) = m(2Φ(m/s) - 1) + 2sφ(m/s).

    >>> (normal_mean(np.array(0.0), np.array(1.0)) - np.sqrt(2 / np.pi)).item()
    0.0
    """
    from scipy.special import erf

    with np.errstate(over="ignore"):
        z = m / s
        return np.asarray(m * erf(ROOT_HALF * z) + ROOT_TWO_OVER_PI * s * np.exp(-0.5 * z * z))


def _laplace_laplace(m: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    b, c = np.maximum(b, c), np.minimum(b, c)
    close = b - c <= NEARLY_EQUAL * (b + c)
    middle = b / 2 + c / 2
    limit = _decay(m, middle) * (3 * middle + m) / 2
    r = np.where(close, 0.5, c / b)  # in units of b, so that no cube leaves the range of float64
    quotient = b * (_decay(m, b) - r**3 * _decay(m, c)) / ((1 - r) * (1 + r))
    return np.asarray(m + np.where(close, limit, quotient))


def _normal_laplace(m: FloatArray, s: FloatArray, b: FloatArray) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(normal_mean(m, s) + b * normal_exponential(m / b, s / b))


def _decay(d: FloatArray, b: FloatArray) -> FloatArray:
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.exp(-d / b))


def _unknown(law: Law) -> NotApplicableError:
    return NotApplicableError(
        f"the expected absolute difference of {type(law).__name__} has no closed form here; Normal and Laplace have one"
    )
