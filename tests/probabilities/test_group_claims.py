"""What is claimed about groups."""

import numpy as np
import pytest

from calibrant.core.findings import Setting
from calibrant.probabilities.group_claims import group_claims, group_words, groups_sentence
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


def setting(families=1):
    return Setting(0.95, 999, np.random.default_rng(0), families=families)


def test_claims():
    first, side, second = group_claims(FOUND, setting(2))
    assert (first.kind, first.subject, first.quantity) == ("miscalibrated", "group plan = a", "cutoff_error")
    assert (first.estimate, first.pvalue, first.level, first.rows) == (0.12, 0.008, 0.95, 100)
    assert (side.kind, side.subject, side.quantity) == ("above", "group plan = a", "bias")
    assert (side.estimate, side.low, side.high) == (0.11, 0.05, 0.17)
    assert (second.kind, second.subject, second.pvalue) == ("miscalibrated", "group plan = b", 0.04)


def test_families_share_the_error_rate():
    assert [claim.subject for claim in group_claims(FOUND, setting(3))] == ["group plan = a"] * 2
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
    assert how["plan = a"] == "observed 41 %, predicted 30 %"
    assert how["plan = b"].endswith("errors both ways")
    sentence = groups_sentence(group_claims(FOUND, setting()), how, 4)
    assert sentence.startswith("2 of 4 groups are off by more than chance: plan = a (observed 41 %, predicted 30 %); ")


@pytest.mark.parametrize("groups", [1, 7])
def test_no_claims(groups):
    assert "No evidence" in groups_sentence([], {}, groups)
