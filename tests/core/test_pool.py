"""Rows sorted by score, equal ones pooled."""

from collections import Counter
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.core import dispatch
from calibrant.core import pool as module
from calibrant.inputs.arrays import is_unit, unit_weights

scores = st.one_of(st.floats(0, 1), st.sampled_from([0.0, -0.0, 0.25, 0.5, 1.0]))
outcomes = st.integers(0, 1)
rows = st.lists(st.tuples(outcomes, scores, st.sampled_from([0.5, 1.0, 3.0])), min_size=1, max_size=30)


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
    pool = module.pool_rows(np.array([1, 0, 0, 1, 1], np.uint8), np.array([0.5, 0.25, 0.5, 0.0, -0.0]), unit_weights(5))
    assert entries(pool) == [(0.0, 1.0, 2, 2), (0.25, 1.0, 1, 0), (0.5, 1.0, 2, 1)]
    assert not np.signbit(pool.score).any()


@given(rows, st.booleans())
def test_equal_scores_and_weights_are_pooled(drawn, unit):
    y, p, w = (list(column) for column in zip(*drawn, strict=True))
    w = [1.0] * len(y) if unit else w
    pool = module.pool_rows(np.array(y, np.uint8), np.array(p), unit_weights(len(y)) if unit else np.array(w))
    assert entries(pool) == slow_pool(y, p, w)
    assert is_unit(pool.weight) == unit


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@given(data=st.data())
def test_packed_body_equals_reference(dtype, data):
    width = int(dtype[5:])
    drawn = data.draw(st.lists(st.tuples(outcomes, st.floats(0, 1, width=width)), min_size=1, max_size=40))
    y, p = (np.array(column) for column in zip(*drawn, strict=True))
    y, p = y.astype(np.uint8), p.astype(dtype)
    n = len(y)
    pool = module.Pool(p.astype(float) + 0.0, unit_weights(n), np.ones(n, np.int64), y.astype(np.int64))
    reference = module.pool_entries(pool)
    packed = module._packed(y, p)
    assert entries(packed) == entries(reference)
    assert [column.dtype for column in packed] == [column.dtype for column in reference]


def test_no_rows():
    for weights in (unit_weights(0), np.zeros(0)):
        assert [column.size for column in module.pool_rows(np.zeros(0, np.uint8), np.zeros(0), weights)] == [0, 0, 0, 0]


def slow_walk(y, p, w):
    """Return high, low and variance by a loop over the sorted rows, looking at ends of ties only."""
    high = low = total = variance = 0.0
    rows = sorted(zip(p, w, y, strict=True))
    for i, (p_i, w_i, y_i) in enumerate(rows):
        total += w_i * (y_i - p_i)
        variance += w_i**2 * p_i * (1 - p_i)
        if i == len(rows) - 1 or rows[i + 1][0] != p_i:
            high, low = max(high, total), min(low, total)
    return high, low, variance


def test_tie_ends():
    assert module.tie_ends(np.array([0.1, 0.1, 0.2, 0.3, 0.3])).tolist() == [False, True, True, False, True]
    assert module.tie_ends(np.array([0.1])).tolist() == [True]
    assert module.tie_ends(np.zeros(0)).tolist() == []


@pytest.mark.parametrize(
    ("y", "p", "w", "expected"),
    [
        # 0, then -0.25 (score 0.25), 0.75 after both rows of 0.5, then -1.25: inside the tie it is never looked at.
        ([0, 1, 1, 0], [0.25, 0.5, 0.5, 1.0], [1.0, 1.0, 1.0, 2.0], (0.75, -1.25, 0.1875 + 0.25 + 0.25)),
        ([0, 0], [0.5, 0.75], [1.0, 2.0], (0.0, -2.0, 0.25 + 0.75)),  # all are negative: the start is the highest point
        ([1, 0], [0.5, 0.5], [1.0, 3.0], (0.0, -1.0, 0.25 + 9 * 0.25)),  # a tie: +0.5, then -1.5
    ],
)
@pytest.mark.parametrize("size", [1, 100])
def test_walks_by_hand(y, p, w, expected, size):
    with mock.patch.object(module, "chunks", lambda n: dispatch.chunks(n, size)):  # a tie may lie across two chunks
        assert module.walk(module.pool_rows(np.array(y, np.uint8), np.array(p), np.array(w))) == expected


@given(rows, st.integers(1, 8))
def test_loop(drawn, size):
    y, p, w = (list(column) for column in zip(*drawn, strict=True))
    pool = module.pool_rows(np.array(y, np.uint8), np.array(p), np.array(w))
    with mock.patch.object(module, "chunks", lambda n: dispatch.chunks(n, size)):  # a tie may lie across two chunks
        found = module.walk(pool)
    np.testing.assert_allclose(found, slow_walk(y, p, w), rtol=1e-12, atol=1e-12)


def walked(widths, tolerance):
    """The definition: walk up, and begin anew where a width is too far from the first member."""
    starts = [0]
    for i, width in enumerate(widths):
        first = widths[starts[-1]]
        if not (width == first or width <= first + tolerance < np.inf):
            starts.append(i)
    return starts


@pytest.mark.parametrize(
    ("widths", "tolerance", "starts"),
    [
        ([1.0, 1.1, 1.2, 1.3, 9.0], 0.15, [0, 2, 4]),
        ([2.0], 0.0, [0]),
        ([0.0, 0.0, 1.0], 0.0, [0, 2]),
        ([np.inf, np.inf], 1.0, [0]),
        ([1.7e308, 1.75e308, np.inf], 1e307, [0, 2]),
        (np.arange(100_000) / 1024, 1 / 1024, list(range(0, 100_000, 2))),
        (np.arange(100_000) / 1024, 200.0, [0]),
    ],
    ids=str,
)
def test_tied_widths_by_hand(widths, tolerance, starts):
    assert module.tie_starts(np.array(widths), tolerance).tolist() == starts


@given(st.lists(st.integers(0, 60), min_size=1, max_size=40), st.integers(0, 12), st.integers(0, 3))
def test_is_the_walk(steps, tolerance, infinite):
    widths = np.concatenate([np.cumsum(steps) / 8, np.full(infinite, np.inf)])
    assert module.tie_starts(widths, tolerance / 8).tolist() == walked(widths, tolerance / 8)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rounding_of_a_constant_width_is_a_tie(dtype, rng):
    centre = rng.normal(0, 100, 5000).astype(dtype)
    radius = np.dtype(dtype).type(0.7)
    lower, upper = ((centre + sign * radius).astype("float64")[:, None] for sign in (-1, 1))
    widths = np.sort((upper - lower)[:, 0])
    assert np.unique(widths).size > 1
    tolerance = module.tolerance_of(module.largest_bound(lower, upper)[0], np.finfo(dtype).eps)
    assert module.tie_starts(widths, tolerance).tolist() == [0]


def test_largest_finite_bound():
    lower = np.array([[-np.inf, -7.0, -np.inf], [1.0, 2.0, -np.inf]])
    upper = np.array([[3.0, 5.0, np.inf], [np.inf, 6.0, np.inf]])
    assert module.largest_bound(lower, upper).tolist() == [3.0, 7.0, 0.0]
