"""h as a function of row numbers: every form against its definition, tiles against pairs."""

import numpy as np
import pytest

from calibrant import Normal
from calibrant.kernels import Delta, Exponential, Gaussian, JointKernel, Kernel
from calibrant.kernels.composed import LineDistance
from calibrant.kernels.expectations import target_means
from calibrant.kernels.forms import DistributionForm, JointForm, MeanForm, VectorForm

RNG = np.random.default_rng(0)
n, K = 9, 3
P = RNG.dirichlet(np.ones(K), n)
Y = RNG.integers(0, K, n)
ROWS = np.arange(n)


class Tripled(Kernel):
    """A kernel that is 3 at distance 0."""

    supremum = 3.0

    def profile(self, u):
        return 3 * np.exp(-u)


class Own(JointKernel):
    """exp(-tv) plus, for classes next to each other, a share of it: symmetric, and no product."""

    def __call__(self, p, a, q, b):
        tv = np.abs(p - q).sum(axis=1) / 2
        return np.exp(-tv) * (a == b) + 0.25 * np.exp(-2 * tv) * (np.abs(a - b) <= 1)


class AsProduct(JointKernel):
    """A product of kernels that does not say so."""

    def __init__(self, prediction, target):
        self.prediction, self.target = prediction, target

    def __call__(self, p, a, q, b):
        tv = np.abs(p - q).sum(axis=1) / 2
        return self.prediction.of_distance(tv) * self.target.of_distance(np.abs(a - b))


def defined(k):
    """Return the matrix of h from its definition, k((p, a), (q, b)) of single rows."""
    H = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            p, q, a, b = P[i], P[j], Y[i], Y[j]
            H[i, j] = (
                k(p, a, q, b)
                - sum(p[z] * k(p, z, q, b) for z in range(K))
                - sum(q[z] * k(p, a, q, z) for z in range(K))
                + sum(p[z] * q[t] * k(p, z, q, t) for z in range(K) for t in range(K))
            )
    return H


def assert_is(form, H):
    """Compare tiles, pairs and the diagonal of a form with a matrix."""
    assert form.n == len(H)
    rows = np.arange(form.n)
    off = ~np.eye(form.n, dtype=bool)
    np.testing.assert_allclose(form.h(rows[:, None], rows[None, :])[off], H[off], rtol=1e-12, atol=1e-14)
    i, j = np.nonzero(off)
    np.testing.assert_allclose(form.h(i, j), H[i, j], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(form.diagonal(), H.diagonal(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("kernel", "target"),
    [
        (Exponential(0.4, "tv"), Delta()),
        (Tripled(0.4, "tv"), Delta()),
        (Exponential(0.4, "tv"), Gaussian(1.0, "labels")),
        (Exponential(0.4, lambda a, b: np.abs(a - b).sum(axis=-1) / 2), Tripled(2.0, "labels")),
    ],
)
def test_vectors(kernel, target):
    G = target.of_distance(np.abs(np.subtract.outer(np.arange(K), np.arange(K))))

    def k(p, a, q, b):
        return float(kernel.of_distance(np.abs(p - q).sum() / 2)) * G[a, b]

    assert_is(VectorForm.of(P, Y, kernel, None if isinstance(target, Delta) else G), defined(k))


def test_joint():
    def k(p, a, q, b):
        return float(Own()(p[None], np.array([a]), q[None], np.array([b]))[0])

    assert_is(JointForm(P, Y, Own()), defined(k))


@pytest.mark.parametrize("target", [Delta(), Gaussian(1.5, "labels")])
def test_a_joint_kernel_that_is_a_product(target):
    kernel = Exponential(0.4, "tv")
    G = target.of_distance(np.abs(np.subtract.outer(np.arange(K), np.arange(K))))
    product = VectorForm.of(P, Y, kernel, None if isinstance(target, Delta) else G)
    H = product.h(ROWS[:, None], ROWS[None, :])
    np.fill_diagonal(H, product.diagonal())
    assert_is(JointForm(P, Y, AsProduct(kernel, target)), H)


def distribution_form(y, distribution, kernel=None):
    target = Gaussian(0.8, "euclidean")
    x = np.asarray(distribution.mean)
    means = target_means(distribution, target)
    return DistributionForm(y, LineDistance(x), kernel or Exponential(1.0), target, means), x


@pytest.mark.parametrize("kernel", [Exponential(1.0), Tripled(1.0)])
def test_distributions(kernel):
    y, mean, std = RNG.normal(size=n), RNG.normal(size=n), RNG.uniform(0.5, 2, n)
    form, x = distribution_form(y, Normal(mean, std), kernel)

    def E(gap, variance):  # E k(Z) of a normal gap
        s = np.sqrt(0.64 + variance)
        return 0.8 / s * np.exp(-(gap**2) / (2 * s**2))

    H = (
        E(np.subtract.outer(y, y), 0)
        - E(np.subtract.outer(mean, y), std[:, None] ** 2)
        - E(np.subtract.outer(y, mean), std[None, :] ** 2)
        + E(np.subtract.outer(mean, mean), np.add.outer(std**2, std**2))
    ) * kernel.of_distance(np.abs(np.subtract.outer(x, x)))
    assert_is(form, H)


def test_mean_form():
    y, distribution = RNG.normal(size=n), Normal(RNG.normal(size=n), 1.0)
    first, _ = distribution_form(y, distribution)
    second, _ = distribution_form(y + 1, distribution)
    both = MeanForm(first, second)
    i, j = np.array([0, 1]), np.array([2, 5])
    np.testing.assert_allclose(both.h(i, j), (first.h(i, j) + second.h(i, j)) / 2)
    np.testing.assert_allclose(both.diagonal(), (first.diagonal() + second.diagonal()) / 2)
    assert both.n == n
