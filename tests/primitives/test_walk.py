"""The walk of cumulative differences against a loop."""

from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives import dispatch
from calibrant.primitives import walk as module
from calibrant.primitives.pool import pool_rows
from calibrant.primitives.walk import tie_ends, walk


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
    assert tie_ends(np.array([0.1, 0.1, 0.2, 0.3, 0.3])).tolist() == [False, True, True, False, True]
    assert tie_ends(np.array([0.1])).tolist() == [True]
    assert tie_ends(np.zeros(0)).tolist() == []


def test_by_hand():
    # 0, then -0.25 (score 0.25), then 0.75 after both rows of 0.5, then -0.25: inside the tie it is never looked at.
    y, p = np.array([0, 1, 1, 0], np.uint8), np.array([0.25, 0.5, 0.5, 1.0])
    found = walk(pool_rows(y, p, np.array([1.0, 1.0, 1.0, 2.0])))
    assert (found.high, found.low) == (0.75, -1.25)
    assert found.variance == 0.1875 + 0.25 + 0.25


def test_starts_at_zero():
    # All differences are negative, so the highest point is the start.
    assert walk(pool_rows(np.zeros(2, np.uint8), np.array([0.5, 0.75]), np.array([1.0, 2.0])))[:2] == (0.0, -2.0)


def test_a_tie_across_two_chunks():
    # Both rows have score 0.5: +0.5 with weight 1, then -1.5 with weight 3. Only the end of the tie is looked at.
    pool = pool_rows(np.array([1, 0], np.uint8), np.array([0.5, 0.5]), np.array([1.0, 3.0]))
    with mock.patch.object(module, "chunks", lambda n: dispatch.chunks(n, 1)):
        assert walk(pool)[:2] == (0.0, -1.0)


rows = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0])),
        st.sampled_from([0.5, 1.0, 3.0]),
    ),
    min_size=1,
    max_size=30,
)


@given(rows, st.integers(1, 8))
def test_loop(drawn, size):
    y, p, w = (list(column) for column in zip(*drawn, strict=True))
    pool = pool_rows(np.array(y, np.uint8), np.array(p), np.array(w))
    with mock.patch.object(module, "chunks", lambda n: dispatch.chunks(n, size)):  # a tie may lie across two chunks
        found = walk(pool)
    np.testing.assert_allclose(found, slow_walk(y, p, w), rtol=1e-12, atol=1e-12)
