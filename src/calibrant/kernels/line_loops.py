"""The compiled body of exact sums on the line: what happens inside of a short run of rows."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def compiled_inside(order: int) -> Any:
    """Return a function that fills in the sums of `Blocks` for runs of `leaf` rows.

    t and g are the steps from each row to the next, on one line for all rows of e or on one line for each.
    """
    import numba

    @numba.njit(nogil=True, cache=True)
    def inside(e, t, g, leaf, total, about_first, about_last):  # type: ignore[no-untyped-def]  # pragma: no cover
        n = e.shape[1]
        for i in range(e.shape[0]):
            line = i if t.shape[0] > 1 else 0
            for k in range(total.shape[1]):
                start = k * leaf
                v = e[i, start]
                A, B, C = v, 0.0, 0.0
                A1, B1, C1 = v, 0.0, 0.0
                far, decay = 0.0, 1.0
                squares, pairs = v * v, 0.0
                for j in range(start + 1, min(start + leaf, n)):
                    d, h, v = t[line, j - 1], g[line, j - 1], e[i, j]
                    decay *= h
                    A *= h
                    arriving = A
                    A1 += v * decay
                    if order > 0:
                        B *= h
                        rise = d * A
                        far += d
                        B1 += v * far * decay
                        if order > 1:
                            C = C * h + d * (2 * B + rise)
                            C1 += v * far * far * decay
                            arriving += C / 3
                        B += rise
                        arriving += B
                    squares += v * v
                    pairs += v * arriving
                    A += v
                total[i, k] = squares + 2 * pairs
                about_first[0, i, k], about_last[0, i, k] = A1, A
                if order > 0:
                    about_first[1, i, k], about_last[1, i, k] = B1, B
                if order > 1:
                    about_first[2, i, k], about_last[2, i, k] = C1, C

    return inside


@cache
def compiled_through(order: int) -> Any:
    """Return a function that fills in K e inside of runs of `leaf` rows, from the moments of all rows outside."""
    import numba

    @numba.njit(nogil=True, cache=True)
    def through(e, t, g, leaf, before, after, result):  # type: ignore[no-untyped-def]  # pragma: no cover
        n = e.shape[1]
        for i in range(e.shape[0]):
            line = i if t.shape[0] > 1 else 0
            for k in range(before.shape[2]):
                start, stop = k * leaf, min((k + 1) * leaf, n)
                for forward in (True, False):
                    moments = before if forward else after
                    A, B, C = moments[0, i, k], 0.0, 0.0
                    if order > 0:
                        B = moments[1, i, k]
                    if order > 1:
                        C = moments[2, i, k]
                    for step in range(stop - start):
                        j = start + step if forward else stop - 1 - step
                        if step > 0:
                            gap = j - 1 if forward else j
                            d, h = t[line, gap], g[line, gap]
                            A *= h
                            if order > 0:
                                B *= h
                                rise = d * A
                                if order > 1:
                                    C = C * h + d * (2 * B + rise)
                                B += rise
                        if forward:
                            result[i, j] = e[i, j] + A + B + C / 3
                        else:
                            result[i, j] += A + B + C / 3
                        A += e[i, j]

    return through
