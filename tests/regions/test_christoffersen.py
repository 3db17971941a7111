"""Christoffersen's tests against enumeration, reference values, and each other; the hits in order that they read."""

import itertools
import json
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from tests.references.intervals import CALLS, CASES, DATA, judged

from calibrant.errors import NotApplicableError, SummaryError
from calibrant.inputs.groups import RowLabels
from calibrant.regions.christoffersen import Hits, christoffersen_test, run_distribution
from calibrant.regions.coverage_test import coverage_test, kupiec_test

EXACT_TESTS = {
    "binomial": coverage_test,
    "kupiec": kupiec_test,
    "independence": partial(christoffersen_test, method="independence"),
    "conditional": christoffersen_test,
}


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
        values, miss = CASES["coverage-test-independence"], np.array(DATA["misses60"]["miss"])
        given = judged(miss == 0, 0.9)
        found = christoffersen_test(*given, method="independence")
        assert [list(row) for row in found.details["transitions"]] == values["transitions_hit_miss"]
        assert found.statistic == pytest.approx(values["statistic"], rel=1e-9)
        assert found.pvalue == pytest.approx(values["pvalue_exact"], rel=1e-9)
        limit = christoffersen_test(*given, method="independence", null="asymptotic")
        assert limit.pvalue == pytest.approx(values["pvalue_asymptotic"], rel=1e-9)
        assert limit.method.endswith("chi-square limit with 1 degree of freedom")

    @pytest.mark.parametrize("name", ["edge-independence-none", "edge-independence-all", "edge-independence-cluster"])
    def test_edges(self, name):
        values, call = CASES[name], CALLS[name]
        miss = np.array(json.loads(call[call.index("[") :]))
        found = christoffersen_test(*judged(miss == 0, 0.9), method="independence")
        assert found.statistic == pytest.approx(values["statistic"], rel=1e-8, abs=1e-12)
        assert found.pvalue == pytest.approx(values["pvalue_exact"], rel=1e-8)

    @pytest.mark.parametrize("n", [2, 3, 5, 8])
    def test_run_counts_equal_all_permutations(self, n):
        every = orders(n)
        statistics = np.array([ratio_by_likelihoods(miss) for miss in every])
        for miss, T in zip(every, statistics, strict=True):
            alike = every.sum(axis=1) == miss.sum()
            expected_p = np.mean(statistics[alike] >= T - 1e-9 * max(1, T))
            found = christoffersen_test(*judged(~miss, 0.7), method="independence")
            assert found.statistic == pytest.approx(T, abs=1e-9)
            assert found.pvalue == pytest.approx(expected_p, rel=1e-9)

    def test_distribution_adds_up_and_holds_the_right_number_of_rows(self):
        for n, k in itertools.product([2, 7, 40], [0, 1, 2]):
            distribution = run_distribution(n, k)
            assert distribution.probability.sum() + distribution.rest == pytest.approx(1, rel=1e-12)
            assert (sum(distribution.transitions) == n - 1).all()

    def test_series(self):
        miss = np.array([0, 0, 1, 1, 0, 0])
        given = judged(miss == 0, 0.9)
        found = christoffersen_test(*given, method="independence", series=list("aaabbb"))
        assert [list(row) for row in found.details["transitions"]] == (
            CASES["edge-independence-series"]["transitions_hit_miss"]
        )
        # Rows of a series may stand apart.
        order = [0, 3, 1, 4, 2, 5]
        mixed = christoffersen_test(
            *judged(miss[order] == 0, 0.9), method="independence", series=np.array(list("aaabbb"))[order]
        )
        assert mixed.details == found.details
        assert mixed.statistic == found.statistic

    def test_beyond_ten_thousand_rows_the_limit(self):
        hit = np.random.default_rng(0).random(10_001) < 0.9
        for method, df in (("independence", "1 degree"), ("conditional", "2 degrees")):
            found = christoffersen_test(*judged(hit, 0.9), method=method)
            assert found.method.endswith(f"chi-square limit with {df} of freedom beyond 10,000 rows")

    def test_needs_a_transition(self, refusal):
        one, two = judged([True]), judged([True, False])
        for options in ({"method": "independence"}, {"method": "conditional"}):
            options["error"] = NotApplicableError
            assert "follows another" in refusal(christoffersen_test, *one, **options)
            assert "follows another" in refusal(christoffersen_test, *two, series=[1, 2], **options)


class TestConditional:
    def test_reference(self):
        values, miss = CASES["coverage-test-conditional"], np.array(DATA["misses60"]["miss"])
        given = judged(miss == 0, 0.9)
        found = christoffersen_test(*given, method="conditional")
        assert found.statistic == pytest.approx(values["statistic"], rel=1e-9)
        assert found.pvalue == pytest.approx(values["pvalue_exact"], rel=1e-9)
        limit = christoffersen_test(*given, method="conditional", null="asymptotic").pvalue
        assert limit == pytest.approx(values["pvalue_asymptotic"], rel=1e-9)
        independence = christoffersen_test(*given, method="independence").statistic
        later = kupiec_test(*judged(miss[1:] == 0, 0.9)).statistic
        assert later == pytest.approx(values["kupiec_on_rows_2_to_n"], rel=1e-9)
        assert found.statistic == pytest.approx(independence + later, rel=1e-12)

    @pytest.mark.parametrize(("n", "level"), [(2, 0.5), (4, 0.9), (7, 0.8)])
    def test_enumeration_of_all_sequences(self, n, level):
        every = orders(n)
        mass = (1 - level) ** every.sum(axis=1) * level ** (n - every.sum(axis=1))
        found = [christoffersen_test(*judged(~miss, level), method="conditional") for miss in every]
        statistics = np.array([test.statistic for test in found])
        for test in found:
            reached = statistics >= test.statistic - 1e-9 * max(1, test.statistic)
            assert test.pvalue == pytest.approx(min(1.0, mass[reached].sum()), rel=1e-9)


@pytest.mark.parametrize(("method", "n", "level", "seed"), [("independence", 12, 0.7, 3), ("conditional", 15, 0.8, 5)])
def test_simulated_series_agree_with_the_exact_distribution(method, n, level, seed):
    # One further series of one row has no transition: the law stays that of the first n rows.
    miss = np.random.default_rng(seed).random(n) < 0.4
    exact = christoffersen_test(*judged(~miss, level), method=method).pvalue
    options = {"method": method, "series": [0] * n + [1], "resamples": 19_999}
    found = christoffersen_test(*judged([*~miss, True], level), **options).pvalue
    assert found == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize(("n", "level"), [(6, 0.5), (8, 0.8), (9, 0.9)])
@pytest.mark.parametrize("test", EXACT_TESTS)
def test_exact_tests_never_exceed_their_level(test, n, level):
    every = orders(n)
    mass = (1 - level) ** every.sum(axis=1) * level ** (n - every.sum(axis=1))
    pvalues = np.array([EXACT_TESTS[test](*judged(~miss, level)).pvalue for miss in every])
    for a in np.unique(pvalues):
        assert mass[pvalues <= a].sum() <= a * (1 + 1e-9)


COVERED = np.array([True, False, False])


def of_hits(rows=slice(None), labels=None):
    return Hits.of(COVERED[rows], 0.5, "Intervals", labels)


def test_rows_stay_in_order():
    found = of_hits()
    assert found.hits.tolist() == [1, 0, 0]
    assert found.hits.dtype == np.int64
    assert (found.n, found.kind, found.level) == (3, "Intervals", 0.5)
    assert found.series.tolist() == [0, 0, 0]
    assert repr(found) == "Hits(n=3)"
    assert not found.hits.flags.writeable


def test_merging_is_one_after_the_other():
    for cut in (1, 2):
        assert of_hits(slice(0, cut)) + of_hits(slice(cut, 3)) == of_hits()
    assert of_hits(slice(1, 3)) + of_hits(slice(0, 1)) != of_hits()


def test_series_are_matched_by_name():
    total = of_hits(slice(0, 2), RowLabels(np.array([0, 1]), ("a", "b"))) + of_hits(
        slice(2, 3), RowLabels(np.array([1]), ("0", "a"))
    )
    assert [total.names[k] for k in total.series] == ["a", "b", "a"]
    assert total.names == ("0", "a", "b")


def test_refusals_hits():
    for other in ({"kind": "Sets"}, {"level": 0.8}, {"weight": 5.0}, {"named": True}):
        with pytest.raises(SummaryError, match="do not merge"):
            of_hits() + replace(of_hits(), **other)
