"""Limits of binned and cumulative errors: published values, cases by hand, exact coverage, refusals."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.stats import beta
from tests.references.books import arrays

import calibrant as cb
from calibrant.core.bins import BinTable
from calibrant.core.ordered import Ordered
from calibrant.errors import NotApplicableError
from calibrant.inputs.probabilities import Binary
from calibrant.probabilities.limits import critical, squared_error_cdf, squared_error_terms

HALF = np.full(400, 0.5)
L2 = {"metric": "ece", "norm": "l2", "debias": True, "strategy": "mass"}


def happened(k, n=400):
    return np.arange(n) < k


class TestReferences:
    """Values of the specification, computed independently there."""

    def test_l2(self, D1, D2):
        assert cb.interval(y=D1[0], prediction=D1[1], **L2).high == pytest.approx(0.10412514877313944, rel=1e-7)
        upper = cb.interval(y=D1[0], prediction=D1[1], side="upper", **L2)
        assert upper.high == pytest.approx(0.09558511646787642, rel=1e-7)
        y, p = cb.top_label(D2[0], D2[1])
        found = cb.interval(y=y, prediction=p, **L2)
        assert (found.low, found.high) == pytest.approx((0.12594423873230623, 0.21140378843451965), rel=1e-7)
        upper = cb.interval(y=y, prediction=p, side="upper", **L2)
        assert upper.high == pytest.approx(0.2045801335016898, rel=1e-7)

    def test_l2_with_weights(self, D1):
        """The rows carry too little information for `interval`, but the formula has a published value."""
        w = arrays("probabilities")["D1_w"]
        rows = Ordered.of(Binary(D1[0].astype(np.uint8), D1[1], w))
        table = rows.bins(rows.edges(15, "mass"))
        theta = cb.ece(D1[0], D1[1], norm="l2-squared", debias=True, strategy="mass", weights=w)
        c = squared_error_terms(table)
        high = critical(lambda true: squared_error_cdf(max(theta, 0.0), true, c), 0.025)
        assert math.sqrt(high) == pytest.approx(0.13720771619953256, rel=1e-7)

    def test_lower_limits_of_cumulative_errors(self, D2):
        y, p = cb.top_label(D2[0], D2[1])
        assert cb.interval("kuiper_test", y, p, side="lower").low == pytest.approx(0.1204515594345254, rel=1e-8)
        found = cb.interval("kolmogorov_smirnov_test", y, p, side="lower")
        assert found.low == pytest.approx(0.12571477221502994, rel=1e-8)

    def test_scale_of_the_upper_limit(self, D1):
        """The former two-sided limit was estimate + x s, with x = 2.49767 the critical value of Kuiper's statistic."""
        found = cb.interval("cutoff_error", D1[0], D1[1], side="upper")
        s = (0.10313939622841517 - found.estimate) / 2.4976722
        assert found.high == pytest.approx(found.estimate + 1.6448536269514722 * s, rel=1e-6)


class TestByHand:
    """220 of 400 rows of probability 0.5 happen: every error is 0.05, s² = max(400/4, 400/4)/400²."""

    @pytest.mark.parametrize("metric", ["cutoff_error", "kuiper_test", "kolmogorov_smirnov_test", "ece", "mmce"])
    def test_upper(self, metric):
        found = cb.interval(metric, happened(220), HALF, side="upper")
        assert found.estimate == pytest.approx(0.05)
        assert found.high == pytest.approx(0.05 + 1.6448536269514722 * 0.025)
        assert found.low == 0.0

    def test_lower(self):
        y = happened(320)  # an error of 0.3; Σr² = Σv = 100
        assert cb.interval("mmce", y, HALF, side="lower").low == pytest.approx(0.3 - 2.6448536269514722 * 0.025)
        assert cb.interval("cutoff_error", y, HALF, side="lower").low == pytest.approx(
            0.3 - 2.4976722 * 0.025, rel=1e-6
        )
        assert cb.interval("ece", y, HALF, side="lower").low == pytest.approx(0.3 - 1.96 * 0.025, abs=0.001)

    def test_max_is_exact(self):
        found = cb.interval("mce", happened(220), HALF)
        low, high = stats.binomtest(220, 400).proportion_ci(0.95, "exact")
        assert found.high == pytest.approx(high - 0.5)
        assert found.low == pytest.approx(max(0.0, low - 0.5))

    def test_max_speaks_of_the_bin_with_the_widest_limit(self):
        """One row without an event at 0.9: an upper limit of its frequency is 0.975, a lower one 0."""
        y, p = np.append(happened(220), False), np.append(HALF, 0.9)
        assert cb.interval("mce", y, p).high == pytest.approx(0.9)

    def test_weights_enter_the_scale(self):
        w = np.where(np.arange(400) % 2, 3.0, 1.0)
        y = np.tile([True, True, False, False], 100)
        found = cb.interval("cutoff_error", y, HALF, weights=w, side="upper")
        s = math.sqrt(0.25 * (w**2).sum()) / w.sum()
        assert found.high == pytest.approx(found.estimate + 1.6448536269514722 * s)

    def test_two_classes_are_one_probability(self, D1):
        P = np.stack([1 - D1[1], D1[1]], axis=1)
        one, two = (cb.interval("ece", D1[0], p, bins=10, notion=n) for p, n in ((D1[1], None), (P, "classwise")))
        assert two.estimate == pytest.approx(one.estimate, abs=2e-3)  # bins are right-closed on both sides
        assert two.high - two.estimate == pytest.approx(one.high - one.estimate, rel=1e-9)


class TestSummaries:
    def test_of_cells_are_not_below_those_of_rows(self, D1):
        rows = cb.interval("cutoff_error", D1[0], D1[1])
        cells = cb.interval("cutoff_error", cb.summaries.Grid.of(Binary(D1[0].astype(np.uint8), D1[1], np.ones(500))))
        assert rows.high <= cells.high <= rows.high + 0.01
        assert cells.estimate <= rows.estimate * (1 + 1e-12)

    def test_limits_stay_in_the_range_of_the_error(self):
        P = np.tile([0.9, 0.1], (400, 1))
        found = cb.interval("ece", np.ones(400, int), P, notion="classwise", average="sum")
        assert found.low <= found.estimate <= found.high <= 2
        low = cb.interval("cutoff_error", happened(201), HALF, level=0.5, side="upper")
        assert low.high >= 0

    def test_a_common_factor_of_weights_changes_nothing(self, D1):
        w = np.random.default_rng(1).uniform(0.5, 1.5, 500)
        for metric in ("cutoff_error", "ece", "mmce"):
            one, other = (
                cb.interval(metric, D1[0], D1[1], weights=w),
                cb.interval(metric, D1[0], D1[1], weights=1e6 * w),
            )
            assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-9)


class TestRefusals:
    def test_one_side_of_an_interval_that_has_two(self, refusal):
        for metric in ("brier_score", cb.points.mmd, cb.regions.worst_slab_coverage):
            message = refusal(cb.interval, metric, happened(220), HALF, side="upper", error=NotApplicableError)
            assert "leave it at 'both'" in message

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"norm": "l2"}, "add debias=True"),
            ({"bins": "sweep"}, "which depend on the outcomes"),
            ({"notion": "canonical"}, "no valid limits are known for the canonical notion"),
            ({"notion": "classwise", "norm": "l2", "debias": True}, "choose norm='l1'"),
        ],
    )
    def test_errors_without_limits(self, D2, refusal, options, words):
        y, p = (D2[0], D2[1]) if "notion" in options else cb.top_label(D2[0], D2[1])
        assert words in refusal(cb.interval, "ece", y, p, error=NotApplicableError, **options)

    def test_rows_without_limits(self, refusal):
        rare, half = (np.zeros(500, int), np.full(500, 0.001)), (happened(220), HALF)
        for metric, rows, options, words in (
            ("ece", rare, {}, "got 0.5"),
            ("mmce", rare, {}, "got 0.5"),
            ("mce", half, {"weights": np.arange(1, 401)}, "need equal weights"),
            ("mmce", half, {"balanced": True}, ""),
            ("cutoff_error", ([0, 1] * 5, [0.1] * 10), {"weights": np.arange(1, 11)}, "need a sum of p(1 - p)"),
        ):
            assert words in refusal(cb.interval, metric, *rows, error=NotApplicableError, **options)
        assert cb.interval("mce", *rare).high < 0.01  # exact, whatever the number of rows

    def test_cutoff_error_of_rare_events(self):
        # no event among 500: the mean frequency is at most 1 - 0.0125^(1/500), the rate split over both of its limits
        found = cb.interval("cutoff_error", np.zeros(500, int), np.full(500, 0.001))
        assert (found.estimate, found.low) == (pytest.approx(0.001), 0.0)
        assert found.high == pytest.approx(1 - 0.0125 ** (1 / 500) - 0.001, rel=1e-9)
        # of many scores only the mean is known: the error is at most the larger of the true and the predicted one
        found = cb.interval("cutoff_error", np.zeros(500, int), np.linspace(0, 0.002, 500))
        assert found.high == pytest.approx(1 - 0.0125 ** (1 / 500), rel=1e-12)
        # 6 of 8 rows, predicted 0.1: the error is at least the lower limit of the frequency less 0.1
        few = cb.interval("cutoff_error", [1] * 6 + [0] * 2, [0.1] * 8, side="lower", level=0.9)
        low = beta.ppf(0.05, 6, 3)
        assert few.low == pytest.approx(low - 0.1, rel=1e-9)


class TestClasses:
    """diag(q) - q qᵀ is at most 2 diag(q(1 - q)): the bound behind the limits of classwise means."""

    def test_bound(self):
        rng = np.random.default_rng(0)
        for _ in range(300):
            q = rng.dirichlet(np.full(rng.integers(2, 8), rng.choice([0.1, 1.0, 10.0])))
            difference = 2 * np.diag(q * (1 - q)) - np.diag(q) + np.outer(q, q)
            assert np.linalg.eigvalsh(difference).min() > -1e-12

    @pytest.mark.parametrize("options", [{"notion": "classwise"}, {"notion": "top-label", "average": "weighted"}])
    def test_calibrated_models_are_not_accused(self, options):
        """The true error is 0 in every bin, so a lower limit above 0 is wrong."""
        rng, wrong = np.random.default_rng(3), 0
        for _ in range(60):
            P = rng.dirichlet(np.ones(4), 300)
            y = (rng.random((300, 1)) > np.cumsum(P, axis=1)).sum(axis=1).clip(max=3)
            wrong += cb.interval("ece", y, P, side="lower", **options).low > 0
        assert wrong <= 8  # Binomial(60, 0.05) exceeds 8 with probability 0.004


class TestExactCoverage:
    """All outcomes of 120 rows with one score: coverage is a sum of binomial probabilities."""

    @pytest.mark.parametrize("metric", ["cutoff_error", "ece", "mmce", "mce"])
    @pytest.mark.parametrize("true", [0.3, 0.35, 0.5])
    def test_at_one_score(self, metric, true):
        n, p = 120, 0.3
        mass = stats.binom.pmf(np.arange(n + 1), n, true)
        upper, lower = 0.0, 0.0
        for k in np.flatnonzero(mass > 1e-9):
            y = np.arange(n) < k
            upper += mass[k] * (cb.interval(metric, y, np.full(n, p), side="upper").high >= true - p - 1e-12)
            lower += mass[k] * (cb.interval(metric, y, np.full(n, p), side="lower").low <= true - p + 1e-12)
        assert min(upper, lower) > 0.93


def test_squared_error_of_one_bin_is_a_chi_square():
    """With one bin the gamma has the first cumulants of V(χ²(1) - 1)/n: mean 0 and the variance 2 c²."""
    sums = np.zeros((11, 1))
    table = BinTable(np.array([0.0, 1.0]), sums)
    sums[[0, 1, 2]], sums[6], sums[8] = 100.0, 25.0, 25.0
    c = squared_error_terms(table)
    assert c == pytest.approx([25 / 99 / 100], rel=1e-12)
    grid = np.linspace(-c[0], 20 * c[0], 20_001)
    cdf = np.array([squared_error_cdf(t, 0.0, c) for t in grid])
    mean = grid[-1] - np.trapezoid(cdf, grid)
    assert mean == pytest.approx(0.0, abs=c[0] * 0.01)


class TestFewScores:
    def test_labels_by_hand(self):
        # 10 of 100 rows at 0 are events, 20 of 100 rows at 1 are not: the errors are +0.05 and -0.1 of all rows
        y, p = np.r_[np.ones(10), np.zeros(90), np.ones(80), np.zeros(20)], np.repeat([0.0, 1.0], 100)
        found = cb.interval("cutoff_error", y, p)
        assert found.estimate == pytest.approx(0.1)
        # two scores, two limits each, of 0.025: tails of 0.00625
        low, high = beta.ppf(0.00625, 20, 81), beta.ppf(1 - 0.00625, 21, 80)
        assert (found.low, found.high) == (pytest.approx(low / 2), pytest.approx(high / 2))

    def test_perfect_labels_are_within_a_small_error(self):
        y = np.tile([0, 1], 500)
        assert cb.interval("cutoff_error", y, y.astype(float)).high < 0.01

    def test_they_cover(self):
        # 40 rows of three scores, true frequencies elsewhere: exact limits fail at most 5 %
        rng = np.random.default_rng(3)
        p, q = np.repeat([0.1, 0.3, 0.4], [20, 10, 10]), np.repeat([0.25, 0.1, 0.6], [20, 10, 10])
        walk = np.concatenate([[0.0], np.cumsum([20 * 0.15, -10 * 0.2, 10 * 0.2])]) / 40
        missed = 0
        for _ in range(400):
            found = cb.interval("cutoff_error", rng.random(40) < q, p)
            missed += not found.low <= np.ptp(walk) <= found.high
        assert missed / 400 <= 0.05
