"""Kuiper's test of groups whose rows were counted in cells."""

import json
from pathlib import Path

import numpy as np
import pytest

import calibrant as cb
from calibrant.core.grid import Grid
from calibrant.core.pvalues import brownian_range_sf, normal_quantile
from calibrant.inputs.groups import read_groups
from calibrant.inputs.probabilities import read_binary
from calibrant.probabilities.group_test import _critical, counted_groups, group_test

REFERENCES = Path(__file__).parents[1] / "references"
ARRAYS = np.load(REFERENCES / "probabilities.npz")
BOOK = {
    v["quantity"]: v
    for v in json.loads((REFERENCES / "probabilities.json").read_text())["values"]
    if v["dataset"] == "D1 groups"
}


def group_findings(y, p, groups, *, intersections=1, weights=None, resamples=1999, seed=0):
    rows = read_binary(y, p, verb="test", weights=weights)
    groupings = read_groups(groups, len(y), intersections=intersections, keep=None)
    return group_test(rows, groupings, level=0.95, resamples=resamples, rng=np.random.default_rng(seed))


@pytest.fixture(scope="module")
def d1():
    return group_findings(ARRAYS["D1_y"], ARRAYS["D1_p"], ARRAYS["D1_g"])


def test_reference_pvalues(d1):
    raw = BOOK["audit raw pvalue (kuiper, groups 0..3)"]
    adjusted = BOOK["audit adjusted pvalue (step-down minP, groups 0..3)"]
    np.testing.assert_allclose(d1.pvalue, raw["value"], atol=3 * raw["atol"])
    np.testing.assert_allclose(d1.pvalue_adjusted, adjusted["value"], atol=1.5 * adjusted["atol"])


def test_each_group_has_the_statistic_of_its_own_kuiper_test(d1):
    for g in range(4):
        chosen = ARRAYS["D1_g"] == g
        test = cb.kuiper_test(ARRAYS["D1_y"][chosen], ARRAYS["D1_p"][chosen], null="asymptotic")
        assert d1.statistic[g] == pytest.approx(test.statistic, rel=1e-10)
        assert d1.estimate[g] == pytest.approx(test.estimate, rel=1e-10)
        assert d1.n[g] == test.n
        assert d1.bias[g] == pytest.approx((ARRAYS["D1_y"] - ARRAYS["D1_p"])[chosen].mean(), rel=1e-10)


def test_weights_and_ties():
    rng = np.random.default_rng(5)
    p, g, w = rng.integers(0, 11, 400) / 10, rng.integers(0, 3, 400), rng.uniform(0.5, 2, 400)
    y = rng.random(400) < p
    found = group_findings(y, p, g, weights=w, resamples=99)
    for k in range(3):
        test = cb.kuiper_test(y[g == k], p[g == k], weights=w[g == k], null="asymptotic")
        assert found.statistic[k] == pytest.approx(test.statistic, rel=1e-10)
        assert found.weight[k] == pytest.approx(w[g == k].sum())


def test_family_wise_level_is_kept():
    # overlapping groups, calibrated: at most 5 % of repeats find any; 200 repeats, 3 standard errors above is 9.6 %
    rng = np.random.default_rng(0)
    alarms = unadjusted = 0
    for seed in range(200):
        p = rng.beta(1, 2, 300)
        y = rng.random(300) < p
        groups = {"a": rng.integers(0, 3, 300), "b": rng.integers(0, 2, 300)}
        found = group_findings(y, p, groups, intersections=2, resamples=199, seed=seed)
        assert len(found.names) == 11
        alarms += found.pvalue_adjusted.min() <= 0.05
        unadjusted += found.pvalue.min() <= 0.05
    assert alarms <= 19
    assert unadjusted > 2 * alarms


def test_adjusted_pvalues_are_ordered_and_not_below_the_raw_ones(d1):
    order = np.argsort(d1.pvalue)
    assert (np.diff(d1.pvalue_adjusted[order]) >= 0).all()
    assert (d1.pvalue_adjusted >= d1.pvalue - 1e-12).all()


def test_an_error_of_the_detectable_size_is_found_four_times_in_five():
    rng = np.random.default_rng(3)
    p, g = rng.uniform(0.3, 0.6, 800), np.repeat([0, 1, 2, 3], 200)
    size = group_findings((rng.random(800) < p), p, g, resamples=499).minimum_detectable[0]
    hits = 0
    for seed in range(60):
        truth = np.where(g == 0, p + size, p)
        hits += group_findings(rng.random(800) < truth, p, g, resamples=199, seed=seed).pvalue_adjusted[0] <= 0.05
    assert 0.6 < hits / 60 < 0.97


def test_row_order_does_not_matter():
    rng = np.random.default_rng(4)
    p, g = rng.random(300), rng.integers(0, 5, 300)
    y, order = rng.random(300) < p, rng.permutation(300)
    first, second = group_findings(y, p, g, resamples=99), group_findings(y[order], p[order], g[order], resamples=99)
    np.testing.assert_array_equal(first.pvalue_adjusted, second.pvalue_adjusted)


def test_scores_of_zero_and_one():
    found = group_findings([0, 1, 0, 1], [0.0, 1.0, 1.0, 1.0], ["a", "a", "b", "b"], resamples=99)
    assert found.statistic.tolist() == [0.0, np.inf]
    assert found.pvalue.tolist() == [1.0, 0.01]


def test_labels_of_groups():
    groupings = read_groups({"x": ["a", None, "b", float("nan")]}, 4, intersections=1, keep=None)
    assert groupings[0].names == ["x = (missing)", "x = a", "x = b"]
    import pandas as pd

    frame = pd.DataFrame({"u": [1, 2], "v": ["é", "'\""]})
    assert [g.names for g in read_groups(frame, 2, intersections=2, keep=None)] == [
        ["u = 1", "u = 2"],
        ["v = '\"", "v = é"],
        ["u = 1, v = é", "u = 2, v = '\""],
    ]


def test_a_group_that_is_off_is_found_among_thousands():
    rng = np.random.default_rng(8)
    g = np.repeat(np.arange(2000), 30)
    p = rng.uniform(0.2, 0.8, g.size)
    y = rng.random(g.size) < np.where(g == 7, 0.05, p)
    found = group_findings(y, p, g, resamples=199)
    assert found.pvalue_adjusted[7] <= 0.05
    assert np.count_nonzero(found.pvalue_adjusted <= 0.05) == 1


def test_family_wise_level_with_many_groups():
    # 80 groups, calibrated: at most 5 % of repeats find any; 100 repeats, 3 standard errors above is 11.5 %
    rng = np.random.default_rng(2)
    alarms = 0
    for seed in range(100):
        p = rng.beta(1, 2, 800)
        found = group_findings(rng.random(800) < p, p, rng.integers(0, 80, 800), resamples=99, seed=seed)
        alarms += found.pvalue_adjusted.min() <= 0.05
    assert alarms <= 11


def grid(y, p, weights=None):
    return Grid.of(read_binary(y, p, verb="a test", weights=weights))


def found(**groups):
    return counted_groups(groups.items(), level=0.95, rng=np.random.default_rng(0))


def test_by_hand():
    """Two rows of score 0.2, one of them an event; and scores 0 and 1 that are right."""
    result = found(tied=grid([1, 0], [0.2, 0.2]), certain=grid([0, 1], [0.0, 1.0]))
    assert result.names == ["tied", "certain"]
    assert result.n.tolist() == [2, 2]
    assert result.estimate == pytest.approx([0.3, 0.0], abs=1e-15)
    assert result.predicted == pytest.approx([0.2, 0.5])
    assert result.bias == pytest.approx([0.3, 0.0], abs=1e-15)
    assert result.statistic == pytest.approx([0.3 / np.sqrt(0.08), 0.0])
    # No event has |C| = 0.2, one 0.3, two 0.8: reached unless both fail, 1 - 0.8².
    assert result.pvalue == pytest.approx([0.36, 1.0], abs=0.02)
    assert result.pvalue_adjusted == pytest.approx([2 * result.pvalue[0], 1.0])
    needed = (_critical(0.05 / 2) + normal_quantile(0.8)) * np.sqrt(0.08)
    assert result.minimum_detectable == pytest.approx([needed, 0.0])


def test_a_common_factor_of_the_weights_changes_nothing():
    plain, heavy = (found(a=grid([1, 0, 0], [0.2, 0.4, 0.7], w)) for w in (None, [3.0, 3.0, 3.0]))
    assert heavy.weight == pytest.approx(3 * plain.weight)
    for name in ("estimate", "statistic", "pvalue", "bias", "minimum_detectable"):
        assert getattr(heavy, name) == pytest.approx(getattr(plain, name))


@pytest.mark.parametrize("size", [0.5, 0.05, 1e-3, 1e-9])
def test_the_critical_value_is_exceeded_as_often_as_said(size):
    assert brownian_range_sf(_critical(size)) == pytest.approx(size, rel=1e-9)
