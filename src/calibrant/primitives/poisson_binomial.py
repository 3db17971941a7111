"""Quantiles of the number of events among independent rows of unequal probabilities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray

EXACT_ROWS = 2000
SKEWED = 100.0  # below this variance three cumulants do not describe the law
MOST_CELLS = 4096
ROUNDING = 1e-12  # a tail that equals the level but for rounding counts as equal


def count_band(p: FloatArray, count: NDArray[np.int64], level: float) -> tuple[int, int]:
    """Return the quantiles (1 ± level)/2 of the number of events among rows with probabilities p, count times each.

    Exact up to 2000 rows. Beyond that by the first three cumulants (Cornish-Fisher), rounded outwards to a count, or,
    where few events or few non-events are expected, by the law with the scores pooled into at most 4096 cells.
    `p` is ascending.
    """
    tail = (1 - level) / 2
    if count.sum() <= EXACT_ROWS:
        return _quantiles(law(np.repeat(p, count)), tail)
    if float((count * p * (1 - p)).sum()) >= SKEWED:
        return _cornish_fisher(p, count, tail)
    return _rare(p, count, tail)


def law(p: FloatArray) -> FloatArray:
    """Return P(number of events = k), k = 0..n, by convolving halves: sums of positive terms only."""
    if p.size == 0:
        return np.ones(1)
    parts = list(np.stack([1 - p, p], axis=1))
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        parts = [*(np.convolve(a, b) for a, b in pairs), *parts[len(parts) // 2 * 2 :]]
    return np.asarray(parts[0])


def _quantiles(mass: FloatArray, tail: float) -> tuple[int, int]:
    below = np.cumsum(mass)
    above = np.cumsum(mass[::-1])[::-1] - mass  # P(X > k)
    return int(np.argmax(below >= tail - ROUNDING)), int(np.argmax(above <= tail + ROUNDING))


def _cornish_fisher(p: FloatArray, count: NDArray[np.int64], tail: float) -> tuple[int, int]:
    from scipy.special import ndtri

    n, v = int(count.sum()), count * p * (1 - p)
    mean, variance, third = float((count * p).sum()), float(v.sum()), float((v * (1 - 2 * p)).sum())
    z = -float(ndtri(tail))
    skew, half = third * (z * z - 1) / (6 * variance), z * math.sqrt(variance)
    return max(0, math.floor(mean - half + skew)), min(n, math.ceil(mean + half + skew))


def _rare(p: FloatArray, count: NDArray[np.int64], tail: float) -> tuple[int, int]:
    """Return the quantiles where almost every outcome is the more probable one, by the law of the exceptions."""
    high = int(np.searchsorted(p, 0.5, side="right"))
    events = _few(p[:high], count[:high])  # among rows where none is probable
    misses = _few(1 - p[high:], count[high:])  # among rows where an event is probable
    mass = np.convolve(events, misses[::-1])
    shift = int(count[high:].sum()) - (misses.size - 1)
    low, top = _quantiles(mass, tail)
    return max(0, low + shift), min(int(count.sum()), top + shift)


def _few(q: FloatArray, count: NDArray[np.int64]) -> FloatArray:
    """Return the law of the number of exceptions of small probabilities q, from its generating function."""
    if q.size == 0:
        return np.ones(1)
    starts = np.unique(np.linspace(0, q.size, MOST_CELLS, endpoint=False).astype(np.intp))
    rows: Any = np.add.reduceat(count, starts)
    mean: Any = np.add.reduceat(count * q, starts) / rows
    expected = float((rows * mean).sum())
    length = math.ceil(expected + 12 * math.sqrt(expected) + 40)  # beyond is less than rounding
    z = np.exp(2j * np.pi * np.arange(length) / length)
    generating = np.exp((rows[:, None] * np.log1p(mean[:, None] * (z - 1))).sum(axis=0))
    mass = np.maximum(np.fft.fft(generating).real, 0.0)
    return np.asarray(mass / mass.sum())
