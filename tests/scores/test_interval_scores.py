"""Interval score: parts that add up, infinite bounds, and its identity with the quantile score."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Intervals, Normal, Quantiles, summarize
from calibrant.core.catalogue import find
from calibrant.errors import SummaryError
from calibrant.scores.interval_scores import Part, WisPart, interval_score, quantile_score, weighted_interval_score

inf = np.inf
PARTS, WIS_PARTS = get_args(Part), get_args(WisPart)
NUMBERS = st.floats(-50, 50)
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, st.integers(1, 4)), min_size=1, max_size=12)
LEVELS = st.sampled_from([0.1, 0.5, 0.8, 0.9, 0.99])


def drawn(rows):
    y, a, b, w = np.array(rows).T
    return y, np.minimum(a, b), np.maximum(a, b), w


class TestByHand:
    def test_parts(self):
        # Widths 2, 3, 1; below by 1 and above by 2 at 2/0.25 = 8 each.
        y, intervals = [1.0, -1.0, 6.0], Intervals([0.0, 0.0, 3.0], [2.0, 3.0, 4.0], 0.75)
        assert interval_score(y, intervals, part="width") == 2.0
        assert interval_score(y, intervals, part="below") == pytest.approx(8 / 3)
        assert interval_score(y, intervals, part="above") == pytest.approx(16 / 3)
        assert interval_score(y, intervals) == pytest.approx(10.0)

    def test_on_a_bound_nothing_is_paid(self):
        assert interval_score([0.0, 2.0], Intervals([0.0, 0.0], [2.0, 2.0], 0.9)) == 2.0

    def test_several_levels(self):
        both = Intervals([[0.0, -1.0]], [[1.0, 2.0]], [0.5, 0.75])
        assert interval_score([3.0], both).tolist() == [1 + 4 * 2, 3 + 8 * 1]

    def test_weights(self):
        intervals = Intervals([0.0, 0.0], [1.0, 3.0], 0.5)
        assert interval_score([0.5, 0.5], intervals, weights=[3, 1]) == 1.5


class TestInfinite:
    CASES = (([-inf], [inf]), ([-inf], [0.0]), ([0.0], [inf]))

    @pytest.mark.parametrize(("lower", "upper"), CASES)
    @pytest.mark.parametrize("y", [-3.0, 0.0, 3.0])
    def test_the_width_alone(self, lower, upper, y):
        intervals = Intervals(lower, upper, 0.9)
        total, width, below, above = (interval_score([y], intervals, part=part) for part in PARTS)
        assert total == width == inf
        assert np.isfinite([below, above]).all()

    def test_a_score_beyond_float64(self):
        assert interval_score([1.7e308], Intervals([-1.0], [0.0], 0.9)) == inf


@given(ROWS, LEVELS)
def test_parts_add_up(rows, level):
    y, lower, upper, w = drawn(rows)
    total, *parts = (interval_score(y, Intervals(lower, upper, level), part=part, weights=w) for part in PARTS)
    assert sum(parts) == pytest.approx(total, rel=1e-12, abs=1e-12)


@given(ROWS, LEVELS)
def test_two_quantile_scores(rows, level):
    # IS = (2/α)[ρ_{α/2}(y, l) + ρ_{1-α/2}(y, u)]
    y, lower, upper, _ = drawn(rows)
    alpha = 1 - level
    pinball = quantile_score(y, Quantiles(np.stack([lower, upper], 1), [alpha / 2, 1 - alpha / 2]))
    found = interval_score(y, Intervals(lower, upper, level))
    assert found == pytest.approx(2 / alpha * pinball.sum(), rel=1e-10, abs=1e-9)


@given(ROWS)
def test_mirrored(rows):
    y, lower, upper, _ = drawn(rows)
    mirror = Intervals(-upper, -lower, 0.8)
    for part, other in zip(PARTS, ("total", "width", "above", "below"), strict=True):
        found = interval_score(y, Intervals(lower, upper, 0.8), part=part)
        assert interval_score(-y, mirror, part=other) == pytest.approx(found, rel=1e-12, abs=1e-12)


@given(ROWS)
def test_swapped_bounds_are_one_interval(rows):
    y, a, b, _ = np.array(rows).T
    one, other = (Intervals(*pair, 0.8, crossed="swap") for pair in ((a, b), (b, a)))
    assert interval_score(y, one) == pytest.approx(interval_score(y, other), rel=1e-12)


class TestRefused:
    def test_parts_do_not_mix(self, refusal):
        intervals = Intervals([0.0], [1.0], 0.9)
        one, other = (summarize(interval_score, [0.0], intervals, part=part) for part in ("total", "below"))
        assert "below" in refusal(lambda: one + other, error=SummaryError)
        assert "below" in refusal(interval_score, other, error=SummaryError)

    def test_quantiles(self, refusal):
        assert ".intervals()" in refusal(interval_score, [0.0], Quantiles([[0.0, 1.0]], [0.1, 0.9]))


@pytest.mark.parametrize(
    ("y", "q", "tau", "score"),
    [
        # 3 below 5 costs 0.25 * 2 and 0.75 * 0; 3 above 1 costs 0.75 * 2 at level 0.25.
        ([5.0], [[3.0, 5.0]], [0.25, 0.75], [0.5, 0.0]),
        ([1.0], [3.0], 0.25, 1.5),
        ([2.0], [2.0], 0.3, 0.0),
        ([0.0, 4.0], [1.0, 1.0], 0.5, 1.0),  # the median scores half the error
        ([1.0], [[0.0, inf]], [0.5, 0.9], [0.5, inf]),
        *(([0.0, 1.0], [q, 1.0], tau, inf) for q in (-inf, inf) for tau in (0.001, 0.5, 0.999)),
    ],
)
def test_quantile_scores_by_hand(y, q, tau, score):
    assert np.array_equal(quantile_score(y, Quantiles(q, tau)), score)


@given(ROWS, st.sampled_from([0.05, 0.5, 0.8]))
def test_shift_mirror_and_scale(rows, tau):
    y, q, *_ = np.array(rows).T
    found = quantile_score(y, Quantiles(q, tau))
    assert quantile_score(y + 8, Quantiles(q + 8, tau)) == pytest.approx(found, rel=1e-9, abs=1e-9)
    assert quantile_score(-y, Quantiles(-q, 1 - tau)) == pytest.approx(found, rel=1e-12, abs=1e-12)
    assert quantile_score(4 * y, Quantiles(4 * q, tau)) == pytest.approx(4 * found, rel=1e-12)


def test_other_predictions_are_refused(refusal):
    assert "judges Quantiles" in refusal(quantile_score, [0.0], Intervals([0.0], [1.0], 0.9))
    assert ".quantiles(levels)" in refusal(quantile_score, [0.0], Normal([0.0], [1.0]))


WIS_ROWS = st.lists(
    st.tuples(st.floats(-50, 50), st.lists(st.floats(-50, 50), min_size=5, max_size=5), st.integers(1, 4)),
    min_size=1,
    max_size=8,
)
GRIDS = st.sampled_from([[0.5], [0.1, 0.9], [0.1, 0.5, 0.9], [0.025, 0.3, 0.7, 0.975], [0.05, 0.25, 0.5, 0.75, 0.95]])


def drawn_quantiles(rows, levels):
    y, values, w = zip(*rows, strict=True)
    return np.array(y), np.sort(np.array(values)[:, : len(levels)], axis=1), np.array(w)


class TestByHandWeightedIntervalScore:
    # y = 5, [0, 4] at level 0.5, median 2: dispersion 0.25 * 4, above 1 and 3/2, all over 1.5.
    QUANTILES = Quantiles([[0.0, 2.0, 4.0]], [0.25, 0.5, 0.75])
    INTERVALS = Intervals([[0.0]], [[4.0]], [0.5])

    def test_parts(self):
        found = [weighted_interval_score([5.0], self.QUANTILES, part=part) for part in WIS_PARTS]
        assert found == pytest.approx([3.5 / 1.5, 1 / 1.5, 0.0, 2.5 / 1.5])

    def test_intervals_with_a_median(self):
        for part in WIS_PARTS:
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
        assert entry.row_scores(rows, entry.parse({"median": [2.0, 2.0]})) == pytest.approx([3.5 / 1.5, 1.5 / 1.5])


class TestInfiniteWeightedIntervalScore:
    def test_a_width(self):
        quantiles = Quantiles([[-inf, 0.0, 1.0]], [0.1, 0.5, 0.9])
        found = {part: weighted_interval_score([2.0], quantiles, part=part) for part in WIS_PARTS}
        assert found["total"] == found["dispersion"] == inf
        assert np.isfinite([found["below"], found["above"]]).all()

    @pytest.mark.parametrize(("q", "side"), [(-inf, "above"), (inf, "below")])
    def test_all_quantiles_at_one_infinity(self, q, side):
        quantiles = Quantiles([[q, q, q]], [0.1, 0.5, 0.9])
        found = {part: weighted_interval_score([2.0], quantiles, part=part) for part in WIS_PARTS}
        expected = {"total": inf, "dispersion": 0.0, "below": 0.0, "above": 0.0}
        assert found == {**expected, side: inf}


@given(WIS_ROWS, GRIDS)
def test_twice_the_mean_quantile_score(rows, levels):
    y, values, w = drawn_quantiles(rows, levels)
    quantiles = Quantiles(values, levels)
    found = weighted_interval_score(y, quantiles, weights=w)
    assert found == pytest.approx(2 * quantile_score(y, quantiles, weights=w).mean(), rel=1e-12, abs=1e-12)


@given(WIS_ROWS, GRIDS)
def test_parts_add_up_mirror_and_move(rows, levels):
    y, values, w = drawn_quantiles(rows, levels)
    total, *parts = (weighted_interval_score(y, Quantiles(values, levels), weights=w, part=part) for part in WIS_PARTS)
    assert sum(parts) == pytest.approx(total, rel=1e-12, abs=1e-12)
    mirror = Quantiles(-values[:, ::-1], levels)
    below = weighted_interval_score(-y, mirror, weights=w, part="below")
    assert below == pytest.approx(parts[2], rel=1e-12, abs=1e-12)
    for part, value in zip(WIS_PARTS, (total, *parts), strict=True):
        moved = weighted_interval_score(y + 100, Quantiles(values + 100, levels), weights=w, part=part)
        assert moved == pytest.approx(value, rel=1e-10, abs=1e-10)


class TestMedian:
    INTERVALS = Intervals(np.zeros((3, 1)), np.full((3, 1), 4.0), [0.5])

    def test_summaries_with_and_without_do_not_mix(self, refusal):
        intervals = Intervals([0.0], [4.0], 0.5)
        one = summarize(weighted_interval_score, [5.0], intervals)
        other = summarize(weighted_interval_score, [5.0], intervals, median=[2.0])
        assert "and median" in refusal(lambda: one + other, error=SummaryError)
        assert weighted_interval_score(other) == pytest.approx(3.5 / 1.5)
        assert weighted_interval_score(other, median=[2.0]) == pytest.approx(3.5 / 1.5)
        assert "without one" in refusal(weighted_interval_score, one, median=[2.0], error=SummaryError)

    @pytest.mark.parametrize(
        ("median", "words"),
        [
            *((m, "be 1-D, one number for each of the 3 rows; got shape") for m in ([1.0], [[1.0]] * 3, [1.0] * 4)),
            ([0.0, np.nan, 1.0], "not be missing; row 1 is nan"),
        ],
    )
    def test_what_is_refused(self, median, words, refusal):
        message = refusal(weighted_interval_score, [1.0, 2.0, 3.0], self.INTERVALS, median=median)
        assert message.startswith(f"median must {words}")

    def test_beside_quantiles(self, refusal):
        message = refusal(weighted_interval_score, [1.0], Quantiles([[0.0, 1.0]], [0.1, 0.9]), median=[0.5])
        assert message.startswith("median= is for Intervals")


def test_mirrors_of_levels(refusal):
    quantiles = Quantiles([[0.0, 1.0, 2.0, 3.0]], [0.1, 0.2, 0.5, 0.9])
    assert "without one: 0.2. " in refusal(weighted_interval_score, [1.0], quantiles)
    assert np.isfinite(weighted_interval_score([0.5], Quantiles([[0.0, 1.0]], [1 - 0.9, 0.9])))  # within rounding
