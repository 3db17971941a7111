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
    SummaryError,
)
from calibrant.inputs.probabilities import read_probabilities
from calibrant.inputs.rows import read_judged, read_outcomes
from calibrant.kernels.coverage_rows import CoverageRows
from calibrant.kernels.row_order import canonical_order, distribution_of, joined, table_of

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
    first, second = (
        CoverageRows.of(read_judged(y, intervals, weights=[2, 1, 1, 2])) for y in ([1.0, 9.0, 1.0, 9.0], [9.0] * 4)
    )
    assert canonical_order(first).tolist() == canonical_order(second).tolist() == [2, 0, 3, 1]
    assert canonical_order(first, with_outcomes=True).tolist() == [2, 3, 0, 1]


RNG_COLUMNS = np.random.default_rng(0)
A = RNG_COLUMNS.normal(size=(5, 3, 3))
DISTRIBUTIONS_COLUMNS = {
    "Normal": Normal(RNG_COLUMNS.normal(size=5), RNG_COLUMNS.uniform(1, 2, 5)),
    "Laplace": Laplace(RNG_COLUMNS.normal(size=5), RNG_COLUMNS.uniform(1, 2, 5)),
    "MvNormal": MvNormal(RNG_COLUMNS.normal(size=(5, 3)), A @ A.transpose(0, 2, 1) + np.eye(3)),
    "MvNormal shared": MvNormal(RNG_COLUMNS.normal(size=(5, 2)), [[1.0, 0.3], [0.3, 1.0]]),
    "Samples": Samples(RNG_COLUMNS.normal(size=(5, 4))),
    "Samples of vectors": Samples(RNG_COLUMNS.normal(size=(5, 4, 2))),
    "Samples with densities": Samples(RNG_COLUMNS.normal(size=(5, 4)), RNG_COLUMNS.normal(size=(5, 4))),
    "Samples of vectors with densities": Samples(RNG_COLUMNS.normal(size=(5, 4, 2)), RNG_COLUMNS.normal(size=(5, 4))),
    "Mixture": Mixture(
        [Normal(RNG_COLUMNS.normal(size=5), 1.0), Laplace(RNG_COLUMNS.normal(size=5), 2.0)],
        RNG_COLUMNS.dirichlet([1, 1], 5),
    ),
    "Mixture of vectors": Mixture(
        [
            MvNormal(RNG_COLUMNS.normal(size=(5, 2)), np.eye(2)),
            MvNormal(RNG_COLUMNS.normal(size=(5, 2)), 2 * np.eye(2)),
        ],
        [0.25, 0.75],
    ),
    "Mixture of mixtures": Mixture(
        [
            Mixture([Normal(RNG_COLUMNS.normal(size=5), 1.0), Normal(np.zeros(5), 2.0)], [0.5, 0.5]),
            Normal(np.ones(5), 3.0),
        ],
        [0.25, 0.75],
    ),
}


def arrays(distribution):
    """Return every array that a law holds, with its name."""
    if isinstance(distribution, Mixture):
        inner = [pair for component in distribution.components for pair in arrays(component)]
        return [("weights", distribution.weights), *inner]
    names = ("mean", "std", "loc", "scale", "cov", "draws", "log_densities")
    return [(name, getattr(distribution, name)) for name in names if getattr(distribution, name, None) is not None]


def assert_same(found, expected):
    assert type(found) is type(expected)
    assert (found.n, found.shape) == (expected.n, expected.shape)
    pairs = arrays(found), arrays(expected)
    assert [name for name, _ in pairs[0]] == [name for name, _ in pairs[1]]
    for (_, a), (_, b) in zip(*pairs, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", DISTRIBUTIONS_COLUMNS)
def test_there_and_back(name):
    distribution = DISTRIBUTIONS_COLUMNS[name]
    kind, columns = table_of(distribution)
    assert isinstance(kind, str)
    assert columns.shape[0] == 5
    assert_same(distribution_of(kind, columns), distribution)


@pytest.mark.parametrize("name", DISTRIBUTIONS_COLUMNS)
def test_joined(name):
    distribution = DISTRIBUTIONS_COLUMNS[name]
    for cut in (1, 4):
        assert_same(joined(distribution.take(slice(cut)), distribution.take(slice(cut, None))), distribution)


def test_kinds_do_not_mix(refusal):
    message = refusal(joined, DISTRIBUTIONS_COLUMNS["Normal"], DISTRIBUTIONS_COLUMNS["Laplace"], error=SummaryError)
    assert message == "rows of Normal do not merge with rows of Laplace"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("MvNormal", "MvNormal shared"),
        ("Samples", "Samples of vectors"),
        ("Samples", "Samples with densities"),
        ("Mixture", "Mixture of mixtures"),
    ],
)
def test_shapes_do_not_mix(first, second, refusal):
    assert "do not merge" in refusal(
        joined, DISTRIBUTIONS_COLUMNS[first], DISTRIBUTIONS_COLUMNS[second], error=SummaryError
    )


def test_other_numbers_of_draws_do_not_mix(refusal):
    other = Samples(np.zeros((5, 3)))
    message = refusal(joined, DISTRIBUTIONS_COLUMNS["Samples"], other, error=SummaryError)
    assert "Samples [4] False" in message
    assert "Samples [3] False" in message


class Own(Distribution):
    @property
    def n(self):
        return 1

    def take(self, rows):
        return self


@pytest.mark.parametrize(
    "law", [Own(), ScipyDistribution(stats.gamma([2.0, 3.0])), Mixture([Own(), Own()], [0.5, 0.5])]
)
def test_no_table(distribution, refusal):
    message = refusal(table_of, distribution, error=SummaryError)
    assert "has no table of parameters" in message
    assert "pass all rows in one call" in message


def test_a_foreign_kind(refusal):
    assert "unknown kind Gumbel" in refusal(distribution_of, '["Gumbel"]', np.zeros((1, 2)), error=SummaryError)
