"""Merging of sorted entries, window by window."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.core.pool import Pool, pool_entries
from calibrant.engines import merging as merge_runs
from calibrant.engines.merging import merge_pools, merge_windows
from calibrant.inputs.arrays import unit_weights


class Held:
    """A run in memory that knows how much of it was read."""

    def __init__(self, pool):
        self.pool, self.size, self.seen = pool, pool.score.size, 0

    def read(self, start, stop):
        self.seen += stop - start
        return Pool(*(column[start:stop] for column in self.pool))


def run_of(rows, weighted):
    score, weight, many, events = np.array(rows, float).reshape(-1, 4).T
    weight = weight if weighted else unit_weights(score.size)
    return Held(pool_entries(Pool(score, weight, many.astype(int), np.minimum(events, many).astype(int))))


ENTRY = st.tuples(
    st.sampled_from([0.0, 0.5, 0.75, 1.0, 2.0]), st.sampled_from([0.5, 1, 2]), st.integers(1, 3), st.integers(0, 3)
)


def joined(pools):
    return Pool(*(np.concatenate(column) for column in zip(*pools, strict=True)))


@given(st.lists(st.lists(ENTRY, max_size=15), min_size=1, max_size=6), st.booleans(), st.integers(1, 12))
@settings(deadline=None)
def test_windows_together_are_the_merge_of_all(runs, weighted, entries):
    held = [run_of(rows, weighted) for rows in runs]
    everything = joined([run.pool for run in held])
    expected = pool_entries(everything if weighted else everything._replace(weight=unit_weights(everything.score.size)))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(merge_runs, "MIN_WINDOW_ENTRIES", 2)
        found = list(merge_windows(held, entries))
    assert sum(taken for _, taken in found) == sum(run.size for run in held)
    for column, other in zip(joined([pool for pool, _ in found] or [expected]), expected, strict=True):
        np.testing.assert_array_equal(column, other)


def test_what_is_read_is_at_most_twice_what_there_is():
    runs = [run_of([(k + j / 1000, 1, 1, 0) for j in range(1000)], False) for k in range(20)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(merge_runs, "MIN_WINDOW_ENTRIES", 10)
        assert sum(taken for _, taken in merge_windows(runs, 200)) == 20_000
    assert all(run.seen <= 2 * run.size for run in runs)


def test_one_pool_is_itself():
    pool, empty = run_of([(0.5, 1, 1, 1)], False).pool, run_of([], False).pool
    assert merge_pools([empty, pool, empty]) is pool
    assert merge_pools([empty, empty]) is empty


def test_no_runs():
    assert list(merge_windows([], 10)) == []
