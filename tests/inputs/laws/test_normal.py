"""The normal law."""

import numpy as np
import pytest
from scipy import stats

from calibrant.inputs.laws import Normal

Z = np.array([-38.0, -20.0, -8.3, -3.0, -1.0, -1e-9, 0.0, 1e-300, 0.5, 2.0, 8.3, 20.0, 38.0])
Q = np.array([0.0, 5e-324, 1e-300, 1e-20, 0.025, 0.5, 0.75, 1 - 2**-53, 1.0])
MEAN, STD = np.array([0.0, -3.0, 1e6]), np.array([1.0, 0.01, 1e3])
LAW, SCIPY = Normal(MEAN, STD), stats.norm(MEAN[:, None], STD[:, None])
X = MEAN[:, None] + STD[:, None] * Z


def test_hand_numbers():
    law = Normal([0.0, 10.0], [1.0, 2.0])
    assert law.cdf([0.0, 10.0]).tolist() == [0.5, 0.5]
    assert law.cdf([1.959963984540054, 10 + 2 * 1.959963984540054]) == pytest.approx([0.975, 0.975], rel=1e-15)
    assert law.log_density([0.0, 12.0]) == pytest.approx([-0.9189385332046727, -0.9189385332046727 - 0.5 - np.log(2)])
    assert law.ppf(0.975) == pytest.approx([1.959963984540054, 13.919927969080108], rel=1e-15)


@pytest.mark.parametrize(("ours", "theirs"), [("cdf", "cdf"), ("sf", "sf"), ("log_density", "logpdf")])
def test_agrees_with_scipy_at_points(ours, theirs):
    np.testing.assert_allclose(getattr(LAW, ours)(X), getattr(SCIPY, theirs)(X), rtol=1e-12)


@pytest.mark.parametrize("method", ["ppf", "isf"])
def test_agrees_with_scipy_at_levels(method):
    np.testing.assert_allclose(getattr(LAW, method)(Q[None]), getattr(SCIPY, method)(Q), rtol=1e-12)


def test_far_tails_keep_their_digits():
    law = Normal(0, 1)
    assert law.sf(20.0)[0] == pytest.approx(2.7536241186062337e-89, rel=1e-12)
    assert law.sf(20.0) == law.cdf(-20.0)
    assert law.isf(law.sf(30.0))[0] == pytest.approx(30.0, rel=1e-14)


def test_infinity_is_a_point():
    law = Normal(0, 1e-300)
    assert law.cdf([[-np.inf, np.inf, -1e300, 1e300]]).tolist() == [[0.0, 1.0, 0.0, 1.0]]
    assert law.sf([[-np.inf, np.inf]]).tolist() == [[1.0, 0.0]]
    assert law.log_density([[np.inf, 1e300]]).tolist() == [[-np.inf, -np.inf]]
    assert law.ppf([[0.0, 1.0]]).tolist() == [[-np.inf, np.inf]]
    assert law.isf([[0.0, 1.0]]).tolist() == [[np.inf, -np.inf]]


def test_draws_have_mean_and_spread():
    m = 40_000
    z = (LAW.sample(m, 0) - MEAN[:, None]) / STD[:, None]
    assert np.all(np.abs(z.mean(axis=1)) < 5 / np.sqrt(m))
    assert np.all(np.abs(z.var(axis=1) - 1) < 5 * np.sqrt(2 / m))
    assert abs(np.corrcoef(z)[0, 1]) < 5 / np.sqrt(m)
