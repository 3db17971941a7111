"""Sums of any kernel over scores on a line: every shape against the whole matrix."""

import numpy as np
import pytest

from calibrant import Exponential, Gaussian, Kernel, Matern32, Matern52, RationalQuadratic
from calibrant.primitives import kernel_sums
from calibrant.primitives.kernel_sums import has_line, kernel_product, kernel_sum


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
    monkeypatch.setattr(kernel_sums, "TILE", 8)
    x, E = data()
    expected = np.einsum("bi,ij,bj->b", E, dense(x, kernel), E)
    np.testing.assert_allclose(kernel_sum(x, E, kernel), expected, rtol=1e-11)
    np.testing.assert_allclose(kernel_sum(x, E[0], kernel), expected[0], rtol=1e-11)
    assert np.ndim(kernel_sum(x, E[0], kernel)) == 0


@pytest.mark.parametrize("kernel", KERNELS)
def test_products(kernel, monkeypatch):
    monkeypatch.setattr(kernel_sums, "TILE", 8)
    x, E = data(seed=1)
    np.testing.assert_allclose(kernel_product(x, E[0], kernel), dense(x, kernel) @ E[0], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_row(kernel):
    x, e = np.array([0.4]), np.array([-0.5])
    assert kernel_sum(x, e, kernel) == pytest.approx(0.25 * float(kernel.profile(np.zeros(1))[0]))


def test_which_have_a_line():
    assert [has_line(kernel) for kernel in KERNELS] == [True] * 4 + [False] * 4 + [True]


def test_inputs_stay():
    x, E = data()
    for array in (x, E):
        array.flags.writeable = False
    for kernel in (Exponential(0.3), Doubled(0.3)):
        kernel_sum(x, E, kernel)
        kernel_product(x, E[0], kernel)
