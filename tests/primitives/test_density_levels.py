"""Mass of the regions of higher density."""

import numpy as np
import pytest
from scipy import stats

from calibrant import Laplace, Mixture, MvNormal, Normal, Samples
from calibrant.primitives.density_levels import density_level

Y = np.array([-2.5, 0.0, 0.3, 7.0])


def test_normal():
    z = (Y - 0.5) / 2
    np.testing.assert_allclose(density_level(Normal(np.full(4, 0.5), 2.0), Y), np.abs(2 * stats.norm.cdf(z) - 1))


def test_laplace():
    np.testing.assert_allclose(density_level(Laplace(np.full(4, 0.5), 2.0), Y), 1 - np.exp(-np.abs(Y - 0.5) / 2))


@pytest.mark.parametrize("shared", [True, False])
def test_normal_vectors(shared):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(1 if shared else 6, 3, 3))
    cov = A @ A.swapaxes(1, 2) + np.eye(3)
    mean, y = rng.normal(size=(6, 3)), rng.normal(size=(6, 3)) * 2
    law = MvNormal(mean, cov[0] if shared else cov)
    r = y - mean
    square = np.einsum("id,ide,ie->i", r, np.linalg.inv(np.broadcast_to(cov, (6, 3, 3))), r)
    np.testing.assert_allclose(density_level(law, y), stats.chi2.cdf(square, 3), rtol=1e-10)


def test_one_coordinate_is_a_number():
    found = density_level(MvNormal(np.zeros((4, 1)), [[4.0]]), Y[:, None])
    np.testing.assert_allclose(found, density_level(Normal(np.zeros(4), 2.0), Y), rtol=1e-12)


def test_far_away():
    assert density_level(Normal(np.zeros(2), 1e-300), np.array([0.0, 1e300])).tolist() == [0.0, 1.0]
    assert density_level(Laplace(np.zeros(1), 1e-300), np.array([-1e300])).tolist() == [1.0]
    assert density_level(MvNormal(np.zeros((1, 2)), np.eye(2)), np.array([[1e200, 0.0]])).tolist() == [1.0]


@pytest.mark.parametrize("law", [Mixture([Normal([0.0], 1.0)], [1.0]), Samples([[1.0, 2.0]])])
def test_others_have_no_form(law):
    assert density_level(law, np.zeros(1)) is None
