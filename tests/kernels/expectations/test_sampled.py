"""Means by draws: repeatable, unbiased, and as many as asked for."""

import numpy as np
import pytest

from calibrant.inputs.laws import MvNormal, Normal
from calibrant.kernels import Exponential, Gaussian, Matern32
from calibrant.kernels.expectations import target_means
from calibrant.kernels.expectations.sampled import SampledMeans

LAW = Normal([0.0, 1.0, -1.0], [1.0, 0.5, 2.0])
ROWS = np.arange(3)


def test_pairs_equal_numbers_and_halves():
    kernel = Matern32(0.8)
    means = target_means(LAW, kernel, draws=6, rng=3)
    assert isinstance(means, SampledMeans)
    z = means.draws
    assert z.shape == (3, 6)
    i, j = ROWS[:, None], ROWS[None, :]
    tile = means.double(i, j)
    for a, b in ((0, 1), (2, 0)):
        assert tile[a, b] == pytest.approx(kernel.of_distance(np.abs(z[a] - z[b])).mean(), rel=1e-13)
    assert means.alone(ROWS) == pytest.approx(kernel.of_distance(np.abs(z[:, :3] - z[:, 3:])).mean(axis=1), rel=1e-13)
    assert means.single(ROWS, ROWS.astype(float)) == pytest.approx(
        kernel.of_distance(np.abs(z - ROWS[:, None])).mean(axis=1), rel=1e-13
    )
    every = kernel.of_distance(np.abs(z[0][:, None] - z[1][None])).mean()
    assert means.inner(np.array(0), np.array(1)) == pytest.approx(every, rel=1e-13)


def test_repeats_itself():
    first, second = (target_means(LAW, Matern32(1.0), draws=4, rng=9) for _ in range(2))
    assert (first.draws == second.draws).all()
    assert (first.draws != target_means(LAW, Matern32(1.0), draws=4, rng=10).draws).all()


def test_unbiased():
    law = Normal(np.zeros(6000), np.ones(6000))
    rows, other = np.arange(3000), np.arange(3000, 6000)
    exact = target_means(law, Gaussian(1.0)).double(np.array(0), np.array(1))
    drawn = SampledMeans.of(law, Gaussian(1.0), 4, 0)
    for value in (drawn.double(rows, other), drawn.alone(rows)):
        assert abs(value.mean() - exact) < 4 * value.std() / np.sqrt(3000)


def test_vectors():
    law = MvNormal(np.zeros((2, 3)), np.eye(3))
    means = target_means(law, Exponential(1.0), draws=4, rng=0)
    z = means.draws
    expected = np.exp(-np.linalg.norm(z[0] - z[1], axis=1)).mean()
    assert means.double(np.array([0]), np.array([1])) == pytest.approx([expected], rel=1e-13)


@pytest.mark.parametrize("draws", [0, 1, 7, 4.0, True])
def test_draws_must_be_even(refusal, draws):
    message = refusal(target_means, LAW, Matern32(1.0), draws=draws)
    assert "draws must be" in message
