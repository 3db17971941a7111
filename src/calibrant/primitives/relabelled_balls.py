"""Counts of balls when pooled points are divided anew into two sets, many times.

The nearest points of each pooled point do not depend on the division, so they are looked for once. A ball then grows
along the list of its centre until it has met k points of its own set. Where a list ends before, the ball is looked at
among all points.
"""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.ball_counts import balls
from calibrant.primitives.distinct_points import Distinct, distinct
from calibrant.primitives.neighbours import Counts, Neighbours
from calibrant.primitives.relabellings import Divisions, check_divisions, relabellings
from calibrant.primitives.squared_differences import IntArray
from calibrant.progress import steps

LONGEST = 256  # entries of a list
WHOLE = 32  # points that are all kept in each other's lists
MOST = 1 << 23  # entries of all lists
BATCH = 1 << 16  # points of all divisions that are looked at together
LABEL = "relabelling points"


def relabelled_counts(pooled: FloatArray, n: int, k: int, resamples: int, rng: np.random.Generator) -> Counts:
    """Return the counts of `BallCounts` for random divisions into sets of n and N - n points, (resamples, 4).

    Points are divided in an order that depends on their values alone.
    """
    check_divisions(resamples, 0)
    found, N = np.empty((resamples, 4), dtype=np.int64), len(pooled)
    lists = Lists(distinct(pooled), k, min(n, N - n) / N)
    for start, stop in steps(resamples, size=max(1, BATCH // N), label=LABEL):
        found[start:stop] = lists.counts(relabellings(n, N - n, stop - start, rng))
    return found


def list_length(k: int, share: float) -> int:
    """Return how many neighbours are needed to have k of a set with this share, but for one point in a million."""
    return ceil((k + 7 * sqrt(k * (1 - share)) + 4) / share)


class Lists:
    """The nearest of all points, for each of them, in order.

    Parameters
    ----------
    of
        The pooled points.
    k
        The ball of a point reaches to the k-th of its own set.
    share
        Share of the smaller set.
    """

    def __init__(self, of: Distinct, k: int, share: float) -> None:
        self.of, self.k = of, k
        u = len(of.points)
        wanted = min(list_length(k, share), LONGEST, MOST // u)
        self.K = u - 1 if u - 1 <= max(wanted, WHOLE) else wanted
        self.index = np.empty((self.K, u), dtype=np.intp)
        self.square = np.empty((self.K, u))
        search = Neighbours(of.points, of.count)
        rows = search.order
        for part, near in search.nearest(self.K, rows):
            self.index[:, rows[part]], self.square[:, rows[part]] = near.index.T, near.square.T

    def counts(self, divisions: Divisions) -> Counts:
        """Return the counts of divisions (B, N), 1 for the first set, of the points from small to large."""
        B, u = len(divisions), len(self.of.points)
        place = np.repeat(self.of.order, self.of.count[self.of.order]) + u * np.arange(B)[:, None]
        a = np.bincount(place.reshape(-1), weights=divisions.reshape(-1), minlength=B * u).astype(np.int64)
        b = np.tile(self.of.count, B) - a
        inside, hit = self._balls(a, b)
        back = self._balls(b, a)[1]
        counted = b * hit, a * back, a * inside, a * (inside > 0)
        return np.stack([each.reshape(B, u).sum(axis=1) for each in counted], axis=1)

    def _balls(self, own: Counts, other: Counts) -> tuple[Counts, NDArray[np.bool_]]:
        """Return what lies in balls around points of one set, for divisions that stand one after another."""
        u = len(self.of.points)
        inside, hit = other.copy(), np.zeros(len(own), dtype=bool)
        at = np.flatnonzero(own)
        hit[at] = other[at] > 0
        seen = own[at] - 1
        R2 = np.where(seen >= self.k, 0.0, np.inf)
        for index, square in zip(self.index, self.square, strict=True):
            s = square[at % u]
            grows = s <= R2
            at, s, seen, R2 = at[grows], s[grows], seen[grows], R2[grows]
            near = at - at % u + index[at % u]
            met = other[near]
            inside[at] += met
            hit[near[met > 0]] = True
            seen += own[near]
            R2 = np.where((seen >= self.k) & np.isinf(R2), s, R2)
        if u - 1 > self.K:
            self._among_all(own, other, at, inside, hit)
        return inside, hit

    def _among_all(self, own: Counts, other: Counts, at: IntArray, inside: Counts, hit: NDArray[np.bool_]) -> None:
        """Look at balls whose list is too short among all points, and write down what is in them."""
        u = len(self.of.points)
        for division in np.unique(at // u):
            part = slice(division * u, (division + 1) * u)
            mine, others = (np.flatnonzero(count[part]) for count in (own, other))
            rows = at[at // u == division]
            set_of_ball = Neighbours(self.of.points[mine], own[part][mine])
            other_set = Neighbours(self.of.points[others], other[part][others])
            found = balls(set_of_ball, other_set, self.k, np.searchsorted(mine, rows - part.start))
            inside[rows] = found.inside
            hit[part][others[found.hit]] = True
