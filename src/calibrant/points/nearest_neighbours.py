"""A classifier of `c2st`: nearest neighbours, with ties shared; and the scale of columns that all classifiers use."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import on_threads, takes_tree
from calibrant.inputs.arrays import FloatArray
from calibrant.kernels.pair_sums import squared_distances
from calibrant.points.inputs import MAX_COORDINATE, distinct
from calibrant.progress import steps

Labels = NDArray[np.int64]
Mask = NDArray[np.bool_]

TIE = 1e-13  # of |q|² + r²: squared distances this close are equal in exact arithmetic
DISTANCES_HELD = 1 << 20
MAX_ROWS_TOGETHER = 512
LABEL = "finding nearest points"


def nearest_shares(X: FloatArray, labels: Labels, Q: FloatArray, k: int) -> FloatArray:
    r"""Return the share of label 1 among the k points of X that are nearest to each row of Q, by Euclidean distance.

    With a points nearer than the k-th one, :math:`a_1` of them with label 1, and b points as far as it,
    :math:`b_1` of them with label 1, the share is :math:`(a_1 + (k - a)\, b_1/b) / k`: all points at the k-th distance
    share the remaining places equally, so the order of the rows does not matter. Distances that differ only by rounding
    are equal.

    The points X (N, d) have a mean near 0. A share is a quotient of two whole numbers, so equal shares are equal
    numbers.

    The nearest point to 0.0 is 1; -2 and 2 share the second place:

    >>> X, labels = np.array([[1.0], [-2.0], [2.0]]), np.array([0, 1, 0])
    >>> nearest_shares(X, labels, np.array([[0.0]]), k=2)
    array([0.25])
    """
    counts = (by_tree if takes_tree(X.shape[1]) else by_rows)(X, labels, Q, k)
    (a, a1), (b, b1) = counts
    return np.asarray((a1 * b + (k - a) * b1) / (k * b))


Counts = NDArray[np.int64]
"""For each row of Q: points nearer than the k-th and those of them with label 1; the same for points as far as it."""


def by_rows(X: FloatArray, labels: Labels, Q: FloatArray, k: int) -> Counts:
    """Return the counts (2, 2, rows) from all distances, some rows of Q at a time."""
    points = X[np.argsort(labels, kind="stable")]
    second = int(np.count_nonzero(labels == 0))  # where label 1 begins

    def work(rows: slice) -> Counts:
        q = Q[rows]
        squares = squared_distances(q, points)
        masks = _nearer_and_as_far(squares, np.partition(squares, k - 1, axis=1)[:, k - 1], q)
        return np.array([[np.count_nonzero(mask[:, start:], axis=1) for start in (0, second)] for mask in masks])

    size = max(1, min(MAX_ROWS_TOGETHER, DISTANCES_HELD // len(X)))
    found = on_threads(work, len(Q), size=size)
    watched = zip(steps(len(Q), size=size, label=LABEL), found, strict=True)
    return np.concatenate([counts for _, counts in watched], axis=2)


def by_tree(X: FloatArray, labels: Labels, Q: FloatArray, k: int) -> Counts:
    """Return the counts (2, 2, rows) from a tree of the distinct points of X with their numbers of occurrences."""
    from scipy.spatial import cKDTree

    of = distinct(X)
    each = np.stack([of.count, np.bincount(of.place, labels).astype(np.int64)])  # (both or 1, points)
    u, tree, found = len(of.points), cKDTree(of.points), np.zeros((2, 2, len(Q)), np.int64)

    def count(rows: NDArray[np.intp], many: int) -> NDArray[np.intp]:
        """Count for these rows, and return rows that may have more points at the k-th distance than were asked for."""
        q = Q[rows]
        distances, at = tree.query(q, k=np.arange(1, many + 1), workers=-1 if rows.size > MAX_ROWS_TOGETHER else 1)
        squares = np.square(distances)
        reached = np.argmax(np.cumsum(each[0][at], axis=1) >= k, axis=1)  # place of the k-th point, copies counted
        masks = _nearer_and_as_far(squares, squares[np.arange(rows.size), reached], q)
        for side, mask in enumerate(masks):
            found[side][:, rows] = (each[:, at] * mask).sum(axis=2)
        return np.asarray(rows[masks[1][:, -1]])

    left, many = np.arange(len(Q)), min(k + 1, u)
    while left.size:
        parts = steps(left.size, size=max(1, DISTANCES_HELD // many), label=LABEL)
        left = np.concatenate([count(left[start:stop], many) for start, stop in parts])
        if many == u:
            break
        many = min(2 * many, u)
    return found


def _nearer_and_as_far(squares: FloatArray, kth: FloatArray, q: FloatArray) -> tuple[Mask, Mask]:
    """Return which squared distances (rows, points) from q are smaller than the k-th, and which are equal to it."""
    slack = TIE * (np.einsum("ij,ij->i", q, q) + kth)
    nearer = squares < (kth - slack)[:, None]
    return nearer, ~nearer & (squares <= (kth + slack)[:, None])


class ColumnScale:
    """Columns less their mean, divided by their standard deviation over the points of a fit, both labels together.

    Constant columns become 0. Numbers far outside of all these points are cut at `most`.
    """

    def __init__(self, X: FloatArray, most: float = MAX_COORDINATE) -> None:
        self.mean, self.unit, self.most = X.mean(axis=0), _deviation(X), most

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return points in these units."""
        with np.errstate(over="ignore"):  # far outside all points, where the distance does not matter
            return np.asarray(np.clip((X - self.mean) / self.unit, -self.most, self.most))


class NearestNeighbours:
    """Probability of label 1 at a point: its share among the k = round(√N) nearest of the N points it was fitted to.

    Columns are divided by their standard deviation over these points, both labels together; constant columns are
    ignored. Ties are shared, see `nearest_shares`.

    >>> model = NearestNeighbours().fit(np.array([[0.0], [1.0], [8.0], [9.0]]), np.array([0, 0, 1, 1]))
    >>> model.k, model.predict_proba(np.array([[2.0], [7.0]]))
    (2, array([[1., 0.],
               [0., 1.]]))
    """

    def fit(self, X: FloatArray, labels: Labels) -> NearestNeighbours:
        """Keep the points, scaled."""
        self.k, self._scale = number_of_neighbours(len(X)), ColumnScale(X)
        self._X, self._labels = self._scale(X), labels
        return self

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return the probabilities of label 0 and 1, (rows, 2)."""
        share = nearest_shares(self._X, self._labels, self._scale(X), self.k)
        return np.stack([1 - share, share], axis=1)


def _deviation(X: FloatArray) -> FloatArray:
    """Return the standard deviation of each column; infinite for a constant column, which becomes 0 when divided."""
    centred = X - X.mean(axis=0)
    largest = np.abs(centred).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)  # divided out first: no square overflows or underflows
    found = np.maximum(unit * (centred / unit).std(axis=0), np.finfo(float).smallest_subnormal)
    return np.where(X.max(axis=0) > X.min(axis=0), found, np.inf)


def number_of_neighbours(N: int) -> int:
    """Return k, the number of neighbours for N points."""
    return round(math.sqrt(N))
