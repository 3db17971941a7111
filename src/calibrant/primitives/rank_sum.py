"""Area under the curve of scores of two labels, and the law of the sum of ranks behind it."""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.rank_sum_tail import saddlepoint_tail

Integers = NDArray[np.int64]

WORK = 50_000_000  # additions up to which the law is counted out
STATES = 1 << 20  # ways to share m rows among few different scores, times these, up to which all are looked at
SMALLEST = sys.float_info.min  # no p-value is 0


class RankSum(NamedTuple):
    """Area under the curve, the probability of one at least as large, and how that was found."""

    auc: float
    pvalue: float
    null: str
    """"exact" or "saddlepoint"."""


class Groups(NamedTuple):
    """Rows in groups of equal scores, the smallest score first."""

    ranks: Integers
    """Twice the mean rank of each group: a whole number."""
    sizes: Integers
    """Its rows."""


def rank_sum_test(scores: FloatArray, labels: Integers) -> RankSum:
    r"""Compare the scores of label 1 with those of label 0: the test of Mann and Whitney, one-sided, given the scores.

    .. math:: \mathrm{AUC} = P(s_1 > s_0) + \tfrac12 P(s_1 = s_0)
        = \frac{W - m(m + 1)}{2 n m},

    with W the sum of twice the mean ranks of the m rows of label 1, n rows having label 0. If every choice of these m
    rows is as likely, W is a sum drawn without replacement from the ranks, tied as they are, and the p-value is the
    probability of a sum at least as large.

    Parameters
    ----------
    scores
        A number for each row.
    labels
        0 or 1 for each row; both occur.

    Notes
    -----
    The p-value is exact (all sums counted) up to about 100 rows, with few different scores up to many more, and if one
    label has a single row. Beyond that it is the double saddlepoint approximation for sums drawn without replacement
    (Robinson 1982; Booth and Butler 1990), see `saddlepoint_tail`. There is no p-value of 0: the smallest is 2.2e-308.

    Examples
    --------
    Of the six pairs label 1 wins five; two of the ten choices of two rows do as well or better:

    >>> rank_sum_test(np.array([0.1, 0.5, 0.3, 0.4, 0.7]), np.array([0, 0, 0, 1, 1]))
    RankSum(auc=0.8333333333333334, pvalue=0.2, null='exact')
    """
    groups, w, m, n = _ranked(scores, labels)
    value = (w - m * (m + 1)) / (2 * n * m)
    if groups.ranks.size == 1:
        return RankSum(value, 1.0, "exact")
    if m > n:  # the same event in the ranks of label 0, counted from above: fewer rows are drawn
        total = int(groups.ranks @ groups.sizes)
        groups = Groups(2 * (m + n + 1) - groups.ranks[::-1], groups.sizes[::-1])
        m, n, w = n, m, w + 2 * (m + n + 1) * n - total
    tail, null = _tail(groups, m, w)
    return RankSum(value, min(max(tail, SMALLEST), 1.0), null)


def auc(scores: FloatArray, labels: Integers) -> float:
    """Return how often a row of label 1 has the larger score than one of label 0, ties counted half.

    >>> auc(np.array([0.1, 0.5, 0.5]), np.array([0, 0, 1]))
    0.75
    """
    _, w, m, n = _ranked(scores, labels)
    return (w - m * (m + 1)) / (2 * n * m)


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
    if int(sizes.sum()) * m * first_sum(places[::-1], sizes[::-1], m) <= WORK:
        return _counted(places, sizes, m, least), "exact"
    if _log_states(sizes, m) + math.log(sizes.size - 1) <= math.log(STATES):
        return _looked_at(places, sizes, m, least), "exact"
    return saddlepoint_tail(ranks, sizes, m, w, step), "saddlepoint"


def _log_states(sizes: Integers, m: int) -> float:
    """Return a bound of the number of ways to share m rows among groups; the largest group takes what is left."""
    others = sizes.size - 1
    at_most_m = math.lgamma(others + m + 1) - math.lgamma(others + 1) - math.lgamma(m + 1)
    return min(at_most_m, float(np.log(np.minimum(np.sort(sizes)[:-1], m) + 1).sum()))


def first_sum(places: Integers, sizes: Integers, m: int) -> int:
    """Return the sum of the places of the first m rows, those of one group after those of another."""
    return int(np.clip(m - (np.cumsum(sizes) - sizes), 0, sizes) @ places)


def _looked_at(places: Integers, sizes: Integers, m: int, least: int) -> float:
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


def _counted(places: Integers, sizes: Integers, m: int, least: int) -> float:
    """Return P(sum >= least) from the number of ways to reach each sum."""
    ways = ways_to_sums(places, sizes, m)
    return float(ways[least:].sum() / ways.sum())


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
