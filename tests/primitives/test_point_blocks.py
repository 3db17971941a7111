"""MMD² of pairs and blocks of points."""

import numpy as np
import pytest

from calibrant import Exponential, Gaussian
from calibrant.kernels.point_kernels import Polynomial
from calibrant.primitives import point_blocks
from calibrant.primitives.point_blocks import block_terms, linear_terms
from calibrant.primitives.point_tiles import kernel_tile

KERNELS = {
    "gaussian": Gaussian(1.5, "euclidean"),
    "laplace": Exponential(2.0, "l1"),
    "polynomial": Polynomial(),
    "own": Gaussian(1.5, lambda a, b: np.abs(a - b).max(axis=-1)),
}


def sets(n, d):
    rng = np.random.default_rng(d)
    return rng.normal(size=(n, d)), rng.normal(0.3, 1.2, size=(n, d))


@pytest.mark.parametrize("few", [1, 3, 1 << 20])
@pytest.mark.parametrize("d", [1, 5, 20])
@pytest.mark.parametrize("name", KERNELS)
def test_blocks(name, d, few, monkeypatch):
    monkeypatch.setattr(point_blocks, "MOST", few)
    y, x = sets(12, d)
    found = block_terms(y, x, KERNELS[name], 4)
    for b in range(3):
        Z = np.concatenate([y[4 * b : 4 * b + 4], x[4 * b : 4 * b + 4]])
        K = kernel_tile(Z, KERNELS[name])(slice(0, 8), slice(0, 8))
        np.fill_diagonal(K, 0.0)
        expected = K[:4, :4].sum() / 12 + K[4:, 4:].sum() / 12 - 2 * K[:4, 4:].mean()
        assert found[b] == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("few", [1, 1 << 20])
@pytest.mark.parametrize("d", [1, 5, 20])
@pytest.mark.parametrize("name", KERNELS)
def test_pairs(name, d, few, monkeypatch):
    monkeypatch.setattr(point_blocks, "MOST", few)
    y, x = sets(10, d)
    found = linear_terms(y, x, KERNELS[name])
    for k in range(5):
        Z = np.stack([y[2 * k], y[2 * k + 1], x[2 * k], x[2 * k + 1]])
        K = kernel_tile(Z, KERNELS[name])(slice(0, 4), slice(0, 4))
        assert found[k] == pytest.approx(K[0, 1] + K[2, 3] - K[0, 3] - K[1, 2], rel=1e-9, abs=1e-12)
