"""Nearest neighbours of points, and which points lie in which ball.

A tree, or in many dimensions products of matrices, finds pairs of points that may be close. Every decision is then made
on the sums of squared differences of `squares_of_pairs`, so both give the same answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import chunks, takes_tree
from calibrant.inputs.arrays import FloatArray
from calibrant.points.inputs import IntArray
from calibrant.progress import steps

Counts = NDArray[np.int64]
Pairs = tuple[IntArray, IntArray]
"""Rows of the first and of the second set."""

LABEL = "looking for neighbours"
MAX_NEIGHBOURS_HELD = 1 << 20


@dataclass(frozen=True, eq=False)
class Nearest:
    """The K nearest other points of each of p points: their rows, and |x - x'|² in increasing order, both (p, K)."""

    index: IntArray
    square: FloatArray


class Neighbours:
    """Distinct points (u, d) among which neighbours are looked for, and how often each of them occurs, (u,)."""

    def __init__(self, points: FloatArray, count: Counts) -> None:
        self.points, self.count = points, count

    @cached_property
    def tree(self) -> Any:
        """The points as a tree; it is split at medians, so that distant points do not make it deeper."""
        from scipy.spatial import cKDTree

        return cKDTree(self.points, leafsize=LEAF_POINTS)

    @property
    def order(self) -> IntArray:
        """All rows, in an order in which rows near each other are asked for together."""
        u, d = self.points.shape
        return np.asarray(self.tree.indices) if takes_tree(d) else np.arange(u)

    def radii(self, k: int, rows: IntArray) -> FloatArray:
        """Return the squared distance from each of some rows to the k-th nearest of the other points.

        A point that occurs c times has c - 1 others at distance 0.
        """
        found = np.empty(len(rows))
        for part, near in self.nearest(k, rows):
            seen = np.cumsum(np.column_stack([self.count[rows[part]] - 1, self.count[near.index]]), axis=1)
            square = np.column_stack([np.zeros(len(seen)), near.square])
            found[part] = square[np.arange(len(seen)), np.argmax(seen >= k, axis=1)]
        return found

    def nearest(self, K: int, rows: IntArray) -> Iterator[tuple[slice, Nearest]]:
        """Yield parts of `rows` with the K nearest other points of each; all others if there are fewer."""
        u, d = self.points.shape
        K = min(K, u - 1)
        for part in chunks(len(rows), max(1, MAX_NEIGHBOURS_HELD // (K + 1))):
            if not K:
                yield part, Nearest(np.empty((len(rows[part]), 0), dtype=np.intp), np.empty((len(rows[part]), 0)))
            elif takes_tree(d):
                yield part, _nearest_in_tree(self.tree, rows[part], K)
            else:
                yield part, _nearest_by_products(self.points, rows[part], K)

    def of_all(self, K: int) -> Nearest:
        u, rows = len(self.points), self.order
        index, square = np.empty((u, K), dtype=np.intp), np.empty((u, K))
        for part, near in self.nearest(K, rows):
            index[rows[part]], square[rows[part]] = near.index, near.square
        return Nearest(index, square)

    def inside(self, centres: FloatArray, R2: FloatArray) -> Iterator[Pairs]:
        """Yield (i, j), arrays of rows: together all pairs of a ball i and a point j with |c_i - x_j|² <= R2_i."""
        if takes_tree(self.points.shape[1]):
            return _inside_by_tree(self.tree, centres, R2)
        return _inside_by_products(self.points, centres, R2)


DIFFERENCES_HELD = 1 << 17  # coordinates of pairs: they stay in the cache


def squares_of_pairs(A: FloatArray, B: FloatArray, i: IntArray, j: IntArray) -> FloatArray:
    """Return |a_i - b_j|² of pairs of rows.

    >>> A = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> squares_of_pairs(A, A, np.array([0, 1]), np.array([1, 1]))
    array([25.,  0.])
    """
    found = np.empty(len(i))
    for part in chunks(len(i), max(1, DIFFERENCES_HELD // A.shape[1])):
        step = A[i[part]]
        step -= B[j[part]]
        step *= step
        found[part] = np.add.accumulate(step, axis=1, out=step)[:, -1]
    return found


def smallest_of_rows(i: IntArray, j: IntArray, square: FloatArray, rows: int, K: int) -> Nearest:
    """Return the K smallest squares of each row, and their j, of entries (i, j); each row has K or more of them.

    >>> near = smallest_of_rows(np.array([0, 1, 0]), np.array([7, 8, 9]), np.array([4.0, 1.0, 2.0]), 2, 1)
    >>> near.index.tolist(), near.square.tolist()
    ([[9], [8]], [[2.0], [1.0]])
    """
    order = np.lexsort((square, i))
    begin = np.searchsorted(i[order], np.arange(rows))
    kept = order[begin[:, None] + np.arange(K)]
    return Nearest(j[kept], square[kept])


PRODUCTS_HELD = 1 << 21
SAMPLED_POINTS = 256  # and 16 for each neighbour: their distances give a first limit
CENTRE_POINTS = 1024  # of which the median is the centre
TINY_SQUARE = 1e-300  # exceeds what underflow takes from a product


class Screen:
    """Bounds of the squared distances between points, from products of centred points.

    Any centre is valid. The median is not moved by a few distant points.
    """

    def __init__(self, points: FloatArray) -> None:
        self.centre = np.median(points[:: max(1, len(points) // CENTRE_POINTS)], axis=0)
        self.c = 3 * (points.shape[1] + 4) * np.finfo(np.float64).eps

    def left(self, A: FloatArray) -> FloatArray:
        """Return [-2a, 1, (1 - c)|a|²]; its product with `right` is a lower bound."""
        a = A - self.centre
        return np.column_stack([-2 * a, np.ones(len(a)), (1 - self.c) * np.einsum("ij,ij->i", a, a)])

    def right(self, B: FloatArray) -> FloatArray:
        """Return [b, (1 - c)|b|², 1]."""
        b = B - self.centre
        return np.column_stack([b, (1 - self.c) * np.einsum("ij,ij->i", b, b), np.ones(len(b))])


def _nearest_by_products(points: FloatArray, rows: IntArray, K: int) -> Nearest:
    """Compare exact distances of the points whose lower bounds are within a limit that K points of the row keep.

    The limit comes from a sample of the points first, then from the K smallest bounds within it.
    """
    screen = Screen(points)
    right, every = screen.right(points), max(1, len(points) // (SAMPLED_POINTS + 16 * K))
    index, square = np.empty((len(rows), K), dtype=np.intp), np.empty((len(rows), K))
    for start, stop in steps(len(rows), size=max(1, PRODUCTS_HELD // len(points)), label=LABEL):
        own = rows[start:stop]
        A = points[own]
        L = screen.left(A) @ right.T
        L[np.arange(len(own)), own] = np.inf
        sampled = np.argpartition(L[:, ::every], K - 1, axis=1)[:, :K] * every
        i, j = _below(L, _largest_square(A, points, sampled))
        lower = L[i, j]
        limit = _largest_square(A, points, smallest_of_rows(i, j, lower, len(A), K).index)
        near = lower <= limit[i] + TINY_SQUARE
        i, j = i[near], j[near]
        found = smallest_of_rows(i, j, squares_of_pairs(A, points, i, j), len(A), K)
        index[start:stop], square[start:stop] = found.index, found.square
    return Nearest(index, square)


def _largest_square(A: FloatArray, points: FloatArray, index: IntArray) -> FloatArray:
    """Return for each row of A the largest of its squared distances to some points, (a, K)."""
    i = np.repeat(np.arange(len(A)), index.shape[1])
    return np.asarray(squares_of_pairs(A, points, i, index.reshape(-1)).reshape(index.shape).max(axis=1))


def _inside_by_products(points: FloatArray, centres: FloatArray, R2: FloatArray) -> Iterator[Pairs]:
    screen = Screen(points)
    right = screen.right(points)
    for start, stop in steps(len(centres), size=max(1, PRODUCTS_HELD // len(points)), label=LABEL):
        A, limit = centres[start:stop], R2[start:stop]
        left = screen.left(A)
        L = left @ right.T
        i, j = _below(L, limit)
        # |a - b|² exceeds its lower bound by 2c of both lengths at most; as much again for the rounding of this sum
        width = 4 * screen.c * (left[i, -1] + right[j, -2]) + TINY_SQUARE
        unsure = np.flatnonzero(L[i, j] + width > limit[i])
        out = unsure[squares_of_pairs(A, points, i[unsure], j[unsure]) > limit[i[unsure]]]
        yield np.delete(i, out) + start, np.delete(j, out)


def _below(L: FloatArray, limit: FloatArray) -> Pairs:
    """Return rows and columns of bounds up to the limit of their row."""
    i, j = np.divmod(np.flatnonzero(limit[:, None] + TINY_SQUARE >= L), L.shape[1])  # faster than `nonzero` for few
    return i, j


LEAF_POINTS = 32
ROWS_OF_A_THREAD = 512
MAX_PAIRS_HELD = 1 << 20
GROWTH = 1 + 1e-13  # exceeds all rounding on the way from a point to a leaf
TINY_DISTANCE = 1e-150  # the square of a smaller distance has no digits


def _nearest_in_tree(tree: Any, rows: IntArray, K: int) -> Nearest:
    points = np.asarray(tree.data)
    asked = min(K + 2, tree.n)  # the point itself, and one more than is needed
    distance, index = tree.query(points[rows], asked, workers=_workers(rows))
    i = np.repeat(rows, asked)
    square = squares_of_pairs(points, points, i, index.reshape(-1)).reshape(index.shape)
    square[index == rows[:, None]] = np.inf
    order = np.argsort(square, axis=1)[:, :K]
    index, square = np.take_along_axis(index, order, axis=1), np.take_along_axis(square, order, axis=1)
    if asked == K + 2:  # rounding may have decided between neighbours about as far as the first that was left out
        unsure = np.flatnonzero(distance[:, K + 1] <= distance[:, K] * GROWTH + TINY_DISTANCE)
        own = rows[unsure]
        for i, j in _near_balls(tree, points[own], distance[unsure, K] * GROWTH + TINY_DISTANCE):
            other = own[i] != j
            part, place = np.unique(i[other], return_inverse=True)
            squares = squares_of_pairs(points, points, own[i[other]], j[other])
            found = smallest_of_rows(place, j[other], squares, len(part), K)
            index[unsure[part]], square[unsure[part]] = found.index, found.square
    return Nearest(index, square)


def _inside_by_tree(tree: Any, centres: FloatArray, R2: FloatArray) -> Iterator[Pairs]:
    """Yield pairs of a ball and a point.

    If balls reach to the k-th neighbour, pairs grow in proportion to the points, however heavy the tails: a point lies
    in at most k of the balls whose centres are in one narrow cone from it.
    """
    points = np.asarray(tree.data)
    for i, j in _near_balls(tree, centres, np.sqrt(R2) * GROWTH + TINY_DISTANCE):
        held = squares_of_pairs(centres, points, i, j) <= R2[i]
        yield i[held], j[held]


def _near_balls(tree: Any, centres: FloatArray, radius: FloatArray) -> Iterator[Pairs]:
    """Yield pairs of a ball and a point, all pairs of a ball together, about `MAX_PAIRS_HELD` at once."""
    if not len(centres):
        return
    workers = _workers(centres)
    many = tree.query_ball_point(centres, radius, workers=workers, return_length=True)
    ends = np.cumsum(many)
    cuts = np.flatnonzero(np.diff((ends - 1) // MAX_PAIRS_HELD)) + 1
    for start, stop in zip([0, *cuts], [*cuts, len(many)], strict=True):
        part = slice(start, stop)
        lists = tree.query_ball_point(centres[part], radius[part], workers=workers, return_sorted=False)
        j = np.fromiter(chain.from_iterable(lists), dtype=np.intp, count=int(many[part].sum()))
        yield np.repeat(np.arange(start, stop), many[part]), j


def _workers(rows: NDArray[Any]) -> int:
    return -1 if len(rows) > ROWS_OF_A_THREAD else 1
