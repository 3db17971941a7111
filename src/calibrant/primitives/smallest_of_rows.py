"""The smallest entries of each row of a table that is mostly empty."""

from __future__ import annotations

import numpy as np

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.squared_differences import IntArray


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
