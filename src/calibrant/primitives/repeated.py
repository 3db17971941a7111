"""Rows and values that occur more than once in sets of points: what rounding and copying leave behind."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.points import PointSets
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.distinct_points import distinct


class Repeated(NamedTuple):
    """Shares of repetitions, from 0 (all different) up."""

    repeated_y: float
    """Rows of y that equal an earlier row of y."""
    repeated_points: float
    """Rows of the points that equal an earlier row of the points."""
    repeated_values_y: float
    """Single numbers of y that equal an earlier one in their column: the mean over columns."""
    repeated_values_points: float
    """Single numbers of the points that equal an earlier one in their column: the mean over columns."""
    shared_rows: float
    """Rows of the points that are also rows of y."""


def repeated(sets: PointSets) -> Repeated:
    """Return how much of each set repeats itself, and how much of the second repeats the first.

    Numbers are compared exactly, but for 0 and -0, which are equal. Draws of a continuous law repeat nothing; rounded
    ones repeat values, resampled ones repeat rows, and memorised ones share them.

    >>> y, points = np.array([[1.0, 5.0], [2.0, 6.0]]), np.array([[2.0, 6.0], [2.0, 6.0], [2.0, 7.0], [3.0, 8.0]])
    >>> repeated(PointSets(y, points))._asdict()
    {'repeated_y': 0.0, 'repeated_points': 0.25, 'repeated_values_y': 0.0, 'repeated_values_points': 0.375,
     'shared_rows': 0.5}
    """
    place = distinct(sets.pooled).place
    of_y, of_points = place[: sets.n], place[sets.n :]
    return Repeated(
        _repeated(of_y),
        _repeated(of_points),
        _repeated_values(sets.y),
        _repeated_values(sets.points),
        float(np.isin(of_points, of_y).mean()),
    )


def _repeated(values: NDArray[np.generic]) -> float:
    return 1 - np.unique(values).size / values.size


def _repeated_values(Z: FloatArray) -> float:
    return float(np.mean([_repeated(column) for column in Z.T]))
