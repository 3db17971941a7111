"""Tails of the number of hits in n rows: binomial, and beta-binomial when the coverage itself is drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calibrant.inputs.weights import FloatArray


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
