"""What is claimed about groups."""

from dataclasses import replace

import numpy as np

from calibrant.core.claims import Subject
from calibrant.core.findings import IF_CALIBRATED, Grouped, Setting, Table, Verdict, with_parts
from calibrant.probabilities.group_claims import group_claims, group_words, stated_low
from calibrant.probabilities.group_test import GroupFindings

FOUND = GroupFindings(
    names=["plan = a", "plan = b", "plan = c", "plan = d"],
    n=np.array([100, 200, 300, 400]),
    weight=np.array([100.0, 200.0, 300.0, 400.0]),
    estimate=np.array([0.12, 0.1, 0.02, 0.08]),
    low=np.array([0.06, 0.0, 0.0, np.nan]),
    high=np.array([0.18, 0.16, 0.08, np.nan]),
    statistic=np.array([4.0, 3.0, 0.5, 3.5]),
    pvalue=np.array([0.001, 0.002, 0.9, np.nan]),
    pvalue_adjusted=np.array([0.004, 0.02, 0.9, np.nan]),
    predicted=np.array([0.3, 0.5, 0.2, 0.4]),
    bias=np.array([0.11, 0.001, 0.01, -0.08]),
    bias_low=np.array([0.05, -0.05, -0.02, np.nan]),
    bias_high=np.array([0.17, 0.05, 0.04, np.nan]),
    minimum_detectable=np.array([0.1, 0.1, 0.1, np.nan]),
)


def setting(families=1, tolerance=None):
    return Setting(0.95, 999, np.random.default_rng(0), families=families, tolerance=tolerance)


def test_claims():
    first, side, second = group_claims(FOUND, setting(2))
    assert (first.kind, str(first.subject), first.quantity) == ("miscalibrated", "group plan = a", "cutoff_error")
    assert (first.estimate, first.pvalue, first.level, first.rows) == (0.12, 0.008, 0.95, 100)
    assert (first.low, first.high, first.least_error) == (0.06, 0.18, 0.06)
    assert (side.kind, str(side.subject), side.quantity) == ("above", "group plan = a", "bias")
    assert (side.estimate, side.low, side.high) == (0.11, 0.05, 0.17)
    assert (second.kind, str(second.subject), second.pvalue) == ("miscalibrated", "group plan = b", 0.04)


def test_families_share_the_error_rate():
    assert [str(claim.subject) for claim in group_claims(FOUND, setting(3))] == ["group plan = a"] * 2
    assert group_claims(FOUND, setting(20)) == ()


def test_false_claims():
    first, side, _ = group_claims(FOUND, setting())
    assert first.is_false(0.0)
    assert not first.is_false(0.1)
    assert first.is_false(0.05)
    assert first.is_false(0.19)
    assert side.is_false(0.0)
    assert side.is_false(0.2)
    assert not side.is_false(0.1)


def test_words():
    how = group_words(FOUND, group_claims(FOUND, setting()))
    assert how == {
        Subject("group", name="plan = a"): "off by 12.0 percentage points (95 % limits: 6.0 to 18.0), observed 41 %, "
        "predicted 30 %",
        Subject("group", name="plan = b"): "off by at most 16.0 percentage points (95 % confidence), observed 50.1 %, "
        "predicted 50.0 %, errors both ways",
    }
    assert Subject("class", name="plan = a") in group_words(FOUND, group_claims(FOUND, setting(), "class"))


CALM = Verdict("within", "Probabilities are fine.", ("More.",), tolerance=0.05)


def parts(claims=(), how=None):
    return Grouped(Table("groups", "Groups", {}), how or {}, claims)


def with_groups(tolerance=None, found=FOUND):
    claims = group_claims(found, setting(tolerance=tolerance))
    return with_parts(CALM, "groups", 4, parts(claims, group_words(found, claims)), setting(tolerance=tolerance))


def test_the_verdict_states_the_size_of_the_worst_group_first():
    found = with_groups()
    assert found.status == "miscalibrated"
    assert found.headline == (
        "Group plan = a is off by 12.0 percentage points (95 % limits: 6.0 to 18.0), observed 41 %, predicted 30 %: "
        "2 of 4 groups are not calibrated (smallest p = 0.004)."
    )
    first, *rest = found.sentences
    opening = "2 of 4 groups are off by more than chance (smallest p = 0.004)"
    assert first.startswith(f"{opening}: plan = a, off by 12.0 percentage")
    assert "; plan = b, off by at most 16.0 " in first
    assert rest == ["All rows together: probabilities are fine.", "More."]
    assert found.claims == group_claims(FOUND, setting())


def test_a_tolerance_asks_for_limits_beyond_it():
    """The error of group a is at least 0.06 and that of b at most 0.16."""
    beyond, open_, within = (with_groups(tolerance) for tolerance in (0.05, 0.07, 0.2))
    assert beyond.status == "miscalibrated"
    assert beyond.headline.endswith(": 1 of 4 groups is off by more than the tolerance (p = 0.004).")
    assert open_.status == "cannot tell"
    assert open_.headline.endswith(": 2 of 4 groups may be off by more than the tolerance (smallest p = 0.004).")
    assert (within.status, within.headline) == ("within", CALM.headline)
    assert "off by more than chance (smallest p = 0.004), but within the tolerance: " in within.sentences[-1]
    assert [claim.kind for claim in within.claims] == ["within"] * 2
    assert with_parts(CALM, "groups", 4, parts(), setting(tolerance=0.06)).status == "within"


def test_the_headline_is_about_a_group_beyond_the_tolerance():
    """Group a is more surprising, but only b is known to be off by more than 0.07."""
    found = with_groups(0.07, replace(FOUND, low=np.array([0.06, 0.08, 0.0, np.nan])))
    assert found.status == "miscalibrated"
    assert found.headline.startswith("Group plan = b is off by 10.0 percentage points (95 % limits: 8.0 to 16.0), ")
    assert str(found.claims[0].subject) == "group plan = b"


def test_a_negligible_error_of_a_group_changes_nothing():
    """One percentage point is negligible at a mean prediction of 0.3, and not at 0.01."""
    small = replace(FOUND, estimate=FOUND.estimate / 20, low=FOUND.low / 20, high=FOUND.high / 20)
    found = with_groups(found=small)
    assert (found.status, [claim.kind for claim in found.claims]) == ("within", ["within"] * 2)
    assert "(smallest p = 0.004), but negligible: " in found.sentences[-1]
    assert with_groups(found=replace(small, predicted=FOUND.predicted / 30)).status == "miscalibrated"


def test_the_lower_limit_is_stated_if_the_test_rejects():
    found = replace(FOUND, low=np.array([0.06, 0.01, 0.005, np.nan]))
    assert stated_low(found, setting()).tolist()[:3] == [0.06, 0.01, 0.0]
    assert np.isnan(stated_low(found, setting())[3])


RARE = replace(FOUND, predicted=np.array([0.05, 0.02, 0.03, 0.1]), bias=np.array([0.06, 0.001, 0.01, -0.05]))


def test_rare_events_are_counted_in_predicted_ones():
    small = replace(RARE, estimate=RARE.estimate / 4, low=RARE.low / 4, high=RARE.high / 4)
    how = group_words(small, group_claims(small, setting()))
    assert how[Subject("group", name="plan = a")].startswith("off by 60.0 % of the predicted events (95 % limits: 30.0")


def test_a_relative_tolerance_is_a_share_of_the_mean_prediction_of_all_rows():
    """The mean of 0.05, 0.02, 0.03 and 0.1 with the weights 1, 2, 3 and 4 is 0.058."""
    asked = replace(setting(tolerance=0.2 * 0.058), relative=True)
    how = group_words(RARE, group_claims(RARE, asked))
    words = "off by 206.9 % of the mean prediction of all rows (95 % limits: 103.4 to 310.4)"
    assert how[Subject("group", name="plan = a")].startswith(words)


def test_rows_that_would_show_calibration_are_not_counted_beside_a_group_that_is_off():
    calm = replace(CALM, status="cannot tell", sentences=("More.", f"{IF_CALIBRATED}about 8,500 rows would show it."))
    claims = group_claims(FOUND, setting())
    found = with_parts(calm, "groups", 4, parts(claims, group_words(FOUND, claims)), setting())
    assert not any("8,500" in sentence for sentence in found.sentences)
    assert "More." in found.sentences
    assert calm.sentences[1] in with_parts(calm, "groups", 4, parts(), setting()).sentences


def test_a_group_of_a_column_without_a_name_is_named_once():
    assert str(Subject("group", name="group = a")) == "group a"
    assert str(Subject("group", name="plan = a")) == "group plan = a"
