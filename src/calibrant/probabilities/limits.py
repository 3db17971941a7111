"""Confidence limits of binned and cumulative calibration errors, given the scores.

The target is the error of these scores and bins: the outcomes are random, the scores are not. A binned error says
nothing about errors that cancel within a bin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.bins import BinTable
from calibrant.core.limits import Limits, Noise, mean_sizes, sum_of_sizes_quantile
from calibrant.core.mean_interval import exact_limits
from calibrant.core.ordered import Ordered
from calibrant.core.pvalues import normal_quantile
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray

ROUNDING = 2.0**-26  # of the squared weight of a bin: a smaller sum over pairs of rows is lost in it
BINNED = "normal upper limit; lower limit from the noise of the bins"


def walk_limits(estimate: float, noise: Noise, survival: Callable[[float], float], *, rounding: float = 0.0) -> Limits:
    """Return limits of the extent of the cumulative differences; `survival` is that of a Brownian motion's extent."""
    noise.check("the cutoff error")
    method = "normal upper limit; lower limit from the null distribution of the statistic"
    return noise.limits(estimate, lambda rate: critical(survival, rate) * noise.scale, method, rounding=rounding)


def mean_frequency_limits(table: BinTable, estimate: float) -> Limits:
    """Return limits of the extent of the cumulative differences for any number of rows of equal weight.

    With the true mean frequency q̄ and the mean prediction p̄, the extent is at least |q̄ - p̄|, at most the larger of q̄
    and p̄, and at most the larger of 1 - q̄ and 1 - p̄. They are wide, but exact where few rows or rare events leave no
    normal distribution: limits of q̄ by Clopper and Pearson are conservative for rows of different probabilities
    (Hoeffding 1956).
    """
    n, predicted = float(table.count.sum()), float(table.mean_predicted[0])
    k = np.array([round(n * float(table.mean_observed[0]))])

    def frequency(rate: float) -> tuple[float, float]:
        low, high = exact_limits(k, np.array([n]), 1 - rate)  # each fails with probability rate/2
        return float(low[0]), float(high[0])

    def low(rate: float) -> float:
        least, most = frequency(rate)
        return max(0.0, least - predicted, predicted - most)

    def high(rate: float) -> float:
        return float(highest_error(k, n, predicted, rate)[0])

    return Limits(estimate, low, high, "exact limits of the mean frequency")


def few_scores_limits(summary: Ordered, estimate: float) -> Limits:
    """Return exact limits of the extent of the cumulative differences of few different scores, with equal weights.

    The frequency of each score has limits of Clopper and Pearson, all of them together by Bonferroni's inequality. They
    limit the error over every stretch of scores, and so the largest one, above and below.
    """
    n = np.add.reduceat(summary.count, summary.starts()).astype(np.float64)
    k = np.add.reduceat(summary.events, summary.starts())
    p, share = summary.unique_scores, n / n.sum()

    def errors(rate: float) -> tuple[FloatArray, FloatArray]:
        low, high = exact_limits(k, n, 1 - rate / n.size)  # both limits of each score
        return share * (low - p), share * (high - p)

    def low(rate: float) -> float:
        least, most = errors(rate)
        return max(largest_stretch(least), largest_stretch(-most))

    def high(rate: float) -> float:
        least, most = errors(rate)
        return max(largest_stretch(most), largest_stretch(-least))

    return Limits(estimate, low, high, "exact limits of the frequency of each score")


def largest_stretch(terms: FloatArray) -> float:
    """Return the largest sum of neighbouring terms, at least 0.

    >>> largest_stretch(np.array([-1.0, 2.0, -0.5, 3.0, -4.0]))
    4.5
    """
    walk = np.concatenate([[0.0], np.cumsum(terms)])
    return float((walk - np.minimum.accumulate(walk)).max())


def highest_error(events: NDArray[Any], n: float, predicted: float, rate: float) -> FloatArray:
    """Return the upper limits of `mean_frequency_limits`, given numbers of events among n rows."""
    least, most = exact_limits(events, np.full(events.shape, float(n)), 1 - rate)
    return largest_error(least, most, predicted)


def largest_error(least: FloatArray, most: FloatArray, predicted: FloatArray | float) -> FloatArray:
    """Return the largest extent of the cumulative differences, given limits of the true mean frequency."""
    largest: FloatArray = np.minimum(np.maximum(most, predicted), np.maximum(1 - least, 1 - np.asarray(predicted)))
    return largest


def critical(survival: Callable[[float], float], rate: float) -> float:
    """Return the smallest x >= 0 at which a falling function is at most `rate`."""
    from scipy.optimize import brentq

    low, high = 0.0, 1.0
    if survival(low) <= rate:
        return 0.0
    while survival(high) > rate:
        low, high = high, 2 * high
    return float(brentq(lambda x: survival(x) - rate, low, high, xtol=1e-14))


def l1_limits(table: BinTable, estimate: float, heaviest: float) -> Limits:
    """Return limits of Σ_b f_b |gap_b|, a supremum over signs of the bins."""
    noise = Noise.of_table(table, heaviest)
    noise.check("ece")
    sigma, information = _deviations(table) * table.share, table.w2v / heaviest**2
    return noise.limits(estimate, lambda rate: sum_of_sizes_quantile(sigma, information, rate), BINNED)


def mean_l1_limits(
    tables: Sequence[BinTable], share: FloatArray, estimate: float, heaviest: float, *, overlap: bool
) -> Limits:
    """Return limits of a mean of l1 errors over labels, Σ_k a_k T_k with the shares a_k.

    If the rows of the labels `overlap`, as those of one class against the rest do, the variance of the sum of their
    noises is at most twice the sum of the variances: diag(q) - q qᵀ is at most 2 diag(q(1 - q)) for any probability
    vector q.
    """
    variance = sum(a * a * Noise.of_table(table, heaviest).variance for a, table in zip(share, tables, strict=True))
    noise = Noise((2 if overlap else 1) * float(variance), _joint_information(tables, share, heaviest))
    noise.check("ece")
    sigma = np.concatenate([a * _deviations(table) * table.share for a, table in zip(share, tables, strict=True)])
    information = np.concatenate([table.w2v for table in tables]) / heaviest**2

    def most(rate: float) -> float:
        if not overlap:
            return sum_of_sizes_quantile(sigma, information, rate)
        # The supremum of dependent normal noises exceeds its mean by z s at most (Gaussian isoperimetry).
        return float(mean_sizes(sigma, information).sum()) - normal_quantile(rate) * noise.scale

    return noise.limits(estimate, most, BINNED, largest=float(share.sum()))


def _joint_information(tables: Sequence[BinTable], share: FloatArray, heaviest: float) -> float:
    """Return Σu²v/max u² with the weight u that a row has in the mean over labels."""
    weight = np.array([a / table.w.sum() for a, table in zip(share, tables, strict=True)])
    v = np.array([table.w2v.sum() for table in tables])
    return float((weight**2 * v).sum() / (weight.max() * heaviest) ** 2)


def _deviations(table: BinTable) -> FloatArray:
    spread = np.maximum(table.w2v, table.w2r2 - table.w2 * table.gap**2)
    deviation: FloatArray = np.sqrt(np.maximum(spread, 0.0)) / np.where(table.w > 0, table.w, 1.0)
    return deviation


def l2_limits(table: BinTable, heaviest: float) -> Limits:
    """Return limits of the root of Σ_b f_b gap_b², from the debiased estimate θ of the sum.

    With ν_b = W_b²/Σw² and V_b the larger of the sample variance of r and the mean of p(1 - p), the terms
    c_b = f_b V_b/ν_b give θ the cumulants of a sum of non-central χ² variables, in the direction that varies most.
    """
    Noise.of_table(table, heaviest).check("ece")
    return root_limits(debiased_square(table), squared_error_terms(table))


def root_limits(theta: float, c: FloatArray) -> Limits:
    """Return limits of the root of what θ estimates, a sum of squares with noise of the terms c.

    A gamma distribution, shifted to have the cumulants of `l2_limits`, takes the place of that of θ, and each limit
    solves for the true value.
    """
    estimate = math.sqrt(max(theta, 0.0))

    def low(rate: float) -> float:
        return math.sqrt(critical(lambda true: squared_error_cdf(theta, true, c), 1 - rate))

    def high(rate: float) -> float:
        return min(1.0, math.sqrt(critical(lambda true: squared_error_cdf(max(theta, 0.0), true, c), rate)))

    return Limits(estimate, low, high, "gamma approximation of the debiased square, solved for the true value")


def debiased_square(table: BinTable) -> float:
    """Return Σ_b f_b [(Σwr)² - Σ(wr)²] / [(Σw)² - Σw²] over bins of two rows and more."""
    kept = _has_pairs(table)
    if not kept.any():
        raise InputError(
            f"debias=True needs a bin with two rows or more; all {table.count.size} bins have fewer. Use fewer bins"
        )
    w, w2, wr, w2r2 = (column[kept] for column in (table.w, table.w2, table.wy - table.wp, table.w2r2))
    pairs: FloatArray = (wr * wr - w2r2) / (w * w - w2)
    return float(np.dot(w, pairs) / w.sum())


def _has_pairs(table: BinTable) -> NDArray[np.bool_]:
    """Tell which bins have pairs of rows; one that outweighs all others of its bin makes none that rounding leaves."""
    found: NDArray[np.bool_] = (table.count >= 2) & (table.w**2 - table.w2 > ROUNDING * table.w**2)
    return found


def squared_error_terms(table: BinTable) -> FloatArray:
    kept = _has_pairs(table)
    w, w2, wv, wr2, gap = (column[kept] for column in (table.w, table.w2, table.wv, table.wr2, table.gap))
    spread = np.maximum((wr2 - w * gap**2) / (w - w2 / w), wv / w)
    c: FloatArray = w / w.sum() * spread * w2 / w**2
    return c


def squared_error_cdf(theta: float, true: float, c: FloatArray) -> float:
    """Return the probability of an estimate of at most `theta` if the squared error is `true`."""
    from scipy.special import gammainc

    most = float(c.max())
    variance = 2 * float((c**2).sum()) + 4 * true * most
    third = 8 * float((c**3).sum()) + 24 * true * most**2
    k = 4 * variance**3 / third**2
    return float(gammainc(k, max(0.0, k + math.sqrt(k / variance) * (theta - true))))


def squared_error_quantile(share: float, c: FloatArray) -> float:
    """Return the quantile of the estimates of a squared error of 0."""
    from scipy.special import gammaincinv

    variance, third = 2 * float((c**2).sum()), 8 * float((c**3).sum())
    k = 4 * variance**3 / third**2
    return (float(gammaincinv(k, share)) - k) * math.sqrt(variance / k)


def max_limits(tables: Sequence[BinTable], estimate: float) -> Limits:
    """Return limits of the largest gap of a bin, exact for rows of equal weight.

    The bin with the largest true gap, and its sign, do not depend on the outcomes. So its one-sided limit of Clopper
    and Pearson is enough for an upper limit; the lower one allows for all bins and both signs.
    """
    if not all(_has_equal_weights(table) for table in tables):
        raise NotApplicableError("limits of the largest gap count rows and need equal weights; leave weights out")
    columns = [(table.count, table.mean_observed, table.mean_predicted) for table in tables]
    n, observed, predicted = (np.concatenate(column) for column in zip(*columns, strict=True))
    n, observed, predicted = n[n > 0].astype(np.float64), observed[n > 0], predicted[n > 0]
    k = np.rint(observed * n)

    def low(rate: float) -> float:
        least, most = exact_limits(k, n, 1 - rate / n.size)
        return max(0.0, float(np.maximum(least - predicted, predicted - most).max()))

    def high(rate: float) -> float:
        least, most = exact_limits(k, n, 1 - 2 * rate)
        return float(np.maximum(most - predicted, predicted - least).max())

    return Limits(estimate, low, high, "exact limits of the frequency in each bin")


def _has_equal_weights(table: BinTable) -> bool:
    filled = table.count > 0
    mean = table.w[filled] / table.count[filled]
    each = np.isclose(table.w2[filled] * table.count[filled], table.w[filled] ** 2, rtol=1e-9, atol=0)
    return bool(each.all() and np.isclose(mean, mean[0], rtol=1e-9, atol=0).all())


def heaviest_weight(tables: Sequence[BinTable]) -> float:
    """Return the weight of the rows if all are equal, else a bound on the largest, (Σw²)^(1/2) of a bin."""
    if all(_has_equal_weights(table) for table in tables):
        return float(tables[0].w.sum() / tables[0].count.sum())
    return math.sqrt(max(float(table.w2.max()) for table in tables))
