"""Random divisions of pooled points into two sets of the sizes they had."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant.primitives.dispatch import chunks

Divisions = NDArray[np.uint8]
"""(B, N): 1 where a point belongs to the first set, 0 where to the second."""

MOST_KEYS = 1 << 21  # random numbers at once


def relabellings(n: int, m: int, resamples: int, rng: np.random.Generator) -> Divisions:
    """Return for each of `resamples` random divisions which n of n + m points belong to the first set.

    >>> relabellings(1, 2, 4, np.random.default_rng(0)).sum(axis=1).tolist()
    [1, 1, 1, 1]
    """
    found = np.zeros((resamples, n + m), dtype=np.uint8)
    for part in chunks(resamples, max(1, MOST_KEYS // (n + m))):
        keys = rng.random((part.stop - part.start, n + m))
        first = np.argpartition(keys, n - 1, axis=1)[:, :n]
        np.put_along_axis(found[part], first, np.uint8(1), axis=1)
    return found


def observed_division(n: int, m: int) -> Divisions:
    """Return the division of pooled points that they came in, (1, n + m).

    >>> observed_division(1, 2).tolist()
    [[1, 0, 0]]
    """
    return (np.arange(n + m) < n).astype(np.uint8)[None]
