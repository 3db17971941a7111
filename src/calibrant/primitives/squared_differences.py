"""Squared distances of points as sums of squared differences, added up coordinate by coordinate.

Whoever compares distances for equality needs one arithmetic for all of them. A sum over an axis takes its terms in an
order that depends on the shape; here it is always that of the coordinates, so that |a - b|² is the same number wherever
it is found, and the same as |b - a|².
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.dispatch import chunks

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
