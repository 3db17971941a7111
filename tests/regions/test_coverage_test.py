"""Tests of coverage: against enumeration, the reference values, and each other."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Intervals, NotApplicableError, Quantiles, Sets, Summary, SummaryError, summarize
from calibrant.auditing.interval import interval
from calibrant.regions import coverage_methods as coverage_markov
from calibrant.regions.coverage import coverage
from calibrant.regions.coverage_curve import coverage_curve
from calibrant.regions.coverage_methods import conformal_beta, hit_pvalue, kupiec_pvalue
from calibrant.regions.coverage_test import coverage_test

BOOK = json.loads((Path(__file__).parents[1] / "references" / "intervals.json").read_text())
CASES = {case["id"]: case for case in BOOK["cases"]}
DATA = BOOK["data"]
REG, SETS, QUANT = DATA["reg16"], DATA["sets16"], DATA["quant12"]


def expected(name):
    return CASES[name]["expected"]


def judged(hits, level, n=None):
    """Return outcomes and intervals of which these rows (or so many first rows of n) are covered."""
    hit = np.arange(n) < hits if n is not None else np.asarray(hits, dtype=bool)
    return np.where(hit, 0.0, 9.0), Intervals(np.full(hit.size, -1.0), np.full(hit.size, 1.0), level)


def keyed(key):
    """Read "12/16@0.8"."""
    counts, _, level = key.partition("@")
    k, n = counts.split("/")
    return int(k), int(n), float(level or 0.9)


def reg16():
    return np.array(REG["y"]), Intervals(REG["lower"], REG["upper"], REG["level"])


class TestBinomial:
    @pytest.mark.parametrize("key", expected("coverage-test-binomial"))
    def test_reference(self, key):
        k, n, level = keyed(key)
        values = expected("coverage-test-binomial")[key]
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

    @pytest.mark.parametrize("key", expected("coverage-test-split-conformal"))
    def test_split_conformal(self, key):
        k, n, level = keyed(key)
        values = expected("coverage-test-split-conformal")[key]
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
        for key, values in expected(name).items():
            k, n, level = keyed(key)
            found = coverage_test(*judged(k, level, n), method="kupiec")
            assert found.statistic == pytest.approx(values["statistic"], rel=1e-9)
            assert found.pvalue == pytest.approx(values["pvalue_exact"], rel=1e-9)
            if "pvalue_asymptotic" in values:
                limit = coverage_test(*judged(k, level, n), method="kupiec", null="asymptotic").pvalue
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

    @pytest.mark.parametrize("key", expected("coverage-test-size"))
    def test_true_size_at_five_percent(self, key):
        from scipy.stats import binom

        n, level = int(key.split(",")[0][2:]), float(key.rpartition("=")[2])
        values = expected("coverage-test-size")[key]
        mass = binom.pmf(np.arange(n + 1), n, level)
        found = {
            "asymptotic": [kupiec_pvalue(k, n, level, "asymptotic")[1] for k in range(n + 1)],
            "exact_null": [kupiec_pvalue(k, n, level, "exact")[1] for k in range(n + 1)],
            "binomial_doubled": [hit_pvalue(k, n, level, "two-sided", None) for k in range(n + 1)],
        }
        for name, pvalues in found.items():
            assert mass[np.array(pvalues) <= 0.05].sum() == pytest.approx(values[name], rel=1e-8)


def orders(n):
    """Return all sequences of n hits and misses."""
    return np.array(list(itertools.product([False, True], repeat=n)))


def ratio_by_likelihoods(miss):
    """Return the statistic of independence from its definition."""
    count = np.zeros((2, 2))
    for a, b in itertools.pairwise(np.asarray(miss, int)):
        count[a, b] += 1

    def log_likelihood(ones, zeros):
        total = ones + zeros
        return sum(k * math.log(k / total) for k in (ones, zeros) if k)

    chain = sum(log_likelihood(count[i, 1], count[i, 0]) for i in (0, 1))
    return 2 * (chain - log_likelihood(count[:, 1].sum(), count[:, 0].sum()))


class TestIndependence:
    def test_reference(self):
        values, miss = expected("coverage-test-independence"), np.array(DATA["misses60"]["miss"])
        given = judged(miss == 0, 0.9)
        found = coverage_test(*given, method="independence")
        assert [list(row) for row in found.details["transitions"]] == values["transitions_hit_miss"]
        assert found.statistic == pytest.approx(values["statistic"], rel=1e-9)
        assert found.pvalue == pytest.approx(values["pvalue_exact"], rel=1e-9)
        limit = coverage_test(*given, method="independence", null="asymptotic")
        assert limit.pvalue == pytest.approx(values["pvalue_asymptotic"], rel=1e-9)
        assert limit.method.endswith("chi-square limit with 1 degree of freedom")

    @pytest.mark.parametrize("name", ["edge-independence-none", "edge-independence-all", "edge-independence-cluster"])
    def test_edges(self, name):
        values, call = expected(name), CASES[name]["call"]
        miss = np.array(json.loads(call[call.index("[") :]))
        found = coverage_test(*judged(miss == 0, 0.9), method="independence")
        assert found.statistic == pytest.approx(values["statistic"], rel=1e-8, abs=1e-12)
        assert found.pvalue == pytest.approx(values["pvalue_exact"], rel=1e-8)

    @pytest.mark.parametrize("n", [2, 3, 5, 8])
    def test_run_counts_equal_all_permutations(self, n):
        every = orders(n)
        statistics = np.array([ratio_by_likelihoods(miss) for miss in every])
        for miss, T in zip(every, statistics, strict=True):
            alike = every.sum(axis=1) == miss.sum()
            expected_p = np.mean(statistics[alike] >= T - 1e-9 * max(1, T))
            found = coverage_test(*judged(~miss, 0.7), method="independence")
            assert found.statistic == pytest.approx(T, abs=1e-9)
            assert found.pvalue == pytest.approx(expected_p, rel=1e-9)

    def test_distribution_adds_up_and_holds_the_right_number_of_rows(self):
        for n, k in itertools.product([2, 7, 40], [0, 1, 2]):
            distribution = coverage_markov.run_distribution(n, k, coverage_markov._log_factorials(n))
            assert distribution.probability.sum() + distribution.rest == pytest.approx(1, rel=1e-12)
            assert (sum(distribution.transitions) == n - 1).all()

    def test_series(self):
        miss = np.array([0, 0, 1, 1, 0, 0])
        given = judged(miss == 0, 0.9)
        found = coverage_test(*given, method="independence", series=list("aaabbb"))
        assert [list(row) for row in found.details["transitions"]] == (
            expected("edge-independence-series")["transitions_hit_miss"]
        )
        # Rows of a series may stand apart.
        order = [0, 3, 1, 4, 2, 5]
        mixed = coverage_test(
            *judged(miss[order] == 0, 0.9), method="independence", series=np.array(list("aaabbb"))[order]
        )
        assert mixed.details == found.details
        assert mixed.statistic == found.statistic

    def test_simulated_series_agree_with_the_exact_distribution(self):
        # One further series of one row has no transition: the law stays that of the first 12 rows.
        rng = np.random.default_rng(3)
        miss = rng.random(12) < 0.4
        exact = coverage_test(*judged(~miss, 0.7), method="independence").pvalue
        given = judged([*~miss, True], 0.7)
        series = [0] * 12 + [1]
        found = coverage_test(*given, method="independence", series=series, resamples=19_999).pvalue
        assert found == pytest.approx(exact, abs=0.02)

    def test_beyond_ten_thousand_rows_the_limit(self):
        hit = np.random.default_rng(0).random(10_001) < 0.9
        for method, df in (("independence", "1 degree"), ("conditional", "2 degrees")):
            found = coverage_test(*judged(hit, 0.9), method=method)
            assert found.method.endswith(f"chi-square limit with {df} of freedom beyond 10,000 rows")

    def test_needs_a_transition(self, refusal):
        for method in ("independence", "conditional"):
            assert "follows another" in refusal(
                coverage_test, *judged([True], 0.9), method=method, error=NotApplicableError
            )
            given = judged([True, False], 0.9)
            assert "follows" in refusal(coverage_test, *given, method=method, series=[1, 2], error=NotApplicableError)


class TestConditional:
    def test_reference(self):
        values, miss = expected("coverage-test-conditional"), np.array(DATA["misses60"]["miss"])
        given = judged(miss == 0, 0.9)
        found = coverage_test(*given, method="conditional")
        assert found.statistic == pytest.approx(values["statistic"], rel=1e-9)
        assert found.pvalue == pytest.approx(values["pvalue_exact"], rel=1e-9)
        limit = coverage_test(*given, method="conditional", null="asymptotic").pvalue
        assert limit == pytest.approx(values["pvalue_asymptotic"], rel=1e-9)
        independence = coverage_test(*given, method="independence").statistic
        later = coverage_test(*judged(miss[1:] == 0, 0.9), method="kupiec").statistic
        assert later == pytest.approx(values["kupiec_on_rows_2_to_n"], rel=1e-9)
        assert found.statistic == pytest.approx(independence + later, rel=1e-12)

    @pytest.mark.parametrize(("n", "level"), [(2, 0.5), (4, 0.9), (7, 0.8)])
    def test_enumeration_of_all_sequences(self, n, level):
        every = orders(n)
        mass = (1 - level) ** every.sum(axis=1) * level ** (n - every.sum(axis=1))
        found = [coverage_test(*judged(~miss, level), method="conditional") for miss in every]
        statistics = np.array([test.statistic for test in found])
        for test in found:
            reached = statistics >= test.statistic - 1e-9 * max(1, test.statistic)
            assert test.pvalue == pytest.approx(min(1.0, mass[reached].sum()), rel=1e-9)

    def test_simulated_series_agree_with_the_exact_distribution(self):
        miss = np.random.default_rng(5).random(15) < 0.4
        exact = coverage_test(*judged(~miss, 0.8), method="conditional").pvalue
        given = judged([*~miss, True], 0.8)
        found = coverage_test(*given, method="conditional", series=[0] * 15 + [1], resamples=19_999).pvalue
        assert found == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize(("n", "level"), [(6, 0.5), (8, 0.8), (9, 0.9)])
@pytest.mark.parametrize("method", ["binomial", "kupiec", "independence", "conditional"])
def test_exact_tests_never_exceed_their_level(method, n, level):
    every = orders(n)
    mass = (1 - level) ** every.sum(axis=1) * level ** (n - every.sum(axis=1))
    pvalues = np.array([coverage_test(*judged(~miss, level), method=method).pvalue for miss in every])
    for a in np.unique(pvalues):
        assert mass[pvalues <= a].sum() <= a * (1 + 1e-9)


class TestJoint:
    def rings(self, counts, levels):
        """Return outcomes at distance 0.5, 1.5, ... of nested intervals [-1, 1], [-2, 2], ..."""
        y = np.repeat(np.arange(len(counts)) + 0.5, counts)
        half = np.broadcast_to(np.arange(1.0, len(levels) + 1), (y.size, len(levels)))
        return y, Intervals(-half, half, levels)

    def test_reference(self):
        levels = [[0.5, 0.8, 0.95], [0.5, 0.8, 0.95], [0.8, 0.95]]
        for values, level in zip(expected("coverage-test-joint"), levels, strict=True):
            given = self.rings(values["counts"], level)
            found = coverage_test(*given, method="joint", null="asymptotic")
            assert list(found.details["counts"]) == values["counts"]
            np.testing.assert_allclose(found.details["expected"], values["expected_counts"], rtol=1e-9)
            assert found.statistic == pytest.approx(values["statistic"], rel=1e-9)
            assert found.pvalue == pytest.approx(values["pvalue_asymptotic"], rel=1e-9)
            assert found.details["df"] == values["df"]
            exact = coverage_test(*given, method="joint")
            if min(values["expected_counts"]) >= 5:
                assert exact.pvalue == found.pvalue
            else:
                assert "999 simulated counts" in exact.method
                assert exact.pvalue == pytest.approx(self.multinomial_pvalue(values), abs=0.06)

    def multinomial_pvalue(self, values):
        from scipy.stats import multinomial

        n, E = sum(values["counts"]), np.array(values["expected_counts"])
        distribution = multinomial(n, E / E.sum())
        every = [(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)]
        reached = [c for c in every if ((np.array(c) - E) ** 2 / E).sum() >= values["statistic"] - 1e-9]
        return distribution.pmf(reached).sum()

    def test_reg16(self):
        values = expected("coverage-test-joint")[2]
        found = coverage_test(*reg16(), method="joint")
        assert list(found.details["counts"]) == values["counts"]
        assert found.statistic == pytest.approx(values["statistic"], rel=1e-9)
        assert found.estimate == pytest.approx(0.05)

    def test_quantiles(self):
        values = expected("coverage-test-joint-quantiles")
        found = coverage_test(
            QUANT["y"], Quantiles(QUANT["values"], QUANT["levels"]), method="joint", null="asymptotic"
        )
        assert list(found.details["counts"]) == values["counts"]
        np.testing.assert_allclose(found.details["expected"], values["expected_counts"], rtol=1e-9)
        assert found.statistic == pytest.approx(values["statistic"], rel=1e-9)
        assert found.pvalue == pytest.approx(values["pvalue_asymptotic"], rel=1e-9)

    def test_equals_the_quadratic_form_of_the_coverages(self):
        levels = np.array([0.5, 0.8, 0.95])
        found = coverage_test(*self.rings([96, 66, 28, 10], levels), method="joint")
        gap = np.array(found.details["coverage"]) - levels
        S = np.minimum.outer(levels, levels) - np.outer(levels, levels)
        assert found.statistic == pytest.approx(200 * gap @ np.linalg.solve(S, gap), rel=1e-9)

    def test_order_of_the_levels_does_not_matter(self):
        y, given = self.rings([12, 30, 10], [0.3, 0.8])
        back = Intervals(given.lower[:, ::-1], given.upper[:, ::-1], given.levels[::-1])
        ours, theirs = (coverage_test(y, prediction, method="joint") for prediction in (given, back))
        assert (ours.statistic, ours.pvalue, ours.estimate) == (theirs.statistic, theirs.pvalue, theirs.estimate)

    def test_one_level_is_the_binomial_standardised(self):
        found = coverage_test(*judged(40, 0.9, 50), method="joint")
        assert found.statistic == pytest.approx((40 - 45) ** 2 / (50 * 0.9 * 0.1))

    def test_not_nested(self, refusal):
        crossed = Intervals([[0, 1], [0, -1]], [[1, 2], [2, 3]], [0.5, 0.9])
        message = refusal(coverage_test, [0, 1], crossed, method="joint")
        assert "nested" in message
        assert "row 0" in message
        with_weights = refusal(
            coverage_test,
            [0, 1, 1],
            Intervals([[0, 0], [0, -1], [0, 1]], [[1, 2], [2, 3], [1, 2]], [0.5, 0.9]),
            method="joint",
            weights=[0, 1, 1],
        )
        assert "row 2" in with_weights
        mask = np.zeros((1, 2, 2), dtype=bool)
        mask[0, 0, 0] = True
        assert "row 0" in refusal(coverage_test, [0], Sets(mask, [0.5, 0.9]), method="joint")
        table = summarize("coverage_curve", [0, 1], crossed)
        assert "nested" in refusal(coverage_test, table, method="joint")

    def test_sets(self):
        found = coverage_test(SETS["y"], Sets(np.array(SETS["mask"]), SETS["level"]), method="joint")
        assert sum(found.details["counts"]) == 16


class TestGroups:
    groups = DATA["groups16"]

    def test_smallest_pvalue_times_the_number(self):
        y, prediction = reg16()
        found = coverage_test(y, prediction.at(0.95), method="groups", groups=self.groups)
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
        found = coverage_test(*given, method="groups", groups=groups)
        assert found.pvalue == pytest.approx(curve.pvalue_holm.min(), rel=1e-12)

    def test_calibration_size(self):
        hit = np.arange(40) % 10 != 0
        found = coverage_test(*judged(hit, 0.8), method="groups", groups=np.arange(40) // 20, calibration_size=30)
        assert found.statistic == pytest.approx(hit_pvalue(18, 20, 0.8, "two-sided", 30), rel=1e-12)

    def test_needs_groups(self, refusal):
        assert "needs groups=" in refusal(coverage_test, *judged(3, 0.9, 4), method="groups")


class TestHsic:
    def test_dependence_is_found(self):
        rng = np.random.default_rng(0)
        width = rng.uniform(1, 3, 200)
        hit = rng.random(200) < np.where(width > 2, 1.0, 0.6)
        y = np.where(hit, 0.0, 9.0)
        found = coverage_test(y, Intervals(-width, width, 0.8), method="hsic", resamples=199)
        assert found.pvalue == 1 / 200
        assert found.estimate == hit.mean()
        assert found.n == 200

    def test_no_dependence_without_a_miss(self):
        width = np.linspace(1, 2, 20)
        found = coverage_test(np.zeros(20), Intervals(-width, width, 0.8), method="hsic", resamples=19)
        assert (found.statistic, found.pvalue) == (0.0, 1.0)

    def test_quantiles_have_no_size(self, refusal):
        assert "size" in refusal(coverage_test, [1.0], Quantiles([2.0], 0.5), method="hsic")


class TestSummaries:
    @pytest.mark.parametrize("method", ["binomial", "kupiec", "independence", "conditional", "joint", "hsic"])
    def test_chunks_add_up(self, method):
        hit = np.random.default_rng(1).random(60) < 0.8
        y, prediction = judged(hit, 0.9)
        parts = [
            summarize("coverage_test", y[s], prediction.take(s), method=method)
            for s in (slice(0, 7), slice(7, 31), slice(31, 60))
        ]
        whole = coverage_test(y, prediction, method=method, resamples=99)
        again = Summary.from_bytes((parts[0] + parts[1] + parts[2]).to_bytes())
        assert coverage_test(again, method=method, resamples=99) == whole

    def test_groups_and_series_go_on_in_the_next_batch(self):
        rng = np.random.default_rng(8)
        hit, label = rng.random(50) < 0.8, rng.integers(0, 3, 50)
        y, prediction = judged(hit, 0.9)
        for method, name in (("groups", "groups"), ("independence", "series"), ("conditional", "series")):
            whole = coverage_test(y, prediction, method=method, **{name: label})
            parts = [
                summarize("coverage_test", y[s], prediction.take(s), method=method, **{name: label[s]})
                for s in (slice(0, 20), slice(20, 50))
            ]
            found = coverage_test(parts[0] + parts[1], method=method)
            assert found.statistic == pytest.approx(whole.statistic)
            if method == "groups":
                assert found == whole

    def test_counts_of_a_curve_serve(self):
        y, prediction = judged(30, 0.9, 40)
        table = summarize(coverage_curve, y, prediction)
        assert coverage_test(table) == coverage_test(y, prediction)

    def test_other_kinds(self, refusal):
        y, prediction = judged(3, 0.9, 4)
        table = summarize(coverage_test, y, prediction)
        message = refusal(coverage_test, table, method="independence", error=SummaryError)
        assert "reads a summary of kind Hits; got HitTable" in message
        message = refusal(coverage_test, summarize(coverage, y, prediction), error=SummaryError)
        assert "coverage_test reads a summary" in message


class TestRefusals:
    def test_weights(self, refusal):
        y, prediction = reg16()
        for method in ("binomial", "independence", "hsic"):
            message = refusal(coverage_test, y, prediction.at(0.8), weights=DATA["weights16"], method=method)
            assert "weights" in message
        table = summarize(coverage_curve, y, prediction.at(0.8), weights=DATA["weights16"])
        assert "weights" in refusal(coverage_test, table)

    def test_equal_weights_change_nothing(self):
        y, prediction = reg16()
        plain = coverage_test(y, prediction.at(0.8))
        assert coverage_test(y, prediction.at(0.8), weights=np.full(16, 7.0)) == plain
        assert (
            coverage_test(
                np.append(y, 99.0),
                Intervals(np.append(prediction.lower[:, 0], 0), np.append(prediction.upper[:, 0], 1), 0.8),
                weights=[1.0] * 16 + [0.0],
            )
            == plain
        )

    def test_sets_without_a_level(self, refusal):
        mask = np.array(SETS["mask"])
        assert "level" in refusal(coverage_test, SETS["y"], Sets(mask[:, :, 0]))
        assert "level" in refusal(coverage_test, summarize(coverage_curve, SETS["y"], Sets(mask[:, :, 0])))

    @pytest.mark.parametrize("method", ["binomial", "kupiec", "independence", "conditional", "hsic", "groups"])
    def test_several_levels(self, refusal, method):
        options = {"groups": DATA["groups16"]} if method == "groups" else {}
        assert "level" in refusal(coverage_test, *reg16(), method=method, **options)

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"alternative": "less", "method": "kupiec"}, "alternative= belongs to method"),
            ({"null": "asymptotic"}, "null= belongs to method"),
            ({"calibration_size": 10, "method": "joint"}, "calibration_size= belongs to method"),
            ({"groups": np.array([1, 2, 3, 4])}, "groups= belongs to method"),
            ({"series": [1, 1, 1, 1]}, "series= belongs to method"),
            ({"method": "mystery"}, "method must be one of"),
            ({"alternative": "both"}, "alternative must be one of"),
            ({"null": "auto"}, "null must be one of"),
            ({"calibration_size": 0}, "calibration_size must be at least 1"),
            ({"resamples": 0}, "resamples must be at least 1"),
        ],
    )
    def test_options(self, refusal, options, words):
        assert words in refusal(coverage_test, *judged(3, 0.9, 4), **options)

    def test_missing_group(self, refusal):
        given = judged(3, 0.9, 4)
        labels = [1.0, np.nan, 2.0, 2.0]
        named = [1.0, "(missing)", 2.0, 2.0]
        found = coverage_test(*given, method="groups", groups=labels)
        assert found.pvalue == coverage_test(*given, method="groups", groups=named).pvalue
        assert "series must have one label per row" in refusal(
            coverage_test, *given, method="independence", series=[1, 2]
        )


def test_dual_to_the_interval():
    given = judged(170, 0.9, 200)
    found = interval(coverage, *given)
    assert not found.low <= 0.9 <= found.high
    assert coverage_test(*given).pvalue < 0.05
