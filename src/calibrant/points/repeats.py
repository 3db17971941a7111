"""Points that occur several times: how many, in words, and whether that is more than other sets have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from calibrant.core.pvalues import binomial_tails
from calibrant.inputs.arrays import FloatArray
from calibrant.points.inputs import PointSets, distinct

MIN_SHARE = 0.01  # of the rows that equal an earlier one: fewer are not called a collapse


class Repeats(NamedTuple):
    """How often the points of one set occur in it."""

    rows: int
    distinct: int
    most: int  # occurrences of the most frequent point
    least: int

    @classmethod
    def of(cls, points: FloatArray) -> Repeats:
        """Count the points of a set; numbers are compared exactly.

        >>> Repeats.of(np.array([[1.0], [1.0], [2.0], [2.0], [3.0]]))
        Repeats(rows=5, distinct=3, most=2, least=1)
        """
        count = distinct(points).count
        return cls(len(points), count.size, int(count.max()), int(count.min()))

    @property
    def extra(self) -> int:
        """Rows that equal an earlier row."""
        return self.rows - self.distinct


def repeats_pvalue(found: Repeats, others: Sequence[Repeats]) -> float:
    r"""Return how often chance gives one set so many of the repetitions of several sets of one distribution.

    Given the number t of repetitions of all sets together, those of this one are Binomial(t, π). Rows that fall on a
    few frequent points repeat in proportion to the rows m of a set, and rows that seldom meet another repeat in
    proportion to its pairs; π is the larger share of the two,

    .. math:: \pi = \max \Bigl( \frac{m}{m + \sum_k n_k}, \frac{m (m - 1)}{m (m - 1) + \sum_k n_k (n_k - 1)} \Bigr),

    so the p-value is conservative for the other kind.

    >>> repeats_pvalue(Repeats(10, 6, 2, 1), [Repeats(10, 10, 1, 1)])  # four repetitions, all in one of two sets
    0.0625
    """
    m, rows = found.rows, [other.rows for other in others]
    pairs, of_others = m * (m - 1), sum(n * (n - 1) for n in rows)
    share = max(m / (m + sum(rows)), pairs / (pairs + of_others) if pairs else 0.0)
    return _at_least(found.extra, found.extra + sum(other.extra for other in others), share)


def is_repetitive(found: Repeats, others: Sequence[Repeats]) -> bool:
    """Return whether more than 1 % of the rows repeat another, and a larger share than in any other set."""
    return found.extra > MIN_SHARE * found.rows and all(
        found.extra * other.rows > other.extra * found.rows for other in others
    )


class Copies(NamedTuple):
    """Generated rows that equal a real row."""

    copied: int
    rows: int  # generated rows
    expected: float  # at most: what the repetitions among the real rows let one expect
    pvalue: float


def copies(sets: PointSets) -> Copies:
    r"""Count the generated rows that equal a real row, and compare with the real rows that equal another one.

    If both sets have one distribution, a generated row meets one of the n real rows about as often as these meet each
    other. With c copies among m rows, and r real rows that equal an earlier one, c given c + r is at most
    Binomial(c + r, m/(m + n/2)): there are nm pairs of both sets, and n(n - 1)/2 pairs of real rows.

    >>> copies(PointSets(np.array([[1.0], [2.0]]), np.array([[1.0], [2.0], [2.0]])))[:2]
    (3, 3)
    """
    found, n, m = distinct(sets.pooled), sets.n, sets.m
    real = np.bincount(found.place[:n], minlength=len(found.points))
    copied = int(np.count_nonzero(real[found.place[n:]]))
    extra = n - int(np.count_nonzero(real))
    share = m / (m + (n - 1) / 2)
    return Copies(copied, m, min(float(m), extra * share / (1 - share)), _at_least(copied, copied + extra, share))


def _at_least(k: int, of: int, share: float) -> float:
    """Return P(K >= k) of K ~ Binomial(of, share); never 0."""
    return max(float(binomial_tails(k, of, share)[1]), float(np.finfo(float).tiny))
