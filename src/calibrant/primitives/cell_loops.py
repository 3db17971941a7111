"""The compiled loops behind sums per cell: where a score finds its cell, and how a row is added to it."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from calibrant.primitives.bins import FINEST

BUCKETS = 1 << 14  # finer than the narrowest cell of [TAIL, 1 - TAIL], 1/9900, so that a bucket meets two at most
TAIL = 2.0**-7  # nearer to 0 or 1 than this, the bucket is the exponent and the first 5 bits of the distance
KEY_SHIFT = 47  # leaves of a float64 the exponent and 5 bits: a cell is 1/32 of an octave there
FIRST_KEY = ((1023 - FINEST) << 5) - 1  # that of all numbers below 2^-24
TAIL_KEYS = 1 + (FINEST - 7) * 32
BELOW = BUCKETS + 1 - FIRST_KEY  # where the keys of scores near 0 stand in the table; those near 1 follow


class CellLoops(NamedTuple):
    """Loops over rows of weight 1, (y, p, upper, table, sums), and of any weight, (y, p, w, upper, table, sums).

    To `sums`, whose rows are 2 cell + y, they add 1, t, t², v², or 1, w, w², wt, w²t, wt², w²t², w²v², with t the
    smaller one of p and 1 - p, and v = t - t².
    """

    of_rows: Any
    of_weighted_rows: Any


@cache
def cell_loops() -> CellLoops:
    """Return the loops, which compile when they are first called."""
    import numba
    from llvmlite import ir  # type: ignore[import-untyped, unused-ignore]  # comes with Numba
    from numba.extending import intrinsic

    @intrinsic
    def bits(context, number):  # type: ignore[no-untyped-def]  # pragma: no cover
        """Return the bits of a float64 as a whole number."""

        def cast(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return builder.bitcast(arguments[0], ir.IntType(64))

        return numba.int64(numba.float64), cast

    @intrinsic
    def add(context, sums, row, numbers):  # type: ignore[no-untyped-def]  # pragma: no cover
        """Add all numbers to a row of the sums by one instruction or two, where the compiler would take one each."""

        def added(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            wide = ir.VectorType(ir.DoubleType(), numbers.count)
            array = context.make_array(sums)(context, builder, arguments[0])
            start = builder.mul(arguments[1], ir.Constant(ir.IntType(64), numbers.count))
            place = builder.bitcast(builder.gep(array.data, [start]), wide.as_pointer())
            new = ir.Constant(wide, ir.Undefined)
            for k in range(numbers.count):
                number = builder.extract_value(arguments[2], k)
                new = builder.insert_element(new, number, ir.Constant(ir.IntType(32), k))
            total = builder.fadd(builder.load(place, align=8), new)
            builder.store(total, place, align=8)
            return context.get_dummy_value()

        return numba.void(sums, row, numbers), added

    u64 = np.uint64  # an index without a sign is not looked at for counting from the end

    @numba.njit(nogil=True, cache=True)
    def cell_of_score(q, t, upper, table):  # type: ignore[no-untyped-def]  # pragma: no cover
        # No branch depends on the score: a wrong guess of the processor would cost more than both ways do.
        key = max(bits(t) >> KEY_SHIFT, FIRST_KEY) + BELOW + TAIL_KEYS * (q > 0.5)
        bucket = key if t < TAIL else np.int64(q * BUCKETS)
        cell = u64(table[u64(bucket)])
        return cell + u64(q > upper[cell])

    @numba.njit(nogil=True, cache=True)
    def of_rows(y, p, upper, table, sums):  # type: ignore[no-untyped-def]  # pragma: no cover
        for j in range(p.shape[0]):
            q = p[j]
            t = min(q, 1 - q)
            row = u64(2) * cell_of_score(q, t, upper, table) + u64(y[j])
            tt = t * t
            v = t - tt
            add(sums, row, (1.0, t, tt, v * v))

    @numba.njit(nogil=True, cache=True)
    def of_weighted_rows(y, p, w, upper, table, sums):  # type: ignore[no-untyped-def]  # pragma: no cover
        for j in range(p.shape[0]):
            q, x = p[j], w[j]
            t = min(q, 1 - q)
            row = u64(2) * cell_of_score(q, t, upper, table) + u64(y[j])
            xt = x * t
            xtt = xt * t
            xv = xt - xtt
            add(sums, row, (1.0, x, x * x, xt, x * xt, xtt, x * xtt, xv * xv))

    return CellLoops(of_rows, of_weighted_rows)
