"""Means and covariances of laws, against those of many draws."""

import numpy as np
import pytest
from scipy import stats

from calibrant import InputError, Laplace, Mixture, MvNormal, Normal, Samples, ScipyLaw
from calibrant.primitives.law_moments import covariance_of, mean_of, variance_of

ONE, TWO = np.ones(2), np.array([[0.0, 1.0], [2.0, -1.0]])
COV = np.array([[2.0, 0.5], [0.5, 1.0]])
NUMBERS = [
    Normal(3 * ONE, 2.0),
    Laplace(3 * ONE, 2.0),
    ScipyLaw(stats.gamma(a=[2.0, 5.0])),
    Mixture([Normal(3 * ONE, 2.0), Laplace(-ONE, 1.0), ScipyLaw(stats.gamma(a=2 * ONE))], [0.2, 0.3, 0.5]),
]
VECTORS = [
    MvNormal(TWO, COV),
    Mixture([MvNormal(TWO, COV), MvNormal(TWO + np.array([1.0, 3.0]), np.eye(2))], [0.25, 0.75]),
]


@pytest.mark.parametrize("law", NUMBERS, ids=lambda law: type(law).__name__)
def test_numbers(law):
    draws = law.sample(200_000, 0)
    np.testing.assert_allclose(mean_of(law), draws.mean(axis=1), atol=0.03)
    np.testing.assert_allclose(variance_of(law), draws.var(axis=1), rtol=0.03)
    np.testing.assert_allclose(covariance_of(law), variance_of(law)[:, None, None], rtol=1e-13)


@pytest.mark.parametrize("law", VECTORS, ids=lambda law: type(law).__name__)
def test_vectors(law):
    draws = law.sample(100_000, 0)
    np.testing.assert_allclose(mean_of(law), draws.mean(axis=1), atol=0.03)
    np.testing.assert_allclose(covariance_of(law), [np.cov(row.T) for row in draws], atol=0.06)
    np.testing.assert_allclose(variance_of(law), np.diagonal(covariance_of(law), axis1=1, axis2=2), rtol=1e-14)


def test_draws_divide_by_one_less():
    x = np.random.default_rng(0).normal(size=(3, 5, 2))
    np.testing.assert_allclose(covariance_of(Samples(x)), [np.cov(row.T) for row in x], rtol=1e-13)
    np.testing.assert_allclose(variance_of(Samples(x)), x.var(axis=1, ddof=1), rtol=1e-14)
    np.testing.assert_allclose(mean_of(Samples(x)), x.mean(axis=1), rtol=1e-15)


@pytest.mark.parametrize("spread", [variance_of, covariance_of])
@pytest.mark.parametrize("draws", [[[1.0]], [[[1.0, 2.0]]]])
def test_one_draw_has_no_spread(spread, draws):
    with pytest.raises(InputError, match="at least 2"):
        spread(Samples(draws))
