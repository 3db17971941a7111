"""Between which values of its distribution function a prediction puts the outcome."""

import numpy as np
import pytest
from scipy import stats

from calibrant import CdfValues, Law, Mixture, MvNormal, Normal, Quantiles, Samples, ScipyLaw
from calibrant.inputs.judged import read_judged
from calibrant.inputs.outcomes import read_outcomes
from calibrant.primitives.pit_bounds import pit_bounds


def bounds(y, prediction):
    rows = read_outcomes(y, prediction) if isinstance(prediction, Law) else read_judged(y, prediction)
    return pit_bounds(rows)


def test_draws_by_hand():
    low, high = bounds([2.0, 0.0, 9.0], Samples([[1.0, 2.0, 2.0, 3.0], [1.0] * 4, [1.0, 2.0, 3.0, 4.0]]))
    np.testing.assert_array_equal(low, [0.2, 0.0, 0.8])
    np.testing.assert_array_equal(high, [0.8, 0.2, 1.0])


def test_draws_of_vectors():
    draws = np.array([[[1.0, 5.0], [2.0, 5.0], [3.0, 4.0]]])
    low, high = bounds([[2.5, 5.0]], Samples(draws))
    np.testing.assert_array_equal(low, [[0.5, 0.25]])
    np.testing.assert_array_equal(high, [[0.75, 1.0]])


def test_continuous_laws_have_no_width():
    law = Normal([0.0, 1.0], 2.0)
    low, high = bounds([0.5, -3.0], law)
    np.testing.assert_array_equal(low, high)
    np.testing.assert_array_equal(high, law.cdf([0.5, -3.0]))


def test_discrete_laws_of_scipy():
    y = np.array([0.0, 2.0, 7.0, 2.5])
    law = stats.poisson(mu=[1.0, 2.0, 3.0, 2.0])
    low, high = bounds(y, ScipyLaw(law))
    np.testing.assert_array_equal(high, law.cdf(y))
    np.testing.assert_allclose(high - low, np.where(y == 2.5, 0.0, law.pmf(np.floor(y))), atol=1e-15)


def test_mixtures_of_jumps_and_densities():
    # A zero-inflated law: half its mass at 0, half normal.
    law = Mixture([Samples([[0.0]] * 3), Normal([0.0] * 3, 1.0)], [0.5, 0.5])
    low, high = bounds([0.0, -1.0, 1.0], law)
    tail = stats.norm.cdf(-1)
    np.testing.assert_allclose(low, [0.25, tail / 2, 1 - tail / 2], rtol=1e-15)
    np.testing.assert_allclose(high, [0.75, tail / 2, 1 - tail / 2], rtol=1e-15)


def test_marginals_of_vectors():
    mean, cov = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[4.0, 1.0], [1.0, 9.0]])
    y = np.array([[1.0, -2.0], [2.0, 4.0]])
    low, high = bounds(y, MvNormal(mean, cov))
    np.testing.assert_array_equal(low, high)
    np.testing.assert_allclose(high, stats.norm.cdf(y, mean, [2.0, 3.0]), rtol=1e-14)
    both = Mixture([MvNormal(mean, cov), MvNormal(mean + 1, cov)], [0.25, 0.75])
    expected = 0.25 * stats.norm.cdf(y, mean, [2.0, 3.0]) + 0.75 * stats.norm.cdf(y, mean + 1, [2.0, 3.0])
    np.testing.assert_allclose(bounds(y, both)[1], expected, rtol=1e-14)


def test_values_of_a_distribution_function():
    low, high = bounds(None, CdfValues([0.2, 0.9], below=[0.0, 0.7]))
    np.testing.assert_array_equal(low, [0.0, 0.7])
    np.testing.assert_array_equal(high, [0.2, 0.9])


@pytest.mark.parametrize(
    ("y", "cell"),
    [(0.5, (0, 0.1)), (1.0, (0, 0.1)), (1.5, (0.1, 0.5)), (2.0, (0.1, 0.5)), (3.0, (0.5, 0.9)), (3.5, (0.9, 1))],
)
def test_cells_of_quantiles_are_right_closed(y, cell):
    low, high = bounds([y], Quantiles([[1.0, 2.0, 3.0]], [0.1, 0.5, 0.9]))
    assert (low[0], high[0]) == cell


def test_infinite_quantiles():
    low, high = bounds([0.0, 0.0], Quantiles([[-np.inf, np.inf], [-np.inf, -np.inf]], [0.25, 0.75]))
    np.testing.assert_array_equal(low, [0.25, 0.75])
    np.testing.assert_array_equal(high, [0.75, 1.0])


def test_cells_are_uniform_under_calibration():
    rng = np.random.default_rng(1)
    y, levels = rng.normal(size=200_000), [0.05, 0.3, 0.6]
    low, _ = bounds(y, Normal(np.zeros(y.size), 1.0).quantiles(levels))
    shares = [(low == level).mean() for level in (0.0, *levels)]
    np.testing.assert_allclose(shares, [0.05, 0.25, 0.3, 0.4], atol=0.005)
