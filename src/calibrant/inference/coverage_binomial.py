"""Is the number of hits what the level says? Exact tails, and the likelihood ratio of Kupiec."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant.errors import NotApplicableError, shown
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.binomial_tails import beta_binomial_tails, binomial_tails, two_sided

TIE = 1e-9  # statistics this close, relatively above 1, are tied


def least_tied(statistic: float) -> float:
    """Return the least value that counts as having reached the statistic."""
    return statistic - TIE * max(1.0, statistic)


def hit_pvalue(k: int, n: int, level: float, alternative: str, calibration_size: int | None) -> float:
    """Return the p-value of k hits among n rows; `alternative` says on which side of the level the coverage may lie.

    With `calibration_size` m the coverage itself is Beta(j, m + 1 - j), j = ⌈(m + 1) level⌉: that of split conformal
    prediction given its calibration set (Vovk 2012).
    """
    if calibration_size is None:
        low, high = (float(tail) for tail in binomial_tails(k, n, level))
    else:
        low, high = beta_binomial_tails(k, n, *conformal_beta(calibration_size, level))
    if alternative == "two-sided":
        return float(two_sided(low, high))
    return low if alternative == "less" else high


def conformal_beta(m: int, level: float) -> tuple[int, int]:
    """Return the parameters of the law of the coverage, given m calibration scores.

    >>> conformal_beta(100, 0.9)
    (91, 10)
    """
    j = max(1, math.ceil(round((m + 1) * level, 10)))  # 100 · 0.55 is 55.00000000000001
    if j > m:
        needed = math.ceil(round(level / (1 - level), 10))
        if math.ceil(round(needed * level, 10)) < needed:  # the quotient was rounded up
            needed -= 1
        raise NotApplicableError(
            f"{m} calibration scores are too few for level {shown(level)}: the interval that holds it is infinite and "
            f"covers everything. At least {needed} are needed"
        )
    return j, m + 1 - j


def likelihood_ratio(k: Any, n: Any, level: float) -> FloatArray:
    """Return 2[k ln(k/nc) + (n-k) ln((n-k)/n(1-c))], 0 ln 0 = 0: twice the log likelihood lost by the level c."""
    from scipy.special import kl_div

    k, n = np.asarray(k, np.float64), np.asarray(n, np.float64)
    return np.asarray(2 * (kl_div(k, n * level) + kl_div(n - k, n * (1 - level))))


def kupiec_pvalue(k: int, n: int, level: float, null: str) -> tuple[float, float]:
    """Return Kupiec's statistic and its p-value, exact: P(LR(K) >= LR), K ~ Binomial(n, level)."""
    T = float(likelihood_ratio(k, n, level))
    if null == "asymptotic":
        return T, chi_square_sf(T, 1)
    least = least_tied(T)
    middle = math.floor(n * level)  # LR falls up to it and rises after it

    def reached(j: int) -> bool:
        return float(likelihood_ratio(j, n, level)) >= least

    below = _last(reached, 0, middle)
    above = n - _last(lambda j: reached(n - j), 0, n - middle - 1)
    low = float(binomial_tails(below, n, level)[0]) if below >= 0 else 0.0
    high = float(binomial_tails(above, n, level)[1]) if above <= n else 0.0
    return T, min(1.0, low + high)


def chi_square_sf(x: float, df: int) -> float:
    """Return P(X > x) of a chi-square law."""
    from scipy.special import gammaincc

    return float(gammaincc(df / 2, max(x, 0.0) / 2))


def _last(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the last number from low to high for which it holds, if it holds up to some point; low - 1 if never."""
    low -= 1
    while low < high:
        j = (low + high + 1) // 2
        low, high = (j, high) if holds(j) else (low, j - 1)
    return low
