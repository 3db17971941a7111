"""Exact simultaneous band for the counts of a histogram."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.count_limits import Limits, count_limits
from calibrant.primitives.ecdf_band import Band
from calibrant.primitives.gamma_search import largest_gamma
from calibrant.primitives.poisson_pmf import poisson_pmf
from calibrant.primitives.poisson_walk import Counts, fast_length


def histogram_band(N: int, shares: ArrayLike, level: float) -> Band:
    r"""Return limits that the counts of all bins keep to with a probability of at least `level`, N rows in all.

    The limits of bin k, of probability s_k, are those of Binomial(N, s_k) at one g for all bins, the largest that will
    do; see `ecdf_band`. Bins of one share have one pair of limits, so the band can hold more often than asked for.

    Examples
    --------
    >>> band = histogram_band(2, [0.5, 0.5], 0.5)
    >>> band.lower, band.upper, round(band.coverage, 12)
    (array([1, 1]), array([1, 1]), 0.5)
    """
    return _band(int(N), np.asarray(shares, np.float64).tobytes(), float(level))


def probability_inside(N: int, shares: FloatArray, bins: Counts, lower: Counts, upper: Counts) -> float:
    r"""Return P(lower_k <= n_k <= upper_k for all bins) of multinomial counts n, where bins_k bins have share_k.

    Counts of a multinomial law are independent Poisson counts, given that they add up to N: the N-th entry of the
    convolution over bins, each restricted to its limits, divided by the Poisson probability of N.

    >>> one = np.array([1])
    >>> round(probability_inside(2, np.array([0.5]), 2 * one, one, one), 12)
    0.5
    """
    first, last = int(bins @ lower), int(bins @ upper)
    if (lower > upper).any() or not first <= N <= last:
        return 0.0
    size = fast_length(last - first + 1)
    product = np.ones(size // 2 + 1, np.complex128)
    for share, power, low, high in zip(shares, bins, lower, upper, strict=True):
        product *= np.fft.rfft(poisson_pmf(np.arange(low, high + 1), N * share), size) ** power
    return float(np.clip(np.fft.irfft(product, size)[N - first] / poisson_pmf(N, N), 0, 1))


@lru_cache(maxsize=64)
def _band(N: int, shares: bytes, level: float) -> Band:
    different, which, bins = np.unique(np.frombuffer(shares), return_inverse=True, return_counts=True)

    def find(g: float, wide: Limits | None, narrow: Limits | None) -> Limits:
        return count_limits(g, N, different, wide=wide, narrow=narrow)

    def outside(limits: Limits) -> float:
        return 1 - probability_inside(N, different, bins, limits.lower, limits.upper)

    tail = 1 - level
    limits, p = largest_gamma(find, outside, tail=tail, guess=tail / which.size)
    for limit in (lower := limits.lower[which], upper := limits.upper[which]):
        limit.flags.writeable = False
    return Band(limits.reached, 1 - p, lower, upper)
