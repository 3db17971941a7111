"""Poisson probabilities with all their digits, also of large counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calibrant.inputs.weights import FloatArray

SMALL = 16  # counts below have their norm from a product, those from here on from Stirling's series
NEAR = 0.3  # up to this |n - λ|/(n + λ) the deviance comes from a series of so many terms
TERMS = 15


def poisson_pmf(n: ArrayLike, mean: ArrayLike) -> FloatArray:
    r"""Return P(X = n) of a Poisson variable X of mean λ > 0.

    .. math:: \frac{e^{-D(n, λ)}}{S(n)}, \qquad D = n \log\frac{n}{λ} + λ - n, \qquad S = \frac{n!\, e^n}{n^n}

    The textbook form n log λ - λ - log n! subtracts numbers of the size of n; here nothing large cancels (Loader 2000,
    "Fast and accurate computation of binomial probabilities").

    >>> float(poisson_pmf(0, 2.0) * np.exp(2.0))
    1.0
    >>> round(float(poisson_pmf(3, 3.0)), 6)  # 27/6 e^-3
    0.224042
    """
    count, expected = np.broadcast_arrays(np.asarray(n, np.float64), np.asarray(mean, np.float64))
    return np.asarray(np.exp(-_deviance(count, expected)) / norm(count))


def norm(n: FloatArray) -> FloatArray:
    """Return n! e^n / n^n, which is near sqrt(2πn), and 1 for n = 0."""
    small = np.exp(np.cumsum(_log_ratios()))
    n = np.asarray(n, np.float64)
    large = np.maximum(n, SMALL)
    r = 1 / (large * large)
    series = (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r / 1188)))) / large
    stirling = np.sqrt(2 * np.pi * large) * np.exp(series)
    return np.asarray(np.where(n < SMALL, small[np.minimum(n, SMALL - 1).astype(np.intp)], stirling))


def _log_ratios() -> FloatArray:
    """Return log(norm(n)/norm(n - 1)) = 1 + (n - 1) log(1 - 1/n) of small n, and 0 for n = 0."""
    n = np.arange(2.0, SMALL)
    return np.concatenate([[0.0, 1.0], 1 + (n - 1) * np.log1p(-1 / n)])


def _deviance(n: FloatArray, mean: FloatArray) -> FloatArray:
    """Return n log(n/λ) + λ - n, where n is near λ by log(n/λ) = 2 artanh v, v = (n - λ)/(n + λ)."""
    from scipy.special import xlogy

    v = (n - mean) / (n + mean)
    u = np.where(np.abs(v) < NEAR, v * v, 0.0)
    tail = np.zeros_like(u)
    for k in range(TERMS, 0, -1):
        tail = u * (1 / (2 * k + 1) + tail)
    near = v * (n - mean + 2 * n * tail)
    return np.asarray(np.where(np.abs(v) < NEAR, near, xlogy(n, n / mean) + mean - n))
