"""Coverage tables: by hand, against the reference values, and against the metrics they belong to."""

import numpy as np
import pytest
from tests.references.intervals import CASES, DATA, intervals_of

from calibrant import Intervals, Quantiles, Sets, coverage, summarize
from calibrant.auditing.interval import interval
from calibrant.errors import SummaryError
from calibrant.regions.coverage_curve import coverage_curve
from calibrant.regions.sizes import size_stratified_coverage

REG, SETS, GROUPS, WEIGHTS = DATA["reg16"], DATA["sets16"], DATA["groups16"], DATA["weights16"]
COLUMNS = ["nominal", "group", "count", "hits", "coverage", "lower", "upper", "pvalue", "pvalue_holm"]


def sets16(level=True):
    mask = np.array(SETS["mask"])
    return np.array(SETS["y"]), Sets(mask, SETS["level"]) if level else Sets(mask[:, :, 0])


class TestAllRows:
    def test_columns(self):
        found = coverage_curve(*intervals_of())
        assert list(found.columns) == COLUMNS
        assert found.nominal.tolist() == REG["level"]
        assert found.group.tolist() == ["all", "all"]
        assert found.count.tolist() == [16, 16]
        assert found.hits.tolist() == [12, 15]
        assert found.coverage.tolist() == [0.75, 0.9375]
        assert (found.n, found.level, found.kind) == (16, 0.95, "coverage")

    def test_limits_are_those_of_interval(self):
        for method in ("clopper-pearson", "wilson"):
            found = coverage_curve(*intervals_of(), method=method)
            expected = interval(coverage, *intervals_of(), method=method)
            np.testing.assert_allclose(found.lower, expected.low, rtol=1e-12)
            np.testing.assert_allclose(found.upper, expected.high, rtol=1e-12)

    def test_pvalues(self):
        binomial = CASES["coverage-test-binomial"]
        found = coverage_curve(*intervals_of())
        assert found.pvalue.tolist() == pytest.approx(
            [binomial["12/16@0.8"]["two_sided"], binomial["15/16@0.95"]["two_sided"]], rel=1e-9
        )
        assert found.pvalue_holm.tolist() == [1.0, 1.0]

    def test_weights(self):
        found = coverage_curve(*intervals_of(), weights=WEIGHTS)
        for k, values in enumerate(CASES["interval-coverage-weighted"]):
            assert found.coverage[k] == pytest.approx(values["coverage"], rel=1e-10)
            assert [found.lower[k], found.upper[k]] == pytest.approx(values["wilson"], rel=1e-10)
        assert found.hits.tolist() == [12, 15]
        assert np.isnan(found.pvalue).all()
        assert np.isnan(found.pvalue_holm).all()
        assert found.method.startswith("wilson")

    def test_simultaneous_shares_the_error_among_the_lines(self):
        each = coverage_curve(*intervals_of(), level=0.975)
        together = coverage_curve(*intervals_of(), level=0.95, simultaneous=True)
        np.testing.assert_allclose(together.lower, each.lower, rtol=1e-9)
        np.testing.assert_allclose(together.upper, each.upper, rtol=1e-9)
        assert together.level == 0.95
        assert together.method.startswith("simultaneous clopper-pearson")

    def test_quantiles_have_both_shares(self):
        found = coverage_curve([1, 2, 2, 3], Quantiles([2.0] * 4, 0.5))
        values = CASES["edge-coverage-curve-quantiles"]
        assert (found.coverage.item(), found.below.item()) == (values["at_or_below"], values["below"])
        weighted = coverage_curve([1, 2, 2, 3], Quantiles([2.0] * 4, 0.5), weights=[3, 1, 1, 1])
        assert (weighted.coverage.item(), weighted.below.item()) == pytest.approx((5 / 6, 3 / 6))

    def test_no_level_no_pvalue(self):
        found = coverage_curve(*sets16(level=False))
        assert np.isnan(found.nominal).all()
        assert np.isnan(found.pvalue).all()
        assert found.coverage.item() == 0.8125
        assert 0 < found.lower.item() < found.upper.item() < 1


class TestGroups:
    def test_reference(self):
        found = coverage_curve(*intervals_of(), groups=GROUPS)
        assert found.group.tolist() == ["A", "A", "B", "B", "C", "C"]
        for name, values in CASES["coverage-curve-groups"].items():
            here = found.group == name
            assert found.count[here].tolist() == [values["n"]] * 2
            assert found.hits[here].tolist() == values["hits"]
            for column in ("coverage", "pvalue", "pvalue_holm"):
                np.testing.assert_allclose(found.columns[column][here], values[column], rtol=1e-9)

    def test_labels_keep_their_types_and_ascend(self):
        prediction = Intervals([0.0] * 4, [1.0] * 4, 0.8)
        for groups, labels, hits in (([2, 10, 2, 10], [2, 10], [1, 0]), (["b", 1, "b", 1], [1, "b"], [0, 1])):
            found = coverage_curve([0.0, 9.0, 9.0, 9.0], prediction, groups=groups)
            assert (found.group.tolist(), found.hits.tolist()) == (labels, hits)


class TestSizes:
    def test_lowest_is_the_size_stratified_coverage(self):
        for given in (intervals_of(), sets16()):
            for options in ({}, {"bins": 2}, {"bins": [(0, 2), (3, 9)]}, {"empty": "own"}):
                found = coverage_curve(*given, groups="size", **options)
                lowest = size_stratified_coverage(*given, **options)
                for k, level in enumerate(given[1].levels):
                    here = (found.nominal == level) & (found.count > 0)
                    assert found.coverage[here].min() == pytest.approx(lowest[k], rel=1e-12)

    def test_limits_and_counts(self):
        y, prediction = intervals_of()
        width = (prediction.upper - prediction.lower)[:, 0]
        found = coverage_curve(y, prediction.at(0.8), groups="size")
        assert found.count.sum() == 16
        assert found.size_low[0] == pytest.approx(width.min())
        assert found.size_high[-1] == pytest.approx(width.max())
        assert (found.size_low[1:] > found.size_high[:-1]).all()
        for low, high, n in zip(found.size_low, found.size_high, found.count, strict=True):
            assert np.count_nonzero((width >= low) & (width <= high)) == n

    def test_empty_sets_are_taken_with_those_of_one_label(self):
        mask = np.array([[False, False, False], [True, False, False], [True, True, False]])
        found = coverage_curve([0, 0, 1], Sets(mask, 0.9), groups="size")
        assert found.group.tolist() == ["0 to 1", "2", "3"]
        assert found.count.tolist() == [2, 1, 0]
        alone = coverage_curve([0, 1], Sets(mask[1:], 0.9), groups="size", empty="own")
        assert alone.group.tolist() == ["0", "1", "2", "3"]

    def test_sizes_without_rows_stay(self):
        mask = np.array([[True, False, False, False], [True, True, True, False]])
        found = coverage_curve([0, 3], Sets(mask, 0.9), groups="size")
        assert found.group.tolist() == ["1", "2", "3", "4"]  # no set is empty
        assert found.count.tolist() == [1, 0, 1, 0]
        np.testing.assert_array_equal(np.isnan(found.coverage), [False, True, False, True])
        np.testing.assert_array_equal(np.isnan(found.lower), [False, True, False, True])
        np.testing.assert_array_equal(np.isnan(found.pvalue), [False, True, False, True])
        assert coverage_curve([0, 3], Sets(mask, 0.9), groups="size", empty="own").count.tolist() == [0, 1, 0, 1, 0]

    def test_weights(self):
        y, prediction = intervals_of()
        found = coverage_curve(y, prediction.at(0.8), groups="size", bins=2, weights=WEIGHTS)
        width = (prediction.upper - prediction.lower)[:, 0]
        w, hit = np.array(WEIGHTS), (prediction.lower[:, 0] <= y) & (y <= prediction.upper[:, 0])
        for k in range(len(found.count)):
            here = (width >= found.size_low[k]) & (width <= found.size_high[k])
            assert found.coverage[k] == pytest.approx((w * hit)[here].sum() / w[here].sum())
            alone = interval(coverage, y[here], prediction.at(0.8).take(here), weights=w[here], method="wilson")
            assert (found.lower[k], found.upper[k]) == pytest.approx((alone.low, alone.high), rel=1e-12)


class TestSummaries:
    def test_sizes_and_labels_do_not_mix(self, refusal):
        y, prediction = intervals_of()
        table = summarize(coverage_curve, y, prediction)
        assert 'groups="size"' in refusal(coverage_curve, table, groups="size", error=SummaryError)
        sizes = summarize(coverage_curve, y, prediction, groups="size")
        assert 'groups="size"' in refusal(coverage_curve, sizes, error=SummaryError)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"groups": "colour"}, "groups must be an array"),
        ({"groups": GROUPS[:5]}, "expected 16 rows"),
        ({"groups": [["a"]] * 16}, "row 0 is ['a']"),
        ({"bins": 3}, 'groups="size"'),
        ({"empty": "own"}, 'groups="size"'),
        ({"weights": WEIGHTS, "method": "clopper-pearson"}, "equal weights"),
    ],
)
def test_refusals(refusal, options, words):
    assert words in refusal(coverage_curve, *intervals_of(), **options)
    assert ".intervals()" in refusal(coverage_curve, [1.0], Quantiles([2.0], 0.5), groups="size")
