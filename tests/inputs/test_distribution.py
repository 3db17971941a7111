"""What every distribution can be asked, and what a distribution of one's own has to give."""

import pickle
from itertools import product

import numpy as np
import pytest
from scipy import stats

from calibrant.errors import NotApplicableError
from calibrant.inputs.distribution import Distribution, beside
from calibrant.inputs.mixture import Mixture
from calibrant.inputs.parametric import Laplace, MvNormal, Normal
from calibrant.inputs.samples import Samples
from calibrant.inputs.scipy_distribution import ScipyDistribution

MEAN = np.array([0.0, 1.0, -2.0, 30.0])
STD = np.array([1.0, 0.1, 3.0, 2.0])
REAL = {
    "Normal": Normal(MEAN, STD),
    "Laplace": Laplace(MEAN, STD),
    "Mixture": Mixture([Normal(MEAN, STD), Laplace(-MEAN, 2.0)], [0.25, 0.75]),
    "Samples": Samples(np.random.default_rng(0).normal(MEAN[:, None], STD[:, None], (4, 9))),
    "ScipyDistribution": ScipyDistribution(stats.gamma(a=STD + 1, loc=MEAN)),
}
COV = np.array([[2.0, 0.5], [0.5, 1.0]])
VECTORS = {
    "MvNormal": MvNormal(np.column_stack([MEAN, STD]), COV),
    "Mixture": Mixture([MvNormal(np.ones((4, 2)), COV), MvNormal(np.zeros((4, 2)), np.eye(2))], [0.5, 0.5]),
    "Samples": Samples(np.random.default_rng(1).normal(size=(4, 9, 2))),
}
BOTH = {
    **{f"real {name}": distribution for name, distribution in REAL.items()},
    **{f"vector {name}": distribution for name, distribution in VECTORS.items()},
}
QUESTIONS = [(name, method) for name in REAL for method in ("cdf", "sf", "ppf", "isf")]
QUESTIONS += [(name, "log_density") for name in REAL if name != "Samples"]
SELECTIONS = [np.array([2, 0]), np.array([3, 3, 3]), slice(1, 3), np.array([1, 0, 0, 1], bool), np.array([], int)]


@pytest.mark.parametrize(
    ("distribution", "text"),
    [
        (Normal(np.zeros(1000), 1.0), "Normal(1,000 rows)"),
        (Laplace([0.0], 1.0), "Laplace(1 row)"),
        (Mixture([Normal(MEAN, STD), Laplace(MEAN, STD)], [0.5, 0.5]), "Mixture(4 rows, 2 components)"),
        (MvNormal(np.zeros((2000, 3)), np.eye(3)), "MvNormal(2,000 rows of 3 coordinates)"),
        (VECTORS["Mixture"], "Mixture(4 rows, 2 components of 2 coordinates)"),
        (ScipyDistribution(stats.gamma(a=np.ones(5000))), "ScipyDistribution(5,000 rows of gamma)"),
    ],
)
def test_repr_counts_rows_and_prints_no_parameters(distribution, text):
    assert repr(distribution) == text


@pytest.mark.parametrize("name", BOTH)
class TestEveryDistribution:
    def test_counts_its_rows(self, name):
        assert BOTH[name].n == 4
        assert BOTH[name].shape == ((2,) if name.startswith("vector") else ())

    def test_sample_has_its_shape_and_repeats_itself(self, name):
        distribution = BOTH[name]
        draws = distribution.sample(5, 3)
        assert draws.shape == (4, 5, *distribution.shape)
        assert draws.dtype == np.float64
        assert np.array_equal(draws, distribution.sample(5, np.random.default_rng(3)))
        assert not np.array_equal(draws, distribution.sample(5, 4))

    def test_sample_refuses_a_bad_size_or_rng(self, name, refusal):
        assert "size must be at least 1; got 0" in refusal(BOTH[name].sample, 0, 0)
        assert "size must be a whole number" in refusal(BOTH[name].sample, 2.0, 0)
        assert "rng must be a numpy Generator" in refusal(BOTH[name].sample, 2, None)

    @pytest.mark.parametrize("rows", SELECTIONS, ids=str)
    def test_taken_rows_are_those_rows(self, name, rows):
        distribution = BOTH[name]
        taken = distribution.take(rows)
        assert type(taken) is type(distribution)
        assert (taken.shape, taken.n) == (distribution.shape, len(np.arange(4)[rows]))
        if distribution.shape and not isinstance(distribution, Samples):
            x = np.arange(24.0).reshape(4, 3, 2)
            assert np.allclose(taken.log_density(x[rows]), distribution.log_density(x)[rows], rtol=1e-13, atol=1e-300)
        if not distribution.shape:
            x = np.arange(12.0).reshape(4, 3)
            assert np.allclose(taken.cdf(x[rows]), distribution.cdf(x)[rows], rtol=1e-13, atol=1e-300)
            assert np.allclose(taken.isf(x[rows] / 11), distribution.isf(x / 11)[rows], rtol=1e-13, atol=1e-300)

    def test_survives_pickling(self, name):
        distribution = BOTH[name]
        assert np.array_equal(pickle.loads(pickle.dumps(distribution)).sample(3, 0), distribution.sample(3, 0))


@pytest.mark.parametrize(("name", "method"), QUESTIONS)
class TestRealDistributions:
    def test_points_of_any_legal_shape(self, name, method):
        ask = getattr(REAL[name], method)
        x = np.array([0.1, 0.25, 0.5, 0.75])
        alone = ask(x)
        assert alone.shape == (4,)
        table = ask(np.column_stack([x, x[::-1], x]))
        assert table.shape == (4, 3)
        assert np.allclose(table[:, 0], alone, rtol=1e-13, atol=1e-300)
        assert np.allclose(table[:, 1], ask(x[::-1]), rtol=1e-13, atol=1e-300)
        assert ask(0.5).shape == (4,)
        assert np.allclose(ask(0.5), ask([0.5] * 4), rtol=1e-13, atol=1e-300)
        shared = ask(x[None, :])
        assert np.allclose(shared, ask(np.tile(x, (4, 1))), rtol=1e-13, atol=1e-300)

    def test_refused_shapes(self, name, method, refusal):
        for x in (np.full(3, 0.5), np.full((3, 4), 0.5), np.full((4, 1, 1), 0.5)):
            message = refusal(getattr(REAL[name], method), x)
            assert "points must have shape (4,) or (4, k)" in message
            assert f"got shape {x.shape}" in message


@pytest.mark.parametrize("name", REAL)
def test_levels_are_probabilities(refusal, name):
    for ask, q in product((REAL[name].ppf, REAL[name].isf), (-0.1, 1.1, np.nan)):
        assert f"q must lie in [0, 1]; row 2, column 1 is {q}" in refusal(ask, [[0, 1]] * 2 + [[0, q]] * 2)
        assert f"q must lie in [0, 1]; got {q}" in refusal(ask, q)


def test_vectors_have_no_quantiles(refusal):
    for name, method in product(VECTORS, ("cdf", "sf", "ppf", "isf")):
        message = refusal(getattr(VECTORS[name], method), 0.5, error=NotApplicableError)
        assert f"{name} has no {method}(...). Its outcomes are vectors of 2 coordinates" in message


class Exponential(Distribution):
    """A distribution of one's own with one method."""

    def __init__(self, rate):
        self.rate = np.asarray(rate)

    @property
    def n(self):
        return len(self.rate)

    def take(self, rows):
        return Exponential(self.rate[rows])

    def sf(self, x):
        return np.exp(-beside(self.rate, x) * x)


class TestOwnDistribution:
    def test_answers_what_it_defines(self):
        distribution = Exponential([1.0, 2.0])
        assert distribution.shape == ()
        assert distribution.sf(np.log([[2.0], [2.0]])).round(12).tolist() == [[0.5], [0.25]]

    def test_refuses_the_rest(self, refusal):
        given = dict.fromkeys(("cdf", "ppf", "isf", "log_density"), (0.5,)) | {"sample": (2, 0)}
        for method, arguments in given.items():
            message = refusal(getattr(Exponential([1.0]), method), *arguments, error=NotApplicableError)
            assert message.startswith(f"Exponential has no {method}(...). Define it in the class")
            assert "Samples(draws)" in message

    def test_is_a_component_like_any_other(self, refusal):
        distribution = Mixture([Exponential([1.0]), Normal(0, 1)], [0.5, 0.5])
        assert distribution.sf(0.0).tolist() == [0.75]
        assert "Exponential has no cdf" in refusal(distribution.cdf, 0.0, error=NotApplicableError)

    def test_needs_rows(self, refusal):
        assert "abstract" in refusal(Distribution, error=TypeError)
