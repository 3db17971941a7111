"""The verdict on draws in words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.core.findings import Setting
from calibrant.core.words import pvalue_words
from calibrant.ranking.effects import band_test
from calibrant.ranking.explain import found_columns
from calibrant.ranking.rank_checks import FITTED, RankCheck, marginal_check
from calibrant.ranking.rank_claims import Checks, draw_error
from calibrant.ranking.rank_verdict import sample_verdict
from calibrant.summaries import Ranks


def verdict_of(counts, *, tolerance=None, families=1):
    ranks = Ranks.of(np.repeat(np.arange(len(counts)), counts), len(counts) - 1)
    setting = Setting(0.95, 19, np.random.default_rng(0), families=families, tolerance=tolerance)
    checks = Checks(marginal_check(ranks), [], [], setting)
    adjusted = np.array([checks.marginal.adjusted(checks.tests)])
    return sample_verdict(found_columns(ranks, adjusted, checks.rates), checks, draw_error(checks))


def test_size_subject_and_pvalue_of_the_headline_are_of_one_check():
    even, middle, end = np.full(100, 6), np.full(100, 6), np.full(100, 6)
    middle[30:50] += 1  # of 600 rows these are 3.3 % too many between two quantiles, which chance explains
    middle[50:70] -= 1
    end[0], end[1:14] = 19, 5  # 2.2 %, which it does not
    coordinate, wide, surely = (
        Ranks.of(np.repeat(np.arange(100), counts), 99, names=(name,))
        for counts, name in ((even, "mu"), (middle, "average rank"), (end, FITTED))
    )
    joint, fitted = (
        RankCheck(f"by {each.names[0]}", each.names[0], each, 0.0, float(band_test(each).pvalue[0]), "exact")
        for each in (wide, surely)
    )
    setting = Setting(0.95, 19, np.random.default_rng(0))
    checks = Checks(marginal_check(coordinate), [joint], [fitted._replace(conditional=True)], setting)
    columns = found_columns(coordinate, np.ones(1), checks.rates)
    verdict = sample_verdict(columns, checks, draw_error(checks))
    (main, *_) = verdict.claims
    p = pvalue_words(fitted.adjusted(3))
    assert main.test == f"by {FITTED}"
    assert main.estimate == pytest.approx(13 / 600)
    assert verdict.headline.startswith("Between two quantiles of the draws' distances from what the covariates predict")
    assert "up to 2.2 percentage points" in verdict.headline
    assert verdict.headline.endswith(f"not calibrated (adjusted {p}).")


EVEN = np.full(20, 500)  # 10,000 rows
NARROW = np.array([900, *[455] * 17, 455 + 910 - 900, 900])


def test_within():
    verdict = verdict_of(EVEN)
    # the upper limit is 1.96/(2·100) and a little, at the middle
    assert verdict.claims[0].high == pytest.approx(0.0098, abs=0.0002)
    assert verdict.headline.replace("\u00a0", " ") == (
        "The central 90 % interval of the draws contains the outcome 90.0 % of the time (95 % limits: 89.1 to 90.9 %): "
        "calibrated within 1 percentage point."
    )


def test_miscalibrated():
    verdict = verdict_of(NARROW)
    assert verdict.status == "miscalibrated"
    assert verdict.headline.endswith("not calibrated (p < 0.001).")
    assert "contains the outcome 82.0 % of the time" in verdict.headline


def test_tolerance():
    assert verdict_of(NARROW, tolerance=0.01).headline.endswith(
        "not calibrated, off by more than the tolerance of 1 percentage point (p < 0.001)."
    )
    assert verdict_of(NARROW, tolerance=0.2).headline.endswith(
        "an error is detectable (p < 0.001), but calibrated within the tolerance of 20 percentage points."
    )
    error = verdict_of(NARROW).claims[0].estimate
    unsure = verdict_of(NARROW, tolerance=error + 0.001)
    assert unsure.status == "cannot tell"
    assert any(sentence.startswith("If the error is as estimated") for sentence in unsure.sentences)


def test_cannot_tell_says_how_many_rows_it_takes():
    verdict = verdict_of(EVEN // 100)
    assert verdict.status == "cannot tell"
    assert verdict.headline.endswith("100 rows cannot tell whether these draws are calibrated.")
    # (Kuiper's 1.473 - 1.1/√20 + 1.96/2)² / 0.05² = 1,946
    assert "With 2,000 rows calibrated draws would be shown to be so within 5 percentage points 4 times in 5." in (
        verdict.sentences
    )


def test_so_many_rows_do():
    rng = np.random.default_rng(2)
    statuses = [verdict_of(rng.multinomial(2000, np.full(20, 0.05))).status for _ in range(200)]
    assert np.mean([status == "within" for status in statuses]) == pytest.approx(0.84, abs=0.08)


def test_families_are_said():
    assert verdict_of(NARROW, families=2).sentences[-1] == (
        "Adjusted p-values allow for 2 families of tests: all rows, groups."
    )
    assert "adjusted p < 0.001" in verdict_of(NARROW, families=2).headline
    assert "djusted" not in " ".join(verdict_of(NARROW).sentences)


@given(st.lists(st.integers(0, 60), min_size=2, max_size=12).filter(any), st.sampled_from([None, 0.02, 0.2]))
def test_every_verdict_has_words(counts, tolerance):
    verdict = verdict_of(np.array(counts), tolerance=tolerance)
    words = " ".join([verdict.headline, *verdict.sentences])
    assert "nan" not in words
    assert "inf" not in words
    assert " 1 rows" not in words
    assert all(sentence.endswith(".") for sentence in (verdict.headline, *verdict.sentences))
    assert verdict.claims[0].kind == verdict.status
