"""The walk of cumulative differences: partial sums of w(y - p) in the order of the scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.dispatch import chunks
from calibrant.primitives.pool import Pool


class Walk(NamedTuple):
    """Highest and lowest partial sum at ends of tied scores (0 at the start counts), and Σ w²p(1-p)."""

    high: float
    low: float
    variance: float


def tie_ends(score: FloatArray) -> NDArray[np.bool_]:
    """Return True at the last entry of each score."""
    last = np.ones(score.size, dtype=bool)
    np.not_equal(score[1:], score[:-1], out=last[:-1])
    return last


def walk(pool: Pool) -> Walk:
    """Return the extremes of the walk in one pass, without a temporary as long as the input."""
    high = low = total = variance = 0.0
    for part in chunks(pool.score.size):
        score, weight, count, events = (column[part] for column in pool)
        partial = np.cumsum(weight * (events - count * score)) + total
        total = float(partial[-1])
        ends = tie_ends(pool.score[part.start : part.stop + 1])[: score.size]
        if ends.any():
            at_ends = partial[ends]
            high, low = max(high, float(at_ends.max())), min(low, float(at_ends.min()))
        variance += float(np.sum(weight * weight * count * score * (1 - score)))
    return Walk(high, low, variance)
