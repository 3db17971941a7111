"""Sums over pairs of two blocks: what the sum of all rows has beyond those of the blocks."""

import numpy as np
import pytest

from calibrant.dask.pairs import cross_sum
from calibrant.inputs.arrays import unit_weights
from calibrant.kernels import Exponential, Gaussian, Matern32
from calibrant.kernels.forms import LineForm, VectorForm
from calibrant.kernels.pair_sums import kernel_tile, tile_of
from calibrant.kernels.point_kernels import Polynomial
from calibrant.points.discrepancy import diagonal_sum
from calibrant.points.sums import pair_sums

KERNELS = {
    "gaussian": Gaussian(1.5, "euclidean"),
    "laplace": Exponential(2.0, "l1"),
    "matern": Matern32(1.5, "euclidean"),
    "polynomial": Polynomial(),
    "own": Gaussian(1.5, lambda a, b: np.abs(a - b).max(axis=-1)),
}


def forms(n):
    rng = np.random.default_rng(n)
    P, y = rng.dirichlet(np.ones(3), n), rng.integers(0, 3, n)
    G = np.array([[1.0, 0.5, 0.1], [0.5, 1.0, 0.5], [0.1, 0.5, 1.0]])
    yield VectorForm.of(P, y, Exponential(0.3, "tv"), None)
    yield VectorForm.of(P, y, Gaussian(0.3, "euclidean"), G)
    yield LineForm(P[:, 0], rng.normal(size=n), Exponential(0.3, "euclidean"), 2.0)


@pytest.mark.parametrize(("n", "split"), [(2, 1), (7, 3), (130, 129), (400, 128), (400, 200)])
def test_rows(n, split):
    i, j = np.arange(split)[:, None], np.arange(split, n)[None, :]
    for form in forms(n):
        for w in (unit_weights(n), np.random.default_rng(1).random(n)):
            wanted = (w[:split, None] * w[None, split:] * form.h(i, j)).sum()
            assert cross_sum(tile_of(form), w, split) == pytest.approx(wanted, rel=1e-11, abs=1e-11)


def test_one_block_alone_has_no_pairs():
    for form in forms(5):
        assert cross_sum(tile_of(form), unit_weights(5), 0) == cross_sum(tile_of(form), unit_weights(5), 5) == 0.0


@pytest.mark.parametrize("name", KERNELS)
def test_points(name):
    rng, kernel = np.random.default_rng(0), KERNELS[name]
    for n, m, d in [(1, 1, 1), (3, 5, 2), (300, 40, 3), (20, 1100, 3), (30, 50, 17), (1030, 9, 40)]:
        Z = rng.normal(size=(n + m, d))
        whole = pair_sums(Z, kernel, (n, m))[0, 1]
        assert cross_sum(kernel_tile(Z, kernel), unit_weights(n + m), n) == pytest.approx(whole, rel=1e-11), (n, m, d)


@pytest.mark.parametrize("name", KERNELS)
def test_points_with_themselves(name):
    Z = np.random.default_rng(0).normal(size=(20, 3))
    wanted = ((Z * Z).sum(axis=1) / 3 + 1) ** 3 if name == "polynomial" else np.ones(20)
    assert diagonal_sum(Z, KERNELS[name]) == pytest.approx(wanted.sum(), rel=1e-12)
