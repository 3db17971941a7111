"""Sums within blocks: by offsets, by lines and by tiles they are those of a loop."""

import itertools

import numpy as np
import pytest

from calibrant import Exponential, Gaussian, Kernel, Matern32
from calibrant.kernels.forms import LineForm, VectorForm
from calibrant.primitives.block_sums import SMALL, block_sums

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


@pytest.mark.parametrize("m", [1, 2, 3, SMALL, SMALL + 1, 20])
@pytest.mark.parametrize("kernel", [Exponential(0.3), Matern32(0.3), Gaussian(0.3), Own(0.3)], ids=repr)
def test_line(kernel, m):
    form, w = line(3 * m, kernel), RNG.uniform(0.5, 2, 3 * m)
    np.testing.assert_allclose(block_sums(form, w, m), looped(form, w, m), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("m", [2, 5, SMALL + 3])
@pytest.mark.parametrize("kernel", [Exponential(0.3, "tv"), Gaussian(0.3, "euclidean")], ids=repr)
def test_vectors(kernel, m):
    n = 4 * m
    form = VectorForm.of(RNG.dirichlet(np.ones(3), n), RNG.integers(0, 3, n), kernel, None)
    w = RNG.uniform(0.5, 2, n)
    np.testing.assert_allclose(block_sums(form, w, m), looped(form, w, m), rtol=1e-11, atol=1e-13)


def test_one_block_is_the_whole():
    form, w = line(40, Exponential(0.3)), np.ones(40)
    np.testing.assert_allclose(block_sums(form, w, 40), looped(form, w, 40), rtol=1e-10)


def test_the_order_of_rows_within_a_block_does_not_matter():
    form, w = line(50, Exponential(0.3)), RNG.uniform(0.5, 2, 50)
    order = np.concatenate([RNG.permutation(25), 25 + RNG.permutation(25)])
    mixed = LineForm(form.x[order], form.e[order], form.kernel, form.factor)
    np.testing.assert_allclose(block_sums(mixed, w[order], 25), block_sums(form, w, 25), rtol=1e-12)
