"""Where a score finds its cell without looking at edges: a table of buckets, and of the steps on which edges lie.

A cell depends on which end a score is nearer to, and on the distance t from there, of at most 1/2. A bucket is a part
of all distances, cut into 1024 steps: those of equal width in the middle, and those of the exponent and the first bits
near the ends. An entry of the table packs how many edges are below the bucket, and the steps of at most two edges that
lie in it. Bucket and step grow with t, so that a score on another step than an edge is on the same side of it as its
step. Only the few scores on the step of an edge are left, whose cells `cell_lookup` tells.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.bins import IndexArray, grid_uppers
from calibrant.primitives.cell_lookup import FIRST_KEY, KEY_SHIFT, TAIL, TAIL_KEYS

# What follows is compiled into `cell_loops`, whose cache does not look at this file: touch that one after a change.
STEP_BITS = 10
LAST_STEP = (1 << STEP_BITS) - 1  # where a bucket has no edge, one is noted here: a needless look at few scores
MIDDLE = 1 << 12  # buckets of width 1/8192, in which at most two edges lie, 1/9900 apart
STEPS = 2.0 * MIDDLE * (LAST_STEP + 1)  # to the unit of distance
FIRST_PLACE = FIRST_KEY << STEP_BITS  # before which all distances are below 2^-24
NEAR = (MIDDLE + 1) << STEP_BITS  # where the places near the ends follow those of the middle
SIGN = 1 << (64 - KEY_SHIFT + STEP_BITS - 1)  # that of -0.0
HALF = MIDDLE + 1 + TAIL_KEYS  # buckets of the scores up to 1/2, or of those above
UNSURE = 0xFFF  # edges below a bucket that tells nothing


class CellSteps(NamedTuple):
    """The packed entries, and by how many places those for scores above 1/2 come later: 0 if both halves are alike."""

    entries: NDArray[np.uint32]
    beyond: int


def place_of(t: FloatArray) -> IndexArray:
    """Return bucket and step of each distance, as one number."""
    near = np.maximum(t.view(np.int64) >> (KEY_SHIFT - STEP_BITS), FIRST_PLACE) + (NEAR - FIRST_PLACE)
    return np.where(t < TAIL, near, (t * STEPS).astype(np.int64))


@cache
def cell_steps(dtype: str) -> CellSteps:
    """Return the table for scores of this precision."""
    upper = grid_uppers(dtype)[:-1]
    low, high = _entries(upper[upper < 0.5]), _entries(1 - upper[upper > 0.5][::-1])
    if np.array_equal(low, high):
        return CellSteps(low, 0)
    return CellSteps(np.concatenate([low, high]), HALF << STEP_BITS)


def _entries(edges: FloatArray) -> NDArray[np.uint32]:
    """Return the table of these distances, in ascending order."""
    place = place_of(np.ascontiguousarray(edges))
    bucket, step = place >> STEP_BITS, place & LAST_STEP
    many, below = np.bincount(bucket, minlength=HALF), np.zeros(HALF, np.intp)
    by_distance = np.roll(np.arange(HALF), TAIL_KEYS)  # the last buckets are those near the ends
    below[by_distance] = np.cumsum(many[by_distance]) - many[by_distance]
    steps, which = np.full((HALF, 2), LAST_STEP), np.arange(edges.size) - below[bucket]
    first_two = which < 2
    steps[bucket[first_two], which[first_two]] = step[first_two]
    # Edges of coarse scores fall together; and in the bucket of all distances below 2^-24 steps tell nothing.
    below[(many > 2) | ((np.arange(HALF) == NEAR >> STEP_BITS) & (many > 0))] = UNSURE
    packed: IndexArray = below << 2 * STEP_BITS | steps[:, 0] << STEP_BITS | steps[:, 1]
    return packed.astype(np.uint32)
