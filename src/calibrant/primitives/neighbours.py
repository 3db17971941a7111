"""Nearest neighbours of points, and who lies in whose ball.

Every decision is that of distances found by `squared_differences`, whichever body runs: trees and matrix products only
choose the pairs that are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.primitives import neighbours_tiles as tiles
from calibrant.primitives import neighbours_tree as trees
from calibrant.primitives.dispatch import chunks, neighbour_body
from calibrant.primitives.squared_differences import IntArray, squared_differences

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
        return trees.tree_of(self.points)

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
                yield part, Nearest(*trees.nearest(self.tree, rows[part], K))
            elif body == "products":
                yield part, Nearest(*tiles.nearest(self.points, rows[part], K))
            else:
                yield part, _nearest(self.points, rows[part], K)

    def inside(self, centres: FloatArray, R2: FloatArray) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield (i, j), arrays of rows: together all pairs of a ball i and a point j with |c_i - x_j|² <= R2_i."""
        u, d = self.points.shape
        body = neighbour_body(len(centres) * u, d)
        if body == "tree":
            return trees.inside(self.tree, centres, R2)
        return (tiles.inside if body == "products" else _inside)(self.points, centres, R2)


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
