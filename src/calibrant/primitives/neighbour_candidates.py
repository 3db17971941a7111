"""Points that may be among the K nearest of a row, while tiles of bounds of their distances go by."""

from __future__ import annotations

import numpy as np

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.smallest_of_rows import smallest_of_rows
from calibrant.primitives.squared_differences import IntArray, squares_of_pairs

MOST = 1 << 18  # pairs that wait for their distances


class Candidates:
    """Pairs of a row of A and a point, with bounds of their squared distances; few of them are looked at in the end.

    Parameters
    ----------
    A
        The rows, (a, d).
    points
        The points, (u, d).
    K
        How many nearest points of each row are wanted.
    """

    def __init__(self, A: FloatArray, points: FloatArray, K: int) -> None:
        self.A, self.points, self.K = A, points, K
        self.uppers = np.full((len(A), K), np.inf)  # the smallest of each row
        self.i, self.j, self.lower = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0)

    @property
    def limit(self) -> FloatArray:
        """A squared distance within which each row has K points; infinite until it had K."""
        return np.asarray(self.uppers.max(axis=1))

    def add(self, i: IntArray, j: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        """Add pairs, in the order of their rows."""
        count = np.bincount(i, minlength=len(self.A))
        place = np.arange(len(i)) - np.repeat(np.cumsum(count) - count, count)
        table = np.full((len(self.A), self.K + count.max(initial=0)), np.inf)
        table[:, : self.K] = self.uppers
        table[i, self.K + place] = upper
        self.uppers = np.partition(table, self.K - 1, axis=1)[:, : self.K]
        self.i, self.j = np.concatenate([self.i, i]), np.concatenate([self.j, j])
        self.lower = np.concatenate([self.lower, lower])
        if len(self.i) > max(MOST, 2 * self.K * len(self.A)):
            j, square = self.nearest()
            self.i, self.j, self.lower = np.repeat(np.arange(len(j)), self.K), j.reshape(-1), square.reshape(-1)
            self.uppers = square

    def nearest(self) -> tuple[IntArray, FloatArray]:
        """Return the K nearest points of each row, and their squared distances, both (a, K); each row has had K."""
        near = self.lower <= self.limit[self.i]
        i, j = self.i[near], self.j[near]
        return smallest_of_rows(i, j, squares_of_pairs(self.A, self.points, i, j), len(self.A), self.K)
