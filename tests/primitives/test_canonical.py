"""An order of the rows that does not depend on the one they came in."""

import numpy as np
import pytest

from calibrant import MvNormal, Normal
from calibrant.inputs import read_probabilities
from calibrant.inputs.outcomes import read_outcomes
from calibrant.primitives.canonical import canonical_order

RNG = np.random.default_rng(0)
n = 40
W = RNG.integers(1, 4, n).astype(float)


def probabilities():
    P = RNG.multinomial(4, [0.3, 0.3, 0.4], n) / 4  # many ties
    return read_probabilities(RNG.integers(0, 3, n), P, weights=W)


def binary():
    return read_probabilities(RNG.integers(0, 2, n), RNG.integers(0, 5, n) / 4, weights=W)


@pytest.mark.parametrize("make", [probabilities, binary])
def test_rows_come_out_the_same_whatever_their_order(make):
    rows = make()
    expected = rows.take(canonical_order(rows, with_outcomes=True))
    mixed = rows.take(RNG.permutation(n))
    found = mixed.take(canonical_order(mixed, with_outcomes=True))
    for name in ("y", "w", "P" if hasattr(rows, "P") else "p"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("make", [probabilities, binary])
def test_outcomes_do_not_decide_unless_asked(make):
    rows = make()
    order = canonical_order(rows)
    other = type(rows)(np.zeros_like(rows.y), *(getattr(rows, a) for a in ("P" if hasattr(rows, "P") else "p", "w")))
    np.testing.assert_array_equal(canonical_order(other), order)
    assert not np.array_equal(canonical_order(rows, with_outcomes=True), order)


def test_by_prediction_then_weight_then_outcome():
    rows = read_probabilities([1, 0, 1, 0], [0.5, 0.5, 0.25, 0.5], weights=[2, 2, 9, 1])
    assert canonical_order(rows, with_outcomes=True).tolist() == [2, 3, 1, 0]
    assert canonical_order(rows).tolist() == [2, 3, 0, 1]


def test_laws_by_outcome_then_weight():
    rows = read_outcomes([1.0, -1.0, 1.0], Normal([0.0, 1.0, 2.0], 1.0), weights=[2, 1, 1])
    assert canonical_order(rows).tolist() == [1, 2, 0]
    law = MvNormal(np.zeros((3, 2)), np.eye(2))
    y = [[0.0, 1.0], [0.0, 0.5], [-1.0, 9.0]]
    order = canonical_order(read_outcomes(y, law))
    mixed = canonical_order(read_outcomes(np.array(y)[[2, 0, 1]], law))
    np.testing.assert_array_equal(np.array(y)[order], np.array(y)[[2, 0, 1]][mixed])
