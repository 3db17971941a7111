"""The compiled body of counts of draws below an outcome: one look at each draw."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def compiled_counts() -> Any:
    """Return a function that writes the counts of points (n, D) among members (n, M, D)."""
    import numba

    @numba.njit(nogil=True, cache=True)
    def line(y, members, less, equal):  # type: ignore[no-untyped-def]  # pragma: no cover
        for i in range(members.shape[0]):
            below = at = 0
            point = y[i]
            for j in range(members.shape[1]):
                below += members[i, j] < point
                at += members[i, j] == point
            less[i], equal[i] = below, at

    @numba.njit(nogil=True, cache=True)
    def vectors(y, members, less, equal):  # type: ignore[no-untyped-def]  # pragma: no cover
        less[:] = 0
        equal[:] = 0
        for i in range(members.shape[0]):
            for j in range(members.shape[1]):
                for d in range(members.shape[2]):
                    less[i, d] += members[i, j, d] < y[i, d]
                    equal[i, d] += members[i, j, d] == y[i, d]

    def counts(points: Any, members: Any, less: Any, equal: Any) -> None:
        if members.shape[2] == 1:
            line(points[:, 0], members[:, :, 0], less[:, 0], equal[:, 0])
        else:
            vectors(points, members, less, equal)

    return counts
