r"""The size of an error: root mean square difference between stated and true probability over similar scores.

.. math:: \Bigl(\sum_b f_b \bar e_b^2\Bigr)^{1/2}

with the share :math:`f_b` of the weight of a range b of scores, and the mean :math:`\bar e_b` of E(y | p) - p in it. It
is at most the root mean square over single rows: errors that cancel within a range are not seen. There are
⌊2n^(1/3) + 1/2⌋ ranges of equal weight, or one for each score if there are at most as many
(`core.bins.similar_bins`): they depend on scores and weights alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from calibrant.core.binned import similar_table
from calibrant.core.bins import BinTable, similar_bins
from calibrant.core.evidence import ABOVE_0, POWER
from calibrant.core.grid import Grid
from calibrant.core.limits import MAX_TIMES, Limits
from calibrant.core.mean_interval import exact_limits
from calibrant.core.null import MIN_INFORMATION
from calibrant.core.ordered import Ordered
from calibrant.inputs.arrays import FloatArray
from calibrant.probabilities.limits import l2_limits, squared_error_cdf, squared_error_quantile

LEAST_INFORMATION = 10.0  # with less, only the mean has limits
INFORMATION_PER_RANGE = 5.0  # of exact limits
WIDTHS = (10, 20)  # ranges of scores that are compared one by one
PRECISION = 1e-3  # relative, of a number of rows

How: TypeAlias = Literal["gamma", "exact", "mean"]
Quantity: TypeAlias = Literal["rms_error", "mean_error", "cutoff_error"]


@dataclass(frozen=True)
class Size:
    """The root mean square error over ranges of similar scores, and how its limits were found."""

    limits: Limits
    table: BinTable
    how: How

    @property
    def ranges(self) -> int:
        return int(np.count_nonzero(self.table.count))

    @property
    def quantity(self) -> Quantity:
        return "mean_error" if self.how == "mean" else "rms_error"


def information(summary: Ordered | Grid) -> float:
    """Return Σw²p(1 - p)/max w²."""
    return float(similar_table(summary, 1).w2v.sum()) / summary.weight_max**2


def size_of(summary: Ordered | Grid) -> Size | None:
    """Return the size of the error of independent rows; None if unequal weights leave too little information.

    Limits are those of a gamma distribution with an information of at least 25. With less of it those of Clopper and
    Pearson in a few ranges take their place, and with less than 10 those of the mean of all rows.
    """
    known = information(summary)
    if known >= MIN_INFORMATION:
        table = similar_table(summary)
        return Size(l2_limits(table, summary.weight_max), table, "gamma")
    if not summary.has_equal_weights:
        return None
    is_mean = known < LEAST_INFORMATION
    table = similar_table(summary, 1 if is_mean else int(known / INFORMATION_PER_RANGE))
    return Size(exact_root_limits(table), table, "mean" if is_mean else "exact")


def exact_root_limits(table: BinTable) -> Limits:
    """Return limits of the root mean square from those of the frequency in each range, which hold together."""
    share, stated = table.share, table.mean_predicted

    def frequencies(rate: float) -> tuple[FloatArray, FloatArray]:
        return frequency_limits(table, 2 * rate)

    def low(rate: float) -> float:
        least, most = frequencies(rate)
        return _root(share, np.maximum(np.maximum(least - stated, stated - most), 0.0))

    def high(rate: float) -> float:
        least, most = frequencies(rate)
        return _root(share, np.maximum(most - stated, stated - least))

    return Limits(_root(share, table.gap), low, high, "exact limits of the frequency in each range of scores")


def _root(share: FloatArray, distance: FloatArray) -> float:
    return math.sqrt(float(share @ distance**2))


def frequency_limits(table: BinTable, rate: float) -> tuple[FloatArray, FloatArray]:
    """Return the limits of Clopper and Pearson of the frequency in each range; all hold but with probability `rate`."""
    n = table.count.astype(np.float64)
    return exact_limits(np.rint(table.mean_observed * n), n, 1 - rate / n.size)


def rms_if_no_event(mean: float, variance: float) -> float:
    """Return the root of the mean of p², given the means of p and of p(1 - p), which lose it to rounding near 0."""
    return math.sqrt(max(mean - variance, mean**2))


# ---------------------------------------------------------------- ranges that are compared one by one


class Range(NamedTuple):
    """A range of scores whose frequency has limits that leave out the mean score."""

    low: float  # scores in (low, high]
    high: float
    rows: int
    stated: float
    happens: float
    least: float
    most: float

    @property
    def gap(self) -> float:
        return abs(self.happens - self.stated)

    def contains(self, other: Range) -> bool:
        return self.low <= other.low and other.high <= self.high


def ranges_off(summary: Ordered | Grid, rate: float) -> list[Range]:
    """Return the tenths of the rows whose limits leave out their mean score, and twentieths that are farther off.

    All limits hold but with probability `rate`, of which each width has half. A twentieth inside a tenth that is off
    is named if it is farther off.
    """
    tenths, twentieths = (_beyond_limits(similar_table(summary, m), rate / len(WIDTHS)) for m in WIDTHS)
    return tenths + [each for each in twentieths if all(t.gap < each.gap for t in tenths if t.contains(each))]


def _beyond_limits(table: BinTable, rate: float) -> list[Range]:
    least, most = frequency_limits(table, rate)
    stated, happens = table.mean_predicted, table.mean_observed
    has_zeros_alone = table.upper.min() == 0  # the range [0, 0]; the next one begins above 0
    low = np.where(has_zeros_alone & (table.lower == 0) & (table.upper > 0), ABOVE_0, table.lower)
    columns = (low, table.upper, table.count, stated, happens, least, most)
    found = [Range(*each) for each in zip(*(column.tolist() for column in columns), strict=True)]
    return [each for each in found if not each.least <= each.stated <= each.most]


class LargestGap(NamedTuple):
    """The range whose frequency is farthest from its mean score, and limits of the distance."""

    estimate: float
    low: float
    high: float


def largest_gap(summary: Ordered | Grid, rate: float) -> LargestGap:
    """Return the largest gap of a tenth or twentieth; limits of all of them hold but with probability `rate`."""
    found = []
    for table in (similar_table(summary, m) for m in WIDTHS):
        least, most = frequency_limits(table, rate / len(WIDTHS))
        stated, b = table.mean_predicted, int(np.abs(table.gap).argmax())
        near = max(0.0, float(least[b] - stated[b]), float(stated[b] - most[b]))
        found.append(LargestGap(abs(float(table.gap[b])), near, float(max(most[b] - stated[b], stated[b] - least[b]))))
    return max(found)


# ---------------------------------------------------------------- rows needed


def times_needed(summary: Ordered | Grid, tolerance: float, rate: float, effective: float, noise: float) -> float:
    """Return how many times as many such rows have an upper limit of at most the tolerance 4 times in 5.

    The rows are calibrated, the limit fails with probability `rate`, `effective` is what they count like now, and
    `noise` by what factor the noise exceeds that of independent rows. The terms of n rows are c_b = v_b/n in the ranges
    that so many rows have. They pass if the limit does at the 80 % quantile of the estimates of calibrated rows.
    """

    def passes(times: float) -> bool:
        table = similar_table(summary, similar_bins(effective * times))
        c = noise * table.w2v / (table.w * table.w.sum()) / times
        return squared_error_cdf(squared_error_quantile(POWER, c), tolerance**2, c) <= rate

    low, high = 1.0, 1.0
    while not passes(high) and high < MAX_TIMES:
        low, high = high, 2 * high
    while passes(low) and low > 1 / MAX_TIMES:
        low, high = low / 2, low
    while high > (1 + PRECISION) * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high
