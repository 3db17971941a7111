"""Laws that stand on points against loops over points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.kernels import Exponential, Gaussian, Matern32, Matern52, RationalQuadratic
from calibrant.kernels.expectations import means as pieces
from calibrant.kernels.expectations import points as module
from calibrant.kernels.expectations.points import PointMeans
from calibrant.kernels.expectations.spectrum import Spectrum

KERNELS = [Gaussian(0.7), Exponential(0.7), Matern32(0.7), Matern52(0.7), RationalQuadratic(2.0, 0.7)]
RNG = np.random.default_rng(5)
ROWS, COLUMNS = np.arange(4)[:, None], np.arange(4)[None, :]


def slow_double(points, weights, kernel, i, j):
    """Return the mean over all pairs of points by a double loop."""
    total = 0.0
    for x, w in zip(points[i], weights, strict=True):
        for y, v in zip(points[j], weights, strict=True):
            total += w * v * float(kernel.of_distance(np.linalg.norm(np.atleast_1d(x - y))))
    return total


def slow_single(points, weights, kernel, i, t):
    """Return the mean over points by a loop."""
    gaps = [np.linalg.norm(np.atleast_1d(x - t)) for x in points[i]]
    return sum(w * float(kernel.of_distance(gap)) for w, gap in zip(weights, gaps, strict=True))


def example(shape):
    points, weights = RNG.normal(size=(4, 6, *shape)), RNG.random(6)
    return points, weights / weights.sum()


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("piece", [1, 40, 1 << 17])
def test_against_loops(monkeypatch, kernel, shape, piece):
    monkeypatch.setattr(pieces, "PIECE", piece)
    monkeypatch.setattr(module, "PIECE", piece)
    points, weights = example(shape)
    means = PointMeans(points, weights, kernel)
    double = [[slow_double(points, weights, kernel, i, j) for j in range(4)] for i in range(4)]
    np.testing.assert_allclose(means.double(ROWS, COLUMNS), double, rtol=1e-13)
    np.testing.assert_allclose(means.beside(means, ROWS, COLUMNS), double, rtol=1e-13)
    np.testing.assert_allclose(means.double(np.arange(4), np.arange(4)), np.diag(double), rtol=1e-13)
    np.testing.assert_allclose(means.own, np.diag(double), rtol=1e-13)
    t = RNG.normal(size=(3, *shape))
    t[2] = 60.0
    single = np.array([[slow_single(points, weights, kernel, i, x) for x in t] for i in range(4)])
    np.testing.assert_allclose(means.single(ROWS, t[None]), single, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(means.single(COLUMNS, t[:, None]), single.T, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(means.single(np.arange(3), t), np.diag(single[:3]), rtol=1e-13, atol=1e-15)


@given(st.floats(0, 2.1), st.floats(-3, 3), st.floats(-1e3, 1e3))
def test_the_spectrum_is_the_direct_sum(log_range, log_length, origin):
    length = 10.0**log_length
    points = origin + length * RNG.uniform(0, 10.0**log_range, size=(5, 7))
    means = PointMeans(points, np.full(7, 1 / 7), Gaussian(length))
    assert means._spectrum is not None
    i, j = np.arange(5)[:, None], np.arange(5)[None, :]
    slack = 1e-15 * (1 + abs(origin) / length)  # a far origin costs the difference of two points its digits
    np.testing.assert_allclose(means.double(i, j), means.beside(means, i, j), rtol=0, atol=5e-15 + slack)
    t = points[:, 0] + length * np.array([-1.0, 0, 1, 50, -500])
    np.testing.assert_allclose(means.single(i, t[None]), means._summed(i, t[None]), rtol=0, atol=5e-15 + slack)


def test_points_far_apart_take_the_direct_sum():
    points = np.array([[0.0, 1.0], [1e6, -1e6]])
    assert Spectrum.covering(points, 1.0) is None
    assert Spectrum.covering(np.array([[-1e308, 1e308]]), 1e-300) is None
    means = PointMeans(points, np.full(2, 0.5), Gaussian(1.0))
    assert means.own == pytest.approx([(1 + np.exp(-0.5)) / 2, 0.5], rel=1e-15)


def test_points_that_are_all_the_same():
    means = PointMeans(np.full((2, 3), 7.0), np.full(3, 1 / 3), Gaussian(1e-3))
    assert means.double(ROWS[:2], COLUMNS[:, :2]) == pytest.approx(np.ones((2, 2)), rel=1e-14)
