"""P-values: tails of distributions, exact binomial tails, and corrections for many tests."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from calibrant.inputs.arrays import FloatArray


def normal_sf(x: float) -> float:
    """Return P(Z > x) of a standard normal Z."""
    return 0.5 * math.erfc(x / math.sqrt(2))


def normal_quantile(share: float) -> float:
    """Return the value below which a standard normal falls with this probability."""
    return NormalDist().inv_cdf(share)


CERTAIN_EXTENT = 0.1  # a Brownian motion on [0, 1] stays within so little with a probability below 1e-50


def brownian_max_sf(x: float) -> float:
    """Return P(max|B| > x)."""
    if x <= CERTAIN_EXTENT:
        return 1.0
    if x < 1:
        terms = ((-1) ** k / (2 * k + 1) * math.exp(-((2 * k + 1) ** 2) * math.pi**2 / (8 * x * x)) for k in range(4))
        return 1 - 4 / math.pi * math.fsum(terms)
    return 4 * math.fsum((-1) ** k * normal_sf((2 * k + 1) * x) for k in range(5))


def brownian_range_sf(x: float) -> float:
    """Return P(max B - min B > x)."""
    if x <= CERTAIN_EXTENT:
        return 1.0
    if x < 2:
        halves = [(k + 0.5) ** 2 * math.pi**2 for k in range(4)]
        return 1 - math.fsum((8 / (x * x) + 2 / c) * math.exp(-2 * c / (x * x)) for c in halves)
    return 8 * math.fsum((-1) ** (k - 1) * k * normal_sf(k * x) for k in range(1, 11))


def binomial_tails(k: ArrayLike, n: ArrayLike, level: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return P(K <= k) and P(K >= k) of K ~ Binomial(n, level), each with the digits of a small value.

    >>> low, high = binomial_tails(2, 3, 0.5)
    >>> float(low), float(high)
    (0.875, 0.5)
    """
    from scipy.special import betainc, betaincc

    k, n, level = np.broadcast_arrays(np.asarray(k, np.float64), np.asarray(n, np.float64), np.asarray(level))
    low = np.where(k < n, betaincc(k + 1, np.maximum(n - k, 1), level), 1.0)
    high = np.where(k > 0, betainc(np.maximum(k, 1), n - k + 1, level), 1.0)
    return low, high


def beta_binomial_tails(k: int, n: int, a: float, b: float) -> tuple[float, float]:
    """Return P(K <= k) and P(K >= k) of K ~ Binomial(n, q), q ~ Beta(a, b).

    Sums of the n + 1 probabilities, from ratios of neighbours: P(j + 1)/P(j) = (n - j)(a + j)/((j + 1)(b + n - j - 1)).

    >>> beta_binomial_tails(0, 3, 1.0, 1.0)  # uniform on 0, 1, 2, 3
    (0.25, 1.0)
    """
    j = np.arange(n, dtype=np.float64)
    steps = np.log((n - j) * (a + j) / ((j + 1) * (b + n - j - 1)))
    logs = np.concatenate(([0.0], np.cumsum(steps)))
    mass = np.exp(logs - logs.max())
    total = mass.sum()
    return min(1.0, float(mass[: k + 1].sum() / total)), min(1.0, float(mass[k:].sum() / total))


def two_sided(low: ArrayLike, high: ArrayLike) -> FloatArray:
    """Return the doubled smaller tail, at most 1: below a exactly if the level is outside Clopper-Pearson at 1 - a."""
    return np.asarray(np.minimum(1.0, 2 * np.minimum(low, high)))


def holm(pvalues: FloatArray) -> FloatArray:
    """Return Holm's adjusted p-values (1979) in the given order; NaN stays NaN and is not counted.

    With p in ascending order, the i-th of m becomes the largest of min(1, (m - j + 1) p_j) over j <= i.

    >>> holm(np.array([0.04, 0.01, np.nan])).tolist()
    [0.04, 0.02, nan]
    """
    adjusted = np.full(pvalues.shape, np.nan)
    known = np.flatnonzero(~np.isnan(pvalues))
    order = known[np.argsort(pvalues[known], kind="stable")]
    steps = pvalues[order] * np.arange(order.size, 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def bonferroni(pvalues: list[float]) -> float:
    """Return the p-value of several tests together: the smallest, times their number; 1 if there are none.

    >>> bonferroni([0.25, 0.125, 0.5])
    0.375
    """
    return min(1.0, len(pvalues) * min(pvalues)) if pvalues else 1.0


def is_floor(pvalue: float, floor: float) -> bool:
    """Return whether a p-value is the smallest that redraws can give: more of them could show a smaller one."""
    return 0 < pvalue <= floor * (1 + 1e-9)
