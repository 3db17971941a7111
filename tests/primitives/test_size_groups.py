"""Groups of rows by size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives.size_groups import size_groups


def of(size, rows, *, K=0, bins=None, empty="merge"):
    """Return limits and rows of each group."""
    size, rows = np.array(size, dtype=float), np.array(rows)
    found = size_groups(size, rows, K=K, bins=bins, empty=empty)
    return [*zip(found.low.tolist(), found.high.tolist(), found.sums(rows).tolist(), strict=True)]


def test_equal_counts_end_at_ranks_rounded_up():
    assert [n for *_, n in of(range(1, 7), [1] * 6, bins=4)] == [2, 1, 2, 1]
    assert [n for *_, n in of(range(16), [1] * 16, bins=5)] == [4, 3, 3, 3, 3]
    assert [n for *_, n in of(range(16), [1] * 16)] == [6, 5, 5]


def test_tied_sizes_stay_together():
    assert of([2, 4, 6, 8], [4] * 4, bins=3) == [(2.0, 4.0, 8), (6.0, 6.0, 4), (8.0, 8.0, 4)]
    assert of([1, 2], [2, 2], bins=10) == [(1.0, 1.0, 2), (2.0, 2.0, 2)]
    assert of([5], [7], bins=3) == [(5.0, 5.0, 7)]


def test_a_width_of_zero_may_be_a_group():
    assert of([0, 1], [5, 5], bins=2) == [(0.0, 0.0, 5), (1.0, 1.0, 5)]
    assert of([1, np.inf], [5, 5], bins=2) == [(1.0, 1.0, 5), (np.inf, np.inf, 5)]


def test_weights_move_the_edges():
    assert of([1, 2, 3, 4], [3.0, 1.0, 1.0, 1.0], bins=2) == [(1.0, 1.0, 3.0), (2.0, 4.0, 3.0)]
    assert of([1, 2, 3, 4, 5, 6], [0.1] * 6, bins=3)[0][:2] == (1.0, 2.0)  # as without weights


def test_sets_have_one_group_per_size():
    assert of([0, 1, 3], [1, 2, 4], K=4) == [(0.0, 1.0, 3), (2.0, 2.0, 0), (3.0, 3.0, 4), (4.0, 4.0, 0)]
    assert of([0, 1, 3], [1, 2, 4], K=3, empty="own") == [(0.0, 0.0, 1), (1.0, 1.0, 2), (2.0, 2.0, 0), (3.0, 3.0, 4)]


def test_sets_in_groups_of_equal_count():
    assert of([0, 1, 2, 3], [1, 2, 3, 6], K=3, bins=4) == [(0.0, 1.0, 3), (2.0, 2.0, 3), (3.0, 3.0, 6)]
    assert of([0, 1, 2, 3], [1, 2, 3, 6], K=3, bins=12, empty="own")[0] == (0.0, 0.0, 1)


def test_ranges_are_taken_as_given():
    assert of([0, 1, 3], [1, 2, 4], K=5, bins=[(0, 2), (4, 5)]) == [(0.0, 2.0, 3), (4.0, 5.0, 0)]
    assert of([0.5, 1, 3], [1, 2, 4], bins=[(0, 1), (1, np.inf)]) == [(0.0, 1.0, 3), (1.0, np.inf, 4)]
    assert of([5.0], [2], bins=[(1, 2), (7, 8)]) == [(1.0, 2.0, 0), (7.0, 8.0, 0)]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(1, 8))
def test_equal_counts_by_their_definition(drawn, m):
    size = np.sort(np.array(drawn, dtype=float))
    edges = np.unique([size[-(-k * size.size // m) - 1] for k in range(1, m + 1)])
    expected = np.bincount(np.searchsorted(edges, size)).tolist()
    assert [n for *_, n in of(*np.unique(size, return_counts=True), bins=m)] == expected


@pytest.mark.parametrize(
    ("bins", "words"),
    [
        (0, "bins must be at least 1"),
        (2.5, "bins must be a whole number"),
        ("three", "bins must be a whole number"),
        (10**9, "bins must be at most 10,000,000"),
        ([], "at least one range"),
        ([1, 2], "a list of ranges (low, high) with 0 <= low <= high, such as [(0, 1), (2, 3)]; got 1"),
        ([(2, 1)], "got (2, 1)"),
        ([(0, 1), (3, np.nan)], "got (3, nan)"),
        ([(0, 2), (1, 3)], "(0, 2) comes before (1, 3)"),
    ],
)
def test_refusals(refusal, bins, words):
    assert words in refusal(of, [1, 2], [1, 1], bins=bins)


def test_more_refusals(refusal):
    assert "share no size" in refusal(of, [1, 2], [1, 1], K=3, bins=[(0, 1), (1, 2)])
    assert "empty must be one of 'merge', 'own'" in refusal(of, [1, 2], [1, 1], K=3, empty="drop")
