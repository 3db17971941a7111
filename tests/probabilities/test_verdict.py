"""The verdict on one probability per row: claims by hand, their limits, and words that stay true."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant as cb
from calibrant.core.claims import ALL_ROWS, USUAL_TOLERANCES, Claim, Subject
from calibrant.core.words import outward, share_words
from calibrant.probabilities.verdict import number_to_pass
from calibrant.report.claims import boxes

HALF = np.full(400, 0.5)


def happened(events, n=400):
    return np.arange(n) < events


def audited(y, p, **options):
    return cb.audit(y, p, resamples=99, **options)


class TestMainClaim:
    def test_size_is_the_cutoff_error_with_its_limits(self):
        # 260 of 400 at 0.5: the error is 0.15, s = 0.025; limits: Brownian range below, z s above
        verdict = audited(happened(260), HALF).verdict
        claim = verdict.claims[0]
        limits = cb.interval("cutoff_error", happened(260), HALF)
        assert (verdict.status, claim.kind, str(claim.subject)) == ("miscalibrated", "miscalibrated", "all rows")
        assert claim.estimate == pytest.approx(0.15)
        assert (claim.low, claim.high) == (pytest.approx(limits.low), pytest.approx(limits.high))
        # s² is the larger of Σp(1 - p) and Σr², which is 100 in both cases here
        assert claim.high == pytest.approx(0.15 + 1.959964 * 0.025, abs=1e-6)

    @pytest.mark.parametrize(("tolerance", "status"), [(0.05, "miscalibrated"), (0.15, "cannot tell"), (0.2, "within")])
    def test_three_outcomes(self, tolerance, status):
        verdict = audited(happened(260), HALF, tolerance=tolerance).verdict
        assert (verdict.status, verdict.tolerance) == (status, tolerance)

    def test_a_detectable_error_can_be_negligible(self):
        rng = np.random.default_rng(0)
        p = rng.random(300_000)
        y = rng.random(300_000) < p + 0.003
        verdict = audited(y, p).verdict
        assert (verdict.status, verdict.tolerance) == ("within", 0.01)
        assert verdict.claims[0].pvalue < 0.05
        assert "negligible" in verdict.headline

    def test_a_lower_limit_is_claimed_only_with_a_test_that_rejects(self):
        rng = np.random.default_rng(1)
        for _ in range(40):
            p = rng.random(150)
            claim = audited(rng.random(150) < p, p).verdict.claims[0]
            assert claim.low == 0 or claim.pvalue < 0.05

    def test_rare_events_are_judged_by_shares_of_the_events(self):
        # mean prediction 0.01: the usual tolerances are 10, 20 and 50 % of it
        p = np.full(20_000, 0.01)
        verdict = audited(happened(200, 20_000), p).verdict
        assert verdict.status == "within"
        assert verdict.tolerance == pytest.approx(0.002)  # s = 0.0007, so 1.96 s is 14 % of the events
        assert "% of the predicted events" in verdict.headline
        assert audited(happened(200, 20_000), p, tolerance=0.1, relative=True).verdict.status == "cannot tell"

    @pytest.mark.parametrize(("events", "options"), [(400, {}), (800, {}), (400, {"tolerance": 0.3, "relative": True})])
    def test_headline_and_box_of_rare_events_have_one_unit(self, events, options):
        """The mean prediction is 0.002; twice or four times as many events as the 200 predicted happen."""
        audit = audited(happened(events, 100_000), np.full(100_000, 0.002), **options)
        claim, box = audit.verdict.claims[0], boxes(audit.findings)[0]
        assert claim.estimate == pytest.approx(events / 100_000 - 0.002)
        relative = events == 400
        assert (claim.unit, claim.share_of) == ((pytest.approx(0.002), "the predicted events") if relative else (1, ""))
        shown = box.value.replace("\u00a0%", "")
        assert float(shown) == pytest.approx(100 * claim.estimate / claim.unit, abs=0.06)
        unit = "% of the predicted events" if relative else "percentage points"
        assert f"off by {shown} {unit}" in audit.verdict.headline
        assert ("share of the predicted number of events" in audit.verdict.sentences[0]) is relative
        assert ("share of the predicted events" in box.label) is relative
        if options:
            assert box.lines[-1] == "tolerance: 30 % of the predicted events"
            assert "the tolerance of 30 % of the predicted events" in audit.verdict.headline

    def test_no_limits_with_unequal_weights_and_few_rows(self):
        verdict = audited([0, 1, 1, 0] * 5, [0.4, 0.6] * 10, weights=np.arange(1, 21)).verdict
        assert verdict.status == "cannot tell"
        assert "off by an unknown size" in verdict.headline

    def test_rows_that_would_pass(self):
        # 80 % of Brownian motions have a range of at most 2.0 (about); z = 1.96; s = 0.5/√n at p = 0.5
        rng = np.random.default_rng(2)
        needed = number_to_pass(200, 0.5 / np.sqrt(200), 0.05, 0.95)
        passed = 0
        for seed in range(200):
            p = np.clip(rng.normal(0.5, 1e-6, needed), 0, 1)  # as many different scores as rows
            limits = cb.interval("cutoff_error", np.random.default_rng(seed).random(needed) < p, p)
            passed += limits.high <= 0.05
        assert 0.7 < passed / 200 < 0.92


class TestRegions:
    def test_bins_outside_their_band(self):
        # 0.2 is said and 0.5 happens, 0.8 is said and 0.8 happens
        p = np.repeat([0.2, 0.8], 500)
        y = np.concatenate([np.arange(500) % 2, np.arange(500) % 5 > 0])
        main, region, *_ = audited(y, p).verdict.claims  # then that on recalibration
        assert main.kind == "miscalibrated"
        assert (region.kind, region.expected, region.estimate) == ("above", pytest.approx(0.2), 0.5)
        assert region.subject.high == 0.2
        assert 0.2 < region.low < 0.5 < region.high
        assert not region.is_false(0.5)
        assert region.is_false(0.2)

    def test_a_region_is_a_union_and_not_a_span(self):
        rng = np.random.default_rng(0)
        p = rng.random(20_000)
        y = rng.random(20_000) < p + 0.06 * np.cos(2 * np.pi * p)
        words = " ".join(audited(y, p).verdict.sentences)
        assert re.search(r"too low up to 0\.\d+ and above 0\.\d+ and too high from 0\.\d+ to 0\.\d+", words)

    def test_regions_in_words(self):
        bounds = (0.0, 0.0), (0.0, 0.3), (1 / 3, 2 / 3), (0.99961, 0.99982), (0.9996, 1.0)
        assert [str(Subject("scores", low=low, high=high)) for low, high in bounds] == [
            "scores 0",
            "scores 0 to 0.3",
            "scores 0.333 to 0.667",
            "scores 0.9996 to 0.9998",
            "scores 0.9996 to 1",
        ]


class TestQuestions:
    def test_labels(self):
        y = np.tile([0, 1, 1, 0], 10)
        sentences = audited(y, np.tile([0.0, 1.0, 0.0, 0.0], 10)).verdict.sentences
        assert sentences[0].startswith("Are these predicted labels?")

    def test_the_other_outcome(self):
        rng = np.random.default_rng(0)
        p = rng.random(500)
        y = rng.random(500) < p
        assert "probabilities of the other outcome" in audited(y, 1 - p).verdict.sentences[0]
        assert "probabilities of the other outcome" not in " ".join(audited(y, p).verdict.sentences)

    def test_permuted_classes(self):
        digits = cb.examples.digits()
        columns = np.array([1, 2, 0, *range(3, 10)])
        asked = audited(digits.y, digits.P[:, columns]).verdict.sentences[0]
        assert "3 of 10 classes fit another column better" in asked
        assert not any("another order" in s for s in audited(digits.y, digits.P).verdict.sentences)


class TestWords:
    @given(
        low=st.floats(0, 0.5),
        width=st.floats(1e-6, 0.5),
        tolerance=st.sampled_from(USUAL_TOLERANCES),
    )
    @settings(max_examples=300, deadline=None)
    def test_rounding_keeps_what_is_said(self, low, width, tolerance):
        high = low + width
        down, up, _ = (float(text) / 100 for text in outward(low, high, low, tolerance))
        assert down <= low + 1e-9
        assert up >= high - 1e-9
        if low > tolerance + 1e-7:
            assert down > tolerance
        if high <= tolerance:
            assert up <= tolerance + 1e-9

    @given(expected=st.floats(0.001, 0.999), gap=st.floats(0.0005, 0.4))
    @settings(max_examples=200, deadline=None)
    def test_an_expected_share_outside_the_limits_is_written_outside(self, expected, gap):
        seen = expected + gap
        says, happens, low, high = (
            float(text.removesuffix(" %")) for text in share_words(expected, seen, expected + gap / 2, seen + gap / 2)
        )
        assert says < low <= happens <= high


def test_every_claim_can_be_compared_with_the_truth():
    intervals = Subject("intervals", level=0.9)
    claim = Claim("within", ALL_ROWS, "cutoff_error", 0.01, 0.0, 0.03, 0.95, 100, tolerance=0.05)
    assert not claim.is_false(0.02)
    assert claim.is_false(0.04)  # beyond its limits
    assert Claim("cannot tell", ALL_ROWS, "cutoff_error", 0.01, 0.0, 0.03, 0.95).is_false(0.04)
    assert not Claim("description", ALL_ROWS, "cutoff_error", 0.01, 0.0, 0.03).is_false(0.04)
    assert Claim("miscalibrated", Subject("group", name="a"), "cutoff_error", 0.1, math.nan, math.nan, 0.95).is_false(
        0.0
    )
    assert Claim("below", intervals, "coverage", 0.8, 0.7, 0.95, 0.95, expected=0.9).is_false(0.9)
    assert not Claim("below", intervals, "coverage", 0.8, 0.7, 0.95, 0.95, expected=0.9).is_false(0.85)


@given(
    n=st.integers(1, 120),
    seed=st.integers(0, 10**6),
    slope=st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    digits=st.sampled_from([1, 2, 9]),
    tolerance=st.sampled_from([None, 0.02, 0.1, 0.3]),
)
@settings(max_examples=60, deadline=None)
def test_verdict_table_and_claims_agree(n, seed, slope, digits, tolerance):
    rng = np.random.default_rng(seed)
    p = rng.random(n).round(digits)
    y = rng.random(n) < 0.5 + slope * (p - 0.5)
    audit = cb.audit(y, p, resamples=39, tolerance=tolerance, groups=rng.integers(0, 2, n))
    verdict, lines = audit.verdict, {line.name: line for line in audit.findings.measurements}
    main = next(claim for claim in verdict.claims if str(claim.subject) == "all rows")
    assert {name for name, line in lines.items() if line.decides} == {"cutoff_error", "calibration_test"}
    assert lines["cutoff_error"].value == pytest.approx(main.estimate)
    if lines["cutoff_error"].interval is not None:
        assert lines["cutoff_error"].interval == (main.low, main.high)
    assert main.pvalue == lines["calibration_test"].pvalue
    columns = audit.findings.groups.columns
    off = {g for g, q in zip(columns["group"], columns["pvalue_adjusted"], strict=True) if q < 0.05}
    assert {claim.subject.name for claim in verdict.claims if claim.subject.kind == "group"} == off
    if verdict.status == "within":
        assert main.high <= verdict.tolerance
    if verdict.status == "miscalibrated":
        assert main.pvalue <= 0.05 + 1e-12 or off
        assert tolerance is None or main.low > tolerance or off


@pytest.mark.parametrize(("least", "advice"), [(0.0, "isotonic recalibration"), (0.05, "recalibration (recalibrate)")])
def test_advice_fits_predictions_of_0(least, advice):
    """A logistic map is a function of the logit, which cannot move a probability of 0."""
    rng = np.random.default_rng(0)
    p = np.maximum(least, rng.integers(0, 10, 600) / 10)
    y = rng.random(600) < 0.5 * p + 0.3 if least == 0 else p > 0.5  # separated: no logistic map exists
    (found,) = [sentence for sentence in cb.audit(y, p, resamples=99).verdict.sentences if "did not train" in sentence]
    assert advice in found


def test_advice_on_class_vectors_with_zeros_names_a_method_that_they_have():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(3), 1000)
    y = (P.cumsum(axis=1) < rng.random((1000, 1))).sum(axis=1).clip(0, 2)
    Q = np.where(P < 0.1, 0.0, P**2)
    Q[:10] = [1.0, 0.0, 0.0]
    Q /= Q.sum(axis=1, keepdims=True)
    (found,) = [said for said in cb.audit(y, Q, resamples=99).verdict.sentences if "did not train" in said]
    assert "(recalibrate, method one-vs-rest with inner isotonic or venn-abers)" in found
    assert cb.recalibrate(y, Q, method="one-vs-rest", inner="venn-abers").method == "one-vs-rest"


def test_rows_needed_with_unequal_weights_are_enough_for_limits():
    """One row of weight 20 among 400: Σw²p(1 - p)/max w² is about 0.33, and 25 are needed for limits."""
    rng = np.random.default_rng(0)
    p, w = rng.uniform(0.2, 0.8, 400), np.where(np.arange(400) == 0, 20.0, 1.0)
    verdict = cb.audit(rng.random(400) < p, p, weights=w, resamples=99).verdict
    (found,) = [sentence for sentence in verdict.sentences if "rows would show it" in sentence]
    information = float((w**2 * p * (1 - p)).sum()) / 400
    assert int(found.split("about ")[1].split(" rows")[0].replace(",", "")) >= 400 * 25 / information
