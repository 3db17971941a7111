"""How far draws are off: the largest error of the coverage of an interval between two of their quantiles."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.mean_interval import exact_limits
from calibrant.core.pvalues import binomial_tails
from calibrant.inputs.arrays import FloatArray
from calibrant.ranking.bands import ecdf_band
from calibrant.ranking.effects import TIE, below
from calibrant.ranking.summary import Ranks

SMALLEST_RANGE, LARGEST_RANGE = 0.2, 20.0  # of a Brownian bridge; outside of these probabilities are 1 and 0
TERMS = 20  # of its series


class CoverageErrors(NamedTuple):
    """The largest error of the coverage of any interval, of each column, with lower and upper limits."""

    estimate: FloatArray  # (C,)
    low: FloatArray
    high: FloatArray


def coverage_errors(ranks: Ranks, rate: float, upper_rate: float) -> CoverageErrors:
    r"""Return the largest error of coverage of each column, with limits of these error rates.

    With F(t) the probability of a rank below t(M + 1), an interval from the quantile s of the draws to the quantile t
    contains the outcome with probability F(t) - F(s) in place of t - s. The largest error is Kuiper's range

    .. math:: V = \max_t (F(t) - t) - \min_t (F(t) - t) ,

    also of intervals that are open on one side, s = 0 or t = 1.

    The interval with the largest true error is fixed and the number of outcomes inside is binomial, so the largest
    Clopper-Pearson limit over all intervals is an upper limit, whatever their number. Below, the range of the observed
    F is at most V and the range of its error together. That is at most the range for uniform numbers, Kuiper's
    statistic, whose limit distribution is used; it is larger than that of n rows. The limit is 0 unless the exact band
    of the test rejects, and at least what that band shows.

    Three ranks 0 among one draw: F(1/2) is 1, at least 0.05^(1/3) = 0.37, and by chance 1 in a quarter of the cases.

    >>> found = coverage_errors(Ranks.of([0, 0, 0], M=1), 0.05, 0.05)
    >>> float(found.estimate[0]), float(found.low[0]), float(found.high[0])
    (0.5, 0.0, 0.5)
    """
    arcs = Arcs.of(ranks)
    n, t = float(ranks.n), (ranks.points / (ranks.M + 1))[:, None]
    c = below(ranks.counts, ranks.points).astype(np.float64)
    inner = exact_limits(c, np.full(c.shape, n), 1 - ecdf_band(ranks.n, t[:, 0], 1 - rate).gamma)
    shown = np.maximum(inner[0] - t, t - inner[1]).max(axis=0)
    estimate = arcs.error
    low = np.maximum(shown, estimate - kuiper_quantile(rate) / np.sqrt(n))
    return CoverageErrors(estimate, np.where(shown > TIE, low, 0.0), np.maximum(estimate, arcs.upper(upper_rate)))


class Arcs(NamedTuple):
    """The intervals between two of the points 0 and j/(M + 1), and what lies outside of them: arcs of a circle.

    Of all arcs of the same number of steps the one with most outcomes matters.
    """

    n: int
    width: FloatArray  # (T, 1): the probability of an arc of k steps, k = 1 to T
    most: NDArray[np.int64]  # (T, C): the largest number of outcomes in such an arc
    error: FloatArray  # (C,): the largest share of outcomes in an arc less its probability

    @classmethod
    def of(cls, ranks: Ranks) -> Arcs:
        """Count the outcomes in the arcs. Of more than 1000 draws the points of the curve are taken."""
        m = ranks.M + 1
        ends = np.concatenate([[0], ranks.points])
        reached = np.concatenate([np.zeros((1, ranks.C), np.int64), below(ranks.counts, ranks.points)])
        circle = np.concatenate([ends, ends + m])
        passed = np.concatenate([reached, reached + ranks.n])
        T, C = ends.size, ranks.C
        width, most = np.empty((T - 1, 1)), np.empty((T - 1, C), np.int64)
        for k in range(1, T):
            width[k - 1] = (circle[k : k + T] - ends).min() / m  # steps differ by one rank if there are many draws
            most[k - 1] = (passed[k : k + T] - reached).max(axis=0)
        gap = reached / ranks.n - ends[:, None] / m
        return cls(ranks.n, width, most, np.asarray(gap.max(axis=0) - gap.min(axis=0)))

    def upper(self, rate: float) -> FloatArray:
        rows = np.full(self.most.shape, float(self.n))
        high = exact_limits(self.most.astype(np.float64), rows, 1 - 2 * rate)[1]
        return np.asarray((high - self.width).max(axis=0))

    def pvalue(self, tolerance: float) -> FloatArray:
        """Return the p-value of an error of the tolerance or more: the smallest rate at which the limit excludes it."""
        share = np.broadcast_to(self.width + tolerance, self.most.shape)
        tails = binomial_tails(self.most.astype(np.float64), self.n, np.minimum(share, 1.0))[0]
        return np.asarray(np.where(share < 1, tails, 0.0).max(axis=0))


@lru_cache(maxsize=256)
def kuiper_quantile(rate: float) -> float:
    r"""Return the λ that the range of a Brownian bridge, the limit of √n V of uniform ranks, exceeds at this rate.

    .. math:: P(\text{range} > λ) = 2 \sum_{j \ge 1} (4 j^2 λ^2 - 1) e^{-2 j^2 λ^2}

    (Kuiper 1960). The range of n uniform numbers exceeds λ/√n less often (Stephens 1970).
    """
    from scipy.optimize import brentq

    j2 = np.arange(1, TERMS + 1) ** 2

    def excess(lam: float) -> float:
        return float(np.sum(2 * (4 * j2 * lam**2 - 1) * np.exp(-2 * j2 * lam**2))) - rate

    return float(brentq(excess, SMALLEST_RANGE, LARGEST_RANGE, xtol=1e-14))
