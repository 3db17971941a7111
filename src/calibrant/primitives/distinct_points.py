"""Points that occur several times, each once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.kernels.point_order import point_order
from calibrant.primitives.dispatch import chunks
from calibrant.primitives.squared_differences import IntArray

PIECE = 1 << 12  # points that are compared together


@dataclass(frozen=True, eq=False)
class Distinct:
    """The different points of a set."""

    points: FloatArray
    """Each of them once, (u, d)."""

    count: NDArray[np.int64]
    """How often each of them occurs, (u,)."""

    place: IntArray
    """For all N points, in an order that depends on their values alone: which of the u points it is."""


def distinct(points: FloatArray) -> Distinct:
    """Return the different points of a set.

    >>> distinct(np.array([[2.0], [1.0], [2.0]]))
    Distinct(points=array([[1.], [2.]]), count=array([1, 2]), place=array([0, 1, 1]))
    """
    order = np.argsort(points[:, 0], kind="stable")
    first = points[order, 0]
    if (first[1:] != first[:-1]).all():  # one coordinate tells them all apart
        return Distinct(points, np.ones(len(points), dtype=np.int64), order)
    order = point_order(points)
    new = np.ones(len(points), dtype=bool)
    for part in chunks(len(points) - 1, PIECE):
        before, after = points[order[:-1][part]], points[order[1:][part]]
        new[1:][part] = (before != after).any(axis=1)
    if new.all():
        return Distinct(points, np.ones(len(points), dtype=np.int64), order)
    place = np.cumsum(new) - 1
    return Distinct(points[order[new]], np.bincount(place), place)
