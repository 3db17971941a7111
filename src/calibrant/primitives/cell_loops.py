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
from calibrant.primitives.cell_steps import FIRST_PLACE, LAST_STEP, NEAR, SIGN, STEP_BITS, STEPS, UNSURE
from calibrant.primitives.dispatch import CACHE_LINE

LANES = 8  # rows that one instruction serves, where the processor has such; eight truths are a byte
BLOCK = 64  # rows that take one step of the work before the next begins, so that none waits for what another looks up
NOT_TRUTH = 0xFEFEFEFEFEFEFEFE  # the bits that are not set in eight outcomes of 0 and 1
u64 = np.uint64  # an index without a sign is not looked at for counting from the end

i8, i32, i64, f64 = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.DoubleType()
i8s, i32s, i64s, f64s = (ir.VectorType(kind, LANES) for kind in (i8, i32, i64, f64))


def lanes(kind, number):
    """Return a vector that holds this number in all lanes."""
    return ir.Constant(kind, [number] * LANES)


class Arguments:
    """The arguments of an intrinsic, as numbers and vectors of the compiler."""

    def __init__(self, context, builder, signature, values):
        self.context, self.builder, self.kinds, self.values = context, builder, signature.args, values

    def pointer(self, k, kind, start):
        """Return where a number or a vector of this kind lies in an array, from entry `start` on."""
        data = self.context.make_array(self.kinds[k])(self.context, self.builder, self.values[k]).data
        return self.builder.bitcast(self.builder.gep(data, [start]), kind.as_pointer())

    def load(self, k, kind, start):
        """Return what lies there."""
        return self.builder.load(self.pointer(k, kind, start), align=1)

    def row(self, k, at, kind):
        """Return where a row of a matrix lies, given where its number stands among the arguments."""
        return self.pointer(k, kind, self.builder.mul(self.values[at], ir.Constant(i64, kind.count)))

    def in_all_lanes(self, k):
        """Return a vector that holds a number in all lanes."""
        one = self.builder.trunc(self.values[k], i32)
        first = self.builder.insert_element(ir.Constant(i32s, ir.Undefined), one, ir.Constant(i32, 0))
        return self.builder.shuffle_vector(first, first, lanes(i32s, 0))


@intrinsic
def bits(context, number):  # pragma: no cover
    """Return the bits of a float64 as a whole number."""

    def cast(context, builder, signature, values):
        return builder.bitcast(values[0], i64)

    return numba.int64(numba.float64), cast


@intrinsic
def add(context, sums, row, numbers):  # pragma: no cover
    """Add all numbers to a row of the sums by one instruction or two, where the compiler would take one each."""

    def added(context, builder, signature, values):
        wide = ir.VectorType(f64, numbers.count)
        to, more = Arguments(context, builder, signature, values).row(0, 1, wide), ir.Constant(wide, ir.Undefined)
        for k in range(numbers.count):
            more = builder.insert_element(more, builder.extract_value(values[2], k), ir.Constant(i32, k))
        builder.store(builder.fadd(builder.load(to, align=8), more), to, align=8)
        return context.get_dummy_value()

    return numba.void(sums, row, numbers), added


@intrinsic
def add_terms(context, sums, row, terms, k):  # pragma: no cover
    """Add a row of four terms to a row of the sums."""

    def added(context, builder, signature, values):
        given, wide = Arguments(context, builder, signature, values), ir.VectorType(f64, 4)
        to, more = given.row(0, 1, wide), builder.load(given.row(2, 3, wide), align=8)
        builder.store(builder.fadd(builder.load(to, align=8), more), to, align=8)
        return context.get_dummy_value()

    return numba.void(sums, row, terms, k), added


@intrinsic
def look_at_scores(context, p, start, beyond, places, terms, at):  # pragma: no cover
    """Write places of LANES scores, and their terms 1, t, t², v² row by row; tell whether all are in [0, 1]."""

    def looked(context, builder, signature, values):
        def woven(a, b, order):
            return builder.shuffle_vector(a, b, ir.Constant(i32s, order))

        given = Arguments(context, builder, signature, values)
        start, at = values[1], values[5]
        one = lanes(f64s, 1.0)
        q = given.load(0, f64s, start)
        other = builder.fsub(one, q)
        high = builder.fcmp_ordered("<", other, q)
        t = builder.select(high, other, q)
        tt = builder.fmul(t, t)
        v = builder.fsub(t, tt)
        vv = builder.fmul(v, v)

        word = builder.lshr(builder.bitcast(t, i64s), lanes(i64s, KEY_SHIFT - STEP_BITS))
        near, first = builder.and_(builder.trunc(word, i32s), lanes(i32s, SIGN - 1)), lanes(i32s, FIRST_PLACE)
        near = builder.select(builder.icmp_signed(">", near, first), near, first)
        near = builder.add(near, lanes(i32s, NEAR - FIRST_PLACE))
        # Of a score that is not in [0, 1] the whole number is undefined; it is stored, and nobody reads it.
        middle = builder.fptosi(builder.fmul(t, lanes(f64s, STEPS)), i32s)
        place = builder.select(builder.fcmp_ordered("<", t, lanes(f64s, TAIL)), near, middle)
        place = builder.add(place, builder.select(high, given.in_all_lanes(2), lanes(i32s, 0)))
        builder.store(place, given.pointer(3, i32s, at), align=1)

        rows = given.pointer(4, f64s, builder.mul(at, ir.Constant(i64, 4)))
        for k in range(0, LANES, 2):  # two rows of four terms at a time
            a, b = k, k + 1
            front = woven(one, t, [a, LANES + a, a, a, b, LANES + b, b, b])
            back = woven(tt, vv, [a, LANES + a, a, a, b, LANES + b, b, b])
            both = woven(front, back, [0, 1, LANES, LANES + 1, 4, 5, LANES + 4, LANES + 5])
            builder.store(both, builder.gep(rows, [ir.Constant(i64, k // 2)]), align=1)
        legal = builder.bitcast(builder.fcmp_ordered(">=", t, lanes(f64s, 0.0)), i8)
        return builder.icmp_signed("==", legal, ir.Constant(i8, -1))

    return numba.boolean(p, start, beyond, places, terms, at), looked


@intrinsic
def are_outcomes(context, y, start):  # pragma: no cover
    """Tell whether LANES bytes are all 0 or 1."""

    def looked(context, builder, signature, values):
        word = Arguments(context, builder, signature, values).load(0, i64, values[1])
        return builder.icmp_signed("==", builder.and_(word, ir.Constant(i64, NOT_TRUTH)), ir.Constant(i64, 0))

    return numba.boolean(y, start), looked


@intrinsic
def find_rows(context, y, p, start, places, entries, at, last):  # pragma: no cover
    """Put rows of the sums, 2 cell + y, where the entries of LANES scores are; tell whether one of them is unsure."""

    def found(context, builder, signature, values):
        given = Arguments(context, builder, signature, values)
        start, at = values[2], values[5]
        steps = lanes(i32s, LAST_STEP)
        step = builder.and_(given.load(3, i32s, at), steps)
        entry = given.load(4, i32s, at)
        one = builder.and_(builder.lshr(entry, lanes(i32s, STEP_BITS)), steps)
        other = builder.and_(entry, steps)
        edges = builder.lshr(entry, lanes(i32s, 2 * STEP_BITS))
        unsure = builder.icmp_signed("==", edges, lanes(i32s, UNSURE))
        for edge in (one, other):
            unsure = builder.or_(unsure, builder.icmp_signed("==", step, edge))
            edges = builder.sub(edges, builder.sext(builder.icmp_signed(">", step, edge), i32s))

        high = builder.fcmp_ordered(">", given.load(1, f64s, start), lanes(f64s, 0.5))
        cell = builder.select(high, builder.sub(given.in_all_lanes(6), edges), edges)
        outcome = builder.zext(given.load(0, i8s, start), i32s)
        row = builder.add(builder.shl(cell, lanes(i32s, 1)), outcome)
        builder.store(row, given.pointer(4, i32s, at), align=1)
        return builder.icmp_signed("!=", builder.bitcast(unsure, i8), ir.Constant(i8, 0))

    return numba.boolean(y, p, start, places, entries, at, last), found


@numba.njit(nogil=True, cache=True)
def cell_of_score(q, t, upper, table):  # pragma: no cover
    """Return the cell of a score."""
    # No branch depends on the score: a wrong guess of the processor would cost more than both ways do.
    key = max(bits(t) >> KEY_SHIFT, FIRST_KEY) + BELOW + TAIL_KEYS * (q > 0.5)
    bucket = key if t < TAIL else np.int64(q * BUCKETS)
    cell = u64(table[u64(bucket)])
    return cell + u64(q > upper[cell])


@numba.njit(nogil=True, cache=True)
def one_by_one(y, p, start, stop, upper, table, sums):  # pragma: no cover
    """Do what `of_rows` does with few rows."""
    for j in range(start, stop):
        q = p[j]
        if not (q >= 0 and q <= 1 and y[j] <= 1):
            return False
        t = min(q, 1 - q)
        row = u64(2) * cell_of_score(q, t, upper, table) + u64(y[j])
        tt = t * t
        v = t - tt
        add(sums, row, (1.0, t, tt, v * v))
    return True


@numba.njit(nogil=True, cache=True)
def of_rows(y, p, upper, table, steps, beyond, sums):  # pragma: no cover
    """Add 1, t, t², v² of rows of weight 1 to `sums`, whose rows are 2 cell + y, and tell whether all rows are legal.

    t is the smaller one of p and 1 - p, and v = t - t². `upper` and `table` are those of `Lookup`, `steps` and `beyond`
    the entries of `CellSteps` and where its second half begins. It stops at rows among which an outcome is not 0 or 1,
    or a score not in [0, 1]; the sums are then of no use.
    """
    n, last = p.shape[0], upper.shape[0] - 1
    places, entries, terms = np.empty(BLOCK, np.int32), np.empty(BLOCK, np.uint32), np.empty((BLOCK, 4))
    # From there on no lanes lie in two lines of the cache, which would take longer.
    head = min(n, (CACHE_LINE - p.ctypes.data % CACHE_LINE) % CACHE_LINE // 8)
    whole = n - (n - head) % BLOCK
    if not one_by_one(y, p, 0, head, upper, table, sums):
        return False
    for start in range(head, whole, BLOCK):
        legal = True
        for k in range(0, BLOCK, LANES):
            j = u64(start) + u64(k)
            legal &= look_at_scores(p, j, beyond, places, terms, u64(k)) & are_outcomes(y, j)
        if not legal:
            return False
        for k in range(BLOCK):
            entries[k] = steps[u64(places[k]) >> u64(STEP_BITS)]
        for k in range(0, BLOCK, LANES):
            if find_rows(y, p, u64(start) + u64(k), places, entries, u64(k), last):
                for unsure in range(k, k + LANES):  # all: most often one is, or, if scores were rounded, all are
                    j = u64(start) + u64(unsure)
                    cell = cell_of_score(p[j], min(p[j], 1 - p[j]), upper, table)
                    entries[unsure] = u64(2) * cell + u64(y[j])
        for k in range(BLOCK):
            add_terms(sums, u64(entries[k]), terms, u64(k))
    return one_by_one(y, p, whole, n, upper, table, sums)


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
