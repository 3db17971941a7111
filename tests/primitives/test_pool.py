"""Rows sorted by score, equal ones pooled."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.inputs.weights import is_unit, unit_weights
from calibrant.primitives.pool import Pool, _packed, pool_entries, pool_rows

scores = st.one_of(st.floats(0, 1), st.sampled_from([0.0, -0.0, 0.25, 0.5, 1.0]))
outcomes = st.integers(0, 1)


def slow_pool(y, p, w):
    """Return the entries (score, weight, rows, events) in order, counted one by one."""
    rows, events = Counter(), Counter()
    for y_i, p_i, w_i in zip(y, p, w, strict=True):
        rows[p_i + 0.0, w_i] += 1
        events[p_i + 0.0, w_i] += y_i
    return [(score, weight, rows[score, weight], events[score, weight]) for score, weight in sorted(rows)]


def entries(pool):
    return list(zip(*(column.tolist() for column in pool), strict=True))


def test_by_hand():
    # 0.5 twice (one event), 0.25 once, 0 and -0 are one score.
    pool = pool_rows(np.array([1, 0, 0, 1, 1], np.uint8), np.array([0.5, 0.25, 0.5, 0.0, -0.0]), unit_weights(5))
    assert entries(pool) == [(0.0, 1.0, 2, 2), (0.25, 1.0, 1, 0), (0.5, 1.0, 2, 1)]
    assert not np.signbit(pool.score).any()


@given(st.lists(st.tuples(outcomes, scores), min_size=1, max_size=40))
def test_unit_weights(drawn):
    y, p = (list(column) for column in zip(*drawn, strict=True))
    pool = pool_rows(np.array(y, np.uint8), np.array(p), unit_weights(len(y)))
    assert entries(pool) == slow_pool(y, p, [1.0] * len(y))
    assert is_unit(pool.weight)


@given(st.lists(st.tuples(outcomes, scores, st.sampled_from([0.5, 1.0, 3.0])), min_size=1, max_size=40))
def test_weights_are_kept_apart(drawn):
    y, p, w = (list(column) for column in zip(*drawn, strict=True))
    assert entries(pool_rows(np.array(y, np.uint8), np.array(p), np.array(w))) == slow_pool(y, p, w)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@given(data=st.data())
def test_packed_body_equals_reference(dtype, data):
    width = int(dtype[5:])
    drawn = data.draw(st.lists(st.tuples(outcomes, st.floats(0, 1, width=width)), min_size=1, max_size=40))
    y, p = (np.array(column) for column in zip(*drawn, strict=True))
    y, p = y.astype(np.uint8), p.astype(dtype)
    n = len(y)
    reference = pool_entries(Pool(p.astype(float) + 0.0, unit_weights(n), np.ones(n, np.int64), y.astype(np.int64)))
    packed = _packed(y, p)
    assert entries(packed) == entries(reference)
    assert [column.dtype for column in packed] == [column.dtype for column in reference]


def test_packed_body_on_many_rows():
    rng = np.random.default_rng(0)
    p = np.round(rng.random(20_000), 3)
    y = rng.integers(0, 2, p.size).astype(np.uint8)
    score, count = np.unique(p, return_counts=True)
    pool = _packed(y, p)
    assert pool.score.tolist() == score.tolist()
    assert pool.rows.tolist() == count.tolist()
    assert pool.events.tolist() == np.bincount(np.searchsorted(score, p), y).tolist()


def test_no_rows():
    for weights in (unit_weights(0), np.zeros(0)):
        assert [column.size for column in pool_rows(np.zeros(0, np.uint8), np.zeros(0), weights)] == [0, 0, 0, 0]


def test_the_callers_arrays_stay_as_they_are():
    y, p, w = np.array([1, 0, 1], np.uint8), np.array([0.5, 0.25, -0.0]), np.array([3.0, 2.0, 1.0])
    before = y.copy(), p.copy(), w.copy()
    for weights in (w, unit_weights(3)):
        pool_rows(y, p, weights)
    for array, copy in zip((y, p, w), before, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert np.signbit(p[2])


def test_entries_pool_like_rows():
    whole = pool_rows(np.array([1, 0, 1, 1], np.uint8), np.array([0.5, 0.25, 0.5, 0.75]), unit_weights(4))
    first = pool_rows(np.array([1, 0], np.uint8), np.array([0.5, 0.25]), unit_weights(2))
    second = pool_rows(np.array([1, 1], np.uint8), np.array([0.5, 0.75]), unit_weights(2))
    joined = Pool(*(np.concatenate(pair) for pair in zip(first, second, strict=True)))
    assert entries(pool_entries(joined)) == entries(whole)
