"""The claims on draws: sizes with limits, and how checks share the error rate."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibrant.core.claims import ALL_ROWS
from calibrant.core.findings import Setting
from calibrant.ranking.effects import band_test, column_errors
from calibrant.ranking.explain import found_columns
from calibrant.ranking.rank_checks import RankCheck, marginal_check
from calibrant.ranking.rank_claims import Checks, column_claims, coverage_claim, rank_error
from calibrant.summaries import Ranks


def checks_of(ranks, *joint, families=1, level=0.95):
    setting = Setting(level, 19, np.random.default_rng(0), families=families)
    found = [RankCheck("joint", "joint", part, math.nan, float(band_test(part).pvalue[0]), "exact") for part in joint]
    return Checks(marginal_check(ranks), found, [], setting)


def columns_of(checks):
    pvalue = np.minimum(1, checks.tests * np.atleast_1d(checks.marginal.pvalue))
    return found_columns(checks.ranks, pvalue, checks.rates)


class TestShares:
    def test_of_checks_families_and_coordinates(self):
        r = np.random.default_rng(0).integers(0, 10, (50, 2))
        ranks = Ranks.of(r, 9)
        checks = checks_of(ranks, Ranks.of(r[:, 0], 9), families=2)
        assert checks.tests == 4
        assert checks.rate == pytest.approx(0.05 / 4)
        assert checks.rates.test == pytest.approx(0.05 / 8)
        # half of the rate of a check is for the upper limit of the error, half for 4 numbers of 2 coordinates
        assert checks.rates.limits == pytest.approx(0.05 / 4 / 2 / 8)


class TestSize:
    def test_of_one_draw_is_that_of_a_binomial_share(self):
        ranks = Ranks.of(np.repeat([0, 1], [40, 10]), 1)
        estimate, low, high = column_errors(ranks, 0.05, 0.025)
        limits = stats.binomtest(40, 50).proportion_ci(0.95)
        assert estimate[0] == pytest.approx(0.3)
        assert high[0] == pytest.approx(limits.high - 0.5)
        # of Binomial(50, 1/2) the outcomes below 18 and above 32 have probability 0.0328, the largest up to 0.05
        assert low[0] == pytest.approx(
            stats.binomtest(40, 50).proportion_ci(1 - 2 * stats.binom.cdf(18, 50, 0.5)).low - 0.5
        )

    @given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 200), st.sampled_from([0.05, 0.01]))
    def test_the_lower_limit_is_positive_exactly_if_the_test_rejects(self, seed, M, n, rate):
        rng = np.random.default_rng(seed)
        ranks = Ranks.of(rng.binomial(M, rng.beta(1, rng.choice([1.0, 1.4]), n)), M)
        estimate, low, high = column_errors(ranks, rate, rate)
        p = band_test(ranks).pvalue[0]
        assert 0 <= low[0] <= estimate[0] <= high[0] <= 1
        if abs(p - rate) > 1e-9:
            assert (low[0] > 0) == (p < rate)

    def test_limits_miss_no_more_often_than_they_may(self):
        M, n, repeats, rng = 19, 100, 1000, np.random.default_rng(1)
        share = stats.norm.cdf(1.4 * np.random.default_rng(0).normal(size=400_000) - 0.2)
        mass = stats.binom.pmf(np.arange(M + 1)[:, None], M, share[:20_000]).mean(axis=1)
        truth = np.abs(np.cumsum(mass)[:-1] - np.arange(1, M + 1) / (M + 1)).max()
        counts = rng.multinomial(n, mass / mass.sum(), size=repeats)
        r = np.stack([np.repeat(np.arange(M + 1), row) for row in counts], axis=1)
        _, low, high = column_errors(Ranks.of(r, M), 0.05, 0.05)
        assert np.mean(low > truth) < 0.02  # the band is for all places, the maximum is at one
        assert np.mean(high < truth) < 0.05

    def test_is_the_largest_of_coordinates_and_the_whole(self):
        rng = np.random.default_rng(0)
        r, whole = rng.integers(0, 10, (200, 2)), Ranks.of(rng.binomial(9, 0.3, 200), 9, names=("average rank",))
        alone, both = (rank_error(checks_of(Ranks.of(r, 9, names=("a", "b")), *some)) for some in ((), (whole,)))
        assert alone.name in ("a", "b")
        assert not alone.joint
        assert both.joint
        assert both.name == "average rank"
        assert both.low > alone.low == 0
        assert both.high > alone.high


class TestClaims:
    def test_coverage_of_a_coordinate_that_passes_contains_its_level(self):
        counts = np.full(20, 10)
        counts[0], counts[9], counts[10], counts[-1] = 3, 17, 17, 3  # 194 of 200 rows in the central 90 %
        ranks = Ranks.of(np.repeat(np.arange(20), counts), 19)
        checks = checks_of(ranks, *[ranks] * 9)  # ten checks leave little to each
        (column,) = columns_of(checks)
        assert column.failures == ("none",)
        (claim,) = coverage_claim(column, ALL_ROWS, checks)
        assert claim.kind == "limits"
        assert claim.estimate == 0.97
        assert claim.low <= 0.9
        assert claim.high >= 0.97

    @given(st.integers(0, 10**6), st.sampled_from([4, 19]), st.integers(20, 300))
    def test_no_claim_contains_the_value_of_calibration(self, seed, M, n):
        rng = np.random.default_rng(seed)
        u = stats.norm.cdf(rng.choice([0.6, 1, 1.6]) * rng.normal(size=n) - rng.choice([0.0, 0.5]))
        checks = checks_of(Ranks.of(rng.binomial(M, u), M))
        columns = columns_of(checks)
        for claim in [*column_claims(columns, checks), *coverage_claim(columns[0], ALL_ROWS, checks)]:
            if claim.kind in ("above", "below"):
                assert claim.pvalue is None or claim.pvalue <= 0.05
                assert not claim.low <= claim.expected <= claim.high
                assert (claim.kind == "above") == (claim.low > claim.expected)

    def test_a_shape_is_a_description(self):
        rng = np.random.default_rng(0)
        draws = rng.gamma(2, size=(1000, 99))
        r = (draws < 2 + np.sqrt(2) * rng.normal(size=(1000, 1))).sum(axis=1)
        checks = checks_of(Ranks.of(r, 99))
        found = {claim.quantity: claim for claim in column_claims(columns_of(checks), checks)}
        assert found["skewed"].kind == "description"
        assert found["skewed"].level is None
