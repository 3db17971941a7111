r"""Limits of the gain of a map on new rows, from cross-fitted gains of rows.

Row gains d of a map near the identity are small and skewed, and their estimate and their variance both depend on the
distance of the fitted map from the identity. Student's limits of the mean gain cover 73 to 92 % at the nominal 95 %.
With d_ri the gain of row i in repeat r, M the mean of all, :math:`\bar d` the average over repeats, V the variance of a
mean (the mean over repeats), G the gain in the sample of the map that was fitted on all rows, and γ, σ the skewness and
standard deviation of :math:`\bar d`,

.. math::
    h &= (1 + 2 t^2)/6 \cdot \gamma\sigma/n, \qquad
    c = \min\bigl(t^2 V / (2 \max(G, \sqrt V)),\; t \sqrt V/4\bigr), \\
    \text{low} &= M - t\sqrt V + \min(h, 0), \\
    \text{high} &= \max\bigl(M + t\sqrt{V + ((G - M)/2)^2} + \max(h, 0) + c,\; G\bigr).

h is Hall's correction for skewness (1992), G - M the optimism. For `auto`, which adds the variation of a choice, the
bound of c is :math:`t \sqrt V/2`. `benchmarks/validity/recalibration.py` measures how often the limits cover.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.mean_interval import MIN_DECIDING_ROWS, exact_limits
from calibrant.inputs.arrays import FloatArray

MIN_UNITS = 30  # clusters, or different times, below which no limits are given
LAG_FACTOR = 1.3  # of the square root of the number of times: the lags of the long-run variance
MISS_LEVEL = 0.95  # two-sided, of the exact limits of the number of misses


class GainLimits(NamedTuple):
    """The mean gain, its limits, and the effective number of rows or clusters that carry it."""

    mean: float
    low: float
    high: float
    deciding: float


@dataclass(frozen=True, eq=False)
class Units:
    """What a mean gain is taken over: rows, or the clusters or times that rows belong to."""

    w: FloatArray
    count: FloatArray | None = None  # how many rows each entry stands for: cells of a summary stand for several
    unit: NDArray[np.intp] | None = None  # the number of each row's cluster or time; None if every row is a unit
    ordered: bool = False  # whether units follow each other in time and may depend on their neighbours

    @property
    def _total(self) -> FloatArray:
        return self.w if self.count is None else self.w * self.count

    @property
    def number(self) -> float:
        """The number of units; of rows with weights the effective one, (Σw)²/Σw²."""
        if self.unit is not None:
            return float(self.unit.max() + 1)
        return float(self._total.sum() ** 2 / (self._total * self.w).sum())

    def mean(self, d: FloatArray) -> float:
        return float((self._total * d).sum() / self._total.sum())

    def variance(self, d: FloatArray) -> float:
        """Return the variance of the mean: of independent rows or clusters, or of a series in time."""
        residual, m = d - self.mean(d), self.number
        if self.unit is None:
            square = float((self._total * self.w * residual**2).sum())
        else:
            sums: FloatArray = np.bincount(self.unit, self.w * residual).astype(np.float64)
            square = _long_run(sums) if self.ordered else float((sums**2).sum())
        return square / float(self._total.sum()) ** 2 * m / (m - 1)

    def standard_error(self, d: FloatArray) -> float:
        """Return the standard error of the mean, also where the squares of gains leave the range of float64."""
        unit = power_of_two(float(np.abs(d).max()))
        return math.sqrt(self.variance(d / unit)) * unit

    def deciding(self, d: FloatArray) -> float:
        """Return the effective number of units that carry the mean, (Σe²)²/Σe⁴; 0 if all gains are equal."""
        e, count = self._deviations(d)
        largest = float(np.abs(e).max())
        if largest == 0:
            return 0.0
        e = e / largest
        return float((count * e**2).sum() ** 2 / (count * e**4).sum())

    def heaviest(self, d: FloatArray) -> NDArray[np.intp]:
        """Return the rows in the order of how much they move the mean, most of all first."""
        return np.argsort(-np.abs(self.w * (d - self.mean(d))), kind="stable")

    def skew_term(self, d: FloatArray, t: float) -> float:
        if self.unit is None:
            e, share = d - self.mean(d), self._total / self._total.sum()
        else:
            e = self._sums(d) - self.mean(d)
            share = np.full(e.size, 1 / e.size)
        square = float((share * e**2).sum())
        if square == 0:
            return 0.0
        return (1 + 2 * t * t) / 6 * float((share * e**3).sum()) / square / self.number  # γσ = m₃/m₂

    def _sums(self, d: FloatArray) -> FloatArray:
        """Return D_c, the gain of each unit on the scale of a mean."""
        assert self.unit is not None
        sums: FloatArray = np.bincount(self.unit, self.w * d).astype(np.float64)
        return sums * (self.number / float(self.w.sum()))

    def _deviations(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.unit is None:
            return self.w * (d - self.mean(d)), np.ones(d.size) if self.count is None else self.count
        e = self._sums(d) - self.mean(d)
        return e, np.ones(e.size)


def _long_run(e: FloatArray) -> float:
    """Return the sum of e_i e_j (1 - |i - j|/(L + 1)) over lags up to L: Bartlett's kernel.

    It is the mean square of the sums over windows of L + 1 neighbours, so it is never negative.
    """
    lags = min(int(LAG_FACTOR * math.sqrt(e.size)), e.size - 1)
    padded = np.concatenate([np.zeros(lags + 1), np.cumsum(e), np.full(lags, float(e.sum()))])
    windows = padded[lags + 1 :] - padded[: -lags - 1]
    return float((windows**2).sum()) / (lags + 1)


def power_of_two(size: float) -> float:
    """Return the largest power of 2 up to a size: a unit in which squares are finite, and which rounds nothing.

    >>> power_of_two(1e300) ** 0.5 == 2.0**498
    True
    """
    return math.ldexp(1.0, max(math.frexp(size)[1] - 1, -1022)) if math.isfinite(size) and size > 0 else 1.0


def gain_limits(d: FloatArray, in_sample: float, units: Units, level: float, *, chosen: bool) -> GainLimits:
    """Return the limits of the gain on new rows, from gains d (R, n) of each repeat and row.

    `in_sample` is the gain in the sample of the map that was fitted on all rows; `chosen` tells whether its method was
    chosen by the same rows.
    """
    from scipy.special import stdtrit

    unit = power_of_two(max(float(np.abs(d).max()), abs(in_sample)))
    d, in_sample = d / unit, in_sample / unit
    average: FloatArray = d.mean(axis=0)
    mean, number = units.mean(average), units.number
    if number < 2:
        return GainLimits(mean * unit, -math.inf, math.inf, 0.0)
    t = float(stdtrit(number - 1, (1 + level) / 2))
    variance = float(np.mean([units.variance(one) for one in d]))
    scale = math.sqrt(variance)
    if scale == 0:
        return GainLimits(mean * unit, mean * unit, max(mean, in_sample) * unit, 0.0)
    skew = units.skew_term(average, t)
    low = mean - t * scale + min(skew, 0.0)
    widening = min(t * t * variance / (2 * max(in_sample, scale)), t * scale / (2 if chosen else 4))
    high = mean + t * math.sqrt(variance + ((in_sample - mean) / 2) ** 2) + max(skew, 0.0) + widening
    return GainLimits(mean * unit, low * unit, max(high, in_sample) * unit, units.deciding(average))


def unseen_misses(x: FloatArray, missed: NDArray[np.bool_], if_missed: FloatArray, count: FloatArray) -> float:
    """Return how much misses that the rows cannot exclude would change the mean gain, in the worst range of scores.

    Rows are grouped by ⌊|x|⌋. Of n_s rows of a group k missed, outcomes on the less likely side; U is the upper limit
    of Clopper and Pearson. The misses that are not excluded would change the mean by (U n_s - k) ℓ / n, where ℓ is the
    mean size over hits of the gain that each row would have had as a miss, `if_missed`. x are the logits of the
    predictions, and `count` tells how many rows each entry stands for.
    """
    stratum = np.floor(np.abs(x)).astype(np.intp)
    rows, misses = np.bincount(stratum, count), np.bincount(stratum, count * missed)
    hits = np.bincount(stratum, count * ~missed)
    size = np.bincount(stratum, np.where(missed, 0.0, count * np.abs(if_missed)))
    filled = (rows > 0) & (hits > 0)
    loss = size[filled] / hits[filled]
    k, n = misses[filled].astype(np.float64), rows[filled].astype(np.float64)
    unseen = exact_limits(k, n, MISS_LEVEL)[1] * n - k
    return float((unseen * loss).max(initial=0.0) / count.sum())


def refusal(found: GainLimits, units: Units) -> str | None:
    noun = "rows" if units.unit is None else "times" if units.ordered else "clusters"
    if units.unit is not None and units.number < MIN_UNITS:
        return f"limits need at least {MIN_UNITS} {noun}; got {units.number:.0f}"
    if found.deciding == 0:
        return "all gains are equal, so their spread is not known"
    if found.deciding < MIN_DECIDING_ROWS:
        deciding = f"{found.deciding:.3g} effective {noun}"
        return f"the mean gain depends on {deciding}, and limits that cover need {MIN_DECIDING_ROWS}"
    return None
