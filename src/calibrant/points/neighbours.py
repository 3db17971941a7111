"""Nearest neighbours of points, and who lies in whose ball.

Every decision is that of distances found by `squared_differences`, whichever body runs: trees and matrix products only
choose the pairs that are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import chunks, neighbour_body
from calibrant.inputs.arrays import FloatArray
from calibrant.progress import steps

IntArray = NDArray[np.intp]

PIECE = 1 << 17  # numbers that are looked at together, so that they stay in the cache


def squared_differences(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return |a - b|² of every row of A with every row of B.

    >>> squared_differences(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([[25.,  1.]])
    """
    total = np.zeros((len(A), len(B)))
    step = np.empty_like(total)
    for a, b in zip(A.T, B.T, strict=True):
        np.subtract(a[:, None], b, out=step)
        np.multiply(step, step, out=step)
        total += step
    return total


def squares_of_pairs(A: FloatArray, B: FloatArray, i: IntArray, j: IntArray) -> FloatArray:
    """Return |a_i - b_j|² of pairs of rows.

    >>> A = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> squares_of_pairs(A, A, np.array([0, 1]), np.array([1, 1]))
    array([25.,  0.])
    """
    found = np.empty(len(i))
    for part in chunks(len(i), max(1, PIECE // A.shape[1])):
        step = A[i[part]]
        step -= B[j[part]]
        step *= step
        found[part] = np.add.accumulate(step, axis=1, out=step)[:, -1]
    return found


def smallest_of_rows(i: IntArray, j: IntArray, square: FloatArray, rows: int, K: int) -> tuple[IntArray, FloatArray]:
    """Return the K smallest squares of each row, and their j, of entries (i, j): each row has K or more of them.

    >>> j, square = smallest_of_rows(np.array([0, 1, 0]), np.array([7, 8, 9]), np.array([4.0, 1.0, 2.0]), 2, 1)
    >>> j.tolist(), square.tolist()
    ([[9], [8]], [[2.0], [1.0]])
    """
    order = np.lexsort((square, i))
    begin = np.searchsorted(i[order], np.arange(rows))
    kept = order[begin[:, None] + np.arange(K)]
    return j[kept], square[kept]


MOST_NEIGHBOUR_CANDIDATES = 1 << 18  # pairs that wait for their distances


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
        if len(self.i) > max(MOST_NEIGHBOUR_CANDIDATES, 2 * self.K * len(self.A)):
            j, square = self.nearest()
            self.i, self.j, self.lower = np.repeat(np.arange(len(j)), self.K), j.reshape(-1), square.reshape(-1)
            self.uppers = square

    def nearest(self) -> tuple[IntArray, FloatArray]:
        """Return the K nearest points of each row, and their squared distances, both (a, K); each row has had K."""
        near = self.lower <= self.limit[self.i]
        i, j = self.i[near], self.j[near]
        return smallest_of_rows(i, j, squares_of_pairs(self.A, self.points, i, j), len(self.A), self.K)


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


LEAF = 32  # points
NEAR = 10  # points that most balls hold fewer of
PART = 4096  # balls that are looked at together
MOST_NEIGHBOURS_TREE = 1 << 20  # pairs that are held together
GROWTH = 1 + 1e-13  # more than all roundings on the way from a point to a leaf
TINY_NEIGHBOURS_TREE = 1e-150  # squares of what is smaller have no digits


def tree_of(points: FloatArray) -> Any:
    """Return a tree of points; it is cut at medians, so that far points make it no deeper."""
    from scipy.spatial import cKDTree

    return cKDTree(points, leafsize=LEAF)


def nearest_neighbours_tree(tree: Any, rows: IntArray, K: int) -> tuple[IntArray, FloatArray]:
    """Return the K nearest other points of some points of a tree: rows and squared distances, both (p, K)."""
    points = np.asarray(tree.data)
    asked = min(K + 2, tree.n)  # the point itself, and one more than is wanted
    distance, index = tree.query(points[rows], asked, workers=-1)
    i = np.repeat(rows, asked)
    square = squares_of_pairs(points, points, i, index.reshape(-1)).reshape(index.shape)
    square[index == rows[:, None]] = np.inf
    order = np.argsort(square, axis=1)[:, :K]
    index, square = np.take_along_axis(index, order, axis=1), np.take_along_axis(square, order, axis=1)
    if asked == K + 2:  # the tree may have confused neighbours that are as far as the first that is not wanted
        unsure = np.flatnonzero(distance[:, K + 1] <= distance[:, K] * GROWTH + TINY_NEIGHBOURS_TREE)
        for part, found in _sorted_out(tree, rows[unsure], distance[unsure, K], K):
            index[unsure[part]], square[unsure[part]] = found
    return index, square


def _sorted_out(
    tree: Any, rows: IntArray, distance: FloatArray, K: int
) -> Iterator[tuple[IntArray, tuple[IntArray, FloatArray]]]:
    """Yield parts of rows with the K nearest of all points that are at most about so far."""
    points = np.asarray(tree.data)
    for i, j in _candidates(tree, points[rows], distance * GROWTH + TINY_NEIGHBOURS_TREE):
        other = rows[i] != j
        part, place = np.unique(i[other], return_inverse=True)
        square = squares_of_pairs(points, points, rows[i[other]], j[other])
        yield part, smallest_of_rows(place, j[other], square, len(part), K)


def inside_neighbours_tree(tree: Any, centres: FloatArray, R2: FloatArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield pairs of a ball and a point of the tree that lies in it.

    Of balls that reach to the k-th neighbour few hold many points: a point lies in at most k of those whose centres are
    in one narrow cone from it, so that pairs grow as the number of points does, however heavy its tails are.
    """
    points, radius = np.asarray(tree.data), np.sqrt(R2) * GROWTH + TINY_NEIGHBOURS_TREE
    for i, j in _few(tree, centres, radius):
        held = squares_of_pairs(centres, points, i, j) <= R2[i]
        yield i[held], j[held]


def _few(tree: Any, centres: FloatArray, radius: FloatArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield pairs of a ball and a point: of balls with few points by their nearest, which is the quickest way."""
    asked = min(NEAR, tree.n)
    full = np.zeros(len(centres), dtype=bool)
    for part in chunks(len(centres), PART):
        r = radius[part, None]
        distance, j = tree.query(centres[part], asked, distance_upper_bound=r.max() * GROWTH, workers=-1)
        distance, j = distance.reshape(-1, asked), j.reshape(-1, asked)
        held = distance <= r
        if asked < tree.n:
            full[part] = held[:, -1]
            held &= ~full[part, None]
        i, c = np.nonzero(held)
        yield i + part.start, j[i, c]
    rows = np.flatnonzero(full)
    for i, j in _candidates(tree, centres[rows], radius[rows]):
        yield rows[i], j


def _candidates(tree: Any, centres: FloatArray, radius: FloatArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield pairs of a ball and a point, all pairs of a ball together, and few enough of them at once."""
    if not len(centres):
        return
    many = tree.query_ball_point(centres, radius, workers=-1, return_length=True)
    ends = np.cumsum(many)
    cuts = np.flatnonzero(np.diff((ends - 1) // MOST_NEIGHBOURS_TREE)) + 1
    for start, stop in zip([0, *cuts], [*cuts, len(many)], strict=True):
        part = slice(start, stop)
        lists = tree.query_ball_point(centres[part], radius[part], workers=-1, return_sorted=False)
        j = np.fromiter(chain.from_iterable(lists), dtype=np.intp, count=int(many[part].sum()))
        yield np.repeat(np.arange(start, stop), many[part]), j


Counts = NDArray[np.int64]

BLOCK = 1 << 17  # distances that are held together
MOST = 1 << 20  # neighbours that are held together


@dataclass(frozen=True, eq=False)
class Nearest:
    """The K nearest other points of each of p points: their rows, and |x - x'|² in increasing order, both (p, K)."""

    index: IntArray
    square: FloatArray


class Neighbours:
    """Points (u, d) in which neighbours are looked for.

    Parameters
    ----------
    points
        Different points.
    count
        How often each of them occurs, (u,).
    """

    def __init__(self, points: FloatArray, count: Counts) -> None:
        self.points, self.count = points, count

    @cached_property
    def tree(self) -> Any:
        """The points as a tree."""
        return tree_of(self.points)

    @property
    def order(self) -> IntArray:
        """All rows, in an order in which it is good to ask for their neighbours."""
        u, d = self.points.shape
        return np.asarray(self.tree.indices) if neighbour_body(u * u, d) == "tree" else np.arange(u)

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
        """Yield parts of `rows` with the K nearest other points of each; all others where there are fewer."""
        u, d = self.points.shape
        K = min(K, u - 1)
        body = neighbour_body(len(rows) * u, d) if K else "differences"
        for part in chunks(len(rows), max(1, MOST // (K + 1))):
            if body == "tree":
                yield part, Nearest(*nearest_neighbours_tree(self.tree, rows[part], K))
            elif body == "products":
                yield part, Nearest(*nearest(self.points, rows[part], K))
            else:
                yield part, _nearest(self.points, rows[part], K)

    def inside(self, centres: FloatArray, R2: FloatArray) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield (i, j), arrays of rows: together all pairs of a ball i and a point j with |c_i - x_j|² <= R2_i."""
        u, d = self.points.shape
        body = neighbour_body(len(centres) * u, d)
        if body == "tree":
            return inside_neighbours_tree(self.tree, centres, R2)
        return (inside if body == "products" else _inside)(self.points, centres, R2)


def _nearest(points: FloatArray, rows: IntArray, K: int) -> Nearest:
    index, square = np.empty((len(rows), K), dtype=np.intp), np.empty((len(rows), K))
    for part in chunks(len(rows), max(1, BLOCK // len(points))):
        D = squared_differences(points[rows[part]], points)
        D[np.arange(len(D)), rows[part]] = np.inf
        near = np.argpartition(D, K - 1, axis=1)[:, :K]
        found = np.take_along_axis(D, near, axis=1)
        order = np.argsort(found, axis=1)
        index[part], square[part] = np.take_along_axis(near, order, axis=1), np.take_along_axis(found, order, axis=1)
    return Nearest(index, square)


def _inside(points: FloatArray, centres: FloatArray, R2: FloatArray) -> Iterator[tuple[IntArray, IntArray]]:
    for part in chunks(len(centres), max(1, BLOCK // len(points))):
        i, j = np.nonzero(squared_differences(centres[part], points) <= R2[part, None])
        yield i + part.start, j
