"""Differences of two models on the same rows, with limits: of mean scores, of squared errors, of errors with limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from calibrant.core.binned import bin_table
from calibrant.core.bins import bin_of, rounded
from calibrant.core.limits import Limits
from calibrant.core.mean_interval import MIN_DECIDING_ROWS
from calibrant.core.null import MIN_INFORMATION
from calibrant.core.ordered import Ordered
from calibrant.core.results import Pair
from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.probabilities import Binary

ROUNDING = 1e-24  # relative, of a sum of squares that is 0 but for rounding
MIN_DECIDING_ROWS_SKILL = 10.0  # the same for a ratio of means
SERIES_SHARE = 0.41  # of n^(2/3): the cosine transforms whose mean square is the long-run variance
MIN_BIN_ROWS = 3  # so that a bin without one of its rows still has a pair
SMALLEST_EXPONENT, HALVINGS = -300.0, 50  # of a p-value that is found by bisection


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
    """Differences of means of `terms`, by Student's t; in the `order` of time with a series' long-run variance."""

    terms: dict[str, FloatArray]
    w: FloatArray
    order: NDArray[np.intp] | None
    method: str

    def value(self, name: str) -> float:
        """Return the mean."""
        return float(np.average(self.terms[name], weights=self.w))

    def pair(self, metric: str, first: str, second: str, rate: float) -> Pair:
        """Return the mean difference, and the skill of positive scores."""
        a, b = self.terms[first], self.terms[second]
        found = student(a - b, self.w, self.order, rate, MIN_DECIDING_ROWS)
        mean = self.value(second)
        if self.order is not None or mean <= 0 or min(a.min(), b.min()) < 0:
            return Pair(metric, first, second, *found)
        skill = 1 - self.value(first) / mean
        try:
            _, least, most, _ = student((a - (1 - skill) * b) / mean, self.w, None, rate, MIN_DECIDING_ROWS_SKILL)
        except NotApplicableError:  # its limits would not cover
            return Pair(metric, first, second, *found, skill)
        return Pair(metric, first, second, *found, skill, skill - most, skill - least)


@dataclass(frozen=True, eq=False)
class LimitDifferences:
    """Differences of errors that have limits of their own.

    With probability 1 - rate all four limits of two errors, each failing with probability rate/4, contain them, and
    then the difference lies between low - high and high - low. It is conservative.
    """

    limits: dict[str, Limits]
    method: str = "limits of both errors, each failing with a quarter of the error rate"

    def value(self, name: str) -> float:
        """Return the estimate."""
        return self.limits[name].estimate

    def pair(self, metric: str, first: str, second: str, rate: float) -> Pair:
        """Return the difference of the estimates and its limits."""
        a, b = self.limits[first], self.limits[second]

        def ends(rate: float) -> tuple[float, float]:
            return a.low(rate / 4) - b.high(rate / 4), a.high(rate / 4) - b.low(rate / 4)

        return Pair(metric, first, second, a.estimate - b.estimate, *ends(rate), smallest_rate(ends))


def smallest_rate(ends: Callable[[float], tuple[float, float]]) -> float:
    """Return the smallest error rate at which limits exclude 0: the p-value of no difference."""

    def excludes(exponent: float) -> bool:
        low, high = ends(10**exponent)
        return low > 0 or high < 0

    low, high = SMALLEST_EXPONENT, 0.0
    if not excludes(high):
        return 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if excludes(middle) else (middle, high)
    return float(10**high)


def squared_error(rows: Binary, options: Any) -> FloatArray:
    """Return jackknife values of the debiased squared l2 error, whose mean is the error and whose spread its variance.

    With θ of all n rows and θ_i of all but row i, the value of row i is θ + (n - 1)(θ̄ - θ_i).
    """
    information = float((rows.p * (1 - rows.p)).sum(dtype=np.float64))
    if information < MIN_INFORMATION:
        raise NotApplicableError(
            f"a comparison of ece needs Σp(1 - p) >= {MIN_INFORMATION:g}; got {information:.3g}. Use more rows"
        )
    p, r = rows.p.astype(np.float64), rows.y - rows.p.astype(np.float64)
    edges = bin_table(Ordered.of(rows), bins=options.bins, strategy=options.strategy).edges
    bin_number = bin_of(p, rounded(edges, rows.p.dtype.name))
    count = np.bincount(bin_number, minlength=edges.size - 1).astype(np.float64)
    fewest = count[count > 0].min()
    if fewest < MIN_BIN_ROWS:
        raise NotApplicableError(
            f"a comparison of ece needs {MIN_BIN_ROWS} rows in each bin; got {fewest:.0f}. Use fewer bins"
        )
    total, square = (np.bincount(bin_number, column, minlength=count.size) for column in (r, r * r))
    with np.errstate(invalid="ignore", divide="ignore"):
        pairs = np.nan_to_num((total**2 - square) / (count - 1))  # n_b times the mean over pairs of rows
    k, n = count[bin_number], r.size
    without = ((total[bin_number] - r) ** 2 - (square[bin_number] - r * r)) / (k - 2)
    theta = pairs.sum() / n
    left = (n * theta - pairs[bin_number] + without) / (n - 1)
    return np.asarray(theta + (n - 1) * (left.mean() - left))


def student(
    d: FloatArray, w: FloatArray, order: NDArray[np.intp] | None, rate: float, deciding: float
) -> tuple[float, float, float, float]:
    """Return the weighted mean of d, its limits and the p-value of the hypothesis that the true mean is 0."""
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
    few = square**2 / float((spread**4).sum())
    if few < deciding:
        heaviest = int(np.argmax(np.abs(spread)))
        raise NotApplicableError(
            f"the mean difference depends on {few:.3g} effective rows, {deciding:g} are needed: row {heaviest} alone "
            f"differs by {largest * d[heaviest]:.4g}. No interval for this mean covers reliably; use more rows"
        )
    if order is None:
        m = total**2 / float((w**2).sum())
        freedom, error = m - 1, math.sqrt(square * m / (m - 1)) / total
    else:
        freedom, error = _long_run(d[order] - mean)
    t = float(stdtrit(freedom, 1 - rate / 2))
    pvalue = 2 * float(stdtr(freedom, -abs(mean) / error))
    return largest * mean, largest * (mean - t * error), largest * (mean + t * error), pvalue


def _long_run(d: FloatArray) -> tuple[float, float]:
    """Return degrees of freedom and standard error of a mean of dependent values, from cosine transforms."""
    from scipy.fft import dct

    n = d.size
    number = max(2, int(SERIES_SHARE * n ** (2 / 3)))
    transforms = dct(d, type=2)[1 : number + 1] / math.sqrt(2 * n)  # √(2/n) Σ d cos(πj(i + ½)/n)
    return float(number), math.sqrt(float((transforms**2).mean()) / n)
