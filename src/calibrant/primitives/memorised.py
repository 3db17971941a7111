"""How many generated points lie nearer to a real point than any two real points lie to each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.neighbours import Neighbours
from calibrant.primitives.relabellings import Labels
from calibrant.primitives.repeated import row_numbers
from calibrant.progress import steps

NEAREST = 12  # neighbours of each point that may be the nearest of some kind


class ClosePairs:
    """Pairs of different points that are near neighbours, the closest first, of pooled points (N, d).

    Points that are equal are one point that occurs several times.
    """

    def __init__(self, pooled: FloatArray) -> None:
        self.place = row_numbers(pooled)  # (N,), which of the u different points each is
        _, first, count = np.unique(self.place, return_index=True, return_counts=True)
        points, u = pooled[first], len(first)
        index, square = np.empty((u, min(NEAREST, u - 1)), dtype=np.intp), np.empty((u, min(NEAREST, u - 1)))
        if u > 1:
            search = Neighbours(points, count)
            rows = search.order
            for part, near in search.nearest(NEAREST, rows):
                index[rows[part]], square[rows[part]] = near.index, near.square
        i, j = np.repeat(np.arange(u), index.shape[1]), index.reshape(-1)
        _, once = np.unique(np.minimum(i, j) * u + np.maximum(i, j), return_index=True)
        once = once[np.argsort(square.reshape(-1)[once], kind="stable")]
        self.first, self.second, self.square = i[once], j[once], square.reshape(-1)[once]
        self.u = u

    def memorised(self, labels: Labels) -> NDArray[np.int64]:
        """Return for each division of the points (B, N), 1 for real ones, how many of the others are memorised.

        A generated point is if it is nearer to a real one than the two real points that are nearest to each other. Real
        points that are equal are at distance 0, and nothing is nearer. Where no two real points are among each
        other's nearest 12, every pair on the list counts: then the number is at least what is returned.

        >>> pairs = ClosePairs(np.array([[0.0], [0.1], [5.0], [6.0]]))
        >>> pairs.memorised(np.array([[1, 0, 1, 1], [1, 1, 0, 1]], dtype=np.uint8)).tolist()
        [1, 0]
        """
        found = np.zeros(len(labels), dtype=np.int64)
        for b, _ in steps(len(labels), size=1, label="looking for memorised points"):
            real = np.bincount(self.place, weights=labels[b], minlength=self.u)
            found[b] = 0 if (real > 1).any() else self._nearer(real > 0, labels[b])
        return found

    def _nearer(self, real: NDArray[np.bool_], labels: NDArray[np.uint8]) -> int:
        """Count generated points; no two real ones are equal."""
        a, c = real[self.first], real[self.second]
        both = a & c
        nearest = self.square[np.argmax(both)] if both.any() else np.inf
        near = (a != c) & (self.square < nearest)
        marked = real.copy()  # a generated point that equals a real one is at distance 0
        marked[self.first[near]] = marked[self.second[near]] = True
        return int(np.count_nonzero(marked[self.place] & (labels == 0)))
