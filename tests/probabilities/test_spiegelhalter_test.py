"""Spiegelhalter's test."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import brier_score, spiegelhalter_test, summarize
from calibrant.core.pvalues import normal_sf
from calibrant.errors import NotApplicableError
from calibrant.probabilities.spiegelhalter_test import SPIEGELHALTER_TEST
from calibrant.summaries import Moments, Ordered

SIDES = ["two-sided", "greater", "less"]


class TestByHand:
    # Scores 1/4 (event), 1/4, 3/4: r(1-2p) = 3/8, -1/8 and (y - 3/4)(-1/2) = 3/8 for y = 0. w²(1-2p)²v = 3/64 each.
    y, p = [1, 0, 0], [0.25, 0.25, 0.75]

    def test_statistic_and_estimate(self):
        result = spiegelhalter_test(self.y, self.p, null="asymptotic")
        assert result.estimate == pytest.approx(5 / 8 / 3)
        assert result.statistic == pytest.approx(5 / 8 / math.sqrt(9 / 64))
        assert result.pvalue == pytest.approx(2 * normal_sf(5 / 3))
        assert result.n == 3
        # The skewness is 3 · 3/256 / (9/64)^(3/2) = 2/3, and 9/4 is more than a quarter of three rows.
        assert result.details["information"] == 3 / 4

    def test_weights(self):
        result = spiegelhalter_test(self.y, self.p, weights=[2, 1, 1], null="asymptotic")
        assert result.estimate == pytest.approx((2 * 3 - 1 + 3) / 8 / 4)
        assert result.statistic == pytest.approx(1 / math.sqrt((4 + 1 + 1) * 3 / 64))
        # In units of the largest weight: Σa²v = 6/4 · 3/64, the third cumulant 10/8 · 3/256, rows (4 + 1 + 1)²/18 = 2.
        redrawn = spiegelhalter_test(self.y, self.p, weights=[2, 1, 1], null="monte-carlo", resamples=19)
        assert redrawn.statistic == pytest.approx(result.statistic)
        assert redrawn.details["information"] == pytest.approx(1 / 2) == result.details["information"]

    def test_sides(self):
        z = 5 / 3
        pvalues = [spiegelhalter_test(self.y, self.p, alternative=side, null="asymptotic").pvalue for side in SIDES]
        assert pvalues == pytest.approx([2 * normal_sf(z), normal_sf(z), normal_sf(-z)])
        assert spiegelhalter_test([0, 0, 1], self.p, alternative="less", null="asymptotic").pvalue < 0.5

    def test_over_and_under_confidence(self):
        # Always right at 0.75 is under-confident; right half the time is over-confident.
        p = np.full(200, 0.75)
        under, over = np.ones(200, int), np.arange(200) % 2
        assert spiegelhalter_test(under, p, alternative="less").pvalue < 1e-6
        assert spiegelhalter_test(under, p, alternative="greater").pvalue > 0.999
        assert spiegelhalter_test(over, p, alternative="greater").pvalue < 1e-6
        for y in (under, over):
            assert spiegelhalter_test(y, p).pvalue < 1e-6


@given(st.lists(st.tuples(st.integers(0, 1), st.floats(0.01, 0.49), st.floats(0.1, 9)), min_size=1, max_size=30))
def test_estimate_is_the_brier_score_less_its_expectation(drawn):
    y, p, w = (np.array(column) for column in zip(*drawn, strict=True))
    result = spiegelhalter_test(y, p, weights=w, null="asymptotic")
    assert result.estimate == pytest.approx(brier_score(y, p, weights=w) - np.dot(w, p * (1 - p)) / w.sum(), abs=1e-12)
    # The two summaries agree.
    ordered = summarize("kuiper_test", y, p, weights=w)
    assert spiegelhalter_test(ordered, null="asymptotic").statistic == pytest.approx(
        result.statistic, rel=1e-9, abs=1e-9
    )


def test_many_rows_have_the_normal_limit(D1):
    found, expected = (spiegelhalter_test(*D1, null=null) for null in ("auto", "asymptotic"))
    assert (found.statistic, found.pvalue) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-12)
    assert found.method == "Spiegelhalter test, two-sided; normal limit"


class TestZeroDenominator:
    @pytest.mark.parametrize("null", ["auto", "asymptotic", "monte-carlo"])
    @pytest.mark.parametrize(("side", "pvalue"), [("two-sided", 0.0), ("greater", 0.0), ("less", 1.0)])
    def test_impossible_row(self, side, pvalue, null):
        # Brier score (1 + 0.25)/2 against an expectation of 0.25/2.
        result = spiegelhalter_test([1, 0], [0.0, 0.5], alternative=side, null=null)
        assert (result.statistic, result.pvalue, result.estimate) == (math.inf, pvalue, 0.5)
        assert "ruled out" in result.method

    @pytest.mark.parametrize("null", ["auto", "asymptotic", "monte-carlo"])
    def test_certain_and_right(self, null):
        result = spiegelhalter_test([0, 1, 1], [0.0, 1.0, 1.0], null=null)
        assert (result.statistic, result.pvalue, result.estimate) == (0.0, 1.0, 0.0)

    @pytest.mark.parametrize("p", [[0.5, 0.5], [0.0, 0.5], [0.5, 1.0]])
    def test_the_brier_score_cannot_vary(self, refusal, p):
        message = refusal(spiegelhalter_test, [0, 1], p, error=NotApplicableError)
        assert "every score is 0, 0.5 or 1" in message
        assert "kuiper_test" in message


def exact_pvalue(y, p, side, w=None):
    """Return the chance of an excess at least as far out, in exact arithmetic over all outcomes."""
    p = [Fraction(str(q)) for q in p]
    w = [Fraction(1)] * len(p) if w is None else [Fraction(str(x)) for x in w]
    towards = {"two-sided": abs, "greater": lambda z: z, "less": lambda z: -z}[side]

    def excess(outcome):
        return towards(sum(x * (o - q) * (1 - 2 * q) for o, q, x in zip(outcome, p, w, strict=True)))

    outcomes = itertools.product([0, 1], repeat=len(p))
    far = [outcome for outcome in outcomes if excess(outcome) >= excess(y)]
    return float(sum(math.prod(q if o else 1 - q for o, q in zip(outcome, p, strict=True)) for outcome in far))


CASES = {
    "different scores": ([1, 0, 1, 0, 1], [0.1, 0.2, 0.35, 0.6, 0.9], None),
    "ties": ([1, 0, 1, 1, 0, 0], [0.25, 0.25, 0.25, 0.75, 0.75, 0.75], None),
    "weights": ([1, 0, 1, 0], [0.1, 0.3, 0.6, 0.8], [1, 2, 3, 1]),
    "zeros and ones": ([0, 1, 0, 1], [0.0, 1.0, 0.2, 0.7], None),
    "rare": ([0, 0, 1, 0, 0], [0.01, 0.02, 0.03, 0.04, 0.05], None),
    "excess of nothing": ([0, 1], [0.3, 0.4], None),  # -0.3 * 0.4 + 0.6 * 0.2 = 0 in exact arithmetic
    "excess of nothing, four rows": ([0, 0, 0, 1], [0.1, 0.7, 0.3, 0.9], None),
}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("case", CASES)
def test_redrawn_pvalue_against_all_outcomes(case, side):
    y, p, w = CASES[case]
    exact = exact_pvalue(y, p, side, w)
    B = 4999
    result = spiegelhalter_test(y, p, weights=w, alternative=side, null="monte-carlo", resamples=B)
    assert result.pvalue == pytest.approx(exact, abs=5 * math.sqrt(exact * (1 - exact) / B) + 1 / B)


class TestSummaries:
    def test_kind_follows_the_null(self):
        assert isinstance(summarize(spiegelhalter_test, [0, 1], [0.25, 0.75], null="asymptotic"), Moments)
        assert isinstance(summarize(spiegelhalter_test, [0, 1], [0.25, 0.75], null="monte-carlo"), Ordered)


class TestGrid:
    def test_by_hand(self):
        # As in the docstring: excess 0.36/2, Z = 0.36/√(2 · 0.36 · 0.16).
        grid = summarize("ece", [1, 0], [0.2, 0.2])
        result = spiegelhalter_test(grid, null="asymptotic")
        assert result.estimate == pytest.approx(0.18, rel=1e-14)
        assert result.statistic == pytest.approx(0.36 / np.sqrt(2 * 0.36 * 0.16), rel=1e-14)

    @pytest.mark.parametrize("p", [[0.5, 0.5], [0.5, 1.0], [0.5 - 1e-9, 1.0]])
    def test_the_brier_score_cannot_vary(self, refusal, p):
        grid = summarize("ece", [0, 1], p, weights=[0.3, 0.7])
        assert "every score is 0, 0.5 or 1" in refusal(spiegelhalter_test, grid, error=NotApplicableError)

    def test_impossible_row(self):
        result = spiegelhalter_test(summarize("ece", [1, 0], [0.0, 0.5], weights=[0.3, 0.7]))
        assert (result.statistic, result.pvalue) == (np.inf, 0.0)
        assert result.estimate == pytest.approx(0.3)

    def test_redrawn_rows_within_cells(self):
        # 0.501 and 0.503 share a cell, as do 0.0101 and 0.01012.
        y, p = [0, 1, 1, 0, 0, 1, 0], [0.501, 0.503, 0.501, 0.0101, 0.01012, 0.8, 0.8]
        grid, options = summarize("ece", y, p), {"null": "monte-carlo", "resamples": 4999}
        on_grid, exact = spiegelhalter_test(grid, **options), spiegelhalter_test(y, p, **options)
        assert on_grid.pvalue == pytest.approx(exact.pvalue, abs=0.03)
        assert on_grid.method.endswith("4999 redraws of the outcomes from the mean score of each cell")

    def test_scores_near_one_half_state_their_rounding(self):
        # r² - v and v - 4v² are small differences of large sums there.
        rng = np.random.default_rng(0)
        p = 0.5 + 1e-6 * rng.normal(size=2000)
        y = rng.random(2000) < p
        grid = summarize("ece", y, p)
        exact, on_grid = spiegelhalter_test(y, p), spiegelhalter_test(grid)
        bounds = SPIEGELHALTER_TEST.rounding(grid, SPIEGELHALTER_TEST.usual)
        for name in ("statistic", "pvalue", "estimate"):
            assert 0 < abs(getattr(exact, name) - getattr(on_grid, name)) <= bounds[name]

    def test_other_scores_are_exact(self, D1):
        assert SPIEGELHALTER_TEST.rounding(summarize("ece", *D1), SPIEGELHALTER_TEST.usual) == 0


class TestNull:
    # 450 scores add nothing to Z: it is made of 50 rows that expect 0.175 events.
    p = np.repeat([0.5, 0.0035], [450, 50])

    @pytest.mark.parametrize("kind", ["rows", "grid"])
    def test_rows_that_cannot_move_the_statistic_are_no_information(self, kind):
        y = np.append(np.arange(450) % 2, np.arange(50) == 0)
        result = spiegelhalter_test(y, self.p) if kind == "rows" else spiegelhalter_test(summarize("ece", y, self.p))
        assert result.details["information"] == pytest.approx(0.175, rel=0.02)
        # One or more events among 50 rows of 0.0035.
        assert result.pvalue == pytest.approx(1 - 0.9965**50, abs=0.02)

    def test_level(self):
        rng = np.random.default_rng(1)
        pvalues = [spiegelhalter_test(rng.random(500) < self.p, self.p, resamples=199).pvalue for _ in range(200)]
        assert np.mean(np.array(pvalues) <= 0.05) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 200)

    def test_many_different_scores_are_pooled_before_they_are_redrawn(self):
        # 3,000 scores near 0.5 hardly matter beside ten rare ones.
        rng = np.random.default_rng(0)
        p = np.append(rng.uniform(0.4999, 0.5001, 3000), np.full(10, 0.02))
        y = np.append(rng.random(3000) < 0.5, np.arange(10) < 2)
        pooled, exact = spiegelhalter_test(y, p), spiegelhalter_test(y, p, null="monte-carlo", resamples=999)
        assert "redraws of the outcomes from the mean scores of" in pooled.method
        assert pooled.pvalue == pytest.approx(exact.pvalue, abs=0.02)
