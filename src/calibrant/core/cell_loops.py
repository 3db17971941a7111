"""The compiled loops behind sums per cell; importing them imports Numba, and the first call compiles.

Numba caches compiled code on disk for the next process. It does not notice when a constant of another module has
changed, and it does not find nested functions that call others in its cache. So the loops are functions of the module,
and constants of `cells` are passed as arguments.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from __future__ import annotations

import numba
import numpy as np

BLOCK = 2048  # rows per step: short loops that the compiler can turn into vector instructions
u64 = np.uint64  # an index that cannot be negative needs no check for counting from the end


@numba.njit(nogil=True, cache=True)
def find_rows(y, p, upper, table, key_shift, first_key, distance, row):  # pragma: no cover
    """Write the distances t of a block and their rows of the sums, 2 cell + y; tell whether all rows are valid.

    `upper`, `table`, `key_shift` and `first_key` are those of `Lookup`.
    """
    bits, half, legal = distance.view(np.int64), table.shape[0] // 2, True
    for k in range(p.shape[0]):
        distance[k] = min(p[k], 1 - p[k])
        legal &= (distance[k] >= 0) & (y[k] <= 1)
    if not legal:
        return False
    for k in range(p.shape[0]):
        row[k] = max(bits[k] >> key_shift, first_key) - first_key + (half if p[k] > 0.5 else 0)
    for k in range(p.shape[0]):
        cell = u64(table[u64(row[k])])
        row[k] = u64(2) * (cell + u64(p[k] > upper[cell])) + u64(y[k])
    return True


@numba.njit(nogil=True, cache=True)
def add_rows(y, p, upper, table, key_shift, first_key, sums):  # pragma: no cover
    """Add 1, t, t², v² of rows of weight 1 to `sums`, whose rows are 2 cell + y, and tell whether all rows are valid.

    t is the smaller of p and 1 - p, and v = t - t². The loop stops at a block with an outcome that is not 0 or 1, or a
    score that is not in [0, 1]; the sums must then not be used.
    """
    distance, row = np.empty(BLOCK), np.empty(BLOCK, np.int32)
    for start in range(0, p.shape[0], BLOCK):
        q = p[start : start + BLOCK]
        if not find_rows(y[start : start + BLOCK], q, upper, table, key_shift, first_key, distance, row):
            return False
        for k in range(q.shape[0]):
            r, t = u64(row[k]), distance[k]
            tt = t * t
            v = t - tt
            # All four are read before the first is written, which lets one instruction add them.
            a, b, c, d = sums[r, 0] + 1.0, sums[r, 1] + t, sums[r, 2] + tt, sums[r, 3] + v * v
            sums[r, 0], sums[r, 1], sums[r, 2], sums[r, 3] = a, b, c, d
    return True


@numba.njit(nogil=True, cache=True)
def add_weighted_rows(y, p, w, upper, table, key_shift, first_key, sums):  # pragma: no cover
    """Add 1, w, w², wt, w²t, wt², w²t², w²v² of valid rows, as `add_rows` does."""
    distance, row = np.empty(BLOCK), np.empty(BLOCK, np.int32)
    for start in range(0, p.shape[0], BLOCK):
        q = p[start : start + BLOCK]
        find_rows(y[start : start + BLOCK], q, upper, table, key_shift, first_key, distance, row)
        for k in range(q.shape[0]):
            x, t, to = w[start + k], distance[k], sums[u64(row[k])]
            xt = x * t
            xtt = xt * t
            xv = xt - xtt
            to[0] += 1.0
            to[1] += x
            to[2] += x * x
            to[3] += xt
            to[4] += x * xt
            to[5] += xtt
            to[6] += x * xtt
            to[7] += xv * xv
