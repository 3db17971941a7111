"""Limits of suprema: error rates, quantiles of noise, and the p-value of a tolerance."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibrant.core.limits import Limits, Noise, mean_sizes, sum_of_sizes_quantile
from calibrant.errors import NotApplicableError


def normal_limits(estimate, scale):
    return Noise(scale**2, 100.0).limits(estimate, lambda rate: stats.norm.isf(rate) * scale, "by hand")


class TestSides:
    @pytest.mark.parametrize(
        ("estimate", "side", "expected"),
        [
            (0.5, "both", (0.5 - 1.959963984540054 * 0.1, 0.5 + 1.959963984540054 * 0.1)),
            (0.5, "upper", (0.0, 0.5 + 1.6448536269514722 * 0.1)),  # one side has all of the error rate
            (0.5, "lower", (0.5 - 1.6448536269514722 * 0.1, 1.0)),
            (0.01, "both", (0.0, 0.01 + 1.959963984540054 * 0.1)),  # limits stay in the range of an error
            (0.99, "both", (0.99 - 1.959963984540054 * 0.1, 1.0)),
        ],
    )
    def test_share_the_error_rate(self, estimate, side, expected):
        assert normal_limits(estimate, 0.1).at(0.95, side) == pytest.approx(expected)

    def test_rounding_of_cells_widens_the_upper_limit_only(self):
        found = Noise(0.01, 100.0).limits(0.3, lambda rate: 0.1, "by hand", rounding=0.05)
        assert found.high(0.5) == pytest.approx(0.35)
        assert found.low(0.5) == pytest.approx(0.2)
        assert found.estimate == 0.3


class TestRate:
    @pytest.mark.parametrize("tolerance", [0.051, 0.1, 0.2, 0.5])
    def test_is_the_tail_of_the_normal_distribution(self, tolerance):
        found = normal_limits(0.05, 0.02).pvalue_of(tolerance)
        assert found == pytest.approx(stats.norm.sf((tolerance - 0.05) / 0.02), rel=1e-9)

    def test_ends(self):
        assert normal_limits(0.05, 0.02).pvalue_of(0.04) == pytest.approx(stats.norm.cdf(0.5), rel=1e-9)
        assert normal_limits(0.05, 1e-4).pvalue_of(0.9) == 0.0  # beyond the smallest float64
        assert normal_limits(0.9, 1e-4).pvalue_of(0.05) == 1.0

    @given(st.floats(0.01, 0.4), st.floats(0.005, 0.1), st.floats(0.02, 0.9))
    def test_rejects_exactly_when_the_limit_is_below_the_tolerance(self, estimate, scale, tolerance):
        found = normal_limits(estimate, scale)
        p = found.pvalue_of(tolerance)
        for level in (0.5, 0.9, 0.95, 0.999):
            if abs(p - (1 - level)) > 1e-6:
                assert (found.at(level, "upper")[1] <= tolerance) == (p <= 1 - level)


class TestNoise:
    def test_takes_the_larger_variance(self):
        assert Noise.of(4.0, 9.0, total=10.0, heaviest=2.0) == Noise(0.09, 1.0)
        assert Noise.of(9.0, 4.0, total=10.0, heaviest=1.0) == Noise(0.09, 9.0)

    def test_too_little_information_is_refused_with_the_number(self, refusal):
        message = refusal(Noise(0.01, 24.9).check, "ece", error=NotApplicableError)
        assert "limits of ece need a sum of p(1 - p) over the rows of at least 25" in message
        assert "About 1.1 times as many rows are needed" in message
        assert "got 24.9" in message
        Noise(0.01, 25.0).check("ece")


MANY = 1e9  # information of sums that are as good as normal


class TestSumsOfSizes:
    @pytest.mark.parametrize("rate", [0.05, 0.025, 0.005])
    def test_one_is_nearly_exact(self, rate):
        found = sum_of_sizes_quantile(np.array([2.0]), np.array([MANY]), rate)
        assert found == pytest.approx(2 * stats.norm.isf(rate / 2), rel=0.06)

    def test_many_against_simulation(self):
        sigma = np.array([0.5, 1.0, 1.5, 2.0, 0.1])
        drawn = np.abs(np.random.default_rng(0).normal(size=(200_000, 5)) * sigma).sum(axis=1)
        for rate in (0.1, 0.05, 0.01):
            found = sum_of_sizes_quantile(sigma, np.full(5, MANY), rate)
            assert found == pytest.approx(np.quantile(drawn, 1 - rate), rel=0.01)

    def test_no_noise(self):
        assert sum_of_sizes_quantile(np.zeros(3), np.zeros(3), 0.05) == 0.0

    @pytest.mark.parametrize("p", [0.02, 0.1, 0.25, 0.4, 0.5])
    def test_the_mean_size_of_few_rows_is_bounded(self, p):
        """E|k - mp| of a binomial k, from its probabilities, is at most the bound and never half of it."""
        for m in (1, 2, 3, 5, 8, 20, 60):
            k, v = np.arange(m + 1), m * p * (1 - p)
            exact = float((stats.binom.pmf(k, m, p) * np.abs(k - m * p)).sum())
            bound = float(mean_sizes(np.array([math.sqrt(v)]), np.array([v]))[0])
            assert exact <= bound * (1 + 1e-12)
            assert v < 0.25 or exact > bound / 2

    def test_many_bins_of_one_row(self):
        """1,000 calibrated rows of p = 0.5 in bins of their own: their sum of sizes is 500, which is no evidence."""
        sigma, information = np.full(1000, 0.5), np.full(1000, 0.25)
        assert sum_of_sizes_quantile(sigma, information, 0.05) > 500
        assert sum_of_sizes_quantile(sigma, np.full(1000, MANY), 0.05) < 420


def test_any_pair_of_functions_is_limits():
    found = Limits(0.2, lambda rate: 0.1, lambda rate: 0.3, "by hand")
    assert found.at(0.9, "both") == (0.1, 0.3)
    assert found.pvalue_of(0.3) == 0.0
    assert found.pvalue_of(0.29) == 1.0
    assert math.isfinite(found.estimate)
