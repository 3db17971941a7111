"""Sums of any kernel over scores on a line: every shape against the whole matrix."""

import itertools

import numpy as np
import pytest

from calibrant.kernel_errors import sums as kernel_sums
from calibrant.kernel_errors.sums import OFFSET_BLOCK_ROWS, block_sums, has_line, kernel_product, kernel_sum
from calibrant.kernels import Exponential, Gaussian, Kernel, Matern32, Matern52, RationalQuadratic
from calibrant.kernels.forms import LineForm, VectorForm


class Doubled(Kernel):
    """No shape with a line sum, and 2 at distance 0."""

    def profile(self, u):
        return 2 / (1 + u)


class Steeper(Exponential):
    """A subclass is another shape."""

    def profile(self, u):
        return np.exp(-2 * u)


def crossed(a, b):
    return np.abs(a - b) ** 1.5


KERNELS = [
    Exponential(0.3),
    Gaussian(0.3),
    Matern32(0.3),
    Matern52(0.3),
    RationalQuadratic(2.0, 0.3),
    Doubled(0.3),
    Steeper(0.3),
    Exponential(0.3, crossed),
    Gaussian(0.3, "euclidean"),
]


def data(n=37, seed=0):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.integers(0, 20, n) / 19)  # ties
    return x, rng.normal(size=(4, n))


def dense(x, kernel):
    d = crossed(x[:, None], x[None, :]) if callable(kernel.distance) else np.abs(np.subtract.outer(x, x))
    return kernel.of_distance(d)


@pytest.mark.parametrize("kernel", KERNELS)
def test_sums(kernel, monkeypatch):
    monkeypatch.setattr(kernel_sums, "TILE_ROWS", 8)
    x, E = data()
    expected = np.einsum("bi,ij,bj->b", E, dense(x, kernel), E)
    np.testing.assert_allclose(kernel_sum(x, E, kernel), expected, rtol=1e-11)
    np.testing.assert_allclose(kernel_sum(x, E[0], kernel), expected[0], rtol=1e-11)
    assert np.ndim(kernel_sum(x, E[0], kernel)) == 0


@pytest.mark.parametrize("kernel", KERNELS)
def test_products(kernel, monkeypatch):
    monkeypatch.setattr(kernel_sums, "TILE_ROWS", 8)
    x, E = data(seed=1)
    np.testing.assert_allclose(kernel_product(x, E[0], kernel), dense(x, kernel) @ E[0], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_row(kernel):
    x, e = np.array([0.4]), np.array([-0.5])
    assert kernel_sum(x, e, kernel) == pytest.approx(0.25 * float(kernel.profile(np.zeros(1))[0]))


def test_which_have_a_line():
    assert [has_line(kernel) for kernel in KERNELS] == [True] * 4 + [False] * 4 + [True]


RNG = np.random.default_rng(0)


class Own(Kernel):
    def profile(self, u):
        return 1 / (1 + u)


def looped(form, w, m):
    found = []
    for start in range(0, form.n, m):
        pairs = itertools.combinations(range(start, start + m), 2)
        found.append(sum(w[i] * w[j] * form.h(np.array([i]), np.array([j]))[0] for i, j in pairs))
    return found


def line(n, kernel, factor=2.0):
    return LineForm(RNG.integers(0, 30, n) / 29, RNG.normal(size=n), kernel, factor)


@pytest.mark.parametrize("m", [1, 2, 3, OFFSET_BLOCK_ROWS, OFFSET_BLOCK_ROWS + 1, 20])
@pytest.mark.parametrize("kernel", [Exponential(0.3), Matern32(0.3), Gaussian(0.3), Own(0.3)], ids=repr)
def test_line(kernel, m):
    form, w = line(3 * m, kernel), RNG.uniform(0.5, 2, 3 * m)
    np.testing.assert_allclose(block_sums(form, w, m), looped(form, w, m), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("m", [2, 5, OFFSET_BLOCK_ROWS + 3])
@pytest.mark.parametrize("kernel", [Exponential(0.3, "tv"), Gaussian(0.3, "euclidean")], ids=repr)
def test_vectors(kernel, m):
    n = 4 * m
    form = VectorForm.of(RNG.dirichlet(np.ones(3), n), RNG.integers(0, 3, n), kernel, None)
    w = RNG.uniform(0.5, 2, n)
    np.testing.assert_allclose(block_sums(form, w, m), looped(form, w, m), rtol=1e-11, atol=1e-13)
