"""Where a score finds its cell of the fixed grid: a table of buckets, after which at most one step is left."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.bins import FINEST, IndexArray, fine_edges, grid_uppers

BUCKETS = 1 << 14  # finer than the narrowest cell of [TAIL, 1 - TAIL], 1/9900, so that a bucket meets two at most
TAIL = 2.0**-7  # nearer to 0 or 1 than this, the bucket is the exponent and the first 5 bits of the distance
KEY_SHIFT = 47  # leaves of a float64 the exponent and 5 bits: a cell is 1/32 of an octave there
FIRST_KEY = ((1023 - FINEST) << 5) - 1  # that of all numbers below 2^-24
TAIL_KEYS = 1 + (FINEST - 7) * 32
BELOW = BUCKETS + 1 - FIRST_KEY  # where the keys of scores near 0 stand in the table; those near 1 follow


class Lookup(NamedTuple):
    """How scores of one precision find their cells: `upper` edges, and the first cell a bucket meets."""

    upper: FloatArray
    table: NDArray[np.uint16]


def cell_of(p: NDArray[np.floating[Any]]) -> IndexArray:
    """Return the cell of each score: the first whose upper edge is not below it."""
    upper, table = lookup(p.dtype.name)
    q = p.astype(np.float64, copy=False)
    cell: IndexArray = table.take(_bucket(q)).astype(np.intp)
    cell += q > upper.take(cell)
    return cell


def _bucket(q: FloatArray) -> IndexArray:
    """Return the place of each score in the table."""
    bucket: IndexArray = (q * BUCKETS).astype(np.intp)
    t = np.minimum(q, 1 - q)
    tail = np.flatnonzero(t < TAIL)
    # Near 0 and 1: the exponent and the first 5 bits of the distance; all below 2^-24 share one key.
    key = np.maximum(t.take(tail).view(np.int64) >> KEY_SHIFT, FIRST_KEY)
    bucket[tail] = BELOW + key + TAIL_KEYS * (q.take(tail) > 0.5)
    return bucket


@cache
def lookup(dtype: str) -> Lookup:
    """Return how scores of this precision find their cells: after the table at most one step is left."""
    fine = fine_edges()[: TAIL_KEYS - 1]  # the least number of each key but the first
    least = [np.arange(BUCKETS + 1) / BUCKETS, [0.0], fine, np.nextafter(1 - np.append(fine, TAIL), 1)]
    upper = grid_uppers(dtype)
    return Lookup(upper, np.searchsorted(upper, _next(np.concatenate(least), dtype)).astype(np.uint16))


def _next(numbers: FloatArray, dtype: str) -> FloatArray:
    """Return the least score of this precision that is not below each number: what a coarse score skips is no step."""
    seen = numbers.astype(dtype)
    above = np.nextafter(seen, np.ones((), dtype))
    return np.where(seen < numbers, above, seen).astype(np.float64)
