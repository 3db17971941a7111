"""Limits of binomial counts at one two-sided tail value, g, for many counts at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray

Counts = NDArray[np.int64]

SLACK = 1e-10  # tails that are equal in exact arithmetic differ by less when rounded


class Side(NamedTuple):
    """Limits on one side, as counts from its end: the smallest c with 2 P(B <= c) >= g."""

    c: Counts
    at: FloatArray  # 2 P(B <= c), g or more
    below: FloatArray  # 2 P(B <= c - 1), less than g


class Limits(NamedTuple):
    """Counts that are not outside at g, of B_j ~ Binomial(N, t_j)."""

    N: int
    sides: tuple[Side, Side]

    @property
    def lower(self) -> Counts:
        """The smallest c with 2 P(B_j <= c) >= g."""
        return self.sides[0].c

    @property
    def upper(self) -> Counts:
        """The largest c with 2 P(B_j >= c) >= g."""
        return np.asarray(self.N - self.sides[1].c)

    @property
    def reached(self) -> float:
        """The largest g that has these limits."""
        return float(min(side.at.min() for side in self.sides))

    @property
    def next_below(self) -> float:
        """The largest g that has wider limits."""
        return float(max(side.below.max() for side in self.sides))


def count_limits(
    g: float,
    N: int,
    t: FloatArray,
    *,
    mirrored: bool = False,
    strict: bool = False,
    wide: Limits | None = None,
    narrow: Limits | None = None,
) -> Limits:
    """Return the limits at g, up to rounding of the tails; `strict` asks for tails of more than g.

    Points that mirror each other have mirrored limits. Limits at a smaller and at a larger g, `wide` and `narrow`,
    leave fewer counts to look at.

    >>> found = count_limits(0.4, 3, np.array([0.5]))  # 2 P(B <= 0) = 2 P(B >= 3) = 1/4
    >>> found.lower, found.upper, found.next_below
    (array([1]), array([2]), 0.25)
    """
    least = np.nextafter(g * (1 + SLACK), np.inf) if strict else g * (1 - SLACK)
    sides = []
    for end in range(1 if mirrored else 2):
        outer, inner = (None if bound is None else bound.sides[end] for bound in (wide, narrow))
        sides.append(_side(least, N, t, end, outer, inner))
    low = sides[0]
    high = Side(low.c[::-1], low.at[::-1], low.below[::-1]) if mirrored else sides[1]
    return Limits(N, (low, high))


def _side(least: float, N: int, t: FloatArray, end: int, outer: Side | None, inner: Side | None) -> Side:
    """Return the smallest c with tail(c) >= least: probes that start at a guess, go on by 1, 2, 4, ... and bisect."""
    bad, at_bad = np.full(t.size, -1), np.zeros(t.size)
    good, at_good = np.full(t.size, N + 1), np.full(t.size, np.inf)
    if outer is not None:
        bad, at_bad = outer.c - 1, outer.below.copy()
    if inner is not None:
        good, at_good = inner.c.copy(), inner.at.copy()
    probe, step = _guess(least, N, 1 - t if end else t), 1
    while (k := np.flatnonzero(good - bad > 1)).size:
        c = np.clip(probe[k], bad[k] + 1, good[k] - 1)
        value = doubled_tail(c, N, t[k], end)
        enough = value >= least
        good[k[enough]], at_good[k[enough]] = c[enough], value[enough]
        bad[k[~enough]], at_bad[k[~enough]] = c[~enough], value[~enough]
        between = (bad[k] >= 0) & (good[k] <= N) & (step > 1)
        probe[k] = np.where(between, (bad[k] + good[k]) // 2, np.where(enough, c - step, c + step))
        step *= 2
    return Side(good, at_good, at_bad)


def _guess(least: float, N: int, t: FloatArray) -> Counts:
    """Return about the quantile least/2, by the normal law and its first correction for skewness."""
    from scipy.special import ndtri

    z = float(np.clip(ndtri(min(least / 2, 1.0)), -40, 40))
    c = N * t + z * np.sqrt(N * t * (1 - t)) + (z * z - 1) * (1 - 2 * t) / 6
    return np.floor(np.clip(c, 0, N)).astype(np.int64)


def doubled_tail(c: Counts, N: int, t: FloatArray, end: int) -> FloatArray:
    """Return 2 P(B <= c), or from the other end 2 P(B >= N - c)."""
    from scipy.special import betainc, betaincc

    a = np.minimum(c, N - 1)
    value = betainc(N - a, a + 1, t) if end else betaincc(a + 1, N - a, t)
    return np.asarray(2 * np.where(c < N, value, 1.0))
