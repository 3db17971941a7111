"""Lengths of minimum spanning trees of the members of a row, with one of them left out."""

from __future__ import annotations

import numpy as np

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.member_distances import Whole, unit_cube, unit_of, whole_distances


def tree_lengths(z: FloatArray, scale: FloatArray) -> Whole:
    """Return the length of the shortest tree that joins all members of a row but one, (r, m), by the one left out.

    Whole numbers of a small unit, so that which of several shortest trees is found does not matter.

    >>> lengths = tree_lengths(np.array([[[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]]]), np.ones(2))
    >>> lengths / lengths[0, 2] * 5  # left with sides 4, 3 and 5 of the triangle
    array([[4., 3., 5.]])
    """
    x = unit_cube(z, scale)
    unit = unit_of(x)
    return np.stack([_without_each(row, unit) for row in x])


def _without_each(x: FloatArray, unit: float) -> Whole:
    """Grow (Prim) the trees of one row, one for each member that is left out, side by side."""
    m = len(x)
    distance = whole_distances(x.T[:, :, None], x.T[:, None, :], unit)  # (m, m)
    tree = np.arange(m)
    start = np.where(tree == 0, 1, 0) if m > 1 else tree
    reach = distance[start].copy()  # (m trees, m members): from the tree to each member
    joined = np.eye(m, dtype=bool)
    joined[tree, start] = True
    lengths = np.zeros(m)
    for _ in range(m - 2):
        reach[joined] = np.inf
        nearest = reach.argmin(axis=1)
        lengths += reach[tree, nearest]
        joined[tree, nearest] = True
        np.minimum(reach, distance[nearest], out=reach)
    return lengths
