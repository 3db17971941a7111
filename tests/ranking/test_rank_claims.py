"""The claims on draws: sizes with limits, and how checks share the error rate."""

import math

import numpy as np
import pytest
from calibrant.ranking.explain import found_columns
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibrant.core.claims import Outcome
from calibrant.core.evidence import ALL_ROWS
from calibrant.core.findings import Setting
from calibrant.ranking.column_claims import column_claims
from calibrant.ranking.effects import band_test
from calibrant.ranking.rank_checks import RankCheck, marginal_check
from calibrant.ranking.rank_claims import Checks, coverage_claim, draw_error, main_claim
from calibrant.summaries import Ranks


def checks_of(ranks, *joint, families=1, level=0.95):
    setting = Setting(level, 19, np.random.default_rng(0), families=families)
    found = [RankCheck("joint", "joint", part, math.nan, float(band_test(part).pvalue[0]), "exact") for part in joint]
    return Checks(marginal_check(ranks), found, [], setting, ranks.n)


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
        # half of the rate of a check is for the upper limit of the error, half for 5 numbers of 2 coordinates
        assert checks.rates.limits == pytest.approx(0.05 / 4 / 2 / 10)


class TestSize:
    def test_is_the_largest_of_coordinates_and_the_whole(self):
        rng = np.random.default_rng(0)
        r, whole = rng.integers(0, 10, (200, 2)), Ranks.of(rng.binomial(9, 0.3, 200), 9, names=("average rank",))
        alone, both = (draw_error(checks_of(Ranks.of(r, 9, names=("a", "b")), *some)) for some in ((), (whole,)))
        assert alone.name in ("a", "b")
        assert not alone.joint
        assert both.joint
        assert both.name == "average rank"
        assert both.low > alone.low == 0
        assert both.high > alone.high

    def test_is_of_ranks_that_are_known_to_be_off(self):
        even, middle, end = np.full(100, 6), np.full(100, 6), np.full(100, 6)
        middle[30:50] += 1  # of 600 rows these are 3.3 % too many between two quantiles, which chance explains
        middle[50:70] -= 1
        end[0], end[1:14] = 19, 5  # 2.2 %, which it does not
        wide, surely = (Ranks.of(np.repeat(np.arange(100), c), 99, names=("x",)) for c in (middle, end))
        checks = checks_of(Ranks.of(np.repeat(np.arange(100), even), 99), wide, surely)
        error = draw_error(checks)
        assert error.check is checks.joint[1]
        assert error.estimate == pytest.approx(13 / 600)
        assert error.low > 0
        claim = main_claim(error, Outcome("miscalibrated"), checks)
        assert (claim.estimate, claim.low) == (error.estimate, error.low)
        assert claim.pvalue == checks.joint[1].adjusted(3) < 0.05
        assert checks.joint[0].adjusted(3) > 0.05


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
        for claim in [*column_claims(columns[0], ALL_ROWS), *coverage_claim(columns[0], ALL_ROWS, checks)]:
            if claim.kind in ("above", "below"):
                assert claim.pvalue is None or claim.pvalue <= 0.05
                assert not claim.low <= claim.expected <= claim.high
                assert (claim.kind == "above") == (claim.low > claim.expected)

    def test_a_shape_is_a_description(self):
        rng = np.random.default_rng(0)
        draws = rng.gamma(2, size=(1000, 99))
        r = (draws < 2 + np.sqrt(2) * rng.normal(size=(1000, 1))).sum(axis=1)
        checks = checks_of(Ranks.of(r, 99))
        found = {claim.quantity: claim for claim in column_claims(columns_of(checks)[0], ALL_ROWS)}
        assert found["skewed"].kind == "description"
        assert found["skewed"].level is None
