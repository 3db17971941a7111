"""Area under the curve of scores of two labels, and its p-value by the rank-sum test."""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.arrays import FloatArray

Integers = NDArray[np.int64]

MAX_ADDITIONS = 50_000_000  # up to which the exact distribution is counted by sums
MAX_STATES = 1 << 20  # ways to share m rows among few scores, times the scores, up to which all are enumerated
MIN_PVALUE = sys.float_info.min
NEAR_MEAN = 0.02  # in standard deviations: within it the correction is interpolated from both sides
MAX_NEWTON_STEPS, CONVERGED = 200, 1e-20  # squared decrement at which Newton's method ends
FULL_STEPS = 1e-6  # squared decrement below which full steps are safe


class RankSum(NamedTuple):
    """Area under the curve, the probability of one at least as large, and its method."""

    auc: float
    pvalue: float
    null: str  # "exact" or "saddlepoint"


class Groups(NamedTuple):
    """Rows in groups of equal scores, the smallest score first."""

    ranks: Integers  # twice the mean rank of each group: whole numbers
    sizes: Integers


def rank_sum_test(scores: FloatArray, labels: Integers) -> RankSum:
    r"""Compare the scores of label 1 with those of label 0: the test of Mann and Whitney, one-sided, given the scores.

    .. math:: \mathrm{AUC} = P(s_1 > s_0) + \tfrac12 P(s_1 = s_0)
        = \frac{W - m(m + 1)}{2 n m},

    with W the sum of twice the mean ranks of the m rows of label 1, and n rows of label 0. If all choices of these m
    rows are equally likely, W is the sum of m ranks drawn without replacement, ties included, and the p-value is the
    probability of a sum at least as large.

    The p-value is exact (all sums counted) up to about 100 rows, up to many more with few distinct scores, and if one
    label has a single row. Otherwise it is the double saddlepoint approximation for sums drawn without replacement
    (Robinson 1982; Booth and Butler 1990), see `saddlepoint_tail`. The smallest p-value is 2.2e-308.

    Label 1 wins five of six pairs; two of the ten choices of two rows do as well or better:

    >>> rank_sum_test(np.array([0.1, 0.5, 0.3, 0.4, 0.7]), np.array([0, 0, 0, 1, 1]))
    RankSum(auc=0.8333333333333334, pvalue=0.2, null='exact')
    """
    groups, w, m, n = _ranked(scores, labels)
    value = (w - m * (m + 1)) / (2 * n * m)
    if groups.ranks.size == 1:
        return RankSum(value, 1.0, "exact")
    if m > n:  # the same event in the reversed ranks of label 0: fewer rows are drawn
        total = int(groups.ranks @ groups.sizes)
        groups = Groups(2 * (m + n + 1) - groups.ranks[::-1], groups.sizes[::-1])
        m, n, w = n, m, w + 2 * (m + n + 1) * n - total
    tail, null = _tail(groups, m, w)
    return RankSum(value, min(max(tail, MIN_PVALUE), 1.0), null)


def auc(scores: FloatArray, labels: Integers) -> float:
    """Return how often a row of label 1 has the larger score than one of label 0, ties counted half.

    >>> auc(np.array([0.1, 0.5, 0.5]), np.array([0, 0, 1]))
    0.75
    """
    _, w, m, n = _ranked(scores, labels)
    return (w - m * (m + 1)) / (2 * n * m)


def standard_ranks(scores: FloatArray, labels: Integers) -> FloatArray:
    """Return the mean ranks of scores, such that their sum over any choice of rows of label 1 is (AUC - 1/2) / sd.

    The standard deviation is that over all choices of so many rows, ties included; all are 0 if all scores are equal.

    >>> ranks = standard_ranks(np.array([0.1, 0.5, 0.3, 0.4]), np.array([0, 0, 1, 1]))
    >>> sums = [ranks[i] + ranks[j] for i in range(4) for j in range(i)]
    >>> round(abs(float(np.mean(sums))), 12), round(float(np.std(sums)), 12)
    (0.0, 1.0)
    """
    _, group, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[group.reshape(-1)]
    N, m = labels.size, int(labels.sum())
    centred = ranks - (N + 1) / 2
    variance = m * (N - m) / (N * (N - 1)) * float(centred @ centred)
    return np.asarray(centred / np.sqrt(variance) if variance > 0 else np.zeros(N))


def _ranked(scores: FloatArray, labels: Integers) -> tuple[Groups, int, int, int]:
    """Return the groups, W, and the numbers of rows with label 1 and 0."""
    _, group, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = 2 * np.cumsum(sizes) - sizes + 1
    m = int(labels.sum())
    return Groups(ranks, sizes), int(ranks[group.reshape(-1)] @ labels), m, labels.size - m


def _tail(groups: Groups, m: int, w: int) -> tuple[float, str]:
    ranks, sizes = groups
    if m == 1:
        return float(sizes[ranks >= w].sum() / sizes.sum()), "exact"
    step = int(np.gcd.reduce(np.diff(ranks)))
    places, least = (ranks - ranks[0]) // step, (w - m * int(ranks[0])) // step
    if least == first_sum(places, sizes, m):  # no sum is smaller
        return 1.0, "exact"
    if int(sizes.sum()) * m * first_sum(places[::-1], sizes[::-1], m) <= MAX_ADDITIONS:
        ways = ways_to_sums(places, sizes, m)
        return float(ways[least:].sum() / ways.sum()), "exact"
    # a bound of the log number of ways to share m rows among groups; the largest group takes the rest
    others = sizes.size - 1
    at_most_m = math.lgamma(others + m + 1) - math.lgamma(others + 1) - math.lgamma(m + 1)
    log_states = min(at_most_m, float(np.log(np.minimum(np.sort(sizes)[:-1], m) + 1).sum()))
    if log_states + math.log(others) <= math.log(MAX_STATES):
        return _enumerated(places, sizes, m, least), "exact"
    return saddlepoint_tail(ranks, sizes, m, w, step), "saddlepoint"


def first_sum(places: Integers, sizes: Integers, m: int) -> int:
    """Return the sum of the places of the first m rows, group after group."""
    return int(np.clip(m - (np.cumsum(sizes) - sizes), 0, sizes) @ places)


def _enumerated(places: Integers, sizes: Integers, m: int, least: int) -> float:
    """Return P(sum >= least) from all ways to share m rows among the groups, the smallest group first."""
    drawn, sums, logs = np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1)
    order = np.argsort(sizes, kind="stable")
    for place, size in zip(places[order[:-1]].tolist(), sizes[order[:-1]].tolist(), strict=True):
        taken = np.arange(min(size, m) + 1)
        legal = drawn[:, None] + taken <= m
        logs = (logs[:, None] + _log_choices(size)[taken])[legal]
        sums = (sums[:, None] + place * taken)[legal]
        drawn = (drawn[:, None] + taken)[legal]
    left, last = m - drawn, int(order[-1])
    legal = left <= sizes[last]
    logs = logs[legal] + _log_choices(int(sizes[last]))[left[legal]]
    weights = np.exp(logs - logs.max())
    reached = sums[legal] + places[last] * left[legal] >= least
    return float(weights[reached].sum() / weights.sum())


def _log_choices(size: int) -> FloatArray:
    """Return the logarithm of the number of ways to take 0, 1, ..., size of so many rows."""
    from scipy.special import gammaln

    taken = np.arange(size + 1)
    return np.asarray(gammaln(size + 1) - gammaln(taken + 1) - gammaln(size - taken + 1))


def ways_to_sums(places: Integers, sizes: Integers, m: int) -> FloatArray:
    """Return the number of choices of m rows with each sum of places, 0 and up, counted group by group.

    >>> ways_to_sums(np.array([0, 1, 2]), np.array([2, 1, 1]), 2)
    array([1., 2., 2., 1.])
    """
    ways = np.zeros((m + 1, first_sum(places[::-1], sizes[::-1], m) + 1))
    ways[0, 0] = 1.0
    seen = top = 0  # rows and the largest sum so far
    for place, size in zip(places.tolist(), sizes.tolist(), strict=True):
        rows, before = min(seen, m) + 1, ways[: min(seen, m) + 1, : top + 1].copy()
        for taken in range(1, min(size, m) + 1):
            kept, reach = min(rows, m + 1 - taken), min(top + 1, ways.shape[1] - taken * place)
            if reach <= 0:
                break
            target = ways[taken : taken + kept, taken * place : taken * place + reach]
            target += math.comb(size, taken) * before[:kept, :reach]
        seen, top = seen + size, min(top + min(size, m) * place, ways.shape[1] - 1)
    return np.asarray(ways[m])


def saddlepoint_tail(values: NDArray[np.int64], sizes: NDArray[np.int64], m: int, w: int, step: int) -> float:
    r"""Return P(W >= w) of the sum W of m numbers drawn without replacement from N whole ones.

    With the N values :math:`a_i` and :math:`K(s, u) = \sum_i \log(1 - \pi + \pi e^{s + u a_i})`, :math:`\pi = m/N`, the
    distribution of W is that of :math:`\sum_i I_i a_i` given :math:`\sum_i I_i = m` for independent :math:`I_i`. At
    :math:`x = w - h/2`, h the step between possible sums, and where the gradient of K is (m, x),

    .. math:: r = \pm \sqrt{2 (s m + u x - K)}, \quad
        v = \tfrac{2}{h} \sinh\tfrac{uh}{2} \sqrt{\det K'' / (N \pi (1 - \pi))}, \quad
        P \approx 1 - \Phi\bigl(r + \tfrac1r \log \tfrac vr\bigr).

    `values` are the distinct numbers, two or more, `sizes` how often each occurs, and `step` is the greatest common
    divisor of their differences.

    The relative error near p-values of 0.05 to 1e-7 was at most 0.0004 for 50 and 50 rows without ties, and 0.011 for
    10 and 300. The weak case is that of scores which occur nearly, but not exactly, equally often (five scores of 39 to
    41 rows: 0.085 to 0.27): sums then come in clusters that a smooth approximation misses. With two rows of one label
    the error is up to 0.06, and for the largest possible sum about 0.2.
    """
    N = int(sizes.sum())
    mean = float(values @ sizes) / N
    spread = math.sqrt(float(sizes @ (values - mean) ** 2) / N)
    a, h = np.asarray((values - mean) / spread, np.float64), step / spread
    x = (w - step / 2 - m * mean) / spread
    deviation = math.sqrt(m * (N - m) / (N - 1))
    if abs(x) >= NEAR_MEAN * deviation:
        r, correction = _root(a, sizes, m, x, h)
    else:  # 0/0 in the formula; the correction is smooth, so it is interpolated
        r = x / deviation
        below, above = (_root(a, sizes, m, side * NEAR_MEAN * deviation, h)[1] for side in (-1, 1))
        correction = (below + above) / 2
    return 0.5 * math.erfc((r + correction) / math.sqrt(2))


def _root(a: FloatArray, sizes: NDArray[np.int64], m: int, x: float, h: float) -> tuple[float, float]:
    """Return r and log(v/r)/r at the saddlepoint of (m, x), by Newton's method with step halving."""
    from scipy.special import expit

    N = int(sizes.sum())
    start = math.log(m / (N - m))
    base = N * math.log1p(-m / N)

    def excess(s: float, u: float) -> float:
        """Return K - sm - ux, whose smallest value is -r²/2."""
        return float(sizes @ np.logaddexp(0.0, start + s + u * a)) + base - s * m - u * x

    s = u = 0.0
    for _ in range(MAX_NEWTON_STEPS):
        q = expit(start + s + u * a)
        slope = sizes * (q * (1 - q))
        total = float(slope.sum())
        middle = float(slope @ a) / total
        b = a - middle  # makes K'' diagonal: no cancellation
        second = float(slope @ (b * b))
        first_gap, second_gap = float(sizes @ q) - m, float((sizes * q) @ b) - (x - m * middle)
        decrement = first_gap**2 / total + second_gap**2 / second
        if decrement < CONVERGED:
            break
        du = -second_gap / second
        ds = -first_gap / total - middle * du
        length = 1.0
        while decrement > FULL_STEPS and excess(s + length * ds, u + length * du) > excess(s, u):
            length /= 2
        s, u = s + length * ds, u + length * du
    r = math.copysign(math.sqrt(max(-2 * excess(s, u), 0.0)), u)
    v = 2 / h * math.sinh(u * h / 2) * math.sqrt(total * second / (m * (N - m) / N))
    return r, math.log(v / r) / r
