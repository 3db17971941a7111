"""The shift and the spread of normal predictions that would give outcomes the ranks that they have."""

from __future__ import annotations

from functools import cache
from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inference.tails import normal_quantile
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.legendre import DEGREES, legendre

WIDEST = log(20.0)  # factors of the spread beyond 20 and 1/20 are one to the ranks
STEPS = 36  # halvings of that range
FEW = 30  # rows, too few for a covariance of their own


class NormalErrors(NamedTuple):
    """Shift and spread of predictions by their ranks, and what they leave over.

    `shift` is in predictive standard deviations, positive if predictions are too high; `spread` is the factor that the
    predictive spread needs. `parts` are what each of them alone would make of the first and second component, `rest`
    what both leave of the third and fourth, all in the size that many draws would give. `ends` is the share of ranks
    0 and M that they would make. `measurable` tells whether any normal errors give such components.
    """

    shift: float
    shift_low: float
    shift_high: float
    spread: float
    spread_low: float
    spread_high: float
    parts: FloatArray  # (2,)
    rest: FloatArray  # (K - 2,)
    ends: float
    measurable: bool


def shrinkage(M: int) -> FloatArray:
    r"""Return what finitely many draws leave of the components of a rank, (K,).

    A rank among M draws is Binomial(M, u) given the value u of the predicted distribution function, and

    .. math:: \mathrm{E}[\varphi_k(r) \mid u] = \rho_k \sqrt{2k + 1}\, P_k(2u - 1), \qquad
              \rho_k^2 = \prod_{i=1}^k \frac{M - i + 1}{M + i + 1}

    with the Legendre polynomial P_k: 0.97 for the spread among 99 draws, 0.74 among 9.

    >>> shrinkage(9).round(2)
    array([0.9 , 0.74, 0.54, 0.35])
    """
    i = np.arange(1, min(DEGREES, M) + 1)
    return np.asarray(np.sqrt(np.cumprod((M - i + 1) / (M + i + 1))))


def normal_errors(counts: NDArray[np.int64], level: float) -> NormalErrors:
    r"""Return the errors of normal predictions whose ranks have the first two components of these counts, (M + 1,).

    Outcomes N(0, τ²) in units of a predictive law N(δ, 1) have u = Φ(τz - δ), z standard normal. δ and τ solve

    .. math:: \rho_k \sqrt{2k + 1}\, \mathrm{E}\, P_k(2u - 1) = \frac1n \sum_i \varphi_k(r_i), \qquad k = 1, 2,

    which `rank_effect` does to first order for many draws. Intervals are those of the delta method with the covariance
    that the components have in these counts, or of uniform ranks if there are few.

    >>> found = normal_errors(np.array([25, 25, 25, 25]), 0.95)
    >>> round(found.shift, 6) + 0.0, round(found.spread, 6)
    (0.0, 1.0)
    """
    n, M = int(counts.sum()), counts.size - 1
    rho = shrinkage(M)
    phi = legendre(M) / rho[:, None]
    b = phi @ counts / n  # in the size that many draws would give
    shift, log_spread, measurable = _solved(b, M)
    expected = _components(shift, log_spread)
    parts = np.array([_components(shift, 0.0)[0], _components(0.0, log_spread)[1]])
    covariance = (phi * counts) @ phi.T / n - np.outer(b, b) if n >= FEW else np.diag(rho**-2)
    se = _standard_errors(shift, log_spread, covariance[:2, :2] / n) if measurable else np.full(2, np.inf)
    reach = normal_quantile((1 + level) / 2) * se
    with np.errstate(over="ignore"):
        low, high = (np.exp(log_spread + step) for step in (-reach[1], reach[1]))
    return NormalErrors(
        shift,
        shift - float(reach[0]),
        shift + float(reach[0]),
        exp(log_spread) if M > 1 else np.nan,
        float(low) if M > 1 else np.nan,
        float(high) if M > 1 else np.nan,
        parts,
        (b - expected[: b.size])[2:],
        _ends(shift, log_spread, M),
        measurable,
    )


@cache
def _normal() -> tuple[FloatArray, FloatArray]:
    """Return points of a standard normal variable and their probabilities."""
    z = np.linspace(-8.5, 8.5, 851)
    p = np.exp(-0.5 * z * z)
    return z, p / p.sum()


def _values(shift: float, log_spread: float) -> FloatArray:
    """Return u at the points."""
    from scipy.special import ndtr

    return np.asarray(ndtr(exp(log_spread) * _normal()[0] - shift))


def _components(shift: float, log_spread: float) -> FloatArray:
    """Return E √(2k + 1) P_k(2u - 1), k = 1 to 4."""
    x = 2 * _values(shift, log_spread) - 1
    s = x * x
    polynomials = [x, (3 * s - 1) / 2, x * (5 * s - 3) / 2, (35 * s * s - 30 * s + 3) / 8]
    return np.sqrt([3.0, 5.0, 7.0, 9.0]) * (np.stack(polynomials) @ _normal()[1])


def _solved(b: FloatArray, M: int) -> tuple[float, float, bool]:
    """Return shift and log spread with these components; one that is out of reach is set to the nearest in reach.

    E u = Φ(-δ/√(1 + τ²)) gives δ for each τ, and with that the second component grows with τ.
    """
    from scipy.special import ndtri

    mean = 0.5 + b[0] / sqrt(12)
    closest = 0.5 / (M + 1)
    measurable = closest <= mean <= 1 - closest
    q = float(ndtri(np.clip(mean, closest, 1 - closest)))
    if M == 1:
        return -sqrt(2) * q, 0.0, measurable

    def shift(log_spread: float) -> float:
        return -sqrt(1 + exp(2 * log_spread)) * q

    def second(log_spread: float) -> float:
        x = 2 * _values(shift(log_spread), log_spread) - 1
        return sqrt(5) * (3 * float((x * x) @ _normal()[1]) - 1) / 2

    if not measurable:
        return shift(0.0), 0.0, False
    low, high = -WIDEST, WIDEST
    if not second(low) < b[1] < second(high):
        end = low if b[1] <= second(low) else high
        return shift(end), end, False
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if second(middle) < b[1] else (low, middle)
    return shift(low), low, True


def _standard_errors(shift: float, log_spread: float, covariance: FloatArray) -> FloatArray:
    """Return those of shift and log spread, from the covariance of the components."""
    z, p = _normal()
    x = 2 * _values(shift, log_spread) - 1
    tau = exp(log_spread)
    density = 2 * np.exp(-0.5 * (tau * z - shift) ** 2) / sqrt(2 * np.pi)  # of x = 2u - 1
    by_component = np.stack([np.full_like(x, sqrt(3)), sqrt(5) * 3 * x])[: len(covariance)]
    by_error = np.stack([-density, tau * z * density])[: len(covariance)]
    slopes = (by_component * p) @ by_error.T
    inverse = np.linalg.pinv(slopes)
    se = np.sqrt(np.maximum(np.diag(inverse @ covariance @ inverse.T), 0.0))
    return se if se.size == 2 else np.array([se[0], np.nan])


def _ends(shift: float, log_spread: float, M: int) -> float:
    """Return the probability that the outcome lies outside all M draws, E[(1 - u)^M + u^M]."""
    u = _values(shift, log_spread)
    return float(((1 - u) ** M + u**M) @ _normal()[1])
