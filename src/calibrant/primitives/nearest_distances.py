"""Distance to the nearest point of a set."""

from __future__ import annotations

import numpy as np

from calibrant.inputs.points import PointSets
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.dispatch import chunks
from calibrant.primitives.point_tiles import centred, squared_distances
from calibrant.primitives.squared_differences import squares_of_pairs

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
