"""Rows that depend on each other."""

import numpy as np
import pytest

from calibrant.errors import NotApplicableError
from calibrant.inputs.groups import Grouping
from calibrant.inputs.probabilities import read_binary
from calibrant.probabilities.clusters import Clusters, _exceeded, cluster_ranges, clustered_groups


def rows_of(y, p, weights=None):
    return read_binary(y, p, verb="a test", weights=weights)


def sharing(rng, clusters, size, p=None):
    """Return outcomes, scores and clusters of rows that share their score and mostly their outcome."""
    code = np.repeat(np.arange(clusters), size)
    p = rng.beta(2, 3, clusters) if p is None else p
    common = rng.random(clusters)[code]
    return np.where(rng.random(code.size) < 0.8, common, rng.random(code.size)) < p[code], p[code], code


def pvalue(statistics):
    """Return the p-value of the smallest p-value of the four statistics."""
    ranks = np.array([[np.count_nonzero(row >= value) for value in row] for row in statistics.astype(np.float32)])
    smallest = ranks.min(axis=0)
    return np.count_nonzero(smallest <= smallest[0]) / smallest.size


class TestResiduals:
    def test_by_hand(self):
        found = Clusters.of(rows_of([1, 0, 1, 0], [0.5, 0.25, 0.5, 0.25]), np.array([7, 7, 9, 9]))
        assert found.residuals.toarray() == pytest.approx(np.array([[-0.25, -0.25], [0.5, 0.5]]))
        assert found.sums == pytest.approx([0.25, 0.25])
        assert found.estimate == pytest.approx(0.25)
        assert found.effective == pytest.approx(2.0)

    def test_clusters_of_unequal_size_count_less(self):
        code = np.repeat([0, 1, 2], [98, 1, 1])
        assert Clusters.of(rows_of(np.arange(100) % 2, np.full(100, 0.5)), code).effective == pytest.approx(
            1.04, rel=0.01
        )

    def test_single_rows_vary_as_rows_do(self):
        rng = np.random.default_rng(0)
        p = rng.random(400)
        found = Clusters.of(rows_of(rng.random(400) < p, p), np.arange(400))
        assert found.information == pytest.approx((p * (1 - p)).sum())

    def test_rows_that_repeat_an_outcome_count_once(self):
        rng = np.random.default_rng(0)
        p = rng.random(400)
        found = Clusters.of(rows_of(np.repeat(rng.random(400) < p, 5), np.repeat(p, 5)), np.repeat(np.arange(400), 5))
        assert found.information == pytest.approx((p * (1 - p)).sum())

    @pytest.mark.parametrize(
        ("y", "p", "code", "words"),
        [
            (np.arange(40) % 2, np.full(40, 0.5), np.arange(40) // 4, "needs 20 clusters of equal size .* got 10"),
            (np.arange(800) == 0, np.full(800, 0.002), np.arange(800) // 2, "expected events"),
            (np.zeros(40, int), np.zeros(40), np.arange(40), "got 0"),
        ],
    )
    def test_too_few(self, y, p, code, words):
        with pytest.raises(NotApplicableError, match=words):
            Clusters.of(rows_of(y, p), code).statistics(19, np.random.default_rng(0))


class TestStatistics:
    def test_the_first_column_is_that_of_the_data(self):
        rng = np.random.default_rng(1)
        y, p, code = sharing(rng, 60, 5)
        found = Clusters.of(rows_of(y, p), code)
        statistics = found.statistics(19, rng)
        assert statistics.shape == (4, 20)
        assert statistics[0, 0] == pytest.approx(found.estimate * p.size)
        assert statistics[1, 0] == pytest.approx(abs(((y - p) * (1 - 2 * p)).sum()))

    def test_level_of_clusters_that_share_a_score(self):
        """150 repeats at 5 %: 3 standard errors above are 16; tests of independent rows reject about half of them."""
        rng = np.random.default_rng(2)
        alarms = 0
        for _ in range(150):
            y, p, code = sharing(rng, 60, 10)
            alarms += pvalue(Clusters.of(rows_of(y, p), code).statistics(99, rng)) <= 0.05
        assert alarms <= 16

    def test_errors_are_found(self):
        rng = np.random.default_rng(3)
        y, p, code = sharing(rng, 200, 5)
        assert pvalue(Clusters.of(rows_of(y, p**2), code).statistics(99, rng)) <= 0.02

    def test_weights(self):
        rng = np.random.default_rng(4)
        y, p, code = sharing(rng, 60, 5)
        one, other = (Clusters.of(rows_of(y, p, w), code) for w in (None, np.full(300, 4.0)))
        first, second = (found.statistics(39, np.random.default_rng(0)) for found in (one, other))
        assert pvalue(first) == pvalue(second)
        assert other.estimate == pytest.approx(one.estimate)


class TestLimits:
    def test_cover(self):
        """100 repeats at 95 %; the true cutoff error is that of the scores p² of events with probability p."""
        rng = np.random.default_rng(5)
        covered = 0
        for _ in range(100):
            y, p, code = sharing(rng, 60, 5)
            found = Clusters.of(rows_of(y, p**2), code).limits(99, rng)
            low, high = found.at(0.95, "both")
            covered += low <= (p - p**2).mean() <= high
        assert covered >= 90

    def test_limits_widen_with_the_level(self):
        rng = np.random.default_rng(6)
        y, p, code = sharing(rng, 100, 5)
        found = Clusters.of(rows_of(y, p), code).limits(199, rng)
        rates = [0.4, 0.1, 0.01, 1e-4, 1e-12]
        assert (np.diff([found.high(rate) for rate in rates]) >= 0).all()
        assert (np.diff([found.low(rate) for rate in rates]) <= 0).all()
        assert found.low(0.5) <= found.estimate <= found.high(0.4)

    def test_dependent_rows_have_wider_ones(self):
        rng = np.random.default_rng(7)
        y, p, code = sharing(rng, 100, 10)
        together, apart = (Clusters.of(rows_of(y, p), c).limits(199, rng) for c in (code, np.arange(1000)))
        assert together.high(0.025) > apart.high(0.025) + 0.01

    def test_quantiles_of_redraws(self):
        ascending = np.arange(1.0, 1000.0)
        assert _exceeded(ascending, 0.05, 1.0) == 950
        assert _exceeded(ascending, 0.01, 1.0) == 990
        assert _exceeded(ascending, 0.001, 1.0) == pytest.approx(990 + 3.0902 - 2.3263, abs=1e-3)


class TestRanges:
    def test_say_which_way_scores_are_off(self):
        """Scores are too extreme: low ones too low, high ones too high."""
        rng = np.random.default_rng(10)
        y, p, code = sharing(rng, 1000, 5, rng.beta(2, 2, 1000))
        extreme = 1 / (1 + ((1 - p) / p) ** 3)
        first, *_, last = cluster_ranges(rows_of(y, extreme), code, rate=0.025)
        inside = (extreme > first.subject.low) & (extreme <= first.subject.high)
        assert first.low > first.expected
        assert last.high < last.expected
        assert (first.expected, first.estimate) == pytest.approx((extreme[inside].mean(), y[inside].mean()))
        assert first.rows == np.count_nonzero(inside)

    def test_calibrated_scores_have_none(self):
        """100 repeats at the rate 5 %: 3 standard errors above are 11."""
        rng = np.random.default_rng(11)
        alarms = 0
        for _ in range(100):
            y, p, code = sharing(rng, 200, 4)
            alarms += bool(cluster_ranges(rows_of(y, p), code, rate=0.05))
        assert alarms <= 11

    def test_few_clusters_have_none(self):
        rng = np.random.default_rng(12)
        y, p, code = sharing(rng, 25, 20)
        assert cluster_ranges(rows_of(y, p**4), code, rate=0.05) == ()


class TestGroups:
    def test_level_and_bias(self):
        rng = np.random.default_rng(8)
        alarms = covered = 0
        for _ in range(60):
            y, p, code = sharing(rng, 150, 10)
            grouping = Grouping(code % 3, ["a", "b", "c"])
            found = clustered_groups(rows_of(y, p), [grouping], code, level=0.95, resamples=99, rng=rng)
            alarms += found.pvalue_adjusted.min() <= 0.05
            covered += ((found.bias_low <= 0) & (found.bias_high >= 0)).all()
        assert alarms <= 8
        assert covered >= 52

    def test_errors_are_limited(self):
        """60 repeats: 95 % less 3 standard errors is 52. Half of the clusters have scores p² of events of p."""
        rng = np.random.default_rng(13)
        covered = 0
        for _ in range(60):
            y, p, code = sharing(rng, 150, 10)
            score = np.where(code % 2 == 1, p**2, p)
            found = clustered_groups(
                rows_of(y, score), [Grouping(code % 2, ["right", "wrong"])], code, level=0.95, resamples=99, rng=rng
            )
            true = np.array([0.0, (p - score)[code % 2 == 1].mean()])
            low = np.where(found.pvalue_adjusted < 0.05, found.low, 0.0)
            covered += ((low <= true) & (true <= found.high)).all()
        assert covered >= 52
        assert low[1] > 0.05

    def test_groups_of_few_clusters_are_not_tested(self):
        rng = np.random.default_rng(9)
        y, p, code = sharing(rng, 105, 10)
        grouping = Grouping((code >= 100).astype(np.intp), ["many", "few"])
        found = clustered_groups(rows_of(y, p**2), [grouping], code, level=0.95, resamples=99, rng=rng)
        assert found.pvalue_adjusted[0] == 0.01
        assert np.isnan([found.pvalue[1], found.pvalue_adjusted[1], found.bias_low[1], found.bias_high[1]]).all()
        assert np.isfinite(found.estimate).all()
