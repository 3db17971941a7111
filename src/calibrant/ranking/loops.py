"""The compiled body of counts of draws below an outcome: one look at each draw."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False


@numba.njit(nogil=True, cache=True)
def _counts_of_numbers(y, members, less, equal):  # pragma: no cover
    for i in range(members.shape[0]):
        below = at = 0
        point = y[i]
        for j in range(members.shape[1]):
            below += members[i, j] < point
            at += members[i, j] == point
        less[i], equal[i] = below, at


@numba.njit(nogil=True, cache=True)
def _counts_of_vectors(y, members, less, equal):  # pragma: no cover
    less[:] = 0
    equal[:] = 0
    for i in range(members.shape[0]):
        for j in range(members.shape[1]):
            for d in range(members.shape[2]):
                less[i, d] += members[i, j, d] < y[i, d]
                equal[i, d] += members[i, j, d] == y[i, d]


def compiled_counts(points: Any, members: Any, less: Any, equal: Any) -> None:
    """Write the counts of points (n, D) among members (n, M, D)."""
    if members.shape[2] == 1:
        _counts_of_numbers(points[:, 0], members[:, :, 0], less[:, 0], equal[:, 0])
    else:
        _counts_of_vectors(points, members, less, equal)


@numba.njit(nogil=True, cache=True, fastmath={"reassoc"})
def total_of(q):  # pragma: no cover
    """Return the sum of whole numbers, which is the same in any order."""
    total = 0.0
    for j in range(q.size):
        total += q[j]
    return total


@numba.njit(nogil=True, cache=True)
def fill(x, unit, sums):  # pragma: no cover
    """Add the sums of distances between members (r, D, m) to `sums`."""
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


def compiled_sums(x: Any, unit: float) -> Any:
    """Return Σ_j |x_i - x_j| in units, (r, m), of members x (r, m, D); `unit` is the number of units in 1."""
    sums = np.zeros(x.shape[:2])
    fill(np.ascontiguousarray(x.transpose(0, 2, 1)), unit, sums)
    return sums
