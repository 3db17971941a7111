"""Quantiles of the number of events among independent rows of unequal probabilities."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

EXACT_ROWS = 2000
ROUNDING = 1e-12  # a tail that equals the level but for rounding counts as equal


def count_band(p: FloatArray, count: NDArray[np.int64], level: float) -> tuple[int, int]:
    """Return the quantiles (1 ± level)/2 of the number of events among rows with probabilities p, count times each.

    Exact up to 2000 rows; beyond that by the first three cumulants (Cornish-Fisher), rounded outwards to a count.
    """
    tail = (1 - level) / 2
    if count.sum() <= EXACT_ROWS:
        return _exact(law(np.repeat(p, count)), tail)
    return _cornish_fisher(p, count, tail)


def law(p: FloatArray) -> FloatArray:
    """Return P(number of events = k), k = 0..n, by convolving halves: sums of positive terms only."""
    if p.size == 0:
        return np.ones(1)
    parts = list(np.stack([1 - p, p], axis=1))
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        parts = [*(np.convolve(a, b) for a, b in pairs), *parts[len(parts) // 2 * 2 :]]
    return np.asarray(parts[0])


def _exact(mass: FloatArray, tail: float) -> tuple[int, int]:
    below = np.cumsum(mass)
    above = np.cumsum(mass[::-1])[::-1] - mass  # P(X > k)
    low = int(np.argmax(below >= tail - ROUNDING))
    high = int(np.argmax(above <= tail + ROUNDING))
    return low, high


def _cornish_fisher(p: FloatArray, count: NDArray[np.int64], tail: float) -> tuple[int, int]:
    from scipy.special import ndtri

    n, v = int(count.sum()), count * p * (1 - p)
    mean, variance, third = float(np.dot(count, p)), float(v.sum()), float(np.dot(v, 1 - 2 * p))
    z = -float(ndtri(tail))
    skew = third * (z * z - 1) / (6 * variance) if variance > 0 else 0.0
    half = z * math.sqrt(variance)
    return max(0, math.floor(mean - half + skew)), min(n, math.ceil(mean + half + skew))
