"""Cumulative differences, and the tests by Kolmogorov-Smirnov and Kuiper."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import cumulative_differences, kolmogorov_smirnov_test, kuiper_test, summarize
from calibrant.core.catalogue import NoOptions
from calibrant.core.pvalues import brownian_max_sf, brownian_range_sf
from calibrant.inputs.probabilities import read_binary
from calibrant.probabilities.cumulative import CUMULATIVE_DIFFERENCES
from calibrant.summaries import Grid

TESTS = [kolmogorov_smirnov_test, kuiper_test]
BOTH = pytest.mark.parametrize("verb", TESTS, ids=lambda verb: verb.__name__)

rows = st.lists(
    st.tuples(
        st.integers(0, 1), st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0])), st.floats(0.1, 10)
    ),
    min_size=1,
    max_size=40,
)


def columns(drawn):
    return (np.array(column) for column in zip(*drawn, strict=True))


@given(rows)
def test_are_the_extent_of_the_curve(drawn):
    y, p, w = columns(drawn)
    curve = cumulative_differences(y, p, weights=w)
    ks, kuiper = (verb(y, p, weights=w, null="asymptotic") for verb in TESTS)
    assert ks.estimate == pytest.approx(np.abs(curve.difference).max(), abs=1e-12)
    assert kuiper.estimate == pytest.approx(np.ptp(curve.difference), abs=1e-12)
    assert ks.details["scale"] == pytest.approx(curve.scale, abs=1e-12)
    assert ks.estimate - 1e-12 <= kuiper.estimate <= 2 * ks.estimate + 1e-12
    if curve.scale > 1e-6:
        assert ks.statistic == pytest.approx(ks.estimate / curve.scale)
        assert kuiper.statistic == pytest.approx(kuiper.estimate / curve.scale)
        assert 0 <= kuiper.pvalue <= 1


@BOTH
class TestCertainScores:
    def test_right(self, verb):
        result = verb([0, 1, 1], [0.0, 1.0, 1.0])
        assert (result.statistic, result.pvalue, result.estimate) == (0.0, 1.0, 0.0)
        assert result.method.endswith("all scores are 0 or 1, and right")

    @pytest.mark.parametrize("null", ["auto", "asymptotic", "monte-carlo"])
    def test_wrong(self, verb, null):
        result = verb([0, 1, 0], [0.0, 1.0, 1.0], null=null)
        assert (result.statistic, result.pvalue) == (math.inf, 0.0)
        assert result.estimate == pytest.approx(1 / 3)
        assert "an outcome happened that was ruled out" in result.method

    def test_on_a_grid(self, verb):
        grid = Grid.of(read_binary([0, 1, 0], [0.0, 1.0, 1.0], verb="a test"))
        assert verb(grid).statistic == math.inf


@BOTH
class TestOneScore:
    def test_reduces_to_the_total(self, verb):
        # Four rows of 0.25 with two events: |2 - 1| / √(4 * 3/16).
        result = verb([1, 0, 1, 0], [0.25] * 4, null="asymptotic")
        assert result.estimate == 0.25
        assert result.statistic == pytest.approx(1 / math.sqrt(0.75))

    def test_one_row(self, verb):
        # The statistic takes two values: 0.75/σ with chance 0.25 and 0.25/σ. Both are at least the smaller one.
        assert verb([1], [0.25], resamples=1999).pvalue == pytest.approx(0.25, abs=0.05)
        assert verb([0], [0.25], resamples=1999).pvalue == 1.0


def exact_pvalue(verb, y, p, w):
    """Return the chance, over all outcomes of calibrated predictions, of an estimate at least as large."""
    least = verb(y, p, weights=w, null="asymptotic").estimate * (1 - 1e-12)
    total = 0.0
    for outcome in itertools.product([0, 1], repeat=len(p)):
        if verb(outcome, p, weights=w, null="asymptotic").estimate >= least:
            total += math.prod(q if o else 1 - q for o, q in zip(outcome, p, strict=True))
    return total


CASES = {
    "different scores": ([1, 0, 1, 1, 0, 1], [0.1, 0.2, 0.35, 0.5, 0.7, 0.9], None),
    "ties": ([1, 0, 1, 1, 0, 1, 0, 0], [0.25, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75, 0.75], None),
    "zeros and ones": ([0, 0, 1, 1, 1], [0.0, 0.2, 0.4, 0.7, 1.0], None),
    "weights": ([1, 0, 1, 0, 1], [0.1, 0.3, 0.3, 0.6, 0.8], [1, 2, 3, 1, 0.5]),
    "rare": ([0, 0, 1, 0, 0, 0], [0.01, 0.02, 0.03, 0.04, 0.05, 0.06], None),
    "rare ties and weights": ([0, 1, 0, 0, 0, 1], [0.01, 0.01, 0.02, 0.02, 0.97, 0.97], [1, 1, 2, 2, 1, 1]),
}


@BOTH
@pytest.mark.parametrize("case", CASES)
def test_redrawn_pvalue_against_all_outcomes(verb, case):
    y, p, w = CASES[case]
    exact = exact_pvalue(verb, y, p, w)
    B = 4999
    result = verb(y, p, weights=w, null="monte-carlo", resamples=B)
    assert result.pvalue == pytest.approx(exact, abs=5 * math.sqrt(exact * (1 - exact) / B) + 1 / B)


@BOTH
class TestGrid:
    @given(drawn=rows)
    def test_estimate_is_exceeded_by_the_stated_bound_at_most(self, verb, drawn):
        y, p, w = columns(drawn)
        exact = verb(y, p, weights=w, null="asymptotic").estimate
        on_grid = verb(Grid.of(read_binary(y, p, verb="a test", weights=w)), null="asymptotic")
        assert on_grid.estimate <= exact + 1e-12
        assert exact <= on_grid.estimate + on_grid.details["rounding"] + 1e-12

    @given(drawn=rows)
    def test_scores_on_cell_edges_are_exact(self, verb, drawn):
        y, p, w = columns(drawn)
        p = np.round(p * 60) / 60  # each in a cell of its own
        exact = verb(y, p, weights=w, null="asymptotic")
        on_grid = verb(Grid.of(read_binary(y, p, verb="a test", weights=w)), null="asymptotic")
        assert on_grid.estimate == pytest.approx(exact.estimate, abs=1e-12)
        assert on_grid.details["scale"] == pytest.approx(exact.details["scale"], abs=1e-12)

    def test_bound_is_in_the_method(self, verb):
        # Three rows share a cell around 0.5: the bound is their share of the weight at most, twice that for Kuiper.
        grid = Grid.of(read_binary([0, 1, 0, 1, 1], [0.1, 0.501, 0.502, 0.503, 0.9], verb="a test"))
        result = verb(grid, null="asymptotic")
        bound = result.details["rounding"]
        assert 0 < bound <= (0.6 if verb is kolmogorov_smirnov_test else 1.2) + 1e-12
        assert f"on a grid, the estimate exceeded by at most {bound:.3g}" in result.method


def test_curve_by_hand():
    # Residuals -1/4 at 0.25, 1/2 and -1/2 at 0.5 (tied), -1 at 1; four rows.
    curve = cumulative_differences([0, 1, 0, 0], [0.25, 0.5, 0.5, 1.0])
    assert curve.abscissa.tolist() == [0.0, 0.25, 0.75, 1.0]
    assert curve.difference.tolist() == [0.0, -1 / 16, -1 / 16, -5 / 16]
    np.testing.assert_array_equal(curve.score, [np.nan, 0.25, 0.5, 1.0])
    assert curve.scale == pytest.approx(math.sqrt(3 / 16 + 1 / 4 + 1 / 4) / 4)
    assert (curve.kind, curve.n) == ("cumulative", 4)


def test_curve_with_weights_by_hand():
    # Weights 1, 3: W = 4; w²v = 3/16 + 9 * 3/16.
    curve = cumulative_differences([0, 1], [0.25, 0.75], weights=[1, 3])
    assert curve.abscissa.tolist() == [0.0, 0.25, 1.0]
    assert curve.difference.tolist() == [0.0, -1 / 16, 2 / 16]
    assert curve.scale == pytest.approx(math.sqrt(30 / 16) / 4)
    one = cumulative_differences([1], [0.25])
    assert (one.abscissa.tolist(), one.difference.tolist()) == ([0.0, 1.0], [0.0, 0.75])


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 8), st.floats(0.1, 9)), min_size=1, max_size=30))
def test_curve_against_a_loop(drawn):
    rows = [(p / 8, y, w) for y, p, w in drawn]
    total = sum(w for *_, w in rows)
    curve = cumulative_differences(*zip(*[(y, p) for p, y, _ in rows], strict=True), weights=[w for *_, w in rows])
    for g, score in enumerate(sorted({p for p, *_ in rows}), start=1):
        until = [(p, y, w) for p, y, w in rows if p <= score]
        assert curve.score[g] == score
        assert curve.abscissa[g] == pytest.approx(sum(w for *_, w in until) / total, abs=1e-12)
        assert curve.difference[g] == pytest.approx(sum(w * (y - p) for p, y, w in until) / total, abs=1e-12)
    assert curve.scale == pytest.approx(math.sqrt(sum(w * w * p * (1 - p) for p, _, w in rows)) / total, abs=1e-12)


def test_curve_of_a_grid_by_hand():
    # 0.501 and 0.503 share a cell; in it C can rise by 0.497/4 at most and fall by 0.501/4.
    grid = summarize("ece", [0, 1, 0, 1], [0.25, 0.503, 0.501, 1.0])
    curve = cumulative_differences(grid)
    assert curve.abscissa.tolist() == [0.0, 0.25, 0.75, 1.0]
    np.testing.assert_allclose(curve.difference, [0.0, -0.0625, -0.0635, -0.0635], rtol=1e-13)
    np.testing.assert_allclose(curve.score, [np.nan, 0.25, 0.502, 1.0], rtol=1e-14)
    assert CUMULATIVE_DIFFERENCES.rounding(grid, NoOptions())["difference"] == pytest.approx(0.501 / 4)


@pytest.mark.parametrize(
    ("verb", "estimate", "survival"),
    [(kuiper_test, 5 / 12, brownian_range_sf), (kolmogorov_smirnov_test, 1 / 4, brownian_max_sf)],
)
def test_by_hand(verb, estimate, survival):
    # Residuals 3/4, -1/2, -3/4: C is 0, 1/4, 1/12, -1/6. σ² = (3/16 + 1/4 + 3/16)/9.
    result = verb([1, 0, 0], [0.25, 0.5, 0.75], null="asymptotic")
    assert (result.estimate, result.n) == (pytest.approx(estimate), 3)
    assert result.statistic == pytest.approx(3 * estimate / math.sqrt(10 / 16))
    assert result.pvalue == survival(result.statistic)


@pytest.mark.parametrize(("verb", "name"), [(kuiper_test, "Kuiper"), (kolmogorov_smirnov_test, "Kolmogorov-Smirnov")])
def test_many_rows_have_the_limit_distribution(verb, name, D1):
    assert verb(*D1) == verb(*D1, null="asymptotic")
    assert verb(*D1).method.startswith(f"{name} test of cumulative differences; limit distribution of the ")


@pytest.mark.parametrize(
    ("verb", "enumerated", "series"), [(kuiper_test, 0.30033, 0.44179), (kolmogorov_smirnov_test, 0.20842, 0.25257)]
)
def test_of_all_outcomes(verb, enumerated, series, M):
    assert verb(*M).pvalue == pytest.approx(enumerated, abs=0.023)
    assert verb(*M, null="asymptotic").pvalue == pytest.approx(series, abs=5e-6)


def test_the_start_counts():
    # All differences are negative: from C_0 = 0 down to -0.75, so that range and height agree.
    y, p = [0, 0, 0, 0], [0.6, 0.7, 0.8, 0.9]
    assert kuiper_test(y, p).statistic == pytest.approx(0.75 / (math.sqrt(0.7) / 4))
    assert kuiper_test(y, p).statistic == pytest.approx(kolmogorov_smirnov_test(y, p).statistic, rel=1e-13)


def test_complement_is_the_same_test(D1):
    # Predicting the other outcome reverses the order and the signs of the walk; its range stays.
    y, p = D1
    assert kuiper_test(1 - y, 1 - p).estimate == pytest.approx(kuiper_test(y, p).estimate, abs=1e-12)


def test_sees_a_stretch_anywhere():
    # Events where 0.4 < p < 0.6 happen always, elsewhere as often as stated.
    p = (np.arange(100) + 0.5) / 100
    y = np.where((p > 0.4) & (p < 0.6), 1, np.diff(np.floor(np.append(0, np.cumsum(p)))))
    assert kuiper_test(y, p, null="asymptotic").estimate == pytest.approx(0.2 * 0.5, abs=0.01)


def test_the_lowest_point_counts_as_well_as_the_highest():
    # C falls to -7/12 and never rises above 0.
    assert kolmogorov_smirnov_test([0, 0, 1], [0.75, 1.0, 1.0], null="asymptotic").estimate == pytest.approx(1.75 / 3)


@BOTH
class TestTies:
    """With few different scores a Brownian motion has far more room than the walk, and the limit is conservative."""

    def calibrated(self, rng, n=2000):
        p = rng.integers(1, 10, n) / 10
        return rng.random(n) < p, p

    def test_few_different_scores_are_redrawn(self, verb):
        y, p = self.calibrated(np.random.default_rng(0))
        assert "redraws of the outcomes" in verb(y, p).method
        assert "redraws of the outcomes" in verb(summarize("ece", y, p)).method
        share = [(p == score).sum() * score * (1 - score) for score in np.arange(1, 10) / 10]
        steps = (np.array(share) ** 1.5).sum() ** -2 * sum(share) ** 3
        words = f"; only {steps:.3g} steps (100 wanted), so the test is conservative"
        assert verb(y, p, null="asymptotic").method.endswith(words)

    def test_weights_make_no_further_steps(self, verb):
        y, p = self.calibrated(np.random.default_rng(0))
        w = np.random.default_rng(1).uniform(1, 2, p.size)
        assert "redraws of the outcomes from the mean scores of" in verb(y, p, weights=w, resamples=99).method

    def test_many_different_scores_use_the_limit(self, verb):
        p = np.random.default_rng(0).random(2000)
        y = np.random.default_rng(1).random(2000) < p
        assert "limit distribution" in verb(y, p).method
        assert "limit distribution" in verb(np.append(y, y), np.append(p, p)).method  # each score twice
        assert "limit distribution" in verb(np.append(y, [0] * 5000), np.append(p, np.zeros(5000))).method

    def test_beyond_all_redraws_the_limit_is_taken(self, verb):
        p = np.repeat(np.arange(1, 10) / 10, 100)
        result = verb(p > 0.3, p, resamples=99)
        assert result.pvalue == verb(p > 0.3, p, null="asymptotic").pvalue < 1e-9
        assert verb(p > 0.3, p, null="monte-carlo", resamples=99).pvalue == 0.01
        assert "99 redraws of the outcomes, and limit distribution" in result.method

    def test_level(self, verb):
        rng = np.random.default_rng(0)
        pvalues = np.array([verb(*self.calibrated(rng), resamples=199).pvalue for _ in range(400)])
        assert abs(np.mean(pvalues <= 0.05) - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 400)
        assert abs(np.mean(pvalues <= 0.2) - 0.2) < 4 * np.sqrt(0.2 * 0.8 / 400)

    def test_an_atom_among_many_scores_is_redrawn_on_bins(self, verb):
        rng = np.random.default_rng(0)
        p = np.append(rng.random(4000), np.full(4000, 0.5))
        y = rng.random(8000) < p
        pooled, exact = verb(y, p), verb(y, p, null="monte-carlo", resamples=1999)
        assert "redraws of the outcomes from the mean scores of" in pooled.method
        assert pooled.statistic == exact.statistic
        assert pooled.pvalue == pytest.approx(exact.pvalue, abs=0.05)


@BOTH
@pytest.mark.parametrize("p", [1e-310, 1e-320, 5e-324])
def test_scores_below_the_smallest_normal_number(verb, p):
    result = verb([0, 0, 0], [p] * 3, null="asymptotic")
    assert result.pvalue == 1.0
