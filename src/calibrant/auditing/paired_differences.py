"""Differences of two models on the same rows, with limits: of mean scores, of squared errors, of errors with limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from calibrant.core.binned import bin_table
from calibrant.core.bins import bin_of, rounded
from calibrant.core.limits import SMALLEST_RATE, Limits, rate_at_zero
from calibrant.core.mean_interval import MIN_DECIDING_ROWS, deciding_rows, freedom
from calibrant.core.null import MIN_INFORMATION
from calibrant.core.ordered import Ordered
from calibrant.core.results import Pair
from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.probabilities import Binary

MIN_CLUSTERS = 20  # effective ones
MIN_PAIRED_ROWS = 50  # effective ones
MIN_DECIDING_CLUSTERS = 6.0  # as `MIN_DECIDING_ROWS`, of cluster sums; 20 normal ones have about so many
ROUNDING = 1e-24  # relative, of a sum of squares that is 0 but for rounding
MIN_DECIDING_ROWS_SKILL = 10.0  # the same for a ratio of means
SERIES_SHARE = 0.41  # of n^(2/3): the cosine transforms whose mean square is the long-run variance
MIN_BIN_ROWS = 3  # a bin without one of its rows still has a pair


class Differences(Protocol):
    """The value of each model, and the difference of two of them with limits that fail with probability `rate`."""

    @property
    def method(self) -> str:
        """How limits are found."""

    def value(self, name: str) -> float:
        """Return the metric of a model."""

    def pair(self, metric: str, first: str, second: str, rate: float) -> Pair:
        """Return the difference of two models."""


@dataclass(frozen=True, eq=False)
class MeanDifferences:
    """Differences of means of `terms`, by Student's t.

    Terms are those of rows, or of clusters of rows that depend on each other (`by_cluster`). With `time`, the number of
    each row's time in ascending order, the variance is the long-run variance of a series.
    """

    terms: dict[str, FloatArray]
    w: FloatArray
    time: NDArray[np.intp] | None
    method: str
    unit: Literal["row", "cluster"] = "row"

    def value(self, name: str) -> float:
        return float(np.average(self.terms[name], weights=self.w))

    def pair(self, metric: str, first: str, second: str, rate: float) -> Pair:
        a, b = self.terms[first], self.terms[second]
        if self.unit == "row":
            check_rows(self.w)
        deciding = MIN_DECIDING_ROWS if self.unit == "row" else MIN_DECIDING_CLUSTERS
        found = student(a - b, self.w, self.time, rate, deciding)
        mean = self.value(second)
        if self.time is not None or mean <= 0 or min(a.min(), b.min()) < 0:
            return Pair(metric, first, second, *found)
        skill = 1 - self.value(first) / mean
        try:
            ratio = (a - (1 - skill) * b) / mean
            _, low, high, _ = student(ratio, self.w, None, rate, min(deciding, MIN_DECIDING_ROWS_SKILL))
        except NotApplicableError:  # all rows have one ratio
            return Pair(metric, first, second, *found, skill)
        return Pair(metric, first, second, *found, skill, skill - high, skill - low)


@dataclass(frozen=True, eq=False)
class LimitDifferences:
    """Differences of errors that have limits of their own.

    With probability 1 - rate all four limits of two errors, each failing with probability rate/4, contain them, and
    then the difference lies between low - high and high - low. It is conservative.
    """

    limits: dict[str, Limits]
    method: str = "limits of both errors, each failing with a quarter of the error rate"

    def value(self, name: str) -> float:
        return self.limits[name].estimate

    def pair(self, metric: str, first: str, second: str, rate: float) -> Pair:
        a, b = self.limits[first], self.limits[second]

        def ends(rate: float) -> tuple[float, float]:
            return a.low(rate / 4) - b.high(rate / 4), a.high(rate / 4) - b.low(rate / 4)

        return Pair(metric, first, second, a.estimate - b.estimate, *ends(rate), smallest_rate(ends))


def smallest_rate(ends: Callable[[float], tuple[float, float]]) -> float:
    """Return the smallest error rate at which limits exclude 0: the p-value of no difference."""

    def margin(rate: float) -> float:
        low, high = ends(rate)
        return max(low, -high)

    if margin(1.0) <= 0:
        return 1.0
    return SMALLEST_RATE if margin(SMALLEST_RATE) > 0 else rate_at_zero(margin, 1.0)


def squared_error(rows: Binary, options: Any, clusters: NDArray[np.intp] | None = None) -> FloatArray:
    """Return jackknife values of the debiased squared l2 error, whose mean is the error and whose spread its variance.

    The error is Σ_b n_b R_b / n, where R_b is the mean of r_i r_j over pairs of rows of bin b in different clusters;
    without `clusters` each row is one. With θ of all C clusters and θ_c of all but one, the value of that one is
    θ + (C - 1)(θ̄ - θ_c).
    """
    information = float((rows.p * (1 - rows.p)).sum(dtype=np.float64))
    if information < MIN_INFORMATION:
        raise NotApplicableError(
            f"a comparison of ece needs Σp(1 - p) >= {MIN_INFORMATION:g}; got {information:.3g}. Use more rows"
        )
    p, r = rows.p.astype(np.float64), rows.y - rows.p.astype(np.float64)
    edges = bin_table(Ordered.of(rows), bins=options.bins, strategy=options.strategy).edges
    bin_number = bin_of(p, rounded(edges, rows.p.dtype.name))
    one = np.arange(r.size) if clusters is None else clusters
    C, n = int(one.max()) + 1, float(r.size)
    key, cell = np.unique(bin_number * C + one, return_inverse=True)  # the rows of one cluster in one bin
    of_bin, of_cluster = key // C, key % C
    k, t = np.bincount(cell).astype(np.float64), np.bincount(cell, r)
    columns = (np.ones(key.size), k, k * k, t, t * t)
    several, N, K2, T, T2 = (np.bincount(of_bin, column, minlength=edges.size - 1) for column in columns)
    fewest = several[several > 0].min()
    if fewest < MIN_BIN_ROWS:
        raise NotApplicableError(
            f"a comparison of ece needs {MIN_BIN_ROWS} {'rows' if clusters is None else 'clusters'} in each bin; got "
            f"{fewest:.0f}. Use fewer bins"
        )
    with np.errstate(invalid="ignore", divide="ignore"):
        terms = np.nan_to_num(N * (T**2 - T2) / (N**2 - K2))  # n_b R_b
    N_left, T_left = N[of_bin] - k, T[of_bin] - t
    left = N_left * (T_left**2 - (T2[of_bin] - t * t)) / (N_left**2 - (K2[of_bin] - k * k))
    changed = terms.sum() + np.bincount(of_cluster, left - terms[of_bin], minlength=C)
    theta, without = terms.sum() / n, changed / (n - np.bincount(one, minlength=C))
    return np.asarray(theta + (C - 1) * (without.mean() - without))


def by_cluster(
    terms: dict[str, FloatArray], w: FloatArray, clusters: NDArray[np.intp]
) -> tuple[dict[str, FloatArray], FloatArray]:
    """Return mean and weight of each cluster: the mean of all is that of the rows, the spread that of cluster sums."""
    total: FloatArray = np.bincount(clusters, w).astype(np.float64)
    return {name: np.bincount(clusters, w * values) / total for name, values in terms.items()}, total


def check_rows(w: FloatArray) -> None:
    effective = float(w.sum() ** 2 / (w**2).sum())
    if effective < MIN_PAIRED_ROWS * (1 - 1e-12):
        raise NotApplicableError(
            f"a comparison needs {MIN_PAIRED_ROWS} rows (with weights, effective rows); got {effective:.3g}. Fewer do "
            "not show how much the differences vary"
        )


def check_clusters(w: FloatArray, clusters: NDArray[np.intp]) -> None:
    """Refuse clusters that are too few or too unequal to show how much their rows depend on each other."""
    size = np.bincount(clusters, w)
    effective = float(size.sum() ** 2 / (size**2).sum())
    if effective < MIN_CLUSTERS - 0.5:  # sizes vary a little by chance
        raise NotApplicableError(
            f"a comparison with clusters needs {MIN_CLUSTERS} clusters of equal size (unequal ones count less); got "
            f"{effective:.3g}. Fewer do not show how much their rows depend on each other"
        )


def student(
    d: FloatArray,
    w: FloatArray,
    time: NDArray[np.intp] | None,
    rate: float,
    least: float,
) -> tuple[float, float, float, float]:
    """Return the weighted mean of d, its limits and the p-value of the hypothesis that the true mean is 0.

    With fewer than `least` deciding rows Student's t has as few degrees of freedom.
    """
    from scipy.special import stdtr, stdtrit

    w = w / w.max()
    total = float(w.sum())
    mean = float((w * d).sum() / total)
    largest = float(np.abs(d).max())
    if largest == 0:
        return 0.0, 0.0, 0.0, 1.0
    d, mean = d / largest, mean / largest  # squares and fourth powers stay in the range of float64
    spread = w * (d - mean)
    square = float((spread**2).sum())
    if square <= ROUNDING * float((w * d**2).sum() * w.max()):
        raise NotApplicableError(
            f"all {d.size} differences are equal, so their spread is not known; use more rows, or other predictions"
        )
    deciding = deciding_rows(spread)
    if time is None:
        m = total**2 / float((w**2).sum())
        degrees, error = float(freedom(m, deciding, least)), math.sqrt(square * m / (m - 1)) / total
    else:
        sums: FloatArray = np.bincount(time, d - mean).astype(np.float64)  # rows of one time may depend on each other
        number, error = _long_run(sums * (sums.size / d.size))
        degrees = min(number, float(freedom(math.inf, deciding, least)))
    t = float(stdtrit(degrees, 1 - rate / 2))
    pvalue = 2 * float(stdtr(degrees, -abs(mean) / error))
    return largest * mean, largest * (mean - t * error), largest * (mean + t * error), pvalue


def _long_run(d: FloatArray) -> tuple[float, float]:
    from scipy.fft import dct

    n = d.size
    number = max(2, int(SERIES_SHARE * n ** (2 / 3)))
    transforms = dct(d, type=2)[1 : number + 1] / math.sqrt(2 * n)  # √(2/n) Σ d cos(πj(i + ½)/n)
    return float(number), math.sqrt(float((transforms**2).mean()) / n)
