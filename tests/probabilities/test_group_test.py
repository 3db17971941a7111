"""Tests of groups of rows, in memory or counted in cells."""

import numpy as np
import pytest
from scipy import stats
from tests.references.books import arrays, book

import calibrant as cb
from calibrant.core.grid import GroupCells
from calibrant.core.mean_interval import exact_limits
from calibrant.inputs.groups import read_groups
from calibrant.inputs.probabilities import read_binary
from calibrant.probabilities.group_test import (
    GroupStatistics,
    _exponent,
    _inverse,
    _log_pvalues,
    _step_down,
    counted_groups,
    entries_of_rows,
    group_test,
    redrawable,
    redrawn_residuals,
)

ARRAYS = arrays("probabilities")
BOOK = {v["quantity"]: v for v in book("probabilities")["values"] if v["dataset"] == "D1 groups"}


def group_findings(y, p, groups, *, intersections=1, weights=None, resamples=1999, seed=0):
    rows = read_binary(y, p, verb="test", weights=weights)
    groupings = read_groups(groups, len(y), intersections=intersections, keep=None)
    return group_test(rows, groupings, level=0.95, resamples=resamples, rng=np.random.default_rng(seed))


@pytest.fixture(scope="module")
def d1():
    return group_findings(ARRAYS["D1_y"], ARRAYS["D1_p"], ARRAYS["D1_g"])


def test_reference_pvalues():
    """Of Kuiper's statistic alone; the references adjust by the smallest p-value, step by step."""
    rng = np.random.default_rng(0)
    rows = read_binary(ARRAYS["D1_y"], ARRAYS["D1_p"], verb="test")
    (grouping,) = read_groups(ARRAYS["D1_g"], rows.n, intersections=1, keep=None)
    entries, _ = entries_of_rows(rows, grouping, 1000)
    values, logs = [], []
    for sums, heaviest in entries.groups():
        pool = redrawable(sums, heaviest)
        statistics = GroupStatistics(pool)
        values.append(statistics.of(redrawn_residuals(pool, 1999, rng).residuals)[0].astype(np.float32))
        logs.append(_log_pvalues(values[-1], statistics.shares[0], 0.05)[0])
    raw = BOOK["audit raw pvalue (kuiper, groups 0..3)"]
    adjusted = BOOK["audit adjusted pvalue (step-down minP, groups 0..3)"]
    found = [np.count_nonzero(x >= x[0]) / x.size for x in values]
    np.testing.assert_allclose(found, raw["value"], atol=3 * raw["atol"])
    np.testing.assert_allclose(_step_down(np.stack(logs), 0.95)[0], adjusted["value"], atol=1.5 * adjusted["atol"])


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


def cells(y, p, groups, weights=None):
    rows = read_binary(y, p, verb="a test", weights=weights)
    return GroupCells.of(rows, read_groups({"g": groups}, rows.n, intersections=1, keep=None)[0])


def found_in_cells(*groupings, resamples=999):
    return counted_groups(groupings, level=0.95, resamples=resamples, rng=np.random.default_rng(0))


def test_by_hand():
    """Two rows of score 0.2, one of them an event; and scores 0 and 1 that are right."""
    result = found_in_cells(cells([1, 0, 0, 1], [0.2, 0.2, 0.0, 1.0], ["tied", "tied", "certain", "certain"]))
    assert result.names == ["g = certain", "g = tied"]
    assert result.n.tolist() == [2, 2]
    assert result.estimate == pytest.approx([0.0, 0.3], abs=1e-15)
    assert result.predicted == pytest.approx([0.5, 0.2])
    assert result.bias == pytest.approx([0.0, 0.3], abs=1e-15)
    assert result.statistic == pytest.approx([0.0, 0.3 / np.sqrt(0.08)])
    # No event has |C| = 0.2, one 0.3, two 0.8: reached unless both fail, 1 - 0.8². The other group never surprises.
    assert result.pvalue == pytest.approx([1.0, 0.36], abs=0.04)
    assert result.pvalue_adjusted == pytest.approx(result.pvalue)
    low, high = exact_limits(np.array([1.0, 1.0]), np.array([2.0, 2.0]), 0.975)  # two groups
    assert result.bias_low == pytest.approx(low - [0.5, 0.2])
    assert result.bias_high == pytest.approx(high - [0.5, 0.2])
    # Two events have the probability 0.04, so the 95 % quantile of |C| is 0.3; 80 % power needs 0.84 deviations more.
    assert result.minimum_detectable == pytest.approx([0.0, 0.3 + 0.841621 * np.sqrt(0.08)])


def test_one_score_is_a_binomial_test():
    """60 and 20 events of 100 and 40 rows of score 0.5: binomial tails, within 3 standard errors of 4,999 redraws."""
    y = np.concatenate([np.arange(100) < 60, np.arange(40) < 20]).astype(int)
    found = group_findings(y, np.full(140, 0.5), np.repeat([0, 1], [100, 40]), resamples=4999)
    tail = 2 * stats.binom.cdf(40, 100, 0.5)  # 0.0569
    assert found.pvalue == pytest.approx([tail, 1.0], abs=3 * np.sqrt(tail * (1 - tail) / 4999))
    # The worst of two. Of 40 rows, 13 or fewer and 27 or more events are as surprising: 0.0385; 14 and 26 are not.
    either = 1 - (1 - tail) * (1 - 2 * stats.binom.cdf(13, 40, 0.5))
    assert found.pvalue_adjusted == pytest.approx([either, 1.0], abs=3 * np.sqrt(either * (1 - either) / 4999))


@pytest.mark.parametrize(("groups", "z"), [(1, 1.959964), (2, 2.236477)])
def test_the_minimum_detectable_of_a_binomial_test(groups, z):
    """(z + 0.84) standard deviations of the mean, with z that of 0.95^(1/groups); events are whole numbers."""
    n = 1000 * groups
    found = group_findings(np.arange(n) % 2, np.full(n, 0.5), np.arange(n) // 1000)
    assert found.minimum_detectable == pytest.approx((z + 0.841621) * 0.5 / np.sqrt(1000), abs=0.003)


def test_cells_and_rows_agree():
    rng = np.random.default_rng(6)
    p, g = rng.random(3000), rng.integers(0, 3, 3000)
    y = rng.random(3000) < p
    in_cells, in_memory = found_in_cells(cells(y, p, g)), group_findings(y, p, {"g": g}, resamples=999)
    for name in ("n", "weight", "predicted", "bias", "bias_low", "bias_high"):
        assert getattr(in_cells, name) == pytest.approx(getattr(in_memory, name), abs=1e-12)
    assert in_cells.estimate == pytest.approx(in_memory.estimate, abs=2e-3)
    assert in_cells.pvalue == pytest.approx(in_memory.pvalue, abs=0.08)


def test_a_common_factor_of_the_weights_changes_nothing():
    plain, heavy = (found_in_cells(cells([1, 0, 0], [0.2, 0.4, 0.7], [1, 1, 1], w)) for w in (None, [3.0, 3.0, 3.0]))
    assert heavy.weight == pytest.approx(3 * plain.weight)
    for name in ("estimate", "statistic", "pvalue", "bias", "bias_low", "bias_high", "minimum_detectable"):
        assert getattr(heavy, name) == pytest.approx(getattr(plain, name))


def test_a_wrong_slope_in_one_group_is_found():
    """Kuiper's statistic alone finds it in a tenth of such data, because the mean is right; Cox's in two thirds."""
    rng = np.random.default_rng(1)
    g = np.repeat(np.arange(10), 300)
    hits = 0
    for seed in range(30):
        p = rng.beta(2, 2, g.size)
        truth = np.where(g == 0, 1 / (1 + ((1 - p) / p) ** 0.5), p)
        hits += group_findings(rng.random(g.size) < truth, p, g, resamples=199, seed=seed).pvalue_adjusted[0] <= 0.05
    assert hits >= 15


class TestLimitsOfBiases:
    @pytest.mark.parametrize(("rows", "factor"), [(3, 0.3), (40, 0.3), (400, 2.0)])
    def test_cover_in_all_groups_together(self, rows, factor):
        """12 groups; half of them have a wrong mean. 100 repeats: 95 % less 3 standard errors is 88."""
        rng = np.random.default_rng(rows)
        g = np.repeat(np.arange(12), rows)
        covered = 0
        for seed in range(100):
            p = rng.beta(1, 4, g.size)
            truth = np.where(g < 6, np.minimum(factor * p, 1), p)
            found = group_findings(rng.random(g.size) < truth, p, g, resamples=19, seed=seed)
            bias = np.bincount(g, truth - p) / rows
            covered += ((found.bias_low <= bias) & (bias <= found.bias_high)).all()
        assert covered >= 88

    def test_normal_ones_with_much_information(self):
        p, y = np.full(1000, 0.5), np.repeat([0, 1], [400, 600])
        found = group_findings(y, p, np.zeros(1000), resamples=19)
        assert found.bias_high[0] - found.bias[0] == pytest.approx(1.959964 * 0.5 / np.sqrt(1000), rel=1e-6)

    def test_unequal_weights_count_less(self):
        p, y = np.full(40, 0.5), np.tile([0, 1], 20)
        equal, unequal = (
            group_findings(y, p, np.zeros(40), weights=w, resamples=19) for w in (None, np.repeat([9.0, 1.0], 20))
        )
        assert unequal.bias_high[0] > equal.bias_high[0]


class TestLimitsOfErrors:
    def test_by_hand(self):
        """600 events of 1,000 rows at 0.5: estimate + 1.96 s above; below that of the bias, as the test rejects."""
        found = group_findings(np.repeat([0, 1], [400, 600]), np.full(1000, 0.5), np.zeros(1000), resamples=999)
        s = 0.5 / np.sqrt(1000)
        assert found.estimate[0] == pytest.approx(0.1)
        assert found.high[0] == pytest.approx(0.1 + 1.959964 * s, rel=1e-6)
        assert found.low[0] == pytest.approx(0.1 - 1.959964 * s, rel=1e-6)

    def test_errors_that_cancel_have_a_lower_limit(self):
        """Scores 0.2 and 0.8 of events with probability 1/2: a bias of 0, and a range of 0.15.

        Noise of either half has standard deviation 0.4/√2000/√2; the range of two steps exceeds 3 of 0.4/√2000 seldom.
        """
        p, y = np.repeat([0.2, 0.8], 1000), np.arange(2000) % 2
        found = group_findings(y, p, np.zeros(2000), resamples=999)
        s = 0.5 / np.sqrt(2000)  # residuals vary more than the scores say: Σr² has their squares, 0.34 each
        assert found.estimate[0] == pytest.approx(0.15)
        assert 0.15 - 3.2 * np.sqrt(0.34 / 2000) < found.low[0] < 0.15 - 2 * s
        assert found.low[0] > 0.1

    def test_few_rows_have_exact_limits(self):
        """Limits of the mean frequency by Clopper and Pearson, or Hoeffding's bound."""
        found = group_findings(np.zeros(30, int), np.full(30, 0.3), np.zeros(30), resamples=19)
        assert found.high[0] == pytest.approx(0.3)  # if it never happens
        other = group_findings(np.repeat([0, 1], 5), np.full(10, 0.3), np.zeros(10), resamples=19)
        low, high = exact_limits(np.array([5.0]), np.array([10.0]), 0.975)
        assert other.high[0] == pytest.approx(min(high[0], 1 - low[0], 0.2 + np.sqrt(np.log(80) / 20)))
        assert other.low[0] == 0
        more = group_findings(np.repeat([0, 1], 30), np.full(60, 0.5), np.zeros(60), resamples=19)
        assert more.high[0] == pytest.approx(np.sqrt(np.log(80) / 120))  # Hoeffding's bound, and an estimate of 0

    @pytest.mark.parametrize(("rows", "truth"), [(40, "high"), (400, "flat")])
    def test_cover_in_all_groups_together(self, rows, truth):
        """12 groups, half of them wrong. 100 repeats: 95 % less 3 standard errors is 88."""
        rng = np.random.default_rng(rows)
        g = np.repeat(np.arange(12), rows)
        covered = 0
        for seed in range(100):
            p = rng.beta(2, 2, g.size)
            wrong = np.sqrt(p) if truth == "high" else 1 / (1 + ((1 - p) / p) ** 0.3)
            q = np.where(g < 6, wrong, p)
            found = group_findings(rng.random(g.size) < q, p, g, resamples=99, seed=seed)
            true = np.array([cutoff_error(q[g == k], p[g == k]) for k in range(12)])
            low = np.where(found.pvalue_adjusted < 0.05, found.low, 0)
            covered += ((low <= true + 1e-12) & (true <= found.high)).all()
        assert covered >= 88

    def test_counted_in_cells_they_are_not_narrower(self):
        """Rows within a cell may reach farther than its ends."""
        rng = np.random.default_rng(4)
        p = np.sort(rng.uniform(0.3, 0.302, 400))
        y = (np.arange(400) < 200).astype(int)
        rows = read_binary(y, p, verb="test")
        groupings = read_groups(np.zeros(400), 400, intersections=1, keep=None)
        exact = group_test(rows, groupings, level=0.95, resamples=99, rng=np.random.default_rng(0))
        counted = found_in_cells(GroupCells.of(rows, groupings[0]))
        assert counted.estimate[0] < exact.estimate[0]
        assert counted.high[0] >= exact.high[0] - 1e-12


def cutoff_error(q, p):
    walk = np.append(0, np.cumsum((q - p)[np.argsort(p)])) / p.size
    return np.ptp(walk)


class TestTails:
    @pytest.mark.parametrize("b", [1e-9, 0.01, 1.0, 30.0])
    @pytest.mark.parametrize("x", [0.1, 3.0, 50.0])
    def test_the_inverse(self, x, b):
        assert _inverse(float(_exponent(x, b)), b) == pytest.approx(x, rel=1e-6)

    def test_normal_for_small_shares(self):
        assert float(_exponent(3.0, 1e-9)) == pytest.approx(4.5)

    def test_pvalues_rise_beyond_the_anchor_too(self):
        values = np.sort(np.random.default_rng(0).gamma(2.0, size=400)).astype(np.float32)
        logs, anchor, log_anchor = _log_pvalues(values, 0.2, 0.05)
        assert (np.diff(logs) <= 0).all()
        assert anchor == values[380]
        assert log_anchor == pytest.approx(np.log(0.05))
        assert logs[380] == log_anchor
        assert logs[-1] < np.log(1 / 400)


def test_groups_of_many_scores_are_cut_into_cells_of_equal_mass():
    p = np.concatenate([np.arange(1000) / 1000, [0.25] * 5])
    rows = read_binary(np.arange(1005) % 2, p, verb="a test")
    (grouping,) = read_groups(np.repeat([0, 1], [1000, 5]), 1005, intersections=1, keep=None)
    entries, number = entries_of_rows(rows, grouping, 10)
    assert entries.starts.tolist() == [0, 10]
    assert entries.sums[0].tolist() == [100] * 10 + [5]
    assert number[:101].tolist() == [0] * 100 + [1]
    assert entries.total[0].tolist() == [1000, 5]
