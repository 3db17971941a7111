"""Tests of coverage: against enumeration, the reference values, and each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.references.intervals import CASES, DATA, intervals_of, judged

from calibrant import Intervals, Quantiles, Sets, summarize
from calibrant.auditing.interval import interval
from calibrant.errors import NotApplicableError
from calibrant.regions.coverage import coverage
from calibrant.regions.coverage_curve import coverage_curve
from calibrant.regions.coverage_test import (
    conformal_beta,
    coverage_test,
    hit_pvalue,
    kupiec_pvalue,
    kupiec_test,
    multinomial_coverage_test,
)

SETS, QUANT = DATA["sets16"], DATA["quant12"]


def keyed(key):
    """Read "12/16@0.8"."""
    counts, _, level = key.partition("@")
    k, n = counts.split("/")
    return int(k), int(n), float(level or 0.9)


class TestBinomial:
    @pytest.mark.parametrize("key", CASES["coverage-test-binomial"])
    def test_reference(self, key):
        k, n, level = keyed(key)
        values = CASES["coverage-test-binomial"][key]
        for alternative in ("two-sided", "less", "greater"):
            found = coverage_test(*judged(k, level, n), alternative=alternative)
            assert found.pvalue == pytest.approx(values[alternative.replace("-", "_")], rel=1e-9)
            assert (found.statistic, found.estimate, found.n) == (k, k / n, n)

    @pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])
    def test_small_exactly_where_the_exact_interval_leaves_the_level_out(self, level):
        for n in range(1, 61):
            hits = np.arange(n + 1)
            pvalues = [hit_pvalue(k, n, level, "two-sided", None) for k in hits.tolist()]
            curve = coverage_curve(
                np.concatenate([judged(k, level, n)[0] for k in hits]),
                judged(0, level, n * (n + 1))[1],
                groups=np.repeat(hits, n),
            )
            np.testing.assert_allclose(curve.pvalue, pvalues, rtol=1e-12)
            outside = (level < curve.lower) | (level > curve.upper)
            np.testing.assert_array_equal(outside, np.array(pvalues) < 0.05)

    @pytest.mark.parametrize("key", CASES["coverage-test-split-conformal"])
    def test_split_conformal(self, key):
        k, n, level = keyed(key)
        values = CASES["coverage-test-split-conformal"][key]
        assert list(conformal_beta(100, level)) == values["beta"]
        given = judged(k, level, n)
        assert coverage_test(*given, calibration_size=100).pvalue == pytest.approx(values["pvalue_two_sided"], rel=1e-8)
        less = coverage_test(*given, calibration_size=100, alternative="less").pvalue
        assert less == pytest.approx(values["pvalue_less"], rel=1e-8)
        assert coverage_test(*given).pvalue == pytest.approx(values["binomial_two_sided_for_comparison"], rel=1e-8)

    def test_rank_of_the_calibration_score_is_safe_against_rounding(self):
        assert conformal_beta(99, 0.55) == (55, 45)  # 100 · 0.55 is 55.00000000000001
        assert conformal_beta(19, 0.95) == (19, 1)

    def test_too_few_calibration_scores(self, refusal):
        message = refusal(coverage_test, *judged(3, 0.95, 4), calibration_size=18, error=NotApplicableError)
        assert "18 calibration scores" in message
        assert "At least 19" in message

    def test_level_of_the_beta_binomial_test(self):
        # Given the law of the coverage, the p-value is at most a with probability at most a.
        from scipy.stats import betabinom

        distribution = betabinom(30, *conformal_beta(20, 0.8))
        pvalues = np.array([hit_pvalue(k, 30, 0.8, "two-sided", 20) for k in range(31)])
        mass = distribution.pmf(np.arange(31))
        for a in (0.01, 0.05, 0.2):
            assert mass[pvalues <= a].sum() <= a + 1e-12


class TestKupiec:
    @pytest.mark.parametrize("name", ["coverage-test-kupiec", "edge-kupiec-extremes"])
    def test_reference(self, name):
        for key, values in CASES[name].items():
            k, n, level = keyed(key)
            found = kupiec_test(*judged(k, level, n))
            assert found.statistic == pytest.approx(values["statistic"], rel=1e-9)
            assert found.pvalue == pytest.approx(values["pvalue_exact"], rel=1e-9)
            if "pvalue_asymptotic" in values:
                limit = kupiec_test(*judged(k, level, n), null="asymptotic").pvalue
                assert limit == pytest.approx(values["pvalue_asymptotic"], rel=1e-9)

    @given(n=st.integers(1, 60), level=st.sampled_from([0.05, 0.3, 0.5, 0.8, 0.9, 0.99]), data=st.data())
    def test_bisection_equals_enumeration(self, n, level, data):
        from scipy.stats import binom

        k = data.draw(st.integers(0, n))
        j = np.arange(n + 1)
        ratio = np.array([kupiec_pvalue(i, n, level, "asymptotic")[0] for i in j.tolist()])
        reached = ratio >= ratio[k] - 1e-9 * max(1, ratio[k])
        assert kupiec_pvalue(k, n, level, "exact")[1] == pytest.approx(
            min(1.0, binom.pmf(j, n, level)[reached].sum()), rel=1e-9
        )

    @pytest.mark.parametrize("key", CASES["coverage-test-size"])
    def test_true_size_at_five_percent(self, key):
        from scipy.stats import binom

        n, level = int(key.split(",")[0][2:]), float(key.rpartition("=")[2])
        values = CASES["coverage-test-size"][key]
        mass = binom.pmf(np.arange(n + 1), n, level)
        found = {
            "asymptotic": [kupiec_pvalue(k, n, level, "asymptotic")[1] for k in range(n + 1)],
            "exact_null": [kupiec_pvalue(k, n, level, "exact")[1] for k in range(n + 1)],
            "binomial_doubled": [hit_pvalue(k, n, level, "two-sided", None) for k in range(n + 1)],
        }
        for name, pvalues in found.items():
            assert mass[np.array(pvalues) <= 0.05].sum() == pytest.approx(values[name], rel=1e-8)


class TestJoint:
    def rings(self, counts, levels):
        """Return outcomes at distance 0.5, 1.5, ... of nested intervals [-1, 1], [-2, 2], ..."""
        y = np.repeat(np.arange(len(counts)) + 0.5, counts)
        half = np.broadcast_to(np.arange(1.0, len(levels) + 1), (y.size, len(levels)))
        return y, Intervals(-half, half, levels)

    def test_reference(self):
        levels = [[0.5, 0.8, 0.95], [0.5, 0.8, 0.95], [0.8, 0.95]]
        references = CASES["coverage-test-joint"]
        cases = [(values, self.rings(values["counts"], by)) for values, by in zip(references, levels, strict=True)]
        of_quantiles = QUANT["y"], Quantiles(QUANT["values"], QUANT["levels"])
        for values, given_rows in [*cases, (CASES["coverage-test-joint-quantiles"], of_quantiles)]:
            found = multinomial_coverage_test(*given_rows, null="asymptotic")
            assert list(found.details["counts"]) == values["counts"]
            np.testing.assert_allclose(found.details["expected"], values["expected_counts"], rtol=1e-9)
            assert found.statistic == pytest.approx(values["statistic"], rel=1e-9)
            assert found.pvalue == pytest.approx(values["pvalue_asymptotic"], rel=1e-9)
            assert found.details["df"] == values["df"]
            exact = multinomial_coverage_test(*given_rows)
            if min(values["expected_counts"]) >= 5:
                assert exact.pvalue == found.pvalue
            elif len(values["counts"]) == 3:  # few enough to be enumerated
                assert "999 simulated counts" in exact.method
                assert exact.pvalue == pytest.approx(self.multinomial_pvalue(values), abs=0.06)

    def multinomial_pvalue(self, values):
        from scipy.stats import multinomial

        n, E = sum(values["counts"]), np.array(values["expected_counts"])
        distribution = multinomial(n, E / E.sum())
        every = [(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)]
        reached = [c for c in every if ((np.array(c) - E) ** 2 / E).sum() >= values["statistic"] - 1e-9]
        return distribution.pmf(reached).sum()

    def test_reg16_and_sets(self):
        values = CASES["coverage-test-joint"][2]
        found = multinomial_coverage_test(*intervals_of())
        assert list(found.details["counts"]) == values["counts"]
        assert found.statistic == pytest.approx(values["statistic"], rel=1e-9)
        assert found.estimate == pytest.approx(0.05)
        of_sets = multinomial_coverage_test(SETS["y"], Sets(np.array(SETS["mask"]), SETS["level"]))
        assert sum(of_sets.details["counts"]) == 16

    def test_equals_the_quadratic_form_of_the_coverages(self):
        levels = np.array([0.5, 0.8, 0.95])
        found = multinomial_coverage_test(*self.rings([96, 66, 28, 10], levels))
        gap = np.array(found.details["coverage"]) - levels
        S = np.minimum.outer(levels, levels) - np.outer(levels, levels)
        assert found.statistic == pytest.approx(200 * gap @ np.linalg.solve(S, gap), rel=1e-9)

    def test_order_of_the_levels_does_not_matter(self):
        y, given = self.rings([12, 30, 10], [0.3, 0.8])
        back = Intervals(given.lower[:, ::-1], given.upper[:, ::-1], given.levels[::-1])
        ours, theirs = (multinomial_coverage_test(y, prediction) for prediction in (given, back))
        assert (ours.statistic, ours.pvalue, ours.estimate) == (theirs.statistic, theirs.pvalue, theirs.estimate)

    def test_one_level_is_the_binomial_standardised(self):
        found = multinomial_coverage_test(*judged(40, 0.9, 50))
        assert found.statistic == pytest.approx((40 - 45) ** 2 / (50 * 0.9 * 0.1))

    def test_not_nested(self, refusal):
        crossed = Intervals([[0, 1], [0, -1]], [[1, 2], [2, 3]], [0.5, 0.9])
        message = refusal(multinomial_coverage_test, [0, 1], crossed)
        assert "nested" in message
        assert "row 0" in message
        third = Intervals([[0, 0], [0, -1], [0, 1]], [[1, 2], [2, 3], [1, 2]], [0.5, 0.9])
        assert "row 2" in refusal(multinomial_coverage_test, [0, 1, 1], third, weights=[0, 1, 1])
        mask = np.zeros((1, 2, 2), dtype=bool)
        mask[0, 0, 0] = True
        assert "row 0" in refusal(multinomial_coverage_test, [0], Sets(mask, [0.5, 0.9]))
        table = summarize("coverage_curve", [0, 1], crossed)
        assert "nested" in refusal(multinomial_coverage_test, table)


class TestTies:
    """Forecasts of counts: the true quantiles are never exceeded, and never undercut, as often as their level says."""

    levels = (0.1, 0.25, 0.5, 0.75, 0.9)

    def forecast(self, n=2000):
        from scipy.stats import poisson

        y = np.random.default_rng(1).poisson(3.0, n)
        return y, Quantiles(np.tile(poisson.ppf(self.levels, 3.0), (n, 1)), self.levels)

    def test_a_perfect_forecast_is_not_rejected(self, refusal):
        y, prediction = self.forecast()
        assert coverage_test(y, prediction).pvalue > 0.05
        for level in self.levels:
            assert coverage_test(y, prediction.at(level)).pvalue > 0.05
            assert coverage_test(y, prediction.at(level), calibration_size=500, alternative="greater").pvalue > 0.05
        message = refusal(multinomial_coverage_test, y, prediction, error=NotApplicableError)
        assert "outcomes equal the quantile of level" in message
        assert "Use coverage_test" in message
        assert message == refusal(
            multinomial_coverage_test, summarize(coverage_curve, y, prediction), error=NotApplicableError
        )

    def test_a_wrong_one_is(self):
        y, prediction = self.forecast()
        assert coverage_test(y + 1, prediction).pvalue < 1e-6
        assert coverage_test(y - 1, prediction).pvalue < 1e-6

    def test_exact_quartiles_as_intervals(self, refusal):
        # Poisson(3): P(2 <= y <= 4) = 0.62 and P(y = 3) = 0.22, with the level 0.5 between
        y = np.random.default_rng(1).poisson(3.0, 2000)
        quartiles = Intervals(np.full(2000, 2.0), np.full(2000, 4.0), 0.5)
        assert coverage_test(y, quartiles).pvalue == 1
        assert coverage_test(y, quartiles, alternative="greater").pvalue > 0.99
        assert coverage_test(y + 2, quartiles).pvalue < 1e-6
        both = Intervals(np.tile([2.0, 1.0], (2000, 1)), np.tile([4.0, 6.0], (2000, 1)), [0.5, 0.9])
        message = refusal(multinomial_coverage_test, y, both, error=NotApplicableError)
        assert "outcomes lie on a bound of the interval of level" in message

    def test_by_hand(self):
        # Two of four outcomes inside, one on a bound, one outside: P(K <= 3) = 15/16, P(K >= 2) = 11/16
        found = coverage_test([0.0, 0.0, 1.0, 2.0], Intervals([-1.0] * 4, [1.0] * 4, 0.5), alternative="greater")
        assert (found.statistic, found.pvalue) == (3.0, 11 / 16)
        # One of two outcomes below the quantile, one on it: P(K <= 2) = 1, and P(K >= 1) = 3/4 for level 1/2.
        found = coverage_test([0.0, 1.0], Quantiles([1.0, 1.0], 0.5), alternative="greater")
        assert (found.statistic, found.pvalue) == (2.0, 0.75)
        weighted = coverage_test([0.0, 1.0], Quantiles([1.0, 1.0], 0.5), alternative="greater", weights=[3.0, 3.0])
        assert weighted == found


class TestGroups:
    groups = DATA["groups16"]

    def test_smallest_pvalue_times_the_number(self):
        y, prediction = intervals_of()
        found = coverage_test(y, prediction.at(0.95), groups=self.groups)
        assert found.statistic == pytest.approx(0.5298162187500004, rel=1e-9)
        assert found.pvalue == 1.0
        assert (found.details["group"], found.details["groups"]) == ("B", 3)
        assert found.details["coverage"] == pytest.approx(5 / 6)
        assert found.estimate == 15 / 16

    def test_is_the_first_step_of_holm(self):
        rng = np.random.default_rng(2)
        hit, groups = rng.random(300) < 0.8, rng.integers(0, 5, 300)
        given = judged(hit, 0.9)
        curve = coverage_curve(*given, groups=groups)
        found = coverage_test(*given, groups=groups)
        assert found.pvalue == pytest.approx(curve.pvalue_holm.min(), rel=1e-12)

    def test_calibration_size(self):
        hit = np.arange(40) % 10 != 0
        found = coverage_test(*judged(hit, 0.8), groups=np.arange(40) // 20, calibration_size=30)
        assert found.statistic == pytest.approx(hit_pvalue(18, 20, 0.8, "two-sided", 30), rel=1e-12)

    def test_several_levels(self):
        y, prediction = intervals_of()
        found = coverage_test(y, prediction)
        alone = [coverage_test(y, prediction.at(level)) for level in prediction.levels]
        worst = min(alone, key=lambda test: test.pvalue)
        assert found.statistic == worst.pvalue
        assert found.pvalue == min(1.0, len(alone) * worst.pvalue)
        assert (found.estimate, found.details["level"]) == (worst.estimate, worst.details["level"])
        assert found.details["levels"] == len(alone) == 2
        both = coverage_test(y, prediction, groups=self.groups)
        tables = [coverage_test(y, prediction.at(level), groups=self.groups) for level in prediction.levels]
        assert both.statistic == min(test.statistic for test in tables)
        assert both.details["groups"] == 3
        assert both.method.startswith("smallest p-value of 6 groups and levels")


class TestRefusals:
    @pytest.mark.parametrize("method", ["christoffersen", "kupiec", "independance", "joint", "hsic", "binomial"])
    def test_a_method_is_a_verb_of_its_own(self, refusal, method):
        message = refusal(coverage_test, *judged(3, 0.9, 4), method=method)
        assert message.startswith("coverage_test has no option method. Each test has its own verb: ")
        for name in ("kupiec_test", "christoffersen_test", "multinomial_coverage_test", "coverage_hsic_test"):
            assert name in message
        assert refusal(summarize, "coverage_test", *judged(3, 0.9, 4), method=method) == message


def test_dual_to_the_interval():
    given = judged(170, 0.9, 200)
    found, test = interval(coverage, *given), coverage_test(*given)
    assert not found.low <= 0.9 <= found.high
    assert test.pvalue < 0.05
    assert test == coverage_test(summarize(coverage_curve, *given))
