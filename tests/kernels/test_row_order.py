"""An order of the rows that does not depend on the one they came in."""

import numpy as np
import pytest
from scipy import stats

from calibrant import (
    Distribution,
    Intervals,
    Laplace,
    Mixture,
    MvNormal,
    Normal,
    Samples,
    ScipyDistribution,
)
from calibrant.inputs.probabilities import read_probabilities
from calibrant.inputs.rows import read_judged, read_outcomes
from calibrant.kernels.kernel_rows import canonical_order

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


def test_distributions_by_prediction_then_weight_then_outcome():
    rows = read_outcomes([1.0, -1.0, 1.0, 0.0], Normal([1.0, 0.0, 1.0, 1.0], 1.0), weights=[2, 1, 1, 2])
    assert canonical_order(rows).tolist() == [1, 2, 0, 3]
    assert canonical_order(rows, with_outcomes=True).tolist() == [1, 2, 3, 0]


DISTRIBUTIONS = {
    "Normal": Normal(RNG.integers(0, 3, n), RNG.integers(1, 3, n)),
    "Laplace": Laplace(RNG.integers(0, 3, n), 1.0),
    "Samples": Samples(RNG.integers(0, 2, (n, 4)).astype(float)),
    "MvNormal": MvNormal(RNG.integers(0, 3, (n, 2)), np.eye(2)),
    "Mixture": Mixture([Normal(RNG.integers(0, 2, n), 1.0), Normal(np.zeros(n), 2.0)], [0.5, 0.5]),
    "ScipyDistribution": ScipyDistribution(stats.norm(RNG.integers(0, 3, n), 1.0)),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_order_of_distributions_does_not_depend_on_outcomes(name):
    distribution = DISTRIBUTIONS[name]
    first, second = (
        read_outcomes(RNG.normal(size=(n, *distribution.shape)), distribution, weights=W) for _ in range(2)
    )
    np.testing.assert_array_equal(canonical_order(first), canonical_order(second))
    assert not np.array_equal(canonical_order(first, with_outcomes=True), canonical_order(second, with_outcomes=True))


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions_come_out_the_same_whatever_their_order(name):
    distribution = DISTRIBUTIONS[name]
    rows = read_outcomes(RNG.normal(size=(n, *distribution.shape)), distribution, weights=W)
    mixed = rows.take(RNG.permutation(n))
    for asked in (False, True):
        first, second = (part.take(canonical_order(part, with_outcomes=asked)) for part in (rows, mixed))
        np.testing.assert_array_equal(first.distribution.sample(3, 0), second.distribution.sample(3, 0))
        np.testing.assert_array_equal(first.w, second.w)
    np.testing.assert_array_equal(first.y, second.y)  # the last was asked to look at them


def test_a_distribution_that_says_nothing_of_itself_keeps_its_order():
    class Silent(Distribution):
        def __init__(self, n):
            self.rows = n

        @property
        def n(self):
            return self.rows

        def take(self, rows):
            return Silent(len(np.arange(self.rows)[rows]))

    rows = read_outcomes([3.0, 1.0, 2.0], Silent(3))
    assert canonical_order(rows).tolist() == [0, 1, 2]
    assert canonical_order(rows, with_outcomes=True).tolist() == [1, 2, 0]


def test_coverage_by_points_then_weight_then_hits():
    intervals = Intervals([0.0, 1.0, 0.0, 0.0], [2.0, 2.0, 2.0, 2.0], 0.9)
    first, second = (read_judged(y, intervals, weights=[2, 1, 1, 2]) for y in ([1.0, 9.0, 1.0, 9.0], [9.0] * 4))
    assert canonical_order(first).tolist() == canonical_order(second).tolist() == [2, 0, 3, 1]
    assert canonical_order(first, with_outcomes=True).tolist() == [2, 3, 0, 1]
