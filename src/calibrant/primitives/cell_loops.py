"""The compiled loops behind sums per cell; importing them imports Numba, and the first call compiles.

They stand in the module itself, so that what was compiled is found again by the next process.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from __future__ import annotations

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped, unused-ignore]  # comes with Numba
from numba.extending import intrinsic

from calibrant.primitives.cell_lookup import BELOW, BUCKETS, FIRST_KEY, KEY_SHIFT, TAIL, TAIL_KEYS

LANES = 8  # rows whose buckets and terms are found at once
NOT_TRUTH = 0xFEFEFEFEFEFEFEFE  # the bits that are not set in eight outcomes of 0 and 1
u64 = np.uint64  # an index without a sign is not looked at for counting from the end


@intrinsic
def bits(context, number):  # pragma: no cover
    """Return the bits of a float64 as a whole number."""

    def cast(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(64))

    return numba.int64(numba.float64), cast


@intrinsic
def add(context, sums, row, numbers):  # pragma: no cover
    """Add all numbers to a row of the sums by one instruction or two, where the compiler would take one each."""

    def added(context, builder, signature, arguments):
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


@intrinsic
def look_at_scores(context, p, start, buckets, terms):  # pragma: no cover
    """Write the buckets of LANES scores, and their terms 1, t, t², v² row by row; tell whether all are in [0, 1].

    One instruction serves all lanes, where the processor has such; the compiler does not find that by itself.
    """

    def looked(context, builder, signature, arguments):
        def place(k, kind):
            data = context.make_array(signature.args[k])(context, builder, arguments[k]).data
            at = builder.gep(data, [arguments[1]]) if k == 0 else data
            return builder.bitcast(at, kind.as_pointer())

        def all_lanes(kind, number):
            return ir.Constant(ir.VectorType(kind, LANES), [number] * LANES)

        def woven(a, b, order):
            return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(short, LANES), order))

        real, short, long = ir.DoubleType(), ir.IntType(32), ir.IntType(64)
        reals, shorts = ir.VectorType(real, LANES), ir.VectorType(short, LANES)
        one = all_lanes(real, 1.0)
        q = builder.load(place(0, reals), align=8)
        other = builder.fsub(one, q)
        t = builder.select(builder.fcmp_ordered("<", other, q), other, q)
        tt = builder.fmul(t, t)
        v = builder.fsub(t, tt)
        vv = builder.fmul(v, v)

        word = builder.lshr(builder.bitcast(t, ir.VectorType(long, LANES)), all_lanes(long, KEY_SHIFT))
        key, first = builder.trunc(word, shorts), all_lanes(short, FIRST_KEY)
        key = builder.select(builder.icmp_signed(">", key, first), key, first)
        high = builder.fcmp_ordered(">", q, all_lanes(real, 0.5))
        above = builder.select(high, all_lanes(short, BELOW + TAIL_KEYS), all_lanes(short, BELOW))
        plain = builder.fptosi(builder.fmul(q, all_lanes(real, float(BUCKETS))), shorts)
        in_tail = builder.fcmp_ordered("<", t, all_lanes(real, TAIL))
        builder.store(builder.select(in_tail, builder.add(key, above), plain), place(2, shorts), align=4)

        rows = place(3, reals)
        for k in range(0, LANES, 2):  # two rows of four terms at a time
            a, b = k, k + 1
            front = woven(one, t, [a, LANES + a, a, a, b, LANES + b, b, b])
            back = woven(tt, vv, [a, LANES + a, a, a, b, LANES + b, b, b])
            both = woven(front, back, [0, 1, LANES, LANES + 1, 4, 5, LANES + 4, LANES + 5])
            builder.store(both, builder.gep(rows, [ir.Constant(long, k // 2)]), align=8)
        legal = builder.and_(builder.fcmp_ordered(">=", q, all_lanes(real, 0.0)), builder.fcmp_ordered("<=", q, one))
        mask = builder.bitcast(legal, ir.IntType(LANES))
        return builder.icmp_signed("==", mask, ir.Constant(ir.IntType(LANES), -1))

    return numba.boolean(p, start, buckets, terms), looked


@intrinsic
def are_outcomes(context, y, start):  # pragma: no cover
    """Tell whether LANES bytes are all 0 or 1."""

    def looked(context, builder, signature, arguments):
        long = ir.IntType(8 * LANES)
        array = context.make_array(y)(context, builder, arguments[0])
        word = builder.load(builder.bitcast(builder.gep(array.data, [arguments[1]]), long.as_pointer()), align=1)
        return builder.icmp_signed("==", builder.and_(word, ir.Constant(long, NOT_TRUTH)), ir.Constant(long, 0))

    return numba.boolean(y, start), looked


@intrinsic
def add_terms(context, sums, row, terms, k):  # pragma: no cover
    """Add a row of four terms to a row of the sums."""

    def added(context, builder, signature, arguments):
        wide = ir.VectorType(ir.DoubleType(), 4)

        def place(array, row):
            data = context.make_array(signature.args[array])(context, builder, arguments[array]).data
            start = builder.mul(arguments[row], ir.Constant(ir.IntType(64), 4))
            return builder.bitcast(builder.gep(data, [start]), wide.as_pointer())

        to, more = place(0, 1), builder.load(place(2, 3), align=8)
        builder.store(builder.fadd(builder.load(to, align=8), more), to, align=8)
        return context.get_dummy_value()

    return numba.void(sums, row, terms, k), added


@numba.njit(nogil=True, cache=True)
def cell_of_score(q, t, upper, table):  # pragma: no cover
    """Return the cell of a score."""
    # No branch depends on the score: a wrong guess of the processor would cost more than both ways do.
    key = max(bits(t) >> KEY_SHIFT, FIRST_KEY) + BELOW + TAIL_KEYS * (q > 0.5)
    bucket = key if t < TAIL else np.int64(q * BUCKETS)
    cell = u64(table[u64(bucket)])
    return cell + u64(q > upper[cell])


@numba.njit(nogil=True, cache=True)
def of_rows(y, p, upper, table, sums):  # pragma: no cover
    """Add 1, t, t², v² of rows of weight 1 to `sums`, whose rows are 2 cell + y, and tell whether all rows are legal.

    t is the smaller one of p and 1 - p, and v = t - t². It stops at an outcome other than 0 and 1, and at a score that
    is not in [0, 1].
    """
    n = p.shape[0]
    buckets, terms = np.empty(LANES, np.int32), np.empty((LANES, 4))
    whole = n - n % LANES
    for start in range(0, whole, LANES):
        legal = look_at_scores(p, u64(start), buckets, terms)
        if not (legal and are_outcomes(y, u64(start))):
            return False
        for k in range(LANES):
            j = u64(start) + u64(k)
            cell = u64(table[u64(buckets[k])])
            cell += u64(p[j] > upper[cell])
            add_terms(sums, u64(2) * cell + u64(y[j]), terms, u64(k))
    for last in range(whole, n):
        q = p[last]
        if not (q >= 0 and q <= 1 and y[last] <= 1):
            return False
        t = min(q, 1 - q)
        row = u64(2) * cell_of_score(q, t, upper, table) + u64(y[last])
        tt = t * t
        v = t - tt
        add(sums, row, (1.0, t, tt, v * v))
    return True


@numba.njit(nogil=True, cache=True)
def of_weighted_rows(y, p, w, upper, table, sums):  # pragma: no cover
    """Add 1, w, w², wt, w²t, wt², w²t², w²v² of legal rows, as `of_rows` does."""
    for j in range(p.shape[0]):
        q, x = p[j], w[j]
        t = min(q, 1 - q)
        row = u64(2) * cell_of_score(q, t, upper, table) + u64(y[j])
        xt = x * t
        xtt = xt * t
        xv = xt - xtt
        add(sums, row, (1.0, x, x * x, xt, x * xt, xtt, x * xtt, xv * xv))
