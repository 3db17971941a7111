"""Counts of hits by group and level."""

from dataclasses import replace

import numpy as np
import pytest

from calibrant import Intervals, Quantiles, Sets
from calibrant.errors import SummaryError
from calibrant.inputs.groups import read_row_labels
from calibrant.inputs.kinds import KINDS
from calibrant.inputs.rows import IntervalRows, QuantileRows, SetRows
from calibrant.regions.hits import HitTable, not_nested
from calibrant.summaries import Summary

Y = np.array([0.0, 1.5, 3.0, 0.5])
BOTH = Intervals(np.tile([-1.0, -2.0], (4, 1)), np.tile([1.0, 2.0], (4, 1)), [0.5, 0.9])
LABELS = np.array(["b", "a", "b", "a"])


def of(rows=slice(None), labels=LABELS, weights=None, prediction=BOTH):
    part, w = prediction.take(rows), None if weights is None else weights[rows]
    checked = KINDS[part.prediction_kind].read(Y[rows], part, weights=w)
    return HitTable.of(checked, None if labels is None else read_row_labels(labels[rows], checked.n, keep=checked.keep))


def test_all_rows():
    found = of(labels=None)
    assert (found.group, found.level.tolist()) == (("all", "all"), [0, 1])
    assert (found.count.tolist(), found.hits.tolist()) == ([4, 4], [2, 3])
    assert found.coverage.tolist() == [0.5, 0.75]
    assert found.nominal.tolist() == [0.5, 0.9]
    assert (found.n, found.kind, found.nested, found.single) == (4, "Intervals", True, False)
    assert found.inside.tolist() == [2, 3]
    assert repr(found) == "HitTable(n=4)"


def test_groups():
    found = of()
    assert found.group == ("a", "a", "b", "b")
    assert found.level.tolist() == [0, 1, 0, 1]
    assert found.count.tolist() == [2, 2, 2, 2]
    assert found.hits.tolist() == [1, 2, 1, 1]


def test_weights():
    w = np.array([1.0, 2.0, 3.0, 4.0])
    found = of(weights=w)
    assert found.w.tolist() == [6, 6, 4, 4]
    assert found.w2.tolist() == [20, 20, 10, 10]
    assert found.wc.tolist() == [4, 6, 1, 1]
    assert found.w2c.tolist() == [16, 20, 1, 1]
    assert not found.has_equal_weights
    assert of(weights=np.full(4, 0.3)).has_equal_weights
    assert of().has_equal_weights
    one = of(labels=None, weights=w)
    assert one.wc.tolist() == [5, 7]
    assert one.w2c.tolist() == [17, 21]


def test_below_of_quantiles():
    found = of(labels=None, prediction=Quantiles(np.tile([0.5, 1.5], (4, 1)), [0.3, 0.7]))
    assert found.hits.tolist() == [2, 3]
    assert found.inside.tolist() == [1, 2]
    weighted = of(prediction=Quantiles(np.tile([0.5, 1.5], (4, 1)), [0.3, 0.7]), weights=np.array([1.0, 2, 3, 4]))
    assert weighted.inside.tolist() == [0, 4, 1, 1]


def test_outcomes_on_the_bounds_of_intervals():
    edges = Intervals([0.0, 0.0, 3.0, 0.5], [1.0, 1.5, 3.0, 0.9], 0.9)  # y is 0, 1.5, 3, 0.5: all on a bound
    assert of(labels=None, prediction=edges).hits.tolist() == [4]
    assert of(labels=None, prediction=edges).inside.tolist() == [0]


def test_nesting_is_noted():
    crossed = Intervals([[0.0, 0.5]] * 4, [[1.0, 2.0]] * 4, [0.5, 0.9])
    assert not of(prediction=crossed).nested
    assert not (of(slice(0, 2), prediction=crossed) + of(slice(2, 4))).nested


def test_refusals():
    for other in ({"kind": "Sets"}, {"levels": np.array([0.5, 0.8])}):
        with pytest.raises(SummaryError, match="do not merge"):
            of() + replace(of(), **other)


def test_sets_without_a_level():
    rows = SetRows.read([0, 1], Sets([[True, False], [True, False]]))
    found = HitTable.of(rows)
    assert np.isnan(found.levels).all()
    assert found + found == Summary.from_bytes((found + found).to_bytes())
    assert (found + found).hits.tolist() == [2]


def first_not_nested(rows):
    bad = not_nested(rows)
    return int(np.argmax(bad)) if bad.any() else None


def intervals(lower, upper, level):
    return IntervalRows.read(np.zeros(len(lower)), Intervals(lower, upper, level))


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        ([[0, 0], [0, -1]], [[1, 1], [1, 2]], None),  # equal bounds are nested
        ([[0, -1], [0, 0.5]], [[1, 2], [1, 2]], 1),
        ([[0, -1], [0, -1]], [[1, 0.5], [1, 2]], 0),
        ([[0, -np.inf], [0, 0]], [[1, np.inf], [1, 1]], None),
    ],
)
def test_intervals_in_any_order_of_levels(lower, upper, expected):
    lower, upper = np.array(lower, float), np.array(upper, float)
    assert first_not_nested(intervals(lower, upper, [0.5, 0.9])) == expected
    assert first_not_nested(intervals(lower[:, ::-1], upper[:, ::-1], [0.9, 0.5])) == expected


def test_sets_and_quantiles_and_one_level():
    assert first_not_nested(QuantileRows.read([0.0], Quantiles([[1.0, 2.0]], [0.1, 0.9]))) is None
    assert first_not_nested(IntervalRows.read([0.0], Intervals([0.0], [1.0], 0.9))) is None
    mask = np.array([[[True, True], [False, True]], [[True, False], [False, True]]])
    assert first_not_nested(SetRows.read([0, 0], Sets(mask, [0.5, 0.9]))) == 1
    assert first_not_nested(SetRows.read([0], Sets(mask[:1], [0.5, 0.9]))) is None
    assert first_not_nested(SetRows.read([0, 0], Sets(mask))) is None  # no levels, no order
