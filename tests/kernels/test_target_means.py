"""The distance of embeddings is a distance."""

import numpy as np
import pytest

from calibrant.inputs.parametric import Laplace, MvNormal, Normal
from calibrant.inputs.samples import Samples
from calibrant.kernels.expectations import target_means
from calibrant.kernels.kernel import Exponential, Gaussian, Matern52
from calibrant.kernels.target_means import squared_embedding_distance

RNG = np.random.default_rng(2)
CASES = {
    "normal": (Normal(RNG.normal(size=6), np.exp(RNG.normal(size=6))), Gaussian(1.0), None),
    "laplace": (Laplace(RNG.normal(size=6), np.exp(RNG.normal(size=6))), Exponential(1.0), None),
    "vectors": (MvNormal(RNG.normal(size=(6, 2)), np.eye(2) * np.exp(RNG.normal(size=(6, 1, 1)))), Gaussian(1.0), None),
    "samples": (Samples(RNG.normal(size=(6, 5))), Gaussian(1.0), None),
    "sampled": (Normal(RNG.normal(size=6), 1.0), Matern52(1.0), 10),
}
ROWS, COLUMNS = np.arange(6)[:, None], np.arange(6)[None, :]


@pytest.mark.parametrize("name", CASES)
def test_hilbert_distance(name):
    distribution, kernel, draws = CASES[name]
    means = target_means(distribution, kernel, draws=draws)
    square = squared_embedding_distance(means, ROWS, COLUMNS)
    assert square.shape == (6, 6)
    np.testing.assert_allclose(np.diag(square), 0, atol=1e-15)
    np.testing.assert_allclose(square, square.T, atol=1e-15)
    assert (square[~np.eye(6, dtype=bool)] > 0).all()
    # A squared distance in a Hilbert space: the centred matrix is negative semidefinite.
    centring = np.eye(6) - 1 / 6
    assert np.linalg.eigvalsh(centring @ square @ centring).max() < 1e-14
    pairs = squared_embedding_distance(means, np.array([0, 1]), np.array([2, 3]))
    np.testing.assert_allclose(pairs, square[[0, 1], [2, 3]], rtol=1e-12, atol=1e-15)


def test_by_hand():
    # Point masses at 0 and 1: k(0,0) - 2 k(0,1) + k(1,1).
    means = target_means(Samples([[0.0], [1.0]]), Exponential(1.0))
    assert squared_embedding_distance(means, np.array(0), np.array(1)) == pytest.approx(2 - 2 * np.exp(-1))
