"""Coverage: bounds closed, levels apart, sets and quantiles, and laws for drawn data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Intervals, Quantiles, Sets, SummaryError, summarize
from calibrant.catalogue import find
from calibrant.metrics.coverage import coverage

NUMBERS = st.integers(-8, 8).map(lambda k: k / 4)  # ties between outcomes and bounds
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, st.integers(1, 4)), min_size=1, max_size=12)


def drawn(rows):
    y, a, b, w = np.array(rows).T
    return y, np.minimum(a, b), np.maximum(a, b), w


class TestByHand:
    def test_both_bounds_are_inside(self):
        assert coverage([1.0, 2.0, 2.5], Intervals([1.0, 1.0, 1.0], [2.0, 2.0, 2.0], 0.9)) == pytest.approx(2 / 3)

    def test_several_levels_keep_their_order(self):
        found = coverage([0.0, 3.0], Intervals([[-2, -1], [-2, -1]], [[4, 1], [2, 1]], [0.95, 0.5]))
        assert found.tolist() == [0.5, 0.5]
        assert isinstance(found, np.ndarray)

    def test_a_list_of_one_level_gives_an_array(self):
        assert coverage([0.0], Intervals([[0.0]], [[1.0]], [0.5])).tolist() == [1.0]

    def test_sets(self):
        sets = Sets([[True, False], [True, False], [True, True]], 0.9)
        assert coverage([0, 1, 1], sets) == pytest.approx(2 / 3)
        assert coverage(["a", "b", "b"], sets, classes=["a", "b"]) == pytest.approx(2 / 3)

    def test_sets_of_several_levels(self):
        mask = np.array([[[True, True], [False, True]], [[False, True], [False, False]]])
        assert coverage([0, 0], Sets(mask, [0.5, 0.9])).tolist() == [0.5, 1.0]
        assert coverage([0, 0], Sets(mask)).tolist() == [0.5, 1.0]

    def test_quantiles_count_outcomes_at_or_below(self):
        found = coverage([1, 2, 2, 3], Quantiles(np.full((4, 2), 2.0), [0.5, 0.75]))
        assert found.tolist() == [0.75, 0.75]
        assert coverage([1, 2, 2, 3], Quantiles([2, 2, 2, 2], 0.5)) == 0.75

    def test_an_infinite_quantile_covers_all_or_nothing(self):
        assert coverage([0.0], Quantiles([[-np.inf, np.inf]], [0.1, 0.9])).tolist() == [0.0, 1.0]

    def test_one_row(self):
        assert coverage([1.0], Intervals([0.0], [2.0], 0.9)) == 1.0

    def test_rows_are_numbers(self):
        entry = find(coverage)
        rows = entry.row_scores(entry.read([1.0, 5.0], Intervals([0.0, 0.0], [2.0, 2.0], 0.9)))
        assert rows.dtype == np.float64
        assert rows.tolist() == [[1.0], [0.0]]


class TestFloats:
    def test_float32_bounds_are_compared_as_they_are(self):
        bound = np.float32(0.1)  # 0.100000001490116...
        assert coverage([0.1], Intervals(np.array([bound]), np.array([1.0]), 0.9)) == 0.0
        assert coverage([float(bound)], Intervals(np.array([bound]), np.array([1.0]), 0.9)) == 1.0


@given(ROWS)
def test_weights_are_repeated_rows(rows):
    y, lower, upper, w = drawn(rows)
    times = w.astype(int)
    weighted = coverage(y, Intervals(lower, upper, 0.9), weights=w)
    again = Intervals(np.repeat(lower, times), np.repeat(upper, times), 0.9)
    assert weighted == pytest.approx(coverage(np.repeat(y, times), again), rel=1e-12)


@given(ROWS, st.integers(0, 12))
def test_chunks_add_up(rows, cut):
    y, lower, upper, w = drawn(rows)
    parts = [part for part in (slice(0, cut), slice(cut, None)) if y[part].size]
    total = sum(summarize(coverage, y[p], Intervals(lower[p], upper[p], 0.9), weights=w[p]) for p in parts)
    assert coverage(total) == pytest.approx(coverage(y, Intervals(lower, upper, 0.9), weights=w), rel=1e-12)


@given(ROWS)
def test_mirrored(rows):
    y, lower, upper, _ = drawn(rows)
    assert coverage(y, Intervals(lower, upper, 0.9)) == coverage(-y, Intervals(-upper, -lower, 0.9))


class TestSummaries:
    def test_levels_do_not_mix(self, refusal):
        one = summarize(coverage, [0.0], Intervals([0.0], [1.0], 0.9))
        other = summarize(coverage, [0.0], Intervals([0.0], [1.0], 0.8))
        assert "0.9" in refusal(lambda: one + other, error=SummaryError)

    def test_sets_of_other_labels_do_not_mix(self, refusal):
        one = summarize(coverage, [0], Sets([[True, False]], 0.9))
        other = summarize(coverage, [0], Sets([[True, False, False]], 0.9))
        assert "K=2" in refusal(lambda: one + other, error=SummaryError)

    def test_several_levels_stay_an_array(self):
        intervals = Intervals([[0.0, 0.0]], [[1.0, 2.0]], [0.5, 0.9])
        summary = summarize(coverage, [1.5], intervals)
        assert coverage(type(summary).from_bytes(summary.to_bytes())).tolist() == [0.0, 1.0]


class TestRefused:
    def test_a_plain_array(self, refusal):
        message = refusal(coverage, [0.0], [[0.0, 1.0]])
        assert message.startswith("coverage judges Intervals, Sets or Quantiles; got")

    def test_labels_that_are_none(self, refusal):
        sets = Sets([[True, False], [True, False]])
        assert "row 1" in refusal(coverage, [0, 2], sets)
        assert "row 0" in refusal(coverage, [-1, 0], sets)
        assert "'c'" in refusal(coverage, ["a", "c"], sets, classes=["a", "b"])

    def test_options_of_labels(self, refusal):
        intervals = Intervals([0.0], [1.0], 0.9)
        assert "classes=" in refusal(coverage, [0.0], intervals, classes=[0, 1])
        assert "pos_label=" in refusal(coverage, [0.0], intervals, pos_label=1)
