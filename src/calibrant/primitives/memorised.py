"""How many generated points lie nearer to a real point than any two real points lie to each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.distinct_points import distinct
from calibrant.primitives.neighbours import Neighbours
from calibrant.primitives.relabellings import Divisions
from calibrant.progress import steps

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
