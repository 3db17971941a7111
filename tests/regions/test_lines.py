"""Lines of coverage: what is promised, exact tests and limits, and where intervals lie."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import calibrant as cb
from calibrant.core.findings import Setting
from calibrant.inputs.rows import IntervalRows, QuantileRows, SetRows
from calibrant.regions.hits import HitTable
from calibrant.regions.lines import (
    Rule,
    level_lines,
    line_pvalues,
    position_labels,
    position_lines,
    positions,
    promise,
    size_lines,
)
from calibrant.regions.sizes import Sizes


def setting(**given):
    return Setting(0.95, 19, np.random.default_rng(0), **given)


def of_counts(k, n, level=0.9, *, on_edge=0, **given):
    """Return the judged line of k hits, of which some lie on a bound."""
    y = np.where(np.arange(n) < k, 0.0, 9.0)
    y[:on_edge] = 1.0
    rows = IntervalRows.read(y, cb.Intervals(np.full(n, -1.0), np.full(n, 1.0), level))
    chosen = setting(**given)
    return level_lines(HitTable.of(rows), chosen, promise(rows, chosen), tests=1)


class TestPromise:
    rows = IntervalRows.read([0.0, 5.0], cb.Intervals([-1.0, -1.0], [1.0, 1.0], 0.9))

    def test_of_kinds(self):
        assert promise(self.rows, setting()) == Rule("two-sided", ties=True)
        assert promise(self.rows, setting(calibration_size=9)).alternative == "less"
        sets = SetRows.read([0, 1], cb.Sets([[True, False], [True, True]], 0.9))
        counts = IntervalRows.read([1.0, 5.0], cb.Intervals([-1.0, -1.0], [1.0, 1.0], 0.9))
        assert [promise(rows, setting()).alternative for rows in (sets, counts)] == ["less", "less"]

    def test_the_user_decides(self):
        for alternative in ("two-sided", "less", "greater"):
            chosen = setting(alternative=alternative, calibration_size=9)
            assert promise(self.rows, chosen) == Rule(alternative, ties=False)

    def test_a_few_ties_do_not_make_counts(self):
        y = np.zeros(1000)
        y[:5] = 1.0  # half a percent on the bound
        rows = IntervalRows.read(y, cb.Intervals(np.full(1000, -1.0), np.full(1000, 1.0), 0.9))
        assert promise(rows, setting()) == Rule("two-sided", ties=True)


class TestPvalues:
    def test_two_sided_is_the_binomial_test(self):
        for k in range(21):
            expected = min(1, 2 * min(stats.binom.cdf(k, 20, 0.7), stats.binom.sf(k - 1, 20, 0.7)))
            assert float(line_pvalues(k, k, 20, 0.7, rule=Rule())) == pytest.approx(expected)

    def test_a_side_that_does_not_count(self):
        low, high = stats.binom.cdf(12, 20, 0.7), stats.binom.sf(11, 20, 0.7)
        assert float(line_pvalues(12, 12, 20, 0.7, rule=Rule("less"))) == pytest.approx(min(1, 2 * low))
        assert float(line_pvalues(12, 12, 20, 0.7, rule=Rule("greater"))) == pytest.approx(min(1, 2 * high))

    def test_a_calibration_set_makes_them_larger(self):
        alone = line_pvalues(80, 80, 100, 0.9, rule=Rule("less"))
        tail = stats.betabinom(100, 91, 10).cdf(80)  # Beta(91, 10) after 100 scores
        found = line_pvalues(80, 80, 100, 0.9, rule=Rule("less"), calibration_size=100)
        assert float(found) == pytest.approx(2 * tail)
        assert found > alone

    @given(st.integers(0, 60), st.sampled_from([0.5, 0.8, 0.9]), st.sampled_from(["two-sided", "less", "greater"]))
    def test_limits_leave_out_the_level_exactly_if_the_test_rejects(self, k, level, alternative):
        lines = of_counts(k, 60, level, alternative=alternative)
        off = bool(lines.off(setting())[0])
        above, below = lines.curve.lower[0] > level, lines.curve.upper[0] < level
        assert off == bool((above and alternative != "less") or (below and alternative != "greater"))
        assert off == bool(lines.error_low[0] > 0)


class TestErrors:
    def test_distances_from_the_level(self):
        lines = of_counts(84, 100)
        low, high = stats.beta.ppf([0.025, 0.975], [84, 85], [17, 16])
        assert lines.error[0] == pytest.approx(0.06)
        assert lines.error_low[0] == pytest.approx(max(0.9 - high, 0))
        assert lines.error_high[0] == pytest.approx(max(0.9 - low, high - 0.9))

    def test_outcomes_on_a_bound_count_either_way(self):
        # 97 of 100 covered, 20 of these on the bound: the level 0.9 lies between 0.77 and 0.97
        lines = of_counts(97, 100, on_edge=20, alternative=None)
        assert lines.error[0] == 0
        assert float(lines.curve.pvalue[0]) == 1

    def test_quantiles_of_counts(self):
        rows = QuantileRows.read([0.0, 0.0, 1.0, 2.0], cb.Quantiles([0.0] * 4, 0.4))
        lines = level_lines(HitTable.of(rows), setting(), Rule(), tests=1)
        assert lines.curve.coverage[0] == 0.5  # and none below: 0.4 lies between
        assert lines.error[0] == 0

    def test_families_and_lines_share_the_error_rate(self):
        one, many = of_counts(84, 100), of_counts(84, 100, families=3)
        assert many.rate == pytest.approx(one.rate / 3)
        assert many.curve.pvalue_adjusted[0] == pytest.approx(3 * one.curve.pvalue_adjusted[0])
        assert many.curve.lower[0] < one.curve.lower[0]


class TestPlaces:
    def test_rows_without_bounds_lie_nowhere(self):
        inf = np.inf
        rows = IntervalRows.read(np.zeros(4), cb.Intervals([0.0, -inf, 3.0, -inf], [2.0, 5.0, inf, inf], 0.9))
        np.testing.assert_array_equal(positions(rows), [1, 5, 3, np.nan])
        labels = position_labels(rows)
        assert labels.values == ("1", "3", "5", "")
        assert labels.code.tolist() == [0, 2, 1, 3]
        lines = position_lines(rows, labels, setting(), Rule(), tests=3)
        assert lines.curve.group.tolist() == ["1", "3", "5"]

    def test_one_place_makes_no_groups(self):
        shift = np.full(50, 1e-17)
        rows = IntervalRows.read(np.zeros(50), cb.Intervals(-1.0 + shift, 1.0 + shift, 0.9))
        assert position_labels(rows) is None

    def test_thirds_of_the_rows(self):
        place = np.arange(9.0)
        rows = IntervalRows.read(place, cb.Intervals(place - 1, place + 1, 0.9))
        labels = position_labels(rows)
        assert labels.values == ("0 to 2", "3 to 5", "6 to 8")
        assert labels.code.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]

    def test_sizes_count_outcomes_on_bounds(self):
        # two widths; all outcomes of the narrow intervals lie on a bound
        rows = IntervalRows.read([1.0, 1.0, 0.0, 0.0], cb.Intervals([0.0, 0.0, -2.0, -2.0], [1.0, 1.0, 2.0, 2.0], 0.5))
        lines = size_lines(rows, Sizes.of(rows), setting(), Rule(), tests=2)
        assert lines.curve.hits.tolist() == [2, 2]
        assert lines.inside.tolist() == [0, 2]
