"""Sums for redrawn outcomes are those of the form with these outcomes."""

from unittest import mock

import numpy as np
import pytest

from calibrant.inputs.weights import unit_weights
from calibrant.kernels import Exponential, Gaussian
from calibrant.kernels.forms import VectorForm
from calibrant.primitives import dispatch
from calibrant.primitives import redrawn_pairs as module
from calibrant.primitives.pair_sums import BLOCK, pair_sum
from calibrant.primitives.redrawn_pairs import redrawn_sums
from calibrant.primitives.vector_sums import TILE


def l1_of_pairs(p, q):
    return np.abs(p - q).sum(axis=1)


def target_matrix(K, seed=4):
    A = np.random.default_rng(seed).normal(size=(K, K))
    return A @ A.T


def form_of(n, K, kernel=None, G=None, seed=0):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(K, 0.4), n)
    return VectorForm.of(P, rng.integers(0, K, n), kernel or Exponential(0.3, "tv"), G)


def labels_of(B, form, seed=1):
    return np.random.default_rng(seed).integers(0, form.P.shape[1], (B, form.n))


def one_by_one(form, Y, w):
    forms = (VectorForm.of(form.P, y.astype(np.intp), form.kernel, form.G) for y in Y)
    return np.array([2 * pair_sum(each, w) for each in forms])


@pytest.fixture(params=["reference", "fast"])
def sums(request, require):
    """Return redrawn_sums with a body of its own."""
    fast = request.param == "fast"
    if fast:
        require("numba")

    def call(*args):
        with mock.patch.object(module, "_takes_fast_body", return_value=fast):
            return redrawn_sums(*args)

    return call


def assert_agrees(found, form, Y, w):
    size = np.sum(w) ** 2 * (1 if form.G is None else np.abs(form.G).max())
    np.testing.assert_allclose(found, one_by_one(form, Y, w), rtol=0, atol=1e-12 * size)


@pytest.mark.parametrize("n", [1, 2, 3, TILE - 1, TILE, TILE + 1, 2 * TILE + 3, BLOCK + 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_size(sums, n, weighted):
    form = form_of(n, 3)
    w = np.random.default_rng(2).gamma(1.0, size=n) if weighted else unit_weights(n)
    Y = labels_of(5, form)
    assert_agrees(sums(form, Y, w), form, Y, w)


@pytest.mark.parametrize("K", [2, 3, 10, 130, 300])
@pytest.mark.parametrize("target", [False, True])
def test_any_number_of_classes(sums, K, target):
    form = form_of(140, K, G=target_matrix(K) if target else None)
    w = np.random.default_rng(2).gamma(1.0, size=140)
    Y = labels_of(3, form)
    assert_agrees(sums(form, Y, w), form, Y, w)


@pytest.mark.parametrize(
    "kernel",
    [Exponential(0.3, "tv"), Gaussian(0.4, "euclidean"), Exponential(0.2, "l1"), Exponential(0.2, l1_of_pairs)],
)
def test_any_kernel(sums, kernel):
    form = form_of(140, 3, kernel)
    Y, w = labels_of(4, form), unit_weights(140)
    assert_agrees(sums(form, Y, w), form, Y, w)


@pytest.mark.parametrize("B", [1, 7, 64, 130])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int64])
def test_any_number_of_redraws_and_any_integers(sums, B, dtype):
    form = form_of(20, 4)
    Y, w = labels_of(B, form).astype(dtype), unit_weights(20)
    assert_agrees(sums(form, Y, w), form, Y, w)


def test_a_class_that_is_never_drawn(sums):
    form = form_of(50, 4)
    Y, w = np.zeros((3, 50), dtype=np.uint8), unit_weights(50)
    assert_agrees(sums(form, Y, w), form, Y, w)


def test_the_outcomes_of_the_form_do_not_matter(sums):
    form = form_of(60, 3)
    other = VectorForm.of(form.P, 2 - form.y, form.kernel, None)
    Y, w = labels_of(4, form), unit_weights(60)
    assert (sums(form, Y, w) == sums(other, Y, w)).all()


def test_the_order_of_rows_does_not_matter(sums):
    form, order = form_of(200, 3), np.random.default_rng(7).permutation(200)
    other = VectorForm.of(form.P[order], form.y[order], form.kernel, None)
    Y, w = labels_of(4, form), np.random.default_rng(2).gamma(1.0, size=200)
    np.testing.assert_allclose(sums(form, Y, w), sums(other, Y[:, order], w[order]), rtol=0, atol=1e-12 * w.sum() ** 2)


def test_nothing_is_changed(sums):
    form = form_of(140, 3)
    Y, w = labels_of(4, form), np.random.default_rng(2).gamma(1.0, size=140)
    before = [a.copy() for a in (form.P, form.R, Y, w)]
    sums(form, Y, w)
    assert all((a == b).all() for a, b in zip((form.P, form.R, Y, w), before, strict=True))


def test_the_mean_over_outcomes_drawn_from_the_predictions_is_zero(sums):
    form, rng = form_of(30, 3), np.random.default_rng(11)
    B = 20_000
    u = rng.random((B, 30))
    Y = (u[:, :, None] >= np.cumsum(form.P, axis=1)[None, :, :2]).sum(axis=2)
    T = sums(form, Y, unit_weights(30))
    assert abs(T.mean()) < 5 * T.std() / np.sqrt(B)


@pytest.mark.parametrize(
    ("K", "target", "numba", "fast"),
    [(3, False, True, True), (3, False, False, False), (3, True, True, False), (20, True, True, True)],
)
def test_which_body_runs(K, target, numba, fast):
    form = form_of(30, K, G=target_matrix(K) if target else None)
    with (
        mock.patch.object(dispatch, "FAST_TERMS", 1),
        mock.patch.object(dispatch, "has_numba", return_value=numba),
    ):
        assert module._takes_fast_body(form, 100) is fast
    assert module._takes_fast_body(form, 100) is False
