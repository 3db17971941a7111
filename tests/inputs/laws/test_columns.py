"""Laws as tables: there and back, joined, and refused where there is none."""

import numpy as np
import pytest
from scipy import stats

from calibrant import Laplace, Law, Mixture, MvNormal, Normal, Samples, ScipyLaw, SummaryError
from calibrant.inputs.laws.columns import joined, law_of, table_of

RNG = np.random.default_rng(0)
A = RNG.normal(size=(5, 3, 3))
LAWS = {
    "Normal": Normal(RNG.normal(size=5), RNG.uniform(1, 2, 5)),
    "Laplace": Laplace(RNG.normal(size=5), RNG.uniform(1, 2, 5)),
    "MvNormal": MvNormal(RNG.normal(size=(5, 3)), A @ A.transpose(0, 2, 1) + np.eye(3)),
    "MvNormal shared": MvNormal(RNG.normal(size=(5, 2)), [[1.0, 0.3], [0.3, 1.0]]),
    "Samples": Samples(RNG.normal(size=(5, 4))),
    "Samples of vectors": Samples(RNG.normal(size=(5, 4, 2))),
    "Samples with densities": Samples(RNG.normal(size=(5, 4)), RNG.normal(size=(5, 4))),
    "Samples of vectors with densities": Samples(RNG.normal(size=(5, 4, 2)), RNG.normal(size=(5, 4))),
    "Mixture": Mixture([Normal(RNG.normal(size=5), 1.0), Laplace(RNG.normal(size=5), 2.0)], RNG.dirichlet([1, 1], 5)),
    "Mixture of vectors": Mixture(
        [MvNormal(RNG.normal(size=(5, 2)), np.eye(2)), MvNormal(RNG.normal(size=(5, 2)), 2 * np.eye(2))], [0.25, 0.75]
    ),
    "Mixture of mixtures": Mixture(
        [Mixture([Normal(RNG.normal(size=5), 1.0), Normal(np.zeros(5), 2.0)], [0.5, 0.5]), Normal(np.ones(5), 3.0)],
        [0.25, 0.75],
    ),
}


def arrays(law):
    """Return every array that a law holds, with its name."""
    if isinstance(law, Mixture):
        inner = [pair for component in law.components for pair in arrays(component)]
        return [("weights", law.weights), *inner]
    names = ("mean", "std", "loc", "scale", "cov", "draws", "log_densities")
    return [(name, getattr(law, name)) for name in names if getattr(law, name, None) is not None]


def assert_same(found, expected):
    assert type(found) is type(expected)
    assert (found.n, found.shape) == (expected.n, expected.shape)
    pairs = arrays(found), arrays(expected)
    assert [name for name, _ in pairs[0]] == [name for name, _ in pairs[1]]
    for (_, a), (_, b) in zip(*pairs, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", LAWS)
def test_there_and_back(name):
    law = LAWS[name]
    kind, columns = table_of(law)
    assert isinstance(kind, str)
    assert columns.shape[0] == 5
    assert_same(law_of(kind, columns), law)


@pytest.mark.parametrize("name", LAWS)
def test_joined(name):
    law = LAWS[name]
    for cut in (1, 4):
        assert_same(joined(law.take(slice(cut)), law.take(slice(cut, None))), law)


def test_kinds_do_not_mix(refusal):
    message = refusal(joined, LAWS["Normal"], LAWS["Laplace"], error=SummaryError)
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
    assert "do not merge" in refusal(joined, LAWS[first], LAWS[second], error=SummaryError)


def test_other_numbers_of_draws_do_not_mix(refusal):
    other = Samples(np.zeros((5, 3)))
    message = refusal(joined, LAWS["Samples"], other, error=SummaryError)
    assert "Samples [4] False" in message
    assert "Samples [3] False" in message


class Own(Law):
    @property
    def n(self):
        return 1

    def take(self, rows):
        return self


@pytest.mark.parametrize("law", [Own(), ScipyLaw(stats.gamma([2.0, 3.0])), Mixture([Own(), Own()], [0.5, 0.5])])
def test_no_table(law, refusal):
    message = refusal(table_of, law, error=SummaryError)
    assert "has no table of parameters" in message
    assert "pass all rows in one call" in message


def test_a_foreign_kind(refusal):
    assert "unknown kind Gumbel" in refusal(law_of, '["Gumbel"]', np.zeros((1, 2)), error=SummaryError)
