"""Predictions within each other."""

import numpy as np
import pytest

from calibrant import Intervals, Quantiles, Sets
from calibrant.inputs.judged import read_judged
from calibrant.inputs.nesting import first_not_nested


def intervals(lower, upper, level):
    return read_judged(np.zeros(len(lower)), Intervals(lower, upper, level))


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


def test_sets():
    mask = np.array([[[True, True], [False, True]], [[True, False], [False, True]]])
    assert first_not_nested(read_judged([0, 0], Sets(mask, [0.5, 0.9]))) == 1
    assert first_not_nested(read_judged([0], Sets(mask[:1], [0.5, 0.9]))) is None
    assert first_not_nested(read_judged([0, 0], Sets(mask))) is None  # no levels, no order


def test_quantiles_and_one_level():
    assert first_not_nested(read_judged([0.0], Quantiles([[1.0, 2.0]], [0.1, 0.9]))) is None
    assert first_not_nested(read_judged([0.0], Intervals([0.0], [1.0], 0.9))) is None
