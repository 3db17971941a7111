"""Neighbours by a tree, for points of few coordinates.

The tree adds up squares in an order of its own, so that its distances are off by rounding. It is asked for a little
more than is wanted, and what it finds is decided by differences.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.dispatch import chunks
from calibrant.primitives.smallest_of_rows import smallest_of_rows
from calibrant.primitives.squared_differences import IntArray, squares_of_pairs

LEAF = 32  # points
NEAR = 10  # points that most balls hold fewer of
PART = 4096  # balls that are looked at together
MOST = 1 << 20  # pairs that are held together
GROWTH = 1 + 1e-13  # more than all roundings on the way from a point to a leaf
TINY = 1e-150  # squares of what is smaller have no digits


def tree_of(points: FloatArray) -> Any:
    """Return a tree of points; it is cut at medians, so that far points make it no deeper."""
    from scipy.spatial import cKDTree

    return cKDTree(points, leafsize=LEAF)


def nearest(tree: Any, rows: IntArray, K: int) -> tuple[IntArray, FloatArray]:
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
        unsure = np.flatnonzero(distance[:, K + 1] <= distance[:, K] * GROWTH + TINY)
        for part, found in _sorted_out(tree, rows[unsure], distance[unsure, K], K):
            index[unsure[part]], square[unsure[part]] = found
    return index, square


def _sorted_out(
    tree: Any, rows: IntArray, distance: FloatArray, K: int
) -> Iterator[tuple[IntArray, tuple[IntArray, FloatArray]]]:
    """Yield parts of rows with the K nearest of all points that are at most about so far."""
    points = np.asarray(tree.data)
    for i, j in _candidates(tree, points[rows], distance * GROWTH + TINY):
        other = rows[i] != j
        part, place = np.unique(i[other], return_inverse=True)
        square = squares_of_pairs(points, points, rows[i[other]], j[other])
        yield part, smallest_of_rows(place, j[other], square, len(part), K)


def inside(tree: Any, centres: FloatArray, R2: FloatArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield pairs of a ball and a point of the tree that lies in it.

    Of balls that reach to the k-th neighbour few hold many points: a point lies in at most k of those whose centres are
    in one narrow cone from it, so that pairs grow as the number of points does, however heavy its tails are.
    """
    points, radius = np.asarray(tree.data), np.sqrt(R2) * GROWTH + TINY
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
    cuts = np.flatnonzero(np.diff((ends - 1) // MOST)) + 1
    for start, stop in zip([0, *cuts], [*cuts, len(many)], strict=True):
        part = slice(start, stop)
        lists = tree.query_ball_point(centres[part], radius[part], workers=-1, return_sorted=False)
        j = np.fromiter(chain.from_iterable(lists), dtype=np.intp, count=int(many[part].sum()))
        yield np.repeat(np.arange(start, stop), many[part]), j
