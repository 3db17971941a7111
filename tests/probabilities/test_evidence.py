"""Evidence on one probability per row: claims by hand and their limits."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant as cb
from calibrant.core.claims import Claim
from calibrant.core.evidence import ALL_ROWS, Subject, note
from calibrant.core.findings import Setting
from calibrant.core.ordered import Ordered
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.probabilities.clusters import Clusters
from calibrant.probabilities.evidence import (
    caveats,
    group_family,
    questions_on_classes,
    questions_on_dependence,
    rows_to_pass,
    stated_low,
)
from calibrant.probabilities.group_test import GroupFindings
from calibrant.probabilities.size import size_of

HALF = np.full(400, 0.5)


def happened(events, n=400):
    return np.arange(n) < events


def audited(y, p, **options):
    return cb.audit(y, p, resamples=99, **options)


class TestMainClaim:
    def test_size_is_the_root_mean_square_error_with_its_limits(self):
        # 260 of 400 at 0.5: (Σr)² = 60² and Σr² = 100, so θ = (3600 - 100)/(400² - 400) in the one range
        verdict = audited(happened(260), HALF).verdict
        claim = verdict.claims[0]
        limits = cb.interval("ece", happened(260), HALF, bins="auto", norm="l2", debias=True)
        assert (verdict.status, claim.kind, claim.subject) == ("miscalibrated", "miscalibrated", ALL_ROWS)
        assert (claim.quantity, claim.estimate) == ("rms_error", pytest.approx(math.sqrt(3500 / 159_600)))
        assert (claim.low, claim.high) == (pytest.approx(limits.low), pytest.approx(limits.high))

    def test_the_cutoff_error_is_said_of_thresholds(self):
        # s² is the larger of Σp(1 - p) and Σr², which is 100 in both cases here, over 400²
        verdict = audited(happened(260), HALF).verdict
        (threshold,) = [claim for claim in verdict.claims if claim.quantity == "cutoff_error"]
        assert (threshold.kind, threshold.low) == ("limits", 0)
        assert threshold.high == pytest.approx(0.15 + 1.959964 * 0.025, abs=1e-6)
        assert [n.values for n in verdict.notes if n.key == "threshold"] == [{"most": threshold.high, "level": 0.95}]

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

    def test_a_lower_limit_is_claimed_only_with_a_test_that_rejects(self):
        rng = np.random.default_rng(1)
        for _ in range(40):
            p = rng.random(150)
            claim = audited(rng.random(150) < p, p).verdict.claims[0]
            assert claim.low == 0 or claim.pvalue < 1 - 0.95  # which is above 0.05

    def test_rare_events_are_judged_by_shares_of_the_events(self):
        # mean prediction 0.01: the usual tolerances are 10, 20 and 50 % of it
        p = np.full(20_000, 0.01)
        verdict = audited(happened(200, 20_000), p).verdict
        assert verdict.status == "within"
        assert verdict.tolerance == pytest.approx(0.005)  # the upper limit is 21.5 %
        assert verdict.claims[0].share_of == "the error if no event happened"
        assert audited(happened(200, 20_000), p, tolerance=0.1, relative=True).verdict.status == "cannot tell"

    @pytest.mark.parametrize(("events", "options"), [(400, {}), (800, {}), (400, {"tolerance": 0.3, "relative": True})])
    def test_a_page_of_rare_events_has_one_unit(self, events, options):
        """The mean prediction is 0.002; twice or four times as many events as the 200 predicted happen."""
        y, p, g = happened(events, 100_000), np.full(100_000, 0.002), np.arange(100_000) % 3
        verdict = audited(y, p, groups=g, **options).verdict
        relative = (pytest.approx(0.002), "the error if no event happened") if events == 400 else (1, "")
        errors = [claim for claim in verdict.claims if claim.quantity == "rms_error"]
        assert len(errors) > 1
        assert all((claim.unit, claim.share_of) == relative for claim in errors)
        assert (verdict.unit, verdict.share_of) == relative

    def test_no_limits_with_unequal_weights_and_few_rows(self):
        verdict = audited([0, 1, 1, 0] * 5, [0.4, 0.6] * 10, weights=np.arange(1, 21)).verdict
        assert verdict.status == "cannot tell"
        assert (verdict.claims[0].low, verdict.claims[0].high) == (0, 1)

    def test_rows_that_would_pass(self):
        """Scores from 0 to 1 take about 2,300 rows for 5 points and 18,400 for 2; four in five data sets pass."""
        rng = np.random.default_rng(2)
        p = (np.arange(300) + 0.5) / 300
        few = Ordered.of(Binary((np.arange(300) % 2).astype(np.uint8), p, np.ones(300)))
        needed = rows_to_pass(few, setting())
        assert [needed(tau) for tau in (0.05, 0.02)] == [(2300, "rows"), (19_000, "rows")]
        passed = 0
        for _ in range(200):
            p = rng.random(2300)
            passed += size_of(Ordered.of(Binary(rng.random(2300) < p, p, np.ones(2300)))).limits.high(0.025) <= 0.05
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

    def test_a_shape_is_a_union_of_ranges(self):
        rng = np.random.default_rng(0)
        p = rng.random(20_000)
        y = rng.random(20_000) < p + 0.06 * np.cos(2 * np.pi * p)
        (shape,) = [each for each in audited(y, p).verdict.notes if "low" in each.values]
        low, high = shape.values["low"], shape.values["high"]
        assert shape.key == "both ways"
        assert low[0][0] == 0
        assert low[-1][1] == 1
        assert all(0.2 < left < right < 0.8 for left, right in high)


def keys(verdict):
    return [note.key for note in verdict.notes]


class TestQuestions:
    def test_labels(self):
        y = np.tile([0, 1, 1, 0], 10)
        assert keys(audited(y, np.tile([0.0, 1.0, 0.0, 0.0], 10)).verdict)[0] == "labels?"

    def test_the_other_outcome(self):
        rng = np.random.default_rng(0)
        p = rng.random(500)
        y = rng.random(500) < p
        assert "other outcome?" in keys(audited(y, 1 - p).verdict)
        assert "other outcome?" not in keys(audited(y, p).verdict)

    def test_permuted_classes(self):
        digits = cb.examples.digits()
        columns = np.array([1, 2, 0, *range(3, 10)])
        (asked,) = [n for n in audited(digits.y, digits.P[:, columns]).verdict.notes if n.key == "column order?"]
        assert (asked.values["moved"], asked.values["K"]) == (3, 10)
        assert "column order?" not in keys(audited(digits.y, digits.P).verdict)


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
    main = next(claim for claim in verdict.claims if claim.subject == ALL_ROWS)
    decisive = {"rms_error", "cutoff_error", "calibration_test", "range_error"}
    assert {name for name, line in lines.items() if line.decides} == decisive
    assert lines["rms_error"].value == pytest.approx(main.estimate)
    if lines["rms_error"].interval is not None:
        assert lines["rms_error"].interval == (main.low, main.high)
    assert main.pvalue == lines["calibration_test"].pvalue
    columns = audit.findings.groups.columns
    off = {g for g, q in zip(columns["group"], columns["pvalue_adjusted"], strict=True) if q < 1 - 0.95}
    assert {claim.subject.name for claim in verdict.claims if claim.subject.kind == "group"} == off
    if verdict.status == "within":
        assert main.high <= verdict.tolerance
    beyond = [claim for claim in verdict.claims if claim.subject.kind == "scores" and claim.tolerance is not None]
    if verdict.status == "miscalibrated":
        assert main.pvalue <= 0.05 + 1e-12 or off
        assert tolerance is None or main.low > tolerance or off or beyond


@pytest.mark.parametrize(("least", "advice"), [(0.0, "recalibrate steps"), (0.05, "recalibrate")])
def test_advice_fits_predictions_of_0(least, advice):
    """A logistic map is a function of the logit, which cannot move a probability of 0."""
    rng = np.random.default_rng(0)
    p = np.maximum(least, rng.integers(0, 10, 600) / 10)
    y = rng.random(600) < 0.5 * p + 0.3 if least == 0 else p > 0.5  # separated: no logistic map exists
    assert advice in keys(cb.audit(y, p, resamples=99).verdict)


def test_rows_needed_with_unequal_weights_are_enough_for_limits():
    """One row of weight 20 among 400: Σw²p(1 - p)/max w² is about 0.33, and 25 are needed for limits."""
    rng = np.random.default_rng(0)
    p, w = rng.uniform(0.2, 0.8, 400), np.where(np.arange(400) == 0, 20.0, 1.0)
    verdict = cb.audit(rng.random(400) < p, p, weights=w, resamples=99).verdict
    information = float((w**2 * p * (1 - p)).sum()) / 400
    assert verdict.needed[1].number >= 400 * 25 / information


FOUND = GroupFindings(
    names=["plan = a", "plan = b", "plan = c", "plan = d"],
    n=np.array([100, 200, 300, 400]),
    weight=np.array([100.0, 200.0, 300.0, 400.0]),
    estimate=np.array([0.12, 0.1, 0.02, 0.08]),
    low=np.array([0.06, 0.01, 0.005, np.nan]),
    high=np.array([0.18, 0.16, 0.08, np.nan]),
    statistic=np.array([4.0, 3.0, 0.5, 3.5]),
    pvalue=np.array([0.001, 0.002, 0.9, np.nan]),
    pvalue_adjusted=np.array([0.004, 0.02, 0.9, np.nan]),
    predicted=np.array([0.3, 0.5, 0.2, 0.4]),
    bias=np.array([0.11, 0.001, 0.01, -0.08]),
    bias_low=np.array([0.05, -0.05, -0.02, np.nan]),
    bias_high=np.array([0.17, 0.05, 0.04, np.nan]),
    minimum_detectable=np.array([0.1, 0.1, 0.1, np.nan]),
    never=np.array([0.4, 0.6, 0.3, 0.5]),
    quantity=("rms_error", "mean_error", "rms_error", "cutoff_error"),
)


def setting(families=1):
    return Setting(0.95, 999, np.random.default_rng(0), families=families)


class TestGroups:
    def test_evidence_of_a_group_is_its_error_and_which_way_it_is_off(self):
        family = group_family(FOUND, setting(2), "group")
        first, second, third, fourth = family.evidence
        assert (first.subject, first.quantity) == (Subject("group", name="plan = a"), "rms_error")
        assert [(each.quantity, each.size.most) for each in (first, second, fourth)] == [
            ("rms_error", 0.18),
            ("mean_error", math.inf),  # neither bounds other errors
            ("cutoff_error", math.inf),
        ]
        assert (first.estimate, first.low, first.high, first.rows, first.mean) == (0.12, 0.06, 0.18, 100, 0.3)
        assert (first.pvalue, second.pvalue) == (0.008, 0.04)
        (way,) = first.explanation
        assert (way.quantity, way.estimate, way.low, way.high) == ("bias", 0.11, 0.05, 0.17)
        assert (third.pvalue, fourth.pvalue, fourth.explanation) == (1.0, None, ())
        assert (family.name, family.tested, family.small_passes) == ("groups", 3, True)

    def test_the_lower_limit_is_stated_if_the_test_rejects(self):
        assert stated_low(FOUND, setting()).tolist()[:3] == [0.06, 0.01, 0.0]
        assert np.isnan(stated_low(FOUND, setting())[3])


def caveat_keys(y, p, *, pooled=False, clusters=None, level=0.95, **weights):
    rows = Binary(np.asarray(y, np.uint8), np.asarray(p, np.float64), weights.get("w", np.ones(len(p))))
    asked = Setting(level, 99, np.random.default_rng(0), clusters=clusters)
    return [note.key for note in caveats(Ordered.of(rows), asked, pooled=pooled, infinite=False)]


class TestCaveats:
    def test_tied_scores_ask_for_clusters_unless_rounding_explains_them(self):
        rounded, many = np.arange(303) % 101 / 100, np.arange(408) % 102 / 101
        y = np.arange(408) % 2
        assert [key for key in caveat_keys(y[:303], rounded) if "tied" in key] == ["tied"]
        assert [key for key in caveat_keys(y, many) if "tied" in key] == ["tied", "tied rows?"]
        assert [key for key in caveat_keys(y, many, clusters=np.arange(408)) if "tied" in key] == ["tied"]

    def test_half_as_many_scores_as_rows_are_no_ties(self):
        halves = np.repeat(np.linspace(0.1, 0.9, 100), 2)
        assert "tied" not in caveat_keys(np.arange(200) % 2, halves)
        assert "tied" in caveat_keys(np.arange(250) % 2, np.append(halves, np.full(50, 0.5)))  # 101 of 250

    def test_no_error_is_found_at_a_level_that_redraws_cannot_reach(self):
        y, p = np.arange(400) % 2, np.linspace(0.1, 0.9, 400)
        assert "power" in caveat_keys(y, p)
        assert not [key for key in caveat_keys(y, p, level=1 - 1e-4) if "power" in key]

    def test_outcomes_of_probability_0_are_counted(self):
        p = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 0.5] * 40)
        y = np.array([1, 0, 0, 0, 1, 1] * 40)
        rows = Binary(y.astype(np.uint8), p, np.ones(p.size))
        asked = Setting(0.95, 99, np.random.default_rng(0))
        (found,) = [n for n in caveats(Ordered.of(rows), asked, pooled=False, infinite=True) if n.key == "ruled out"]
        assert found.values == {"ruled_out": 120}

    def test_weights_that_count_like_fewer_rows(self):
        y, p = np.arange(400) % 2, np.full(400, 0.5)
        assert "weights" not in caveat_keys(y, p)
        w = np.where(np.arange(400) < 100, 4.0, 1.0)
        summary = Ordered.of(Binary(y.astype(np.uint8), p, w))
        notes = caveats(summary, setting(), pooled=False, infinite=False)
        assert [n.values for n in notes if n.key == "weights"] == [{"n": 400, "effective": 258}]  # 700²/1900


def test_clusters_needed():
    """Twice the noise of independent rows takes twice the rows for the same ranges, and 100 clusters at least."""
    y, p = (np.arange(400) % 2).astype(np.uint8), np.linspace(0.1, 0.9, 400)
    rows = Binary(y, p, np.ones(400))
    clusters = Clusters.of(rows, np.arange(400) // 2)
    once, twice = (rows_to_pass(Ordered.of(rows), setting(), (clusters, noise)) for noise in (1.0, 2.0))
    assert once(0.05).things == "clusters"
    assert twice(0.05).number / once(0.05).number == pytest.approx(2, rel=0.1)
    assert once(0.5).number == 130  # an information of 25, where 200 clusters have 39.3


def test_a_bin_after_scores_of_0_does_not_hold_them():
    p = np.concatenate([np.zeros(2000), np.repeat(0.05, 2000), np.repeat(0.5, 2000)])
    y = np.concatenate([np.zeros(2000), np.arange(2000) < 600, np.arange(2000) < 1000])
    low = [c.subject.low for c in audited(y, p).claims if c.quantity == "frequency"]
    assert low == [math.ulp(0.0)]


RNG = np.random.default_rng(10)


def test_labels_of_classes():
    """Class vectors that predict() gave: one class has the probability 1 in every row."""
    y, P = RNG.integers(0, 3, 200), np.eye(3)[RNG.integers(0, 3, 200)]
    (question,) = questions_on_classes(Classes(y, P, np.ones(200)), ("a", "b", "c"))
    assert question == note("class labels?", n=200)
    P[0] = [0.9, 0.1, 0.0]
    assert questions_on_classes(Classes(y, P, np.ones(200)), ("a", "b", "c")) == []


@pytest.mark.parametrize(
    ("scores", "options", "asked"),
    [
        (np.repeat(RNG.random(125), 4), {}, True),  # each of 125 customers four times, in random order
        (np.repeat(RNG.random(125), 4), {"clusters": np.repeat(np.arange(125), 4)}, False),
        (RNG.random(500), {}, False),
        (RNG.random(500).round(1), {}, False),
    ],
)
def test_scores_that_repeat_anywhere_are_pointed_out(scores, options, asked):
    order = RNG.permutation(500)
    options = {name: labels[order] for name, labels in options.items()}
    p = scores[order]
    found = cb.audit((RNG.random(500) < p).astype(int), p, resamples=19, **options).findings.caveats
    assert any(caveat.endswith("name the clusters.") for caveat in found) == asked


def test_blocks_of_a_score():
    (question,) = questions_on_dependence(np.repeat(RNG.random(50), 4))
    assert question == note("clusters?", share=150 / 199)


@pytest.mark.parametrize(
    "p",
    [
        RNG.random(1000),
        RNG.integers(0, 5, 1000) / 4,
        RNG.random(1000).round(2),
        np.sort(RNG.random(1000).round(1)),
        np.concatenate([np.sort(RNG.random(500).round(1)), np.sort(RNG.random(500).round(1))]),
        np.full(1000, 0.3),
        np.full(3, 0.3),
        np.where(RNG.random(1000) < 0.9, 0.0, RNG.random(1000)),
    ],
)
def test_no_false_alarm(p):
    assert questions_on_dependence(p) == []


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("p", [1e-310, 1e-300, 1e-160])
def test_probabilities_near_the_smallest_number_are_judged_in_points(p):
    y = np.arange(300) % 2
    assert audited(y, np.full(300, p)).verdict.status == "miscalibrated"
    never = audited(0 * y, np.full(300, p)).verdict
    assert (never.status, never.share_of) == ("cannot tell", "")  # of the mean alone nothing is within


@pytest.mark.filterwarnings("error")
def test_events_of_groups_and_classes_that_were_all_but_ruled_out():
    y = np.arange(300) % 2
    assert audited(y, np.full(300, 1e-160), groups=np.arange(300) < 150).verdict.status == "miscalibrated"
    P = np.column_stack([np.full(300, 1e-100), np.full(300, 0.5), np.full(300, 0.5)])
    assert audited(y + 1, P).verdict.status != "miscalibrated"
