"""Whether predictions of several levels lie within each other."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.judged import IntervalRows, QuantileRows, SetRows


def first_not_nested(rows: IntervalRows | SetRows | QuantileRows) -> int | None:
    """Return the first row that is not nested.

    >>> from calibrant.inputs.intervals import Intervals
    >>> from calibrant.inputs.judged import read_judged
    >>> both = Intervals([[0.0, -1.0], [0.0, 1.0]], [[1.0, 2.0], [1.0, 2.0]], [0.5, 0.9])
    >>> first_not_nested(read_judged([0.0, 0.0], both))
    1
    """
    bad = not_nested(rows)
    return int(np.argmax(bad)) if bad.any() else None


def not_nested(rows: IntervalRows | SetRows | QuantileRows) -> NDArray[np.bool_]:
    """Tell in which rows the prediction at some level does not lie within that at the next higher level."""
    levels = rows.prediction.levels
    bad = np.zeros(rows.n, dtype=bool)
    if isinstance(rows, QuantileRows) or levels is None:
        return bad
    for inner, outer in pairwise(np.argsort(levels).tolist()):
        if isinstance(rows, SetRows):
            mask = rows.prediction.mask
            bad |= (mask[:, :, inner] & ~mask[:, :, outer]).any(axis=1)
        else:
            lower, upper = rows.prediction.lower, rows.prediction.upper
            bad |= (lower[:, outer] > lower[:, inner]) | (upper[:, outer] < upper[:, inner])
    return bad
