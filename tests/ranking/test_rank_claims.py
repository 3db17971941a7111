"""The claims and the verdict on draws: sizes with limits, and how checks share the error rate."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibrant.core.evidence import ALL_ROWS, Case
from calibrant.core.findings import Setting
from calibrant.judging.judge import claim_of, judge, side
from calibrant.judging.voice import verdict_of
from calibrant.ranking.effects import band_test
from calibrant.ranking.rank_checks import FITTED, RankCheck, marginal_check
from calibrant.ranking.rank_claims import (
    Checks,
    column_claims,
    coverage_evidence,
    draw_error,
    draws_whole,
    found_columns,
)
from calibrant.summaries import Ranks

EVEN = np.full(20, 500)  # 10,000 rows
NARROW = np.array([900, *[455] * 17, 455 + 910 - 900, 900])


def checks_of(ranks, *joint, families=1, tolerance=None):
    setting = Setting(0.95, 19, np.random.default_rng(0), families=families, tolerance=tolerance)
    found = [RankCheck("joint", "joint", part, math.nan, float(band_test(part).pvalue[0]), "exact") for part in joint]
    return Checks(marginal_check(ranks), found, [], setting, ranks.n)


def columns_of(checks):
    pvalue = np.minimum(1, checks.tests * np.atleast_1d(checks.marginal.pvalue))
    return found_columns(checks.ranks, pvalue, checks.rates)


def case_of(checks):
    return Case(draws_whole(draw_error(checks), columns_of(checks), checks, None))


def coverage_claims(column, checks):
    found = coverage_evidence(column, ALL_ROWS, checks)
    return [claim_of(each, side(each, checks.setting), checks.setting) for each in found]


def judged(counts, tolerance=None):
    """Return the claim on the error of all rows and the verdict."""
    checks = checks_of(Ranks.of(np.repeat(np.arange(len(counts)), counts), len(counts) - 1), tolerance=tolerance)
    verdict = judge(case_of(checks), checks.setting)
    return next(claim for claim in verdict.claims if claim.quantity == "coverage_error"), verdict


def test_of_checks_families_and_coordinates():
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
        wide, surely = (Ranks.of(np.repeat(np.arange(100), c), 99, names=(FITTED,)) for c in (middle, end))
        checks = checks_of(Ranks.of(np.repeat(np.arange(100), even), 99), wide, surely)
        error = draw_error(checks)
        assert error.check is checks.joint[1]
        assert error.estimate == pytest.approx(13 / 600)
        assert error.low > 0
        verdict = judge(case_of(checks), checks.setting)
        first, *_ = verdict.claims
        assert (verdict.status, first.estimate, first.low) == ("miscalibrated", error.estimate, error.low)
        assert first.pvalue == checks.joint[1].adjusted(3) < 0.05
        assert checks.joint[0].adjusted(3) > 0.05


class TestVerdict:
    def test_of_the_tolerance(self):
        error, verdict = judged(EVEN)
        assert (verdict.status, verdict.tolerance) == ("within", 0.01)
        # the upper limit is 1.96/(2·100) and a little, at the middle
        assert error.high == pytest.approx(0.0098, abs=0.0002)
        assert (verdict.claims[0].quantity, verdict.claims[1].estimate) == ("coverage_error", 0.9)
        error, verdict = judged(NARROW)
        assert verdict.status == "miscalibrated"
        assert (verdict.claims[0].kind, verdict.claims[0].low) == ("miscalibrated", error.low)
        assert (verdict.claims[1].kind, verdict.claims[1].estimate) == ("below", 0.82)
        found = [judged(NARROW, tolerance)[1].status for tolerance in (0.01, error.estimate + 0.001, 0.2)]
        assert found == ["miscalibrated", "cannot tell", "within"]
        _, verdict = judged(EVEN // 100)
        # (Kuiper's 1.473 - 1.1/√20 + 1.96/2)² / 0.05² = 1,946
        assert (verdict.status, verdict.needed) == ("cannot tell", (0.05, (2000, "rows")))

    def test_so_many_rows_do(self):
        rng = np.random.default_rng(2)
        statuses = [judged(rng.multinomial(2000, np.full(20, 0.05)))[1].status for _ in range(200)]
        assert np.mean([status == "within" for status in statuses]) == pytest.approx(0.84, abs=0.08)

    @given(st.lists(st.integers(0, 60), min_size=2, max_size=12).filter(any), st.sampled_from([None, 0.02, 0.2]))
    def test_every_verdict_has_words(self, counts, tolerance):
        ranks = Ranks.of(np.repeat(np.arange(len(counts)), counts), len(counts) - 1)
        checks = checks_of(ranks, tolerance=tolerance)
        verdict = verdict_of(case_of(checks), checks.setting)
        words = " ".join([verdict.headline, *(line.text for line in verdict.lines)])
        assert "nan" not in words
        assert "inf" not in words
        assert " 1 rows" not in words
        error = next(claim for claim in verdict.claims if claim.quantity == "coverage_error")
        assert error.kind == verdict.status


class TestClaims:
    def test_coverage_of_a_coordinate_that_passes_contains_its_level(self):
        counts = np.full(20, 10)
        counts[0], counts[9], counts[10], counts[-1] = 3, 17, 17, 3  # 194 of 200 rows in the central 90 %
        ranks = Ranks.of(np.repeat(np.arange(20), counts), 19)
        checks = checks_of(ranks, *[ranks] * 9)  # ten checks leave little to each
        (column,) = columns_of(checks)
        assert column.failures == ("none",)
        (claim,) = coverage_claims(column, checks)
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
        for claim in [*column_claims(columns[0], ALL_ROWS), *coverage_claims(columns[0], checks)]:
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
