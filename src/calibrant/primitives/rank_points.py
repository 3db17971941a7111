"""At which ranks a curve of ranks is looked at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOST = 1000
FEWEST_CELLS = 100


def rank_points(n: int, M: int, *, cells: bool) -> NDArray[np.int64]:
    """Return the j, 0 < j <= M, at which #{rank < j} is compared with its law, Binomial(n, j/(M + 1)).

    All of them up to M = 999, else 999 that are spread evenly. Values of a distribution function have no ranks of
    their own: their 1000 cells are joined to as many as there are rows, at least 100, and a divisor of 1000.

    >>> rank_points(500, 4, cells=False)
    array([1, 2, 3, 4])
    >>> rank_points(240, 999, cells=True).size
    199
    """
    m = M + 1
    if cells:
        K = max(k for k in range(1, m + 1) if m % k == 0 and k <= max(n, FEWEST_CELLS))
        return np.arange(1, K) * (m // K)
    if m <= MOST:
        return np.arange(1, m)
    return np.unique((2 * np.arange(1, MOST) * m + MOST) // (2 * MOST))  # i m/1000, rounded
