"""Double sums by tiles against the whole matrix, and the sums of the bootstrap."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from tests.references.books import book

from calibrant.core import dispatch
from calibrant.core.dispatch import FEW_COORDINATES
from calibrant.inputs.arrays import unit_weights
from calibrant.kernels import pair_sums as module
from calibrant.kernels.forms import VectorForm
from calibrant.kernels.kernel import Exponential, Gaussian, Matern32, Matern52

SIZES = [1, 2, 3, module.TILE - 1, module.TILE, module.TILE + 1, 2 * module.TILE + 3]


@dataclass(eq=False)
class MatrixForm:
    """h as a matrix; a row with itself must be asked for by `diagonal` only."""

    H: np.ndarray

    @property
    def n(self):
        return len(self.H)

    def h(self, i, j):
        assert not (i == j).any()
        return self.H[i, j]

    def diagonal(self):
        return self.H.diagonal().copy()


def matrix_form(n, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return MatrixForm(A + A.T)


def vector_form(n, K=3, seed=0):
    rng = np.random.default_rng(seed)
    return VectorForm.of(rng.dirichlet(np.ones(K), n), rng.integers(0, K, n), Exponential(0.3, "tv"), None)


def weights_of(n, seed=1):
    return np.random.default_rng(seed).gamma(1.0, size=n)


@pytest.mark.parametrize("m", [1, 2, 3, 100])
def test_every_tile_comes_once_and_in_order(m):
    found = np.concatenate(list(dispatch.on_tiles(lambda tiles: tiles, m, label="tiles"))).tolist()
    assert found == [[a, b] for a in range(m) for b in range(a, m)]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_sum_above_the_diagonal(n, weighted):
    form = matrix_form(n)
    w = weights_of(n) if weighted else unit_weights(n)
    terms = np.triu(form.H, 1) * np.outer(w, w)
    assert module.pair_sum(form, w) == pytest.approx(terms.sum(), rel=0, abs=1e-12 * np.abs(terms).sum())


class TestCountedSums:
    @pytest.mark.parametrize(
        "n", [*SIZES, module.PRODUCT_ROWS, module.PRODUCT_ROWS + 1, 2 * module.PRODUCT_ROWS + module.TILE + 3]
    )
    @pytest.mark.parametrize("make", [matrix_form, vector_form])
    def test_they_are_those_of_the_matrix(self, n, make):
        form = make(n)
        i, j = np.nonzero(~np.eye(n, dtype=bool))
        H = np.diag(form.diagonal())
        H[i, j] = form.h(i, j)
        C = np.random.default_rng(2).integers(0, 5, (7, n)).astype(np.uint16)
        before = C.copy()
        quadratic, rows = module.counted_sums(form, C)
        scale = np.abs(H).sum()
        np.testing.assert_allclose(quadratic, ((C @ H) * C).sum(axis=1), rtol=0, atol=1e-12 * 25 * scale)
        np.testing.assert_allclose(rows, H.sum(axis=1), rtol=0, atol=1e-12 * scale)
        assert np.array_equal(C, before)

    def test_the_replicates_of_calibrationtests_jl(self):
        (vector,) = (v for v in book("kernel")["vectors"] if v["kind"] == "bootstrap-replicates")
        data = book("kernel")["data"][vector["inputs"]["data"]]
        p, y = np.array(data["prediction"]), np.array(data["y"])
        e = y - p
        # Binary and delta: h = 2 (y - p)(y' - p') k(|p - p'|).
        form = MatrixForm(2 * np.outer(e, e) * np.exp(-np.abs(p[:, None] - p) / 0.2))
        C = np.array(vector["inputs"]["counts"], dtype=np.uint16)
        n = form.n
        quadratic, rows = module.counted_sums(form, C)
        T = (quadratic - C @ form.diagonal() - 2 * (n - 1) * (C @ rows) / n + (n - 1) / n * rows.sum()) / n
        np.testing.assert_allclose(T, vector["expected"], rtol=1e-12)


class TestMultinomialCounts:
    @pytest.mark.parametrize(("n", "resamples"), [(1, 3), (7, 1), (100, 2000), (70_000, 3)])
    def test_each_resample_draws_n_rows(self, n, resamples):
        C = module.multinomial_counts(n, resamples, np.random.default_rng(0))
        assert C.dtype == np.uint16
        assert C.shape == (resamples, n)
        assert (C.sum(axis=1) == n).all()

    def test_rows_are_drawn_alike_and_independently(self):
        n, resamples = 20, 20_000
        C = module.multinomial_counts(n, resamples, np.random.default_rng(3)).astype(float)
        # Means 1, variances 1 - 1/n, covariances -1/n; the limits are five standard errors.
        assert np.abs(C.mean(axis=0) - 1).max() < 5 / np.sqrt(resamples)
        expected = np.eye(n) - 1 / n
        assert np.abs(np.cov(C.T) - expected).max() < 5 * np.sqrt(3 / resamples)


SHAPES = [Exponential, Gaussian, Matern32, Matern52]
SIZES_VECTOR_SUMS = [1, 2, 3, module.TILE - 1, module.TILE, module.TILE + 1, 2 * module.TILE + 3]


def l1_of_pairs(p, q):
    return np.abs(p - q).sum(axis=1)


def form_of(n, K, kernel, seed=0, G=None):
    rng = np.random.default_rng(seed)
    return VectorForm.of(rng.dirichlet(np.full(K, 0.4), n), rng.integers(0, K, n), kernel, G)


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


class TestClassProbabilities:
    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("distance", ["euclidean", "tv", "l1", None])
    def test_every_shape_and_distance(self, shape, distance):
        form = form_of(150, 3, shape(0.37, distance))
        w = np.random.default_rng(1).gamma(1.0, size=150)
        assert agrees(module.pair_sum(form, w), matrix_of(form), w)

    @pytest.mark.parametrize("n", SIZES_VECTOR_SUMS)
    @pytest.mark.parametrize("weighted", [False, True])
    def test_every_size(self, n, weighted):
        form = form_of(n, 4, Exponential(0.25, "tv"))
        w = np.random.default_rng(2).gamma(1.0, size=n) if weighted else unit_weights(n)
        assert agrees(module.pair_sum(form, w), matrix_of(form), w)

    @pytest.mark.parametrize("K", [1, 2, 3, 10, 64, 65, 130])
    @pytest.mark.parametrize("kernel", [Exponential(0.4, "tv"), Matern52(0.6, "euclidean")])
    def test_any_number_of_classes(self, K, kernel):
        form = form_of(140, K, kernel)
        w = unit_weights(140)
        assert agrees(module.pair_sum(form, w), matrix_of(form), w)

    @pytest.mark.parametrize("length", [1e-90, 1e-3, 1e90])
    @pytest.mark.parametrize("shape", SHAPES)
    def test_extreme_length_scales(self, length, shape):
        form = form_of(140, 3, shape(length, "euclidean"))
        form.P[7] = form.P[90]
        w = unit_weights(140)
        assert agrees(module.pair_sum(form, w), np.triu(module.tile_of(form)(slice(0, 140), slice(0, 140)), 1), w)


class TestTiles:
    def test_a_distance_of_a_user_gets_few_rows_at_a_time(self, monkeypatch):
        rows = []

        def watched(p, q):
            rows.append(len(p))
            return l1_of_pairs(p, q)

        monkeypatch.setattr("calibrant.kernels.pair_sums.COPIED_NUMBERS_AT_ONCE", 60)
        form = form_of(40, 3, Exponential(0.3, watched))
        tile = module.prediction_tile(form)
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
    def test_products_by_parts(self, K, rng):
        A, B = rng.normal(size=(module.TILE, K)), rng.normal(size=(module.TILE, K))
        np.testing.assert_allclose(module.products(A, B), A @ B.T, rtol=0, atol=1e-13 * K)


ROWS, COLUMNS = slice(3, 10), slice(0, 20)


def points(d, offset=0.0):
    return np.random.default_rng(d).normal(size=(20, d)) + offset


@pytest.mark.parametrize("d", [1, 2, FEW_COORDINATES, FEW_COORDINATES + 1, 100])
@pytest.mark.parametrize(("name", "scipy_name"), [("euclidean", "euclidean"), ("l1", "cityblock")])
def test_distances(d, name, scipy_name):
    Z = points(d)
    found, expected = module.distance_tile(Z, name)(ROWS, COLUMNS), cdist(Z[ROWS], Z[COLUMNS], scipy_name)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-6 if d > FEW_COORDINATES else 0)
    apart = expected > 0
    np.testing.assert_allclose(found[apart], expected[apart], rtol=1e-12)
