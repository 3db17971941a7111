"""Coverage gap over groups."""

import datetime
import json
from pathlib import Path

import numpy as np
import pytest

from calibrant import Intervals, NotApplicableError, Quantiles, Sets, summarize
from calibrant.metrics.coverage_gap import coverage_gap
from calibrant.summaries import Summary

BOOK = json.loads((Path(__file__).parents[1] / "references" / "intervals.json").read_text())
DATA, CASES = BOOK["data"], {case["id"]: case["expected"] for case in BOOK["cases"]}
Y, FORECAST = [0.0, 1.0, 2.0, 3.0], Intervals([0.0, 0.0, 1.0, 4.0], [1.0, 2.0, 2.0, 5.0], 0.75)


def reg16():
    given = DATA["reg16"]
    return np.array(given["y"]), Intervals(given["lower"], given["upper"], given["level"])


def test_of_the_reference():
    assert coverage_gap(Y, FORECAST, groups=DATA["gap4"]["groups"]) == CASES["gap-doc"]
    second = Intervals([-1, 0, 2, 3.1, 4, 5], [0, 0.5, 2, 4, 5, 5], 2 / 3)
    found = coverage_gap([0, 1, 2, 3, 4, 5], second, groups=[0, 0, 0, 1, 1, 2])
    assert found == pytest.approx(CASES["gap-mapie-2"], rel=1e-10)
    third = Intervals([-2, -0.5, 1.5, 2, 4, 3.5], [-1, 0.5, 2.5, 2, 5, 4.5], 0.5)
    found = coverage_gap([-1, 0, 1, 2, 3, 4], third, groups=[0, 0, 1, 1, 1, 1], average="weighted")
    assert found == pytest.approx(CASES["gap-mapie-3"], rel=1e-10)


@pytest.mark.parametrize("average", ["macro", "weighted", "max"])
def test_several_levels_of_the_reference(average):
    y, prediction = reg16()
    found = coverage_gap(y, prediction, groups=DATA["groups16"], average=average)
    np.testing.assert_allclose(found, CASES["gap-reg16"][average], rtol=1e-10)
    sets = Sets(DATA["sets16"]["mask"], DATA["sets16"]["level"])
    found = coverage_gap(DATA["sets16"]["y"], sets, average=average)
    np.testing.assert_allclose(found, CASES["gap-classwise-sets16"][average], rtol=1e-10)
    assert type(coverage_gap(y, prediction.at(0.8), groups=DATA["groups16"])) is float


def test_classes_without_rows_do_not_count():
    found = coverage_gap([0, 0, 1], Sets(np.eye(4, dtype=bool)[[0, 0, 1]], 0.9))
    assert found == pytest.approx(CASES["edge-gap-absent-class"], rel=1e-9)
    named = coverage_gap(list("aab"), Sets(np.eye(4, dtype=bool)[[0, 0, 1]], 0.9), classes=list("abcd"))
    assert named == found


def test_weights_by_hand():
    # Group b: a covered row of weight 3 and one of weight 1, coverage 0.75, gap 0; group a: gap 0.25.
    w = [1, 1, 3, 1]
    assert coverage_gap(Y, FORECAST, groups=list("aabb"), weights=w) == 0.125
    assert coverage_gap(Y, FORECAST, groups=list("aabb"), weights=w, average="weighted") == pytest.approx(0.25 / 3)
    assert coverage_gap(Y, FORECAST, groups=list("aabb"), weights=w, average="max") == 0.25


def test_groups_go_with_rows_of_weight_zero():
    found = coverage_gap(Y, FORECAST, groups=["x", "a", "b", "b"], weights=[0, 1, 1, 1])
    assert found == coverage_gap(Y[1:], FORECAST.take(slice(1, 4)), groups=["a", "b", "b"])
    assert coverage_gap(Y, FORECAST, groups=[None, "a", "b", "b"], weights=[0, 1, 1, 1]) == found


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "b"],
        [1, "1"],
        [(1, "a"), (1, "b")],
        [True, False],
        [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)],
        [frozenset({1}), frozenset({2})],
        np.array([2.5, -0.5]),
        np.array(["2020-01", "2020-02"], dtype="datetime64[M]"),
    ],
    ids=str,
)
def test_labels_of_any_kind(labels):
    groups = [labels[k] for k in (0, 0, 1, 1)] if isinstance(labels, list) else labels[[0, 0, 1, 1]]
    assert coverage_gap(Y, FORECAST, groups=groups) == 0.25


def test_batches_with_other_groups_add_up():
    y, prediction = reg16()
    groups = np.array(DATA["groups16"])
    w = np.arange(1.0, 17.0)
    for weights in (None, w):
        expected = coverage_gap(y, prediction, groups=groups, weights=weights)
        parts = [np.arange(2), np.arange(2, 6), np.arange(6, 16)]
        summaries = [
            summarize(
                coverage_gap, y[p], prediction.take(p), groups=groups[p], weights=None if weights is None else w[p]
            )
            for p in parts
        ]
        total = sum(summaries)
        np.testing.assert_allclose(coverage_gap(total), expected, rtol=1e-12)
        assert Summary.from_bytes(total.to_bytes()) == total


def test_row_order_does_not_matter():
    y, prediction = reg16()
    order = np.random.default_rng(0).permutation(16)
    groups = np.array(DATA["groups16"])
    found = coverage_gap(y[order], prediction.take(order), groups=groups[order])
    assert found.tolist() == coverage_gap(y, prediction, groups=groups).tolist()


def test_quantiles_are_compared_with_their_own_level():
    # Below the median in group a: 1 of 2; in group b: 2 of 2.
    assert coverage_gap([0.0, 9.0, 0.0, 0.0], Quantiles([[1.0]] * 4, [0.5]), groups=list("aabb")).tolist() == [0.25]


def test_refusals(refusal):
    assert "pass groups=, one label per row" in refusal(coverage_gap, Y, FORECAST)
    assert "expected 4 rows" in refusal(coverage_gap, Y, FORECAST, groups=["a"])
    assert "row 2" in refusal(coverage_gap, Y, FORECAST, groups=["a", "a", None, "b"])
    assert "average must be one of" in refusal(coverage_gap, Y, FORECAST, groups=list("aabb"), average="mean")
    sets = Sets(np.ones((2, 3), bool))
    assert "no level" in refusal(coverage_gap, [0, 1], sets, error=NotApplicableError)
