"""Random divisions of pooled points into two sets of the sizes they had."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError
from calibrant.primitives.dispatch import chunks

Divisions = NDArray[np.uint8]
"""(B, N): 1 where a point belongs to the first set, 0 where to the second."""

MOST_KEYS = 1 << 21  # random numbers at once
MOST_BYTES = 1 << 31  # of all divisions, two gigabytes
NUMBERS = 1 << 10  # bytes of the numbers that a test of many statistics holds for each division


def relabellings(n: int, m: int, resamples: int, rng: np.random.Generator) -> Divisions:
    """Return for each of `resamples` random divisions which n of n + m points belong to the first set.

    >>> relabellings(1, 2, 4, np.random.default_rng(0)).sum(axis=1).tolist()
    [1, 1, 1, 1]
    """
    check_divisions(resamples, n + m)
    found = np.zeros((resamples, n + m), dtype=np.uint8)
    for part in chunks(resamples, max(1, MOST_KEYS // (n + m))):
        keys = rng.random((part.stop - part.start, n + m))
        first = np.argpartition(keys, n - 1, axis=1)[:, :n]
        np.put_along_axis(found[part], first, np.uint8(1), axis=1)
    return found


def check_divisions(resamples: int, N: int) -> None:
    """Refuse more divisions than memory holds, N labels for each of them; 0 if labels are not kept."""
    most = MOST_BYTES // (N + NUMBERS)
    if resamples > most:
        raise InputError(
            f"{resamples:,} random divisions of the points are more than are held at once, {most:,} for these points. "
            "Pass fewer resamples; where level decides their number, a level further from 1"
        )


def observed_division(n: int, m: int) -> Divisions:
    """Return the division of pooled points that they came in, (1, n + m).

    >>> observed_division(1, 2).tolist()
    [[1, 0, 0]]
    """
    return (np.arange(n + m) < n).astype(np.uint8)[None]
