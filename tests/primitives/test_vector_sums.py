"""Class probabilities: two bodies that agree with the whole matrix, for every shape and distance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.inputs.weights import unit_weights
from calibrant.kernels import Exponential, Gaussian, Matern32, Matern52, RationalQuadratic
from calibrant.kernels.forms import VectorForm
from calibrant.primitives import pair_sums
from calibrant.primitives.profile_fast import has_profile
from calibrant.primitives.vector_sums import (
    TILE,
    fast_pair_sum,
    prediction_tile,
    products,
    takes_fast_body,
    term_tile,
)

SHAPES = [Exponential, Gaussian, Matern32, Matern52]
SIZES = [1, 2, 3, TILE - 1, TILE, TILE + 1, 2 * TILE + 3]


def l1_of_pairs(p, q):
    return np.abs(p - q).sum(axis=1)


def form_of(n, K, kernel, seed=0, G=None):
    rng = np.random.default_rng(seed)
    return VectorForm.of(rng.dirichlet(np.full(K, 0.4), n), rng.integers(0, K, n), kernel, G)


def target_matrix(K, seed=4):
    A = np.random.default_rng(seed).normal(size=(K, K))
    return A @ A.T


def matrix_of(form):
    """Return H by its definition, with zeros where i >= j."""
    gaps = form.P[:, None, :] - form.P[None, :, :]
    named = {"tv": np.abs(gaps).sum(-1) / 2, "l1": np.abs(gaps).sum(-1), "euclidean": np.sqrt((gaps**2).sum(-1))}
    d = named["l1" if callable(form.kernel.distance) else form.kernel.distance or "tv"]
    G = np.eye(form.P.shape[1]) if form.G is None else form.G
    E = np.eye(form.P.shape[1])[form.y] - form.P
    return np.triu(form.kernel.profile(d / form.kernel.length) * (E @ G @ E.T), 1)


def agrees(found, H, w):
    terms = H * np.outer(w, w)
    return found == pytest.approx(terms.sum(), rel=0, abs=1e-12 * np.abs(terms).sum() + 1e-300)


def reference(form, w):
    return pair_sums._reference(form, w)


@pytest.fixture(params=["reference", "fast"])
def body(request, require):
    if request.param == "reference":
        return reference
    require("numba")
    return fast_pair_sum


class TestBodies:
    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("distance", ["euclidean", "tv", "l1", None])
    def test_every_shape_and_distance(self, body, shape, distance):
        form = form_of(150, 3, shape(0.37, distance))
        w = np.random.default_rng(1).gamma(1.0, size=150)
        found = (body if has_profile(form.kernel) else reference)(form, w)
        assert agrees(found, matrix_of(form), w)

    @pytest.mark.parametrize("n", SIZES)
    @pytest.mark.parametrize("weighted", [False, True])
    def test_every_size(self, body, n, weighted):
        form = form_of(n, 4, Exponential(0.25, "tv"))
        w = np.random.default_rng(2).gamma(1.0, size=n) if weighted else unit_weights(n)
        assert agrees(body(form, w), matrix_of(form), w)

    @pytest.mark.parametrize("K", [1, 2, 3, 10, 64, 65, 130])
    @pytest.mark.parametrize("kernel", [Exponential(0.4, "tv"), Matern52(0.6, "euclidean")])
    def test_any_number_of_classes(self, body, K, kernel):
        form = form_of(140, K, kernel)
        w = unit_weights(140)
        assert agrees(body(form, w), matrix_of(form), w)

    def test_a_target_kernel(self, body):
        form = form_of(200, 5, Gaussian(0.5, "euclidean"), G=target_matrix(5))
        w = np.random.default_rng(3).gamma(1.0, size=200)
        assert agrees(body(form, w), matrix_of(form), w)

    @pytest.mark.parametrize("length", [1e-90, 1e-3, 1e90])
    @pytest.mark.parametrize("shape", SHAPES)
    def test_extreme_length_scales(self, body, length, shape):
        form = form_of(140, 3, shape(length, "euclidean"))
        form.P[7] = form.P[90]
        w = unit_weights(140)
        assert agrees(body(form, w), np.triu(term_tile(form)(slice(0, 140), slice(0, 140)), 1), w)

    def test_nothing_is_changed(self, body):
        form, w = form_of(130, 3, Exponential(0.3)), np.random.default_rng(3).gamma(1.0, size=130)
        before = [a.copy() for a in (form.P, form.R, form.S, w)]
        body(form, w)
        assert all((a == b).all() for a, b in zip((form.P, form.R, form.S, w), before, strict=True))

    def test_the_order_of_rows_does_not_matter(self, body):
        form, w = form_of(300, 3, Exponential(0.3)), np.random.default_rng(3).gamma(1.0, size=300)
        order = np.random.default_rng(8).permutation(300)
        other = VectorForm.of(form.P[order], form.y[order], form.kernel, None)
        assert body(form, w) == pytest.approx(body(other, w[order]), rel=0, abs=1e-12 * w.sum() ** 2)


@given(
    n=st.integers(1, 300),
    K=st.integers(1, 12),
    seed=st.integers(0, 2**32 - 1),
    shape=st.sampled_from(SHAPES),
    length=st.floats(1e-3, 1e3),
)
def test_the_compiled_body_is_the_reference_body(require, n, K, seed, shape, length):
    require("numba")
    form = form_of(n, K, shape(length, "euclidean"), seed)
    w = np.random.default_rng(seed).gamma(1.0, size=n)
    assert fast_pair_sum(form, w) == pytest.approx(reference(form, w), rel=0, abs=1e-13 * w.sum() ** 2 + 1e-300)


class TestExponential:
    """Two rows at distance x with a product of residuals of 1: the sum is exp(-x)."""

    @staticmethod
    def of(x):
        form = VectorForm(
            P=np.array([[0.0], [x]]),
            y=np.zeros(2, dtype=np.intp),
            R=np.ones((2, 1)),
            S=np.ones((2, 1)),
            G=None,
            kernel=Exponential(1.0, "l1"),
        )
        return fast_pair_sum(form, unit_weights(2))

    def test_it_is_accurate_to_the_last_digits(self, require):
        require("numba")
        x = np.concatenate(
            [[0.0, 1e-300, 1e-17, 0.5 * np.log(2), 708.0], np.linspace(0, 708, 1501), np.logspace(-9, 2, 300)]
        )
        found = np.array([self.of(each) for each in x])
        np.testing.assert_allclose(found, np.exp(-x), rtol=5e-16)
        assert found[0] == 1.0

    def test_it_ends_in_zero(self, require):
        require("numba")
        assert [self.of(x) for x in (np.nextafter(708.0, 800), 720.0, 745.0, 1e6, 1e300)] == [0.0] * 5


class TestChoice:
    def test_it_knows_its_kernels(self):
        known = [Exponential(0.3, "tv"), Exponential(0.3, "l1"), Gaussian(0.3, "euclidean"), Matern32(0.3, "tv")]
        assert all(has_profile(form_of(3, 2, kernel).kernel) for kernel in known)

    def test_others_take_the_reference_body(self):
        class Own(Exponential):
            def profile(self, u):
                return 1 / (1 + u)

        others = [
            Own(0.3, "tv"),
            Gaussian(0.3, "tv"),
            RationalQuadratic(1.0, 0.3, "euclidean"),
            Exponential(0.3, l1_of_pairs),
            Exponential(1e-200, "tv"),
            Exponential(1e200, "tv"),
        ]
        assert not any(has_profile(form_of(3, 2, kernel).kernel) for kernel in others)

    def test_few_rows_take_the_reference_body(self):
        assert not takes_fast_body(form_of(100, 3, Exponential(0.3)))


class TestTiles:
    @pytest.mark.parametrize("kernel", [RationalQuadratic(2.0, 0.4, "euclidean"), Exponential(0.3, l1_of_pairs)])
    def test_kernels_without_a_compiled_body(self, kernel):
        form = form_of(2 * TILE + 3, 3, kernel)
        w = np.random.default_rng(3).gamma(1.0, size=form.n)
        assert agrees(reference(form, w), matrix_of(form), w)

    def test_a_distance_of_a_user_gets_few_rows_at_a_time(self, monkeypatch):
        rows = []

        def watched(p, q):
            rows.append(len(p))
            return l1_of_pairs(p, q)

        monkeypatch.setattr("calibrant.primitives.vector_sums.MOST_COPIED", 60)
        form = form_of(40, 3, Exponential(0.3, watched))
        tile = prediction_tile(form)
        rows.clear()
        found = tile(slice(0, 10), slice(10, 20))
        assert rows == [20] * 5
        np.testing.assert_allclose(
            found,
            np.exp(
                -l1_of_pairs(form.P[:10, None].repeat(10, 1).reshape(-1, 3), np.tile(form.P[10:20], (10, 1))) / 0.3
            ).reshape(10, 10),
        )

    @pytest.mark.parametrize("K", [1, 15, 16, 17, 40, 130])
    def test_products_by_parts(self, K):
        rng = np.random.default_rng(0)
        A, B = rng.normal(size=(TILE, K)), rng.normal(size=(TILE, K))
        np.testing.assert_allclose(products(A, B), A @ B.T, rtol=0, atol=1e-13 * K)
