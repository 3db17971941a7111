"""Coverage: bounds closed, levels apart, sets and quantiles, and laws for drawn data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.references.intervals import CASES, DATA, intervals_of

from calibrant import Intervals, Quantiles, Sets, summarize
from calibrant.core.catalogue import find
from calibrant.errors import NotApplicableError, SummaryError
from calibrant.inputs.rows import IntervalRows
from calibrant.regions.coverage import IntervalMoments, coverage, coverage_gap, coverage_width_criterion

NUMBERS = st.integers(-8, 8).map(lambda k: k / 4)  # ties between outcomes and bounds
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=12)


class TestByHand:
    def test_both_bounds_are_inside(self):
        assert coverage([1.0, 2.0, 2.5], Intervals([1.0, 1.0, 1.0], [2.0, 2.0, 2.0], 0.9)) == pytest.approx(2 / 3)

    def test_several_levels_keep_their_order(self):
        found = coverage([0.0, 3.0], Intervals([[-2, -1], [-2, -1]], [[4, 1], [2, 1]], [0.95, 0.5]))
        assert found.tolist() == [0.5, 0.5]
        assert coverage([0.0], Intervals([[0.0]], [[1.0]], [0.5])).tolist() == [1.0]  # a list of one level

    def test_sets(self):
        sets = Sets([[True, False], [True, False], [True, True]], 0.9)
        assert coverage([0, 1, 1], sets) == pytest.approx(2 / 3)
        assert coverage(["a", "b", "b"], sets, classes=["a", "b"]) == pytest.approx(2 / 3)

        mask = np.array([[[True, True], [False, True]], [[False, True], [False, False]]])
        assert coverage([0, 0], Sets(mask, [0.5, 0.9])).tolist() == [0.5, 1.0]
        assert coverage([0, 0], Sets(mask)).tolist() == [0.5, 1.0]

    def test_quantiles_count_outcomes_at_or_below(self):
        found = coverage([1, 2, 2, 3], Quantiles(np.full((4, 2), 2.0), [0.5, 0.75]))
        assert found.tolist() == [0.75, 0.75]
        assert coverage([1, 2, 2, 3], Quantiles([2, 2, 2, 2], 0.5)) == 0.75
        assert coverage([0.0], Quantiles([[-np.inf, np.inf]], [0.1, 0.9])).tolist() == [0.0, 1.0]

    def test_rows_are_numbers(self):
        entry = find(coverage)
        rows = entry.row_scores(entry.read([1.0, 5.0], Intervals([0.0, 0.0], [2.0, 2.0], 0.9)), entry.usual)
        assert rows.dtype == np.float64
        assert rows.tolist() == [[1.0], [0.0]]


def test_float32_bounds_are_compared_as_they_are():
    bound = np.float32(0.1)  # 0.100000001490116...
    assert coverage([0.1], Intervals(np.array([bound]), np.array([1.0]), 0.9)) == 0.0
    assert coverage([float(bound)], Intervals(np.array([bound]), np.array([1.0]), 0.9)) == 1.0


@given(ROWS)
def test_mirrored(rows):
    y, a, b = np.array(rows).T
    lower, upper = np.minimum(a, b), np.maximum(a, b)
    assert coverage(y, Intervals(lower, upper, 0.9)) == coverage(-y, Intervals(-upper, -lower, 0.9))


def test_what_does_not_merge(refusal):
    one, other = (summarize(coverage_width_criterion, [0], Intervals([0.0], [1.0], level)) for level in (0.9, 0.8))
    assert "0.8" in refusal(lambda: one + other, error=SummaryError)


class TestRefused:
    def test_labels_that_are_none(self, refusal):
        sets = Sets([[True, False], [True, False]])
        assert "row 1" in refusal(coverage, [0, 2], sets)
        assert "row 0" in refusal(coverage, [-1, 0], sets)
        assert "'c'" in refusal(coverage, ["a", "c"], sets, classes=["a", "b"])


Y, FORECAST = [0.0, 1.0, 2.0, 3.0], Intervals([0.0, 0.0, 1.0, 4.0], [1.0, 2.0, 2.0, 5.0], 0.75)


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
    y, prediction = intervals_of()
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


def test_quantiles_are_compared_with_their_own_level():
    # Below the median in group a: 1 of 2; in group b: 2 of 2.
    assert coverage_gap([0.0, 9.0, 0.0, 0.0], Quantiles([[1.0]] * 4, [0.5]), groups=list("aabb")).tolist() == [0.25]


def test_refusals(refusal):
    assert "pass groups=, one label per row" in refusal(coverage_gap, Y, FORECAST)
    assert "expected 4 rows" in refusal(coverage_gap, Y, FORECAST, groups=["a"])
    sets = Sets(np.ones((2, 3), bool))
    assert "no level" in refusal(coverage_gap, [0, 1], sets, error=NotApplicableError)


inf = np.inf


class TestByHandCoverageWidthCriterion:
    Y, INTERVALS = [0.0, 4.0], Intervals([0.0, 0.0], [1.0, 1.0], 0.75)  # coverage 1/2, r = 1/4

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ({}, 0.75 * np.exp(-30 / 16)),
            ({"eta": 0}, 0.75),
            ({"variant": "khosravi"}, 0.25 * (1 + np.exp(50 / 4))),
            ({"variant": "khosravi", "eta": 0}, 0.5),
            ({"eta": 0, "normalizer": 2}, 0.5),
        ],
    )
    def test_values(self, options, expected):
        assert coverage_width_criterion(self.Y, self.INTERVALS, **options) == pytest.approx(expected)

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

    @pytest.mark.parametrize(("upper", "expected"), [(1.0, 0.0), (2.0, inf)])
    def test_a_power_beyond_float64(self, upper, expected):
        intervals = Intervals([1.0, 1.0], [upper, upper], 0.9)
        assert coverage_width_criterion([0.0, 4.0], intervals, eta=1e6, variant="khosravi") == expected


class TestRefusedCoverageWidthCriterion:
    INTERVALS = Intervals([0.0, 0.0], [1.0, 1.0], 0.9)

    @pytest.mark.parametrize(
        ("name", "values", "words"),
        [
            ("eta", [-1, np.nan, inf, True, "30"], "eta must be a finite number of at least 0; got"),
            ("normalizer", [0, -1, np.nan, inf, True, "y"], "normalizer must be a finite number above 0; got"),
        ],
    )
    def test_options(self, name, values, words, refusal):
        for value in values:
            assert words in refusal(coverage_width_criterion, [0.0, 1.0], self.INTERVALS, **{name: value})

    def test_a_range_of_zero_or_beyond_float64(self, refusal):
        message = refusal(coverage_width_criterion, [2.0, 2.0], self.INTERVALS)
        assert message.startswith("the range of y, by which widths are divided, is 0.0 (from 2.0 to 2.0)")
        assert "normalizer=" in message
        assert "is inf" in refusal(coverage_width_criterion, [-1.5e308, 1.5e308], self.INTERVALS)


Y_INTERVAL_MOMENTS = np.array([0.0, 5.0, 2.0, -3.0])
INTERVALS = Intervals(np.zeros((4, 2)), [[1, 2], [1, 2], [1, 2], [1, np.inf]], [0.5, 0.9])


def of(part):
    return IntervalMoments.of(IntervalRows.read(Y_INTERVAL_MOMENTS[part], INTERVALS.take(part)))


def test_by_hand():
    found = of(slice(None))
    assert found.n == 4
    assert found.means("coverage").tolist() == [0.25, 0.5]
    assert found.means("width").tolist() == [1.0, np.inf]
    assert found.extremes.tolist() == [-3.0, 5.0]
