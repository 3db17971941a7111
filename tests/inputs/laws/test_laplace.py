"""The Laplace law."""

import numpy as np
import pytest
from scipy import stats

from calibrant.inputs.laws import Laplace

Z = np.array([-700.0, -40.0, -3.0, -1e-9, 0.0, 1e-9, 0.5, 2.0, 40.0, 700.0])
Q = np.array([0.0, 5e-324, 1e-300, 1e-20, 0.025, 0.5 - 1e-12, 0.5, 0.5 + 1e-12, 0.75, 1 - 2**-53, 1.0])
LOC, SCALE = np.array([0.0, -3.0, 1e6]), np.array([1.0, 0.01, 1e3])
LAW, SCIPY = Laplace(LOC, SCALE), stats.laplace(LOC[:, None], SCALE[:, None])
X = LOC[:, None] + SCALE[:, None] * Z


def test_hand_numbers():
    law = Laplace([0.0, 10.0], [1.0, 2.0])
    assert law.cdf([0.0, 10.0]).tolist() == [0.5, 0.5]
    assert law.cdf([-np.log(2), 10 + 2 * np.log(2)]) == pytest.approx([0.25, 0.75], rel=1e-15)
    assert law.log_density([3.0, 10.0]) == pytest.approx([-3 - np.log(2), -np.log(4)], rel=1e-15)
    assert law.ppf([0.25, 0.75]) == pytest.approx([-np.log(2), 10 + 2 * np.log(2)], rel=1e-15)


@pytest.mark.parametrize(("ours", "theirs"), [("cdf", "cdf"), ("sf", "sf"), ("log_density", "logpdf")])
def test_agrees_with_scipy_at_points(ours, theirs):
    np.testing.assert_allclose(getattr(LAW, ours)(X), getattr(SCIPY, theirs)(X), rtol=1e-12)


@pytest.mark.parametrize("method", ["ppf", "isf"])
def test_agrees_with_scipy_at_levels(method):
    np.testing.assert_allclose(getattr(LAW, method)(Q[None]), getattr(SCIPY, method)(Q), rtol=1e-12)


def test_quantiles_near_the_middle_keep_their_digits():
    # With q = 1/2 + e the quantile is -log(1 - 2e).
    e = 2.0**-40
    assert Laplace(0, 1).ppf(0.5 + e)[0] == pytest.approx(-np.log1p(-2 * e), rel=1e-15)
    assert Laplace(0, 1).isf(0.5 + e)[0] == pytest.approx(np.log1p(-2 * e), rel=1e-15)


def test_infinity_is_a_point():
    law = Laplace(0, 1e-300)
    assert law.cdf([[-np.inf, np.inf, -1e300, 1e300]]).tolist() == [[0.0, 1.0, 0.0, 1.0]]
    assert law.sf([[-np.inf, np.inf]]).tolist() == [[1.0, 0.0]]
    assert law.log_density([[np.inf, 1e300]]).tolist() == [[-np.inf, -np.inf]]
    assert law.ppf([[0.0, 1.0]]).tolist() == [[-np.inf, np.inf]]
    assert law.isf([[0.0, 1.0]]).tolist() == [[np.inf, -np.inf]]


def test_draws_have_median_and_spread():
    m = 40_000
    z = (LAW.sample(m, 0) - LOC[:, None]) / SCALE[:, None]  # variance 2, fourth moment 24
    assert np.all(np.abs(z.mean(axis=1)) < 5 * np.sqrt(2 / m))
    assert np.all(np.abs((z**2).mean(axis=1) - 2) < 5 * np.sqrt(20 / m))
    assert np.all(np.abs((z < 0).mean(axis=1) - 0.5) < 2.5 / np.sqrt(m))
