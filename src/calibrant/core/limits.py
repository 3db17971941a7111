"""Confidence limits of errors: their error rates, and limits of errors that are suprema.

Many calibration errors are suprema, T = sup over a class of functions f with |f| <= 1 of Σ w f(p) E(r | p) / W, where
r = y - p. The maximising f* of the true deviations does not depend on the outcomes. So the estimate, a supremum over
the same class, is at least the true error plus the noise at f*, whose standard deviation is at most

    s = (max(Σ w²p(1 - p), Σ w²r²))^(1/2) / W,

and estimate + z s is an upper limit, for any true deviation. For a lower limit the triangle inequality is used: the
estimate is at most the true error plus the supremum of the noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from calibrant.core.bins import BinTable
from calibrant.core.null import MIN_INFORMATION
from calibrant.core.pvalues import normal_quantile
from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_choice

Side: TypeAlias = Literal["both", "lower", "upper"]

SMALLEST_RATE = 1e-300
LARGEST_RATE = 1 - 2.0**-40
MEAN_OF_HALF_NORMAL = math.sqrt(2 / math.pi)
MAX_TIMES = 1e9  # as many rows as nobody has are not advised
FEW_ROWS = 1 / 15  # relative excess of the mean size of a sum of residuals, times its information


@dataclass(frozen=True)
class Limits:
    """An estimate, and its confidence limits as functions of the probability with which each may fail.

    The true value lies below `low(rate)` with probability `rate` at most, and above `high(rate)` likewise.
    """

    estimate: float
    low: Callable[[float], float]
    high: Callable[[float], float]
    method: str
    largest: float = 1.0  # that the error can be

    def at(self, level: float, side: Side) -> tuple[float, float]:
        """Return both limits at this level; the limit of a side that was not requested is the end of its range."""
        check_choice("side", side, *get_args(Side))
        rate = (1 - level) / (2 if side == "both" else 1)
        return 0.0 if side == "upper" else self.low(rate), self.largest if side == "lower" else self.high(rate)

    def pvalue_of(self, tolerance: float) -> float:
        """Return the smallest rate at which the upper limit does not exceed the tolerance.

        It is the p-value of the hypothesis that the true value exceeds the tolerance.
        """
        if self.high(SMALLEST_RATE) <= tolerance:
            return 0.0
        if self.high(LARGEST_RATE) > tolerance:
            return 1.0
        return rate_at_zero(lambda rate: tolerance - self.high(rate), LARGEST_RATE)


def rate_at_zero(margin: Callable[[float], float], largest: float) -> float:
    from scipy.optimize import brentq

    ends = math.log(SMALLEST_RATE), math.log(largest)
    return math.exp(brentq(lambda exponent: margin(math.exp(exponent)), *ends, xtol=1e-13, maxiter=1000))


@dataclass(frozen=True)
class Noise:
    """How much Σ w f(p) r / W varies, for the worst f with |f| <= 1.

    `variance` is Σw²p(1 - p), or Σw²r² if that is larger, over the square of the total weight; `information` is the
    number of rows of the largest weight and of variance 1 that vary as much.
    """

    variance: float
    information: float

    @classmethod
    def of(cls, w2v: float, w2r2: float, *, total: float, heaviest: float) -> Noise:
        return cls(max(w2v, w2r2) / total**2, w2v / heaviest**2)

    @classmethod
    def of_table(cls, table: BinTable, heaviest: float) -> Noise:
        total = float(table.w.sum())
        return cls.of(float(table.w2v.sum()), float(table.w2r2.sum()), total=total, heaviest=heaviest)

    @property
    def scale(self) -> float:
        """The standard deviation s."""
        return math.sqrt(self.variance)

    def check(self, name: str) -> None:
        """Refuse rows that do not carry enough information for limits by the normal distribution."""
        if self.information < MIN_INFORMATION:
            needed = "All scores are 0 or 1, or as good as that, so no number of such rows is enough"
            if self.information > MIN_INFORMATION / MAX_TIMES:
                times = math.ceil(10 * MIN_INFORMATION / self.information) / 10
                needed = f"About {times:g} times as many rows are needed"
            raise NotApplicableError(
                f"limits of {name} need a sum of p(1 - p) over the rows of at least {MIN_INFORMATION:g} (unequal "
                f"weights count less); got {self.information:.3g}. With so few rows, or events this rare, they would "
                f"not cover. {needed}"
            )

    def limits(
        self,
        estimate: float,
        noise_quantile: Callable[[float], float],
        method: str,
        *,
        rounding: float = 0.0,
        largest: float = 1.0,
    ) -> Limits:
        """Return the limits of a supremum.

        `noise_quantile` gives the value that the supremum of the noise exceeds with a given probability; `rounding` is
        by how much the estimate of the rows may exceed this one, where rows were counted in cells.
        """

        def low(rate: float) -> float:
            return max(0.0, estimate - max(0.0, noise_quantile(rate)))

        def high(rate: float) -> float:
            return min(largest, max(0.0, estimate + rounding - normal_quantile(rate) * self.scale))

        return Limits(estimate, low, high, method, largest)


def mean_sizes(sigma: FloatArray, information: FloatArray) -> FloatArray:
    """Return bounds of E|N_b| for sums of residuals with these standard deviations, each of few rows or many.

    It is σ √(2/π) for many rows. That of one row with p = 0.5, whose information p(1 - p) is 0.25, is σ. For any number
    of equal rows it is at most σ √(2/π) (1 + 1/(15 Σp(1 - p))), and at most σ.

    >>> import numpy as np
    >>> mean_sizes(np.array([0.5, 0.5]), np.array([0.25, 1e9])).round(4)
    array([0.5   , 0.3989])
    """
    with np.errstate(divide="ignore", over="ignore"):
        factor = MEAN_OF_HALF_NORMAL * (1 + FEW_ROWS / np.maximum(information, 0.0))
    return np.asarray(sigma * np.minimum(1.0, factor))


def sum_of_sizes_quantile(sigma: FloatArray, information: FloatArray, rate: float) -> float:
    """Return the value that Σ|N_b| exceeds with this probability, for independent N_b with these standard deviations.

    Cornish and Fisher's expansion with the mean of `mean_sizes`, and the variance and the third cumulant of half-normal
    variables.

    >>> import numpy as np
    >>> round(sum_of_sizes_quantile(np.array([1.0]), np.array([1e9]), 0.025), 2)  # exactly 2.24
    2.26
    """
    z = -normal_quantile(rate)
    mean = float(mean_sizes(sigma, information).sum())
    deviation = math.sqrt((1 - 2 / math.pi) * float((sigma**2).sum()))
    if deviation == 0:
        return mean
    third = MEAN_OF_HALF_NORMAL * (4 / math.pi - 1) * float((sigma**3).sum())
    return mean + deviation * (z + (z * z - 1) / 6 * third / deviation**3)
