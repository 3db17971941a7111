"""Weighted interval score: its identity with the quantile score, shift invariance, medians, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Intervals, Quantiles, SummaryError, summarize
from calibrant.catalogue import find
from calibrant.metrics.quantile_score import quantile_score
from calibrant.metrics.weighted_interval_score import PARTS, weighted_interval_score

inf = np.inf
ROWS = st.lists(
    st.tuples(st.floats(-50, 50), st.lists(st.floats(-50, 50), min_size=5, max_size=5), st.integers(1, 4)),
    min_size=1,
    max_size=8,
)
GRIDS = st.sampled_from([[0.5], [0.1, 0.9], [0.1, 0.5, 0.9], [0.025, 0.3, 0.7, 0.975], [0.05, 0.25, 0.5, 0.75, 0.95]])


def drawn(rows, levels):
    y, values, w = zip(*rows, strict=True)
    return np.array(y), np.sort(np.array(values)[:, : len(levels)], axis=1), np.array(w)


class TestByHand:
    # y = 5, [0, 4] at level 0.5, median 2: dispersion 0.25 * 4, above 1 and 3/2, all over 1.5.
    QUANTILES = Quantiles([[0.0, 2.0, 4.0]], [0.25, 0.5, 0.75])
    INTERVALS = Intervals([[0.0]], [[4.0]], [0.5])

    def test_parts(self):
        found = [weighted_interval_score([5.0], self.QUANTILES, part=part) for part in PARTS]
        assert found == pytest.approx([3.5 / 1.5, 1 / 1.5, 0.0, 2.5 / 1.5])

    def test_intervals_with_a_median(self):
        for part in PARTS:
            found = weighted_interval_score([5.0], self.INTERVALS, median=[2.0], part=part)
            assert found == pytest.approx(weighted_interval_score([5.0], self.QUANTILES, part=part))

    def test_without_a_median_the_divisor_is_the_number_of_intervals(self):
        assert weighted_interval_score([5.0], self.INTERVALS) == pytest.approx(0.25 * 4 + 1)

    def test_the_median_alone_scores_its_error(self):
        assert weighted_interval_score([5.0], Quantiles([[2.0]], [0.5])) == 3.0
        assert weighted_interval_score([5.0], Quantiles([2.0], 0.5), part="above") == 3.0

    def test_intervals_need_not_be_nested(self):
        found = weighted_interval_score([0.0], Intervals([[0.0, 1.0]], [[2.0, 2.0]], [0.5, 0.8]))
        assert found == pytest.approx((0.25 * 2 + 0.1 * 1 + 1) / 2)

    def test_rows(self):
        entry = find(weighted_interval_score)
        rows = entry.read([5.0, 1.0], Intervals([[0.0], [0.0]], [[4.0], [4.0]], [0.5]))
        assert entry.row_scores(rows, median=[2.0, 2.0], part="total") == pytest.approx([3.5 / 1.5, 1.5 / 1.5])


class TestInfinite:
    def test_a_width(self):
        quantiles = Quantiles([[-inf, 0.0, 1.0]], [0.1, 0.5, 0.9])
        found = {part: weighted_interval_score([2.0], quantiles, part=part) for part in PARTS}
        assert found["total"] == found["dispersion"] == inf
        assert np.isfinite([found["below"], found["above"]]).all()

    @pytest.mark.parametrize(("q", "side"), [(-inf, "above"), (inf, "below")])
    def test_all_quantiles_at_one_infinity(self, q, side):
        quantiles = Quantiles([[q, q, q]], [0.1, 0.5, 0.9])
        found = {part: weighted_interval_score([2.0], quantiles, part=part) for part in PARTS}
        expected = {"total": inf, "dispersion": 0.0, "below": 0.0, "above": 0.0}
        assert found == {**expected, side: inf}


@given(ROWS, GRIDS)
def test_twice_the_mean_quantile_score(rows, levels):
    y, values, w = drawn(rows, levels)
    quantiles = Quantiles(values, levels)
    found = weighted_interval_score(y, quantiles, weights=w)
    assert found == pytest.approx(2 * quantile_score(y, quantiles, weights=w).mean(), rel=1e-12, abs=1e-12)


@given(ROWS, GRIDS)
def test_a_shift_changes_nothing(rows, levels):
    y, values, _ = drawn(rows, levels)
    for part in PARTS:
        found = weighted_interval_score(y, Quantiles(values, levels), part=part)
        moved = weighted_interval_score(y + 100, Quantiles(values + 100, levels), part=part)
        assert moved == pytest.approx(found, rel=1e-10, abs=1e-10)


@given(ROWS, GRIDS)
def test_parts_add_up_and_mirror(rows, levels):
    y, values, w = drawn(rows, levels)
    total, *parts = (weighted_interval_score(y, Quantiles(values, levels), weights=w, part=part) for part in PARTS)
    assert sum(parts) == pytest.approx(total, rel=1e-12, abs=1e-12)
    mirror = Quantiles(-values[:, ::-1], levels)
    below = weighted_interval_score(-y, mirror, weights=w, part="below")
    assert below == pytest.approx(parts[2], rel=1e-12, abs=1e-12)


@given(ROWS, GRIDS, st.integers(0, 8))
def test_chunks_and_weights(rows, levels, cut):
    y, values, w = drawn(rows, levels)
    whole = weighted_interval_score(y, Quantiles(values, levels), weights=w)
    pieces = [
        summarize(weighted_interval_score, y[p], Quantiles(values[p], levels), weights=w[p])
        for p in (slice(0, cut), slice(cut, None))
        if y[p].size
    ]
    assert weighted_interval_score(sum(pieces)) == pytest.approx(whole, rel=1e-12, abs=1e-12)
    again = Quantiles(np.repeat(values, w, axis=0), levels)
    assert weighted_interval_score(np.repeat(y, w), again) == pytest.approx(whole, rel=1e-12, abs=1e-12)


class TestMedian:
    LOWER, UPPER = np.zeros((3, 1)), np.full((3, 1), 4.0)

    def test_rows_of_weight_zero_take_their_median_along(self):
        y, w, median = np.array([5.0, 1.0, 2.0]), np.array([1, 0, 3]), np.array([2.0, 99.0, 0.0])
        found = weighted_interval_score(y, Intervals(self.LOWER, self.UPPER, [0.5]), median=median, weights=w)
        kept = w > 0
        expected = weighted_interval_score(
            y[kept], Intervals(self.LOWER[kept], self.UPPER[kept], [0.5]), median=median[kept], weights=w[kept]
        )
        assert found == pytest.approx(expected, rel=1e-14)

    def test_summaries_with_and_without_do_not_mix(self, refusal):
        intervals = Intervals([0.0], [4.0], 0.5)
        one = summarize(weighted_interval_score, [5.0], intervals)
        other = summarize(weighted_interval_score, [5.0], intervals, median=[2.0])
        assert "and median" in refusal(lambda: one + other, error=SummaryError)
        assert weighted_interval_score(other) == pytest.approx(3.5 / 1.5)
        assert weighted_interval_score(other, median=[2.0]) == pytest.approx(3.5 / 1.5)
        assert "without one" in refusal(weighted_interval_score, one, median=[2.0], error=SummaryError)

    @pytest.mark.parametrize("median", [[1.0], [[1.0], [1.0], [1.0]], [1.0, 2.0, 3.0, 4.0]])
    def test_shapes(self, median, refusal):
        intervals = Intervals(self.LOWER, self.UPPER, [0.5])
        message = refusal(weighted_interval_score, [1.0, 2.0, 3.0], intervals, median=median)
        assert message.startswith("median must be 1-D, one number for each of the 3 rows; got shape")

    def test_missing(self, refusal):
        intervals = Intervals(self.LOWER, self.UPPER, [0.5])
        message = refusal(weighted_interval_score, [1.0, 2.0, 3.0], intervals, median=[0.0, np.nan, 1.0])
        assert message.startswith("median must not be missing; row 1 is nan")

    def test_beside_quantiles(self, refusal):
        message = refusal(weighted_interval_score, [1.0], Quantiles([[0.0, 1.0]], [0.1, 0.9]), median=[0.5])
        assert message.startswith("median= is for Intervals")


class TestRefused:
    def test_unpaired_levels_are_listed(self, refusal):
        quantiles = Quantiles([[0.0, 1.0, 2.0, 3.0]], [0.1, 0.2, 0.5, 0.9])
        message = refusal(weighted_interval_score, [1.0], quantiles)
        assert "without one: 0.2. " in message

    def test_mirrors_are_found_within_rounding(self):
        quantiles = Quantiles([[0.0, 1.0]], [1 - 0.9, 0.9])
        assert np.isfinite(weighted_interval_score([0.5], quantiles))

    def test_parts(self, refusal):
        message = refusal(weighted_interval_score, [1.0], Quantiles([[0.0, 1.0]], [0.1, 0.9]), part="width")
        assert message.startswith("part must be one of 'total', 'dispersion'")
