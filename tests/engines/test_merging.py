"""Merging of many summaries."""

from functools import reduce
from operator import add

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calibrant import summarize
from calibrant.core.kept_rows import KeptRows
from calibrant.engines.merging import Merging


def parts(many, verb="kuiper_test"):
    rng = np.random.default_rng(many)
    p = rng.random((many, 5))
    return [summarize(verb, rng.random(5) < row, row) for row in p]


@given(st.integers(1, 40))
def test_the_total_is_the_sum(many):
    merging = Merging()
    given_parts = parts(many)
    for part in given_parts:
        merging.add(part)
    assert merging.parts == many
    assert [size for size, _ in merging.stack] == [2**k for k in reversed(range(6)) if many >> k & 1]  # binary digits
    assert merging.total() == reduce(add, given_parts)


def test_the_order_of_the_rows_is_kept():
    merging = Merging()
    rows = [summarize("skce", [k % 2, 0, 1], np.full((3, 3), [0.2, 0.3, 0.5])) for k in range(7)]
    assert isinstance(rows[0], KeptRows)
    for part in rows:
        merging.add(part)
    np.testing.assert_array_equal(merging.total().rows.y, np.concatenate([part.rows.y for part in rows]))


def test_each_part_is_touched_log_times():
    touched = []

    class Counting:
        def __init__(self, many):
            self.many = many

        def __add__(self, other):
            touched.append(self.many + other.many)
            return Counting(self.many + other.many)

    merging = Merging()
    for _ in range(1024):
        merging.add(Counting(1))
    assert merging.total().many == 1024
    assert sum(touched) == 1024 * 10


def test_nothing_and_going_on():
    merging = Merging()
    assert merging.total() is None
    first, second = parts(2, "ece")
    merging.add(first)
    assert merging.total() == first
    merging.add(second)
    assert merging.total().n == 10
