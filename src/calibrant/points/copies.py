"""Which points of a set are equal: each different one once, and where it occurs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import chunks
from calibrant.inputs.arrays import FloatArray
from calibrant.kernels.median import point_order
from calibrant.kernels.pair_sums import centred, squared_distances
from calibrant.points.inputs import PointSets
from calibrant.points.neighbours import IntArray, Neighbours, squares_of_pairs
from calibrant.points.sums import Divisions
from calibrant.progress import steps

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


class Repeated(NamedTuple):
    """Shares of repetitions, from 0 (all different) up."""

    repeated_y: float
    """Rows of y that equal an earlier row of y."""
    repeated_points: float
    """Rows of the points that equal an earlier row of the points."""
    repeated_values_y: float
    """Single numbers of y that equal an earlier one in their column: the mean over columns."""
    repeated_values_points: float
    """Single numbers of the points that equal an earlier one in their column: the mean over columns."""
    shared_rows: float
    """Rows of the points that are also rows of y."""


def repeated(sets: PointSets) -> Repeated:
    """Return how much of each set repeats itself, and how much of the second repeats the first.

    Numbers are compared exactly, but for 0 and -0, which are equal. Draws of a continuous law repeat nothing; rounded
    ones repeat values, resampled ones repeat rows, and memorised ones share them.

    >>> y, points = np.array([[1.0, 5.0], [2.0, 6.0]]), np.array([[2.0, 6.0], [2.0, 6.0], [2.0, 7.0], [3.0, 8.0]])
    >>> repeated(PointSets(y, points))._asdict()
    {'repeated_y': 0.0, 'repeated_points': 0.25, 'repeated_values_y': 0.0, 'repeated_values_points': 0.375,
     'shared_rows': 0.5}
    """
    place = distinct(sets.pooled).place
    of_y, of_points = place[: sets.n], place[sets.n :]
    return Repeated(
        _repeated(of_y),
        _repeated(of_points),
        _repeated_values(sets.y),
        _repeated_values(sets.points),
        float(np.isin(of_points, of_y).mean()),
    )


def _repeated(values: NDArray[np.generic]) -> float:
    return 1 - np.unique(values).size / values.size


def _repeated_values(Z: FloatArray) -> float:
    return float(np.mean([_repeated(column) for column in Z.T]))


NEAREST = 12  # neighbours of each point that are looked at first


class ClosePairs:
    """The nearest different points of each of the pooled points (N, d), which no division of them changes.

    Points that are equal are one point that occurs several times.
    """

    def __init__(self, pooled: FloatArray) -> None:
        found = distinct(pooled)
        self.points, self.place, u = found.points, found.place, len(found.points)
        self.index, self.square = np.empty((u, min(NEAREST, u - 1)), dtype=np.intp), np.empty((u, min(NEAREST, u - 1)))
        if u > 1:
            search = Neighbours(self.points, found.count)
            rows = search.order
            for part, near in search.nearest(NEAREST, rows):
                self.index[rows[part]], self.square[rows[part]] = near.index, near.square

    def memorised(self, divisions: Divisions) -> NDArray[np.int64]:
        """Return for each division of the points (B, N), 1 for two or more real ones, how many others are memorised.

        A generated point is if it is nearer to a real one than the two real points that are nearest to each other. Real
        points that are equal are at distance 0, and nothing is nearer.

        >>> pairs = ClosePairs(np.array([[0.0], [0.1], [5.0], [6.0]]))
        >>> pairs.memorised(np.array([[1, 0, 1, 1], [1, 1, 0, 1]], dtype=np.uint8)).tolist()
        [1, 0]
        """
        found = np.zeros(len(divisions), dtype=np.int64)
        for b, _ in steps(len(divisions), size=1, label="looking for memorised points"):
            real = np.bincount(self.place, weights=divisions[b], minlength=len(self.points))
            found[b] = 0 if (real > 1).any() else self._nearer(real > 0, divisions[b])
        return found

    def copied(self, divisions: Divisions) -> NDArray[np.int64]:
        """Return for each division of the points (B, N), 1 for real ones, how many others equal a real one.

        >>> pairs = ClosePairs(np.array([[0.0], [0.0], [5.0]]))
        >>> pairs.copied(np.array([[1, 0, 0], [1, 1, 0]], dtype=np.uint8)).tolist()
        [1, 0]
        """
        found = np.zeros(len(divisions), dtype=np.int64)
        if len(self.points) == len(self.place):
            return found
        for b, division in enumerate(divisions):
            real = np.bincount(self.place, weights=division, minlength=len(self.points)) > 0
            found[b] = np.count_nonzero(real[self.place] & (division == 0))
        return found

    def _nearer(self, real: NDArray[np.bool_], division: Divisions) -> int:
        """Count generated points; no two real ones are equal.

        What lies beyond the list of a point is at least as far from it as the last on the list. Only where that is too
        near to settle the question the point is looked at among all real ones.
        """
        on_list = real[self.index]
        first = on_list.argmax(axis=1)
        met = np.take_along_axis(on_list, first[:, None], axis=1)[:, 0]
        square = np.where(met, np.take_along_axis(self.square, first[:, None], axis=1)[:, 0], np.inf)
        last = self.square[:, -1]
        closest = square[real].min()  # pair of real points, as far as lists tell
        all_real = Neighbours(self.points[real], np.ones(np.count_nonzero(real), dtype=np.int64))
        unsettled = np.flatnonzero((~met & (last < closest))[real])
        if unsettled.size:
            closest = min(closest, all_real.radii(1, unsettled).min())
        if closest == 0:  # squares too small for a number
            return 0
        nearer = real | (square < closest)  # a generated point that equals a real one is at distance 0
        unsettled = np.flatnonzero(~real & ~met & (last < closest))
        reach = np.full(unsettled.size, np.nextafter(closest, 0.0))
        for i, _ in all_real.inside(self.points[unsettled], reach) if unsettled.size else ():
            nearer[unsettled[i]] = True
        return int(np.count_nonzero(nearer[self.place] & (division == 0)))


ROWS = 512  # that meet a whole set at once


def nearest_distances(sets: PointSets) -> tuple[FloatArray, FloatArray]:
    """Return the distance of each point of both sets to the nearest point of the first that is not itself.

    >>> own, other = nearest_distances(PointSets(np.array([[0.0], [1.0], [4.0]]), np.array([[1.5], [9.0]])))
    >>> own.tolist(), other.tolist()
    ([1.0, 1.0, 3.0], [0.5, 5.0])
    """
    pooled = sets.pooled
    Z = centred(pooled)
    found = np.empty(len(Z))
    for rows in chunks(len(Z), ROWS):
        D = squared_distances(Z[rows], Z[: sets.n])
        own = np.arange(rows.start, min(rows.stop, sets.n))
        D[own - rows.start, own] = np.inf
        nearest = D.argmin(axis=1)
        found[rows] = squares_of_pairs(pooled, pooled, np.arange(len(Z))[rows], nearest)  # 0 of copies
    distances = np.sqrt(found)
    return distances[: sets.n], distances[sets.n :]
