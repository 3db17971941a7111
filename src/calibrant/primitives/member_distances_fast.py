"""The compiled body of sums of distances between members."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np


@cache
def compiled_sums() -> Any:
    """Return a function from members x (r, m, D) and the number of units in 1 to Σ_j |x_i - x_j| in units, (r, m)."""
    import numba

    @numba.njit(nogil=True, cache=True, fastmath={"reassoc"})
    def total_of(q):  # type: ignore[no-untyped-def]  # pragma: no cover
        total = 0.0
        for j in range(q.size):  # whole numbers, so that any order is as good
            total += q[j]
        return total

    @numba.njit(nogil=True, cache=True)
    def fill(x, unit, sums):  # type: ignore[no-untyped-def]  # pragma: no cover
        r, D, m = x.shape
        buffer = np.empty(m)
        for row in range(r):
            for i in range(m - 1):
                q = buffer[i + 1 :]
                q[:] = 0.0
                for d in range(D):
                    point, others = x[row, d, i], x[row, d, i + 1 :]
                    for j in range(q.size):
                        step = others[j] - point
                        q[j] += step * step
                later = sums[row, i + 1 :]
                for j in range(q.size):
                    q[j] = np.rint(np.sqrt(q[j]) * unit)
                    later[j] += q[j]
                sums[row, i] += total_of(q)

    def sums_of(x: Any, unit: float) -> Any:
        sums = np.zeros(x.shape[:2])
        fill(np.ascontiguousarray(x.transpose(0, 2, 1)), unit, sums)
        return sums

    return sums_of
