"""Sums over pairs of two blocks: what the sum of all rows has beyond those of the blocks, in every body."""

from unittest import mock

import numpy as np
import pytest

from calibrant.core import dispatch
from calibrant.dask.cross_sums import cross_sum, point_cross_sum
from calibrant.inputs.arrays import unit_weights
from calibrant.kernels import Exponential, Gaussian, Matern32
from calibrant.kernels import pair_sums as vector_sums
from calibrant.kernels.forms import LineForm, VectorForm
from calibrant.kernels.point_kernels import Polynomial
from calibrant.points import sums as point_sums
from calibrant.points.discrepancy import diagonal_sum

KERNELS = {
    "gaussian": Gaussian(1.5, "euclidean"),
    "laplace": Exponential(2.0, "l1"),
    "matern": Matern32(1.5, "euclidean"),
    "polynomial": Polynomial(),
    "own": Gaussian(1.5, lambda a, b: np.abs(a - b).max(axis=-1)),
}
SHAPES = [(1, 1, 1), (3, 5, 2), (300, 40, 3), (20, 1100, 3), (30, 50, 17), (1030, 9, 40)]


@pytest.fixture(params=["plain", "compiled"])
def body(request):
    """Run with and without the compiled body, however few rows there are."""
    least = 1 if request.param == "compiled" else 10**18
    with mock.patch.object(dispatch, "FAST_TERMS", least):
        yield request.param


def forms(n):
    rng = np.random.default_rng(n)
    P, y = rng.dirichlet(np.ones(3), n), rng.integers(0, 3, n)
    G = np.array([[1.0, 0.5, 0.1], [0.5, 1.0, 0.5], [0.1, 0.5, 1.0]])
    yield VectorForm.of(P, y, Exponential(0.3, "tv"), None)
    yield VectorForm.of(P, y, Gaussian(0.3, "euclidean"), G)
    yield LineForm(P[:, 0], rng.normal(size=n), Exponential(0.3, "euclidean"), 2.0)


@pytest.mark.parametrize(("n", "split"), [(2, 1), (7, 3), (130, 129), (400, 128), (400, 200)])
def test_rows(n, split, body):
    i, j = np.arange(split)[:, None], np.arange(split, n)[None, :]
    for form in forms(n):
        for w in (unit_weights(n), np.random.default_rng(1).random(n)):
            wanted = (w[:split, None] * w[None, split:] * form.h(i, j)).sum()
            assert cross_sum(form, w, split) == pytest.approx(wanted, rel=1e-11, abs=1e-11)


def test_one_block_alone_has_no_pairs():
    for form in forms(5):
        assert cross_sum(form, unit_weights(5), 0) == cross_sum(form, unit_weights(5), 5) == 0.0
    assert point_cross_sum(np.zeros((0, 2)), np.zeros((3, 2)), KERNELS["gaussian"]) == 0.0


@pytest.mark.parametrize(
    ("n", "m", "d"), [(1, 1, 1), (3, 5, 2), (300, 40, 3), (20, 1100, 3), (30, 50, 17), (1030, 9, 40)]
)
@pytest.mark.parametrize("name", KERNELS)
def test_points(name, n, m, d, body):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    whole = point_sums.pair_sums(np.concatenate([A, B]), KERNELS[name], (n, m))[0, 1]
    assert point_cross_sum(A, B, KERNELS[name]) == pytest.approx(whole, rel=1e-11)


@pytest.mark.parametrize("name", KERNELS)
def test_points_with_themselves(name):
    Z = np.random.default_rng(0).normal(size=(20, 3))
    wanted = ((Z * Z).sum(axis=1) / 3 + 1) ** 3 if name == "polynomial" else np.ones(20)
    assert diagonal_sum(Z, KERNELS[name]) == pytest.approx(wanted.sum(), rel=1e-12)


def test_the_compiled_bodies_are_reached(body):
    A, B = np.zeros((3, 2)), np.ones((4, 2))
    form = next(forms(6))
    with (
        mock.patch.object(vector_sums, "_compiled", side_effect=vector_sums._compiled) as of_rows,
        mock.patch.object(point_sums, "_compiled_differences", side_effect=point_sums._compiled_differences) as near,
        mock.patch.object(point_sums, "_compiled_products", side_effect=point_sums._compiled_products) as far,
    ):
        cross_sum(form, unit_weights(6), 3)
        point_cross_sum(A, B, KERNELS["gaussian"])
        point_cross_sum(np.zeros((3, 20)), np.ones((4, 20)), KERNELS["gaussian"])
    compiled = body == "compiled" and dispatch.has_numba()
    assert (of_rows.called, near.called, far.called) == (compiled, compiled, compiled)
