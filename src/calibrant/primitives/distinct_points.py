"""Which points of a set are equal: each different one once, and where it occurs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.point_order import point_order
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.dispatch import chunks
from calibrant.primitives.squared_differences import IntArray

PIECE = 1 << 12  # points that are compared together


@dataclass(frozen=True, eq=False)
class Distinct:
    """The different points of a set of N; 0 and -0 are equal."""

    points: FloatArray
    """Each of them once, (u, d)."""

    count: NDArray[np.int64]
    """How often each of them occurs, (u,)."""

    place: IntArray
    """Which of them each point of the set is, (N,)."""

    order: IntArray
    """The different points from small to large, as `point_order` has it, (u,)."""

    @property
    def rank(self) -> IntArray:
        """How many different points are smaller than each point of the set, (N,)."""
        return np.argsort(self.order)[self.place]


def distinct(points: FloatArray) -> Distinct:
    """Return the different points of a set; the set itself where no two are equal.

    >>> found = distinct(np.array([[2.0], [1.0], [2.0]]))
    >>> found.points.tolist(), found.count.tolist(), found.place.tolist(), found.order.tolist()
    ([[1.0], [2.0]], [1, 2], [1, 0, 1], [0, 1])
    """
    order = np.argsort(points[:, 0], kind="stable")
    new = _differ(points[:, :1], order)
    if not new.all():  # one coordinate does not tell them all apart
        order = point_order(points)
        new = _differ(points, order)
    if new.all():
        each = np.arange(len(points))
        return Distinct(points, np.ones(len(points), dtype=np.int64), each, order)
    place = np.empty(len(points), dtype=np.intp)
    place[order] = np.cumsum(new) - 1
    return Distinct(points[order[new]], np.bincount(place), place, np.arange(np.count_nonzero(new)))


def _differ(points: FloatArray, order: IntArray) -> NDArray[np.bool_]:
    """Tell which points differ from the one before them in this order."""
    new = np.ones(len(points), dtype=bool)
    for part in chunks(len(points) - 1, PIECE):
        new[1:][part] = (points[order[:-1][part]] != points[order[1:][part]]).any(axis=1)
    return new
