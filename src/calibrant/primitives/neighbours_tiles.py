"""Neighbours by matrix products, tile by tile, for points of many coordinates.

With a and b the points less a common centre, |a|² + |b|² - 2 a · b is |a - b|² up to roundings of at most
c (|a|² + |b|²), c = 3 (d + 4) ε: d + 2 products and their sum, the lengths, the centring, and the sum of squared
differences that it stands for have (5d + 13) ε/2 together (Higham 2002, section 3.1, for any order of the terms). So

    L = (1 - c)(|a|² + |b|²) - 2 a · b   is at most |a - b|², and   L + 2c (|a|² + |b|²)   at least.

L is one matrix product of points with two columns more. Only pairs that it cannot tell are decided by differences.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.dispatch import chunks
from calibrant.primitives.neighbour_candidates import Candidates
from calibrant.primitives.squared_differences import IntArray, squares_of_pairs
from calibrant.progress import steps

TILE = 1 << 19  # numbers in a tile
COLUMNS = 1024  # points in a tile
FIRST = 256  # points whose nearest give a first limit
CENTRE = 1024  # points whose median is the centre
TINY = 1e-300  # more than products lose that are too small for float64
LABEL = "looking for neighbours"


class Screen:
    """Bounds of the squared distances between points, by products of points less a centre.

    Any centre will do. A median is one that a few far points do not take away from the others.
    """

    def __init__(self, points: FloatArray) -> None:
        self.centre = np.median(points[:: max(1, len(points) // CENTRE)], axis=0)
        self.c = 3 * (points.shape[1] + 4) * np.finfo(np.float64).eps

    def left(self, A: FloatArray) -> FloatArray:
        """Return [-2a, 1, (1 - c)|a|²]."""
        a = A - self.centre
        return np.column_stack([-2 * a, np.ones(len(a)), self._length(a)])

    def right(self, B: FloatArray) -> FloatArray:
        """Return [b, (1 - c)|b|², 1]."""
        b = B - self.centre
        return np.column_stack([b, self._length(b), np.ones(len(b))])

    def width(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return how much |a - b|² may exceed its lower bound: 2c, and as much for the roundings of this sum."""
        return np.asarray(4 * self.c * (left + right) + TINY)

    def _length(self, a: FloatArray) -> FloatArray:
        return np.asarray((1 - self.c) * np.einsum("ij,ij->i", a, a))


def nearest(points: FloatArray, rows: IntArray, K: int) -> tuple[IntArray, FloatArray]:
    """Return the K nearest other points of some points: rows and squared distances, both (p, K)."""
    screen, columns = Screen(points), max(COLUMNS, 2 * K)
    right = screen.right(points)
    index, square = np.empty((len(rows), K), dtype=np.intp), np.empty((len(rows), K))
    for start, stop in steps(len(rows), size=max(1, TILE // columns), label=LABEL):
        A, own = points[rows[start:stop]], rows[start:stop]
        found, left = Candidates(A, points, K), screen.left(A)
        for part in chunks(len(points), columns):
            L = left @ right[part].T
            here = np.flatnonzero((own >= part.start) & (own < part.stop))
            L[here, own[here] - part.start] = np.inf
            limit = _first_limit(points, A, L[:, : max(FIRST, 2 * K)], K) if part.start == 0 else found.limit
            i, j = _below(L, limit)
            lower = L[i, j]
            j += part.start
            found.add(i, j, lower, lower + screen.width(left[i, -1], right[j, -2]))
        index[start:stop], square[start:stop] = found.nearest()
    return index, square


def _first_limit(points: FloatArray, A: FloatArray, L: FloatArray, K: int) -> FloatArray:
    """Return a squared distance within which each row has K of the first points."""
    near = np.argpartition(L, K - 1, axis=1)[:, :K]
    i = np.repeat(np.arange(len(A)), K)
    return np.asarray(squares_of_pairs(A, points, i, near.reshape(-1)).reshape(near.shape).max(axis=1))


def inside(points: FloatArray, centres: FloatArray, R2: FloatArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield pairs of a ball and a point that lies in it."""
    screen = Screen(points)
    rights = screen.right(points)
    for start, stop in steps(len(centres), size=TILE // COLUMNS, label=LABEL):
        A, limit = centres[start:stop], R2[start:stop]
        left = screen.left(A)
        for part in chunks(len(points), COLUMNS):
            right = rights[part]
            L = left @ right.T
            i, j = _below(L, limit)
            unsure = np.flatnonzero(L[i, j] + screen.width(left[i, -1], right[j, -2]) > limit[i])
            out = squares_of_pairs(A, points[part], i[unsure], j[unsure]) > limit[i[unsure]]
            i, j = np.delete(i, unsure[out]), np.delete(j, unsure[out])
            yield i + start, j + part.start


def _below(L: FloatArray, limit: FloatArray) -> tuple[IntArray, IntArray]:
    """Return rows and columns of bounds up to the limit of their row."""
    i, j = np.divmod(np.flatnonzero(limit[:, None] + TINY >= L), L.shape[1])  # quicker than `nonzero` for few
    return i, j
