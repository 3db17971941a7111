"""Coverage: bounds closed, levels apart, sets and quantiles, and laws for drawn data."""

import datetime
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Intervals, Quantiles, Sets, summarize
from calibrant.core.catalogue import find
from calibrant.core.summary import Summary
from calibrant.errors import NotApplicableError, SummaryError
from calibrant.inputs.kinds import read_typed
from calibrant.regions.coverage import IntervalMoments, coverage, coverage_gap, coverage_width_criterion
from calibrant.summaries import Summary as SummaryCoverageWidthCriterion
from calibrant.summaries import Summary as SummaryIntervalMoments

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
        rows = entry.row_scores(entry.read([1.0, 5.0], Intervals([0.0, 0.0], [2.0, 2.0], 0.9)), entry.usual)
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
        assert "no option pos_label" in refusal(coverage, [0.0], intervals, pos_label=1)


BOOK = json.loads((Path(__file__).parents[1] / "references" / "intervals.json").read_text())
DATA, CASES = BOOK["data"], {case["id"]: case["expected"] for case in BOOK["cases"]}
Y, FORECAST = [0.0, 1.0, 2.0, 3.0], Intervals([0.0, 0.0, 1.0, 4.0], [1.0, 2.0, 2.0, 5.0], 0.75)


def reg16():
    given = DATA["reg16"]
    return np.array(given["y"]), Intervals(given["lower"], given["upper"], given["level"])


def test_of_the_reference():
    assert coverage_gap(Y, FORECAST, groups=DATA["gap4"]["groups"]) == CASES["gap-doc"]
    second = Intervals([-1, 0, 2, 3.1, 4, 5], [0, 0.5, 2, 4, 5, 5], 2 / 3)
    found = coverage_gap([0, 1, 2, 3, 4, 5], second, groups=[0, 0, 0, 1, 1, 2])
    assert found == pytest.approx(CASES["gap-mapie-2"], rel=1e-10)
    third = Intervals([-2, -0.5, 1.5, 2, 4, 3.5], [-1, 0.5, 2.5, 2, 5, 4.5], 0.5)
    found = coverage_gap([-1, 0, 1, 2, 3, 4], third, groups=[0, 0, 1, 1, 1, 1], average="weighted")
    assert found == pytest.approx(CASES["gap-mapie-3"], rel=1e-10)


@pytest.mark.parametrize("average", ["macro", "weighted", "max"])
def test_several_levels_of_the_reference(average):
    y, prediction = reg16()
    found = coverage_gap(y, prediction, groups=DATA["groups16"], average=average)
    np.testing.assert_allclose(found, CASES["gap-reg16"][average], rtol=1e-10)
    sets = Sets(DATA["sets16"]["mask"], DATA["sets16"]["level"])
    found = coverage_gap(DATA["sets16"]["y"], sets, average=average)
    np.testing.assert_allclose(found, CASES["gap-classwise-sets16"][average], rtol=1e-10)
    assert type(coverage_gap(y, prediction.at(0.8), groups=DATA["groups16"])) is float


def test_classes_without_rows_do_not_count():
    found = coverage_gap([0, 0, 1], Sets(np.eye(4, dtype=bool)[[0, 0, 1]], 0.9))
    assert found == pytest.approx(CASES["edge-gap-absent-class"], rel=1e-9)
    named = coverage_gap(list("aab"), Sets(np.eye(4, dtype=bool)[[0, 0, 1]], 0.9), classes=list("abcd"))
    assert named == found


def test_weights_by_hand():
    # Group b: a covered row of weight 3 and one of weight 1, coverage 0.75, gap 0; group a: gap 0.25.
    w = [1, 1, 3, 1]
    assert coverage_gap(Y, FORECAST, groups=list("aabb"), weights=w) == 0.125
    assert coverage_gap(Y, FORECAST, groups=list("aabb"), weights=w, average="weighted") == pytest.approx(0.25 / 3)
    assert coverage_gap(Y, FORECAST, groups=list("aabb"), weights=w, average="max") == 0.25


def test_groups_go_with_rows_of_weight_zero():
    found = coverage_gap(Y, FORECAST, groups=["x", "a", "b", "b"], weights=[0, 1, 1, 1])
    assert found == coverage_gap(Y[1:], FORECAST.take(slice(1, 4)), groups=["a", "b", "b"])
    assert coverage_gap(Y, FORECAST, groups=[None, "a", "b", "b"], weights=[0, 1, 1, 1]) == found


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "b"],
        [1, "1"],
        [(1, "a"), (1, "b")],
        [True, False],
        [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)],
        [frozenset({1}), frozenset({2})],
        np.array([2.5, -0.5]),
        np.array(["2020-01", "2020-02"], dtype="datetime64[M]"),
    ],
    ids=str,
)
def test_labels_of_any_kind(labels):
    groups = [labels[k] for k in (0, 0, 1, 1)] if isinstance(labels, list) else labels[[0, 0, 1, 1]]
    assert coverage_gap(Y, FORECAST, groups=groups) == 0.25


def test_batches_with_other_groups_add_up():
    y, prediction = reg16()
    groups = np.array(DATA["groups16"])
    w = np.arange(1.0, 17.0)
    for weights in (None, w):
        expected = coverage_gap(y, prediction, groups=groups, weights=weights)
        parts = [np.arange(2), np.arange(2, 6), np.arange(6, 16)]
        summaries = [
            summarize(
                coverage_gap, y[p], prediction.take(p), groups=groups[p], weights=None if weights is None else w[p]
            )
            for p in parts
        ]
        total = sum(summaries)
        np.testing.assert_allclose(coverage_gap(total), expected, rtol=1e-12)
        assert Summary.from_bytes(total.to_bytes()) == total


def test_row_order_does_not_matter():
    y, prediction = reg16()
    order = np.random.default_rng(0).permutation(16)
    groups = np.array(DATA["groups16"])
    found = coverage_gap(y[order], prediction.take(order), groups=groups[order])
    assert found.tolist() == coverage_gap(y, prediction, groups=groups).tolist()


def test_quantiles_are_compared_with_their_own_level():
    # Below the median in group a: 1 of 2; in group b: 2 of 2.
    assert coverage_gap([0.0, 9.0, 0.0, 0.0], Quantiles([[1.0]] * 4, [0.5]), groups=list("aabb")).tolist() == [0.25]


def test_refusals(refusal):
    assert "pass groups=, one label per row" in refusal(coverage_gap, Y, FORECAST)
    assert "expected 4 rows" in refusal(coverage_gap, Y, FORECAST, groups=["a"])
    sets = Sets(np.ones((2, 3), bool))
    assert "no level" in refusal(coverage_gap, [0, 1], sets, error=NotApplicableError)


inf = np.inf
ROWS_COVERAGE_WIDTH_CRITERION = st.lists(
    st.tuples(st.floats(-50, 50), st.floats(-50, 50), st.floats(-50, 50), st.integers(1, 4)), min_size=2, max_size=12
)
VARIANTS = st.sampled_from(["jensen", "khosravi"])


class TestByHandCoverageWidthCriterion:
    Y, INTERVALS = [0.0, 4.0], Intervals([0.0, 0.0], [1.0, 1.0], 0.75)  # coverage 1/2, r = 1/4

    def test_jensen(self):
        assert coverage_width_criterion(self.Y, self.INTERVALS) == pytest.approx(0.75 * np.exp(-30 / 16))
        assert coverage_width_criterion(self.Y, self.INTERVALS, eta=0) == 0.75

    def test_khosravi(self):
        found = coverage_width_criterion(self.Y, self.INTERVALS, variant="khosravi")
        assert found == pytest.approx(0.25 * (1 + np.exp(50 / 4)))
        assert coverage_width_criterion(self.Y, self.INTERVALS, variant="khosravi", eta=0) == 0.5

    def test_a_normalizer(self):
        assert coverage_width_criterion(self.Y, self.INTERVALS, eta=0, normalizer=2) == 0.5

    def test_several_levels(self):
        both = Intervals([[0.0, 0.0], [0.0, 0.0]], [[1.0, 4.0], [1.0, 4.0]], [0.5, 0.9])
        assert coverage_width_criterion([0.0, 4.0], both, eta=0).tolist() == [0.75, 0.0]
        assert coverage_width_criterion([0.0, 4.0], both, eta=0, variant="khosravi").tolist() == [0.25, 1.0]

    def test_the_right_coverage_up_to_rounding_costs_nothing(self):
        # Ten weights of 0.1, nine of them inside: their sum is below 0.9 by rounding.
        y, inside = np.arange(10.0), np.arange(10) < 9
        intervals = Intervals(np.where(inside, y, y + 1), y + 2, 0.9)
        found = coverage_width_criterion(y, intervals, weights=np.full(10, 0.1), variant="khosravi")
        assert found == pytest.approx((9 * 2 + 1) / 10 / 9)

    def test_weights_of_zero_do_not_count_in_the_range(self):
        intervals = Intervals([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], 0.75)
        found = coverage_width_criterion([0.0, 4.0, 99.0], intervals, weights=[1, 1, 0], eta=0)
        assert found == 0.75


class TestExtremes:
    @pytest.mark.parametrize("eta", [0, 30, 1e6])
    def test_infinite_width(self, eta):
        intervals = Intervals([-inf, 0.0], [1.0, 1.0], 0.9)
        found = [coverage_width_criterion([0.0, 4.0], intervals, eta=eta, variant=v) for v in ("jensen", "khosravi")]
        assert found == [-inf, inf]

    def test_zero_width_and_a_power_beyond_float64(self):
        intervals = Intervals([1.0, 1.0], [1.0, 1.0], 0.9)
        assert coverage_width_criterion([0.0, 4.0], intervals, eta=1e6, variant="khosravi") == 0.0

    def test_a_power_beyond_float64(self):
        intervals = Intervals([1.0, 1.0], [2.0, 2.0], 0.9)
        assert coverage_width_criterion([0.0, 4.0], intervals, eta=1e6, variant="khosravi") == inf


@given(ROWS_COVERAGE_WIDTH_CRITERION, VARIANTS, st.integers(1, 11))
def test_chunks_and_weights(rows, variant, cut):
    y, a, b, w = np.array(rows).T
    if y.max() - y.min() < 1e-3:
        y = y + np.arange(y.size)
    lower, upper = np.minimum(a, b), np.maximum(a, b)
    options = {"variant": variant, "eta": 3}
    whole = coverage_width_criterion(y, Intervals(lower, upper, 0.9), weights=w, **options)
    parts = [
        summarize(coverage_width_criterion, y[p], Intervals(lower[p], upper[p], 0.9), weights=w[p], **options)
        for p in (slice(0, cut), slice(cut, None))
        if y[p].size
    ]
    total = sum(SummaryCoverageWidthCriterion.from_bytes(part.to_bytes()) for part in parts)
    assert isinstance(total, IntervalMoments)
    assert coverage_width_criterion(total, **options) == pytest.approx(whole, rel=1e-9, abs=1e-12)
    times = w.astype(int)
    again = Intervals(np.repeat(lower, times), np.repeat(upper, times), 0.9)
    assert coverage_width_criterion(np.repeat(y, times), again, **options) == pytest.approx(whole, rel=1e-9, abs=1e-12)


class TestRefusedCoverageWidthCriterion:
    INTERVALS = Intervals([0.0, 0.0], [1.0, 1.0], 0.9)

    @pytest.mark.parametrize("eta", [-1, np.nan, inf, True, "30"])
    def test_eta(self, eta, refusal):
        message = refusal(coverage_width_criterion, [0.0, 1.0], self.INTERVALS, eta=eta)
        assert message.startswith("eta must be a finite number of at least 0; got")

    @pytest.mark.parametrize("normalizer", [0, -1, np.nan, inf, True, "y"])
    def test_normalizer(self, normalizer, refusal):
        message = refusal(coverage_width_criterion, [0.0, 1.0], self.INTERVALS, normalizer=normalizer)
        assert message.startswith("normalizer must be a finite number above 0; got")

    def test_a_range_of_zero(self, refusal):
        message = refusal(coverage_width_criterion, [2.0, 2.0], self.INTERVALS)
        assert message.startswith("the range of y, by which widths are divided, is 0.0 (from 2.0 to 2.0)")
        assert "normalizer=" in message

    def test_a_range_beyond_float64(self, refusal):
        assert "is inf" in refusal(coverage_width_criterion, [-1.5e308, 1.5e308], self.INTERVALS)

    def test_levels_do_not_mix(self, refusal):
        one = summarize(coverage_width_criterion, [0.0, 1.0], self.INTERVALS)
        other = summarize(coverage_width_criterion, [0.0, 1.0], Intervals([0.0, 0.0], [1.0, 1.0], 0.8))
        assert "0.8" in refusal(lambda: one + other, error=SummaryError)


Y_INTERVAL_MOMENTS = np.array([0.0, 5.0, 2.0, -3.0])
INTERVALS = Intervals(np.zeros((4, 2)), [[1, 2], [1, 2], [1, 2], [1, np.inf]], [0.5, 0.9])


def of(part):
    return IntervalMoments.of(read_typed(Y_INTERVAL_MOMENTS[part], INTERVALS.take(part)))


def test_by_hand():
    found = of(slice(None))
    assert found.n == 4
    assert found.means("coverage").tolist() == [0.25, 0.5]
    assert found.means("width").tolist() == [1.0, np.inf]
    assert found.extremes.tolist() == [-3.0, 5.0]


def test_merging():
    merged = of(slice(0, 1)) + of(slice(1, 3)) + of(slice(3, 4))
    assert merged.means("coverage").tolist() == [0.25, 0.5]
    assert merged.extremes.tolist() == [-3.0, 5.0]
    assert SummaryIntervalMoments.from_bytes(merged.to_bytes()) == merged
    assert merged + IntervalMoments.zero() == IntervalMoments.zero() + merged == merged


def test_nothing():
    assert IntervalMoments.zero().n == 0
    assert SummaryIntervalMoments.from_bytes(IntervalMoments.zero().to_bytes()) == IntervalMoments.zero()
