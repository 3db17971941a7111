"""CRPS and energy score against scoringrules, an independent implementation."""

import numpy as np
import pytest

from calibrant import Laplace, Mixture, Normal, Samples, crps, energy_score, per_row

RNG = np.random.default_rng(5)
N = 40
Y, MEAN, SCALE = RNG.normal(size=N), RNG.normal(size=N), RNG.uniform(0.2, 3, N)
DRAWS = RNG.normal(size=(N, 12))


@pytest.fixture(scope="module")
def oracle(require):
    return require("scoringrules")


def test_normal(oracle):
    np.testing.assert_allclose(per_row(crps, Y, Normal(MEAN, SCALE)), oracle.crps_normal(Y, MEAN, SCALE), rtol=1e-12)


def test_laplace(oracle):
    np.testing.assert_allclose(per_row(crps, Y, Laplace(MEAN, SCALE)), oracle.crps_laplace(Y, MEAN, SCALE), rtol=1e-12)


def test_mixture_of_normals(oracle):
    means, scales = np.stack([MEAN, MEAN + 2], axis=1), np.stack([SCALE, 0.5 * SCALE], axis=1)
    distribution = Mixture([Normal(means[:, k], scales[:, k]) for k in range(2)], [0.3, 0.7])
    expected = oracle.crps_mixnorm(Y, means, scales, np.tile([0.3, 0.7], (N, 1)))
    np.testing.assert_allclose(per_row(crps, Y, distribution), expected, rtol=1e-10)


@pytest.mark.parametrize(("fair", "estimator"), [(False, "nrg"), (True, "fair")])
def test_draws(oracle, fair, estimator):
    expected = oracle.crps_ensemble(Y, DRAWS, estimator=estimator)
    np.testing.assert_allclose(per_row(crps, Y, Samples(DRAWS), fair=fair), expected, rtol=1e-10)


@pytest.mark.parametrize(("fair", "estimator"), [(False, "nrg"), (True, "fair")])
def test_energy_score(oracle, fair, estimator):
    y, draws = RNG.normal(size=(10, 3)), RNG.normal(size=(10, 8, 3))
    expected = oracle.es_ensemble(y, draws, estimator=estimator)
    np.testing.assert_allclose(per_row(energy_score, y, Samples(draws), fair=fair), expected, rtol=1e-10)
