"""What is claimed about groups."""

import numpy as np

from calibrant.core.claims import Subject
from calibrant.core.findings import Setting, Verdict, with_parts
from calibrant.probabilities.group_claims import group_claims, group_words
from calibrant.probabilities.group_test import GroupFindings

FOUND = GroupFindings(
    names=["plan = a", "plan = b", "plan = c", "plan = d"],
    n=np.array([100, 200, 300, 400]),
    weight=np.array([100.0, 200.0, 300.0, 400.0]),
    estimate=np.array([0.12, 0.1, 0.02, 0.08]),
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
    assert side.is_false(0.0)
    assert side.is_false(0.2)
    assert not side.is_false(0.1)


def test_words():
    how = group_words(FOUND)
    assert how[Subject("group", name="plan = a")] == "observed 41 %, predicted 30 %"
    assert how[Subject("group", name="plan = b")].endswith("errors both ways")
    assert next(iter(group_words(FOUND, "class"))) == Subject("class", name="plan = a")


def test_the_verdict_names_groups():
    calm = Verdict("within", "Probabilities are fine.", ("More.",), tolerance=0.05)
    claims, how = group_claims(FOUND, setting()), group_words(FOUND)
    found = with_parts(calm, "groups", 4, claims, how, setting())
    assert found.status == "miscalibrated"
    assert found.headline.startswith(
        "Some groups are not calibrated: 2 of 4 groups are off by more than chance (p = 0.004): plan = a (observed 41 %"
    )
    assert found.sentences == ("All rows together: probabilities are fine.", "More.")
    assert found.claims == claims


def test_a_tolerance_asks_for_limits_beyond_it():
    calm = Verdict("within", "Probabilities are fine.", tolerance=0.1)
    claims, how = group_claims(FOUND, setting()), group_words(FOUND)
    # the bias of group a is at least 0.05
    assert with_parts(calm, "groups", 4, claims, how, setting(tolerance=0.04)).status == "miscalibrated"
    assert with_parts(calm, "groups", 4, claims, how, setting(tolerance=0.06)).status == "cannot tell"
    assert with_parts(calm, "groups", 4, (), {}, setting(tolerance=0.06)).status == "within"
