"""The median difference of all pairs of values, exactly, without forming the pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.pool import CountArray

LEAST_SAMPLE, LARGEST_SAMPLE = 1 << 11, 1 << 15  # pairs looked at in one round
MARGIN = 2.5  # of the sampled quantiles, in standard deviations: a bracket that misses costs one more round
FEW = 1 << 12  # pairs that are sorted at once


def pair_median(x: FloatArray, count: CountArray) -> float | None:
    """Return the median of |x_i - x_j| over all pairs of rows; if it is 0, the median of the positive differences.

    Parameters
    ----------
    x
        Different finite values in ascending order.
    count
        How many rows have each.

    Returns
    -------
    float or None
        With an even number of differences the mean of the two in the middle; None if no two values differ.

    Notes
    -----
    Differences of one row ascend with the other one, so that those up to a value are counted by one search per row.
    The middle is bracketed between quantiles of sampled pairs, checked by counting; a few rounds leave so few pairs
    that they can be sorted. The sample decides how long it takes, never the result: O(n log n).

    Examples
    --------
    >>> import numpy as np
    >>> pair_median(np.array([1.0, 2.0, 4.0]), np.array([1, 1, 1]))  # 1, 2, 3
    2.0
    >>> pair_median(np.array([1.0, 3.0, 6.0]), np.array([6, 1, 1]))  # 15 zeros, six 2, one 3, six 5
    3.0
    """
    if x.size < 2:
        return None
    n = int(count.sum())
    tied = int((count * (count - 1) // 2).sum())
    pairs = n * (n - 1) // 2
    low, high = _middle(pairs)
    if high < tied:  # the median is 0
        low, high = (rank + tied for rank in _middle(pairs - tied))
    first, second = _Pairs(x, count).at_ranks(max(low - tied, 0), high - tied)
    first = first if low >= tied else 0.0
    return first + (second - first) / 2


def _middle(total: int) -> tuple[int, int]:
    """Return the ranks of the one or two values in the middle, from 0 on."""
    return (total - 1) // 2, total // 2


class _Pairs:
    """Pairs i < j of different values, each as often as rows make it, whose differences lie in (least, most].

    `begin` and `end` limit j for each i, and `below` pairs have a difference of at most `least`.
    """

    def __init__(self, x: FloatArray, count: CountArray) -> None:
        self.x, self.count = x, count
        self.sample = min(max(x.size, LEAST_SAMPLE), LARGEST_SAMPLE)
        self.before = np.concatenate([[0], np.cumsum(count)])  # rows
        self.begin, self.end = np.arange(1, x.size + 1), np.full(x.size, x.size)
        self.least, self.most, self.below = 0.0, _difference(x[-1], x[0]), 0

    def at_ranks(self, low: int, high: int) -> tuple[float, float]:
        """Return the differences of these ranks from 0 on, low <= high <= low + 1."""
        rng, before = np.random.default_rng(0), 0
        while (many := int((self.end - self.begin).sum())) > max(FEW, 2 * self.x.size):
            if np.nextafter(self.least, np.inf) >= self.most:
                return self.most, self.most
            quick = not before or 2 * many < before  # else many differences are equal: halve the range of values
            pivots = self.sampled(low, high, rng) if quick else (_halfway(self.least, self.most),)
            before = many
            for t in pivots:
                if self.least < t < self.most and (split := self.cut(t, low, high)):
                    return split
        d, rows = self.listed()
        place = np.searchsorted(np.cumsum(rows), [low - self.below, high - self.below], side="right")
        return float(d[place[0]]), float(d[place[1]])

    def ends(self, t: float) -> NDArray[np.intp]:
        """Return for each i the first j whose difference, as float64 has it, is above t."""
        x = self.x
        with np.errstate(over="ignore"):
            j = np.searchsorted(x, x + t, side="right")
        while True:  # x_i + t is rounded, and may be a value or two off
            short = np.flatnonzero((j < x.size) & (_difference(x[np.minimum(j, x.size - 1)], x) <= t))
            far = np.flatnonzero(_difference(x[j - 1], x) > t)
            if not short.size and not far.size:
                return j
            j[short] += 1
            j[far] -= 1

    def cut(self, t: float, low: int, high: int) -> tuple[float, float] | None:
        """Keep the side of t that holds both ranks; if each side holds one, return their differences."""
        j = self.ends(t)
        below = int((self.count * (self.before[j] - self.before[1:])).sum())
        if below <= low:
            self.begin, self.least, self.below = j, t, below
            return None
        if below > high:
            self.end, self.most = j, t
            return None
        inside, outside = j > np.arange(1, j.size + 1), j < j.size
        last, first = self.x[j[inside] - 1], self.x[j[outside]]
        return float((last - self.x[inside]).max()), float((first - self.x[outside]).min())

    def sampled(self, low: int, high: int, rng: np.random.Generator) -> tuple[float, float]:
        """Return differences of sampled pairs that stand a little below and above the ranks."""
        ends = np.cumsum(self.count * (self.before[self.end] - self.before[self.begin]))
        step = float(ends[-1]) / self.sample
        places = (np.arange(self.sample) + rng.random(self.sample)) * step
        pair = np.minimum(places.astype(np.int64), ends[-1] - 1)
        i = np.searchsorted(ends, pair, side="right")
        row = self.before[self.begin[i]] + (ends[i] - 1 - pair) // self.count[i]
        d = np.sort(_difference(self.x[np.searchsorted(self.before, row, side="right") - 1], self.x[i]))
        margin = MARGIN * self.sample**0.5 / 2
        around = (low - self.below) / step - margin, (high - self.below) / step + margin
        first, last = (float(d[min(max(int(place), 0), d.size - 1)]) for place in around)
        return float(np.nextafter(first, 0.0)), last

    def listed(self) -> tuple[FloatArray, CountArray]:
        """Return the differences in ascending order, and how many pairs of rows have each."""
        many = self.end - self.begin
        i = np.repeat(np.arange(many.size), many)
        j = np.arange(i.size) - np.repeat(np.cumsum(many) - many, many) + self.begin[i]
        d = _difference(self.x[j], self.x[i])
        order = np.argsort(d)
        return d[order], (self.count[i] * self.count[j])[order]


def _difference(a: Any, b: Any) -> Any:
    """Return a - b; beyond the range of float64 it is infinite."""
    with np.errstate(over="ignore"):
        return a - b


def _halfway(least: float, most: float) -> float:
    """Return the float64 in the middle of all between two that are at least 0."""
    bits = np.array([least, most]).view(np.int64)
    return float((bits[:1] + (bits[1:] - bits[:1]) // 2).view(np.float64)[0])
