"""How many points of one set lie in balls around those of another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.primitives.neighbours import Counts, Neighbours
from calibrant.primitives.squared_differences import IntArray


class Balls(NamedTuple):
    """What lies in balls around points of one set."""

    inside: Counts
    """Points of the other set in each ball."""

    hit: NDArray[np.bool_]
    """For each different point of the other set whether it lies in some ball."""


class BallCounts(NamedTuple):
    """What precision, recall, density and coverage are shares of."""

    precise: int
    """Generated points in some real ball."""

    recalled: int
    """Real points in some generated ball."""

    members: int
    """Pairs of a real ball and a generated point in it."""

    covered: int
    """Real balls with a generated point in them."""


def balls(own: Neighbours, other: Neighbours, k: int, rows: IntArray) -> Balls:
    """Return what of one set lies in the closed balls around some points of the other, up to their k-th neighbours."""
    R2 = own.radii(k, rows)
    inside, hit = np.zeros(len(rows), dtype=np.int64), np.zeros(len(other.points), dtype=bool)
    for i, j in other.inside(own.points[rows], R2):
        inside += np.bincount(i, weights=other.count[j], minlength=len(rows)).astype(np.int64)
        hit[j] = True
    return Balls(inside, hit)


def ball_counts(real: Neighbours, generated: Neighbours, k: int) -> BallCounts:
    """Return the counts of all balls of both sets; each set has more than k points.

    >>> line = lambda *x: Neighbours(np.array(x)[:, None], np.ones(len(x), dtype=np.int64))
    >>> ball_counts(line(0.0, 1.0, 3.0), line(0.5, 4.0), 1)
    BallCounts(precise=2, recalled=3, members=3, covered=3)
    """
    rows, back = real.order, generated.order
    inside, hit = balls(real, generated, k, rows)
    count = real.count[rows]
    return BallCounts(
        precise=int(generated.count[hit].sum()),
        recalled=int(real.count[balls(generated, real, k, back).hit].sum()),
        members=int((count * inside).sum()),
        covered=int(count[inside > 0].sum()),
    )
