"""Sort rows by width or set size and pool equal ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray, is_unit, unit_weights
from calibrant.primitives.pool import Pool, pool_entries
from calibrant.primitives.walk import tie_ends


def pool_sizes(size: FloatArray, covered: NDArray[np.bool_], w: FloatArray) -> Pool:
    """Return the rows of each different (size, weight), events being covered outcomes; sizes are at least 0 or inf."""
    if is_unit(w):
        return _packed(size, covered)
    return pool_entries(Pool(size + 0.0, w, np.ones(size.size, np.int64), covered.astype(np.int64)))


def _packed(size: FloatArray, covered: NDArray[np.bool_]) -> Pool:
    """Pool rows of weight 1 by one sort of whole numbers that carry the size and whether the row is covered.

    The bits of a float64 of at least 0, taken as a whole number, order like the number; the sign bit makes room.
    """
    key: NDArray[Any] = size.astype(np.float64).view(np.uint64)
    key <<= 1  # also drops the sign of -0.0
    key |= covered
    key.sort()
    hits = (key & 1).view(np.int64)
    key >>= 1
    sorted_size = key.view(np.float64)
    last = np.flatnonzero(tie_ends(sorted_size))
    count = np.diff(last, prepend=-1)
    starts = last - count + 1
    return Pool(sorted_size[last], unit_weights(last.size), count, np.add.reduceat(hits, starts))
