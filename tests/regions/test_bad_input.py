"""Bad input of verbs of intervals, sets and quantiles: huge numbers, odd options, summaries that do not fit."""

from unittest import mock

import numpy as np
import pytest

import calibrant
from calibrant import Intervals, Normal, Quantiles, Samples, Sets, summarize
from calibrant.core.moments import Moments
from calibrant.errors import InputError, NotApplicableError, SummaryError
from calibrant.inputs.arrays import unit_weights
from calibrant.inputs.options import check_level, read_levels
from calibrant.regions.christoffersen import christoffersen_test
from calibrant.regions.coverage import coverage_width_criterion
from calibrant.regions.coverage_test import conformal_beta, coverage_test
from calibrant.regions.hsic import coverage_hsic, coverage_hsic_test
from calibrant.regions.sizes import size_stratified_coverage
from calibrant.regions.slabs import worst_slab_coverage
from calibrant.regions.width import width
from calibrant.scores.energy_score import energy_score
from calibrant.scores.interval_scores import weighted_interval_score

MAX = float(np.finfo(float).max)
HUGE = 10**400
HITS = Intervals([0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0], 0.9)
Y = [0.5, 1.0, 9.0, 2.0]


def moments_of(scores, w=None):
    scores = np.asarray(scores)
    return Moments.of({"s": scores}, unit_weights(scores.size) if w is None else np.asarray(w))


class TestHugeScores:
    @pytest.mark.parametrize(
        "scores", [np.full(7, MAX), np.array([MAX, 1.0, MAX, MAX, 0.0]), np.array([MAX, MAX, -MAX, -MAX, -MAX])]
    )
    @pytest.mark.parametrize("weighted", [False, True])
    def test_have_a_finite_mean_however_they_are_cut(self, scores, weighted):
        w = np.linspace(1.0, 9.0, scores.size) if weighted else np.ones(scores.size)
        expected = MAX * float((scores / MAX * w).sum() / w.sum())
        whole = moments_of(scores, w if weighted else None)
        assert whole.mean_of("s") == pytest.approx(expected, rel=1e-12)
        for cut in range(1, scores.size):
            given = (w[:cut], w[cut:]) if weighted else (None, None)
            merged = moments_of(scores[:cut], given[0]) + moments_of(scores[cut:], given[1])
            assert merged.mean_of("s") == pytest.approx(expected, rel=1e-12)
            assert not np.isnan(merged.spread2).any()
        assert not np.isnan(whole.spread2).any()

    def test_and_vanishing_weights_leave_no_nan(self):
        found = moments_of([MAX, -MAX, MAX], [1.0, 1e-200, 1.0])
        assert not np.isnan([*found.mean, *found.mean2, *found.spread2]).any()

    @pytest.mark.parametrize("n", [10, 3000])
    def test_are_the_same_in_the_compiled_body(self, n):
        pytest.importorskip("numba")
        upper = np.where(np.arange(n) % 3 == 0, MAX, 1.0)
        upper[: n // 2] = MAX
        given = Intervals(np.zeros(n), upper, 0.9)
        plain = width(given)
        with mock.patch("calibrant.core.interval_sums.takes_fast_body", return_value=True):
            found = width(given)
            parts = [Intervals(np.zeros(part.size), part, 0.9) for part in np.split(upper, [n // 3])]
            one, two = (summarize("width", None, part) for part in parts)
        assert np.isfinite(plain)
        assert plain == pytest.approx((upper / n).sum(), rel=1e-12)
        assert found == pytest.approx(plain, rel=1e-12)
        assert width(one + two) == pytest.approx(plain, rel=1e-12)
        assert not np.isnan(one.spread2).any()

    def test_stay_infinite_if_a_score_is(self):
        assert moments_of([MAX, np.inf, MAX]).mean_of("s") == np.inf
        assert width(Intervals([-MAX, 0.0], [MAX, 1.0], 0.9)) == np.inf


def test_distances_too_large_for_a_lengthscale_are_not_applicable():
    rng = np.random.default_rng(0)
    lower = np.where(np.arange(40) < 38, 0.0, 1e160)
    with pytest.raises(NotApplicableError, match="too large for floating point"):
        calibrant.skce(rng.random(40), Intervals(lower, lower + np.where(lower > 0, 1e160, 1.0), 0.9))


class TestSummaries:
    @pytest.mark.parametrize(
        ("test", "named", "label"), [(coverage_test, "groups", "all"), (christoffersen_test, "series", "")]
    )
    def test_with_and_without_labels_do_not_merge(self, test, named, label):
        given = Intervals([0.0, 0.0], [1.0, 1.0], 0.9)
        one = summarize(test, [0.5, 2.0], given, **{named: [label, label]})
        other = summarize(test, [0.5, 2.0], given)
        with pytest.raises(SummaryError, match=f"{named}="):
            one + other
        assert (one + one).n == 4
        assert (type(one).from_bytes(one.to_bytes()) + one).n == 4

    @pytest.mark.parametrize("test", [coverage_test, christoffersen_test])
    def test_of_levels_that_differ_by_rounding_merge(self, test):
        parts = [
            summarize(test, [0.5, 2.0], Intervals([0.0, 0.0], [1.0, 1.0], level)) for level in (0.9, 1 - 0.1 + 1e-13)
        ]
        assert (parts[0] + parts[1]).n == 4


class TestWholeNumbersBeyondFloat64:
    BIG = 2**53

    def test_are_refused_as_bounds(self):
        lower = np.array([0, self.BIG + 1])
        with pytest.raises(InputError, match=r"lower .*row 1 is 9007199254740993.*subtract a common offset first"):
            Intervals(lower, lower + 2, 0.9)
        for dtype in (np.int64, np.uint64):
            with pytest.raises(InputError, match=r"row 0 is .*subtract a common offset first"):
                Quantiles(np.array([np.iinfo(dtype).max], dtype), 0.5)

    def test_are_refused_as_outcomes_unless_they_weigh_nothing(self):
        y = np.array([0, 1, self.BIG + 1])
        wide = Intervals([-1.0] * 3, [1e17] * 3, 0.9)
        for verb, prediction in ((calibrant.coverage, wide), (calibrant.crps, Normal([0.0] * 3, 1.0))):
            with pytest.raises(InputError, match=r"row 2 is 9007199254740993.*subtract a common offset first"):
                verb(y, prediction)
            with pytest.raises(InputError, match="row 2 is 9007199254740993"):
                verb(y, prediction, weights=[0, 1, 1])
            verb(y, prediction, weights=[1, 1, 0])

    def test_that_float64_holds_are_taken(self):
        y = np.array([self.BIG + 2, -(2**62)])
        assert calibrant.coverage(y, Intervals(y, y, 0.9)) == 1.0


class TestHugeOptions:
    @pytest.mark.parametrize(
        "call",
        [
            lambda v: coverage_hsic(Y, HITS, scale=v),
            lambda v: coverage_hsic(Y, HITS, coverage_scale=v),
            lambda v: coverage_hsic_test(Y, HITS, resamples=v),
            lambda v: coverage_test(Y, HITS, calibration_size=v),
            lambda v: coverage_width_criterion(Y, HITS, eta=v),
            lambda v: coverage_width_criterion(Y, HITS, normalizer=v),
            lambda v: worst_slab_coverage(Y, HITS, features=[1, 2, 3, 4], mass=v, search=None),
            lambda v: worst_slab_coverage(Y, HITS, features=[1, 2, 3, 4], search=v, rng=0),
            lambda v: worst_slab_coverage(Y, HITS, features=[1, 2, 3, 4], directions=v, rng=0),
            lambda v: energy_score([[0.0, 0.0]], Samples([[[3.0, 4.0], [0.0, 0.0]]]), beta=v),
            lambda v: size_stratified_coverage(Y, HITS, bins=[(0, 2), (3, v)]),
            lambda v: size_stratified_coverage(Y, HITS, bins=v),
            check_level,
        ],
    )
    @pytest.mark.parametrize("value", [HUGE, -HUGE], ids=["huge", "negative"])
    def test_are_refused(self, call, value):
        with pytest.raises(InputError, match="must"):
            call(value)

    def test_a_range_without_end_is_legal(self):
        assert size_stratified_coverage(Y, HITS, bins=[(0, np.inf)]) == 0.75

    @pytest.mark.parametrize("kernel", ["gaussian", "exponential"])
    def test_the_smallest_scales_divide_nothing_by_zero(self, kernel):
        tiny = coverage_hsic(Y, HITS, scale=5e-324, kernel=kernel)
        assert tiny == pytest.approx(coverage_hsic(Y, HITS, scale=1e-9, kernel=kernel))
        assert np.isfinite(coverage_hsic(Y, HITS, coverage_scale=5e-324))


class TestLevels:
    @pytest.mark.parametrize("dtype", [np.float16, np.float32])
    def test_of_low_precision_are_the_decimals_they_stand_for(self, dtype):
        assert read_levels(dtype(0.9))[0].tolist() == [0.9]
        assert Quantiles([[1.0, 2.0]], np.array([0.1, 0.9], dtype)).pairs() == [(0, 1)]

    def test_mirror_each_other_by_distance(self):
        near = 0.123456789049
        levels = [near, 0.5, 1 - near + 4e-12]  # on two sides of where rounding to ten digits turns
        assert Quantiles([[1.0, 2.0, 3.0]], levels).pairs() == [(0, 2)]
        for gap in np.linspace(-9e-11, 9e-11, 19):
            assert Quantiles([[1.0, 2.0]], [0.12345678905, 0.87654321095 + gap]).pairs() == [(0, 1)]
        assert Quantiles([[1.0, 2.0]], [0.1, 0.9 + 1e-9]).pairs() == []
        assert Quantiles([[1.0, 2.0]], [0.4999999999, 0.5]).pairs() == []


@pytest.mark.parametrize("method", ["independence", "conditional"])
def test_order_has_no_rows_of_weight_zero(method):
    with pytest.raises(InputError, match="row 2 has weight 0"):
        christoffersen_test(Y, HITS, method=method, weights=[1, 1, 0, 1])
    assert coverage_test(Y, HITS, weights=[1, 1, 0, 1]).n == 3


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Quantiles(np.zeros((3, 1)), 0.5), r"Pass levels=\[0.5\], or values\[:, 0\]"),
        (lambda: Quantiles(np.zeros(3), [0.5]), r"Pass levels=0.5, or values\[:, None\]"),
        (lambda: Quantiles([0.0], 0.0), "probability of staying at or below the quantile"),
        (lambda: Intervals([0.0], [1.0], 0.0), "never alpha"),
        (lambda: Sets(np.array([[True, False], [None, True]], dtype=object), 0.9), "row 1 is"),
        (lambda: Sets(np.array([[True, False], [np.nan, True]], dtype=object), 0.9), "row 1 is"),
        (lambda: weighted_interval_score(Y, HITS, median=1.0), r"got shape \(\). Pass shape \(4,\)"),
    ],
)
def test_messages_say_what_is_wrong(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_calibration_sets_of_extreme_levels():
    with pytest.raises(NotApplicableError, match=r"level 0\.9999999: .*At least 9999999 are needed"):
        conformal_beta(100, 0.9999999)
    assert conformal_beta(100, 1e-13) == (1, 100)
