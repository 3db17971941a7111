"""Double sums by tiles against the whole matrix, and the sums of the bootstrap."""

import json
from dataclasses import dataclass
from unittest import mock

import numpy as np
import pytest

from calibrant.inputs.weights import unit_weights
from calibrant.kernels import Exponential
from calibrant.kernels.forms import VectorForm
from calibrant.primitives import dispatch
from calibrant.primitives import pair_sums as module
from calibrant.primitives.pair_sums import counted_sums, multinomial_counts, pair_sum
from calibrant.primitives.vector_sums import TILE

SIZES = [1, 2, 3, TILE - 1, TILE, TILE + 1, 2 * TILE + 3]


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


class TestPairSum:
    @pytest.mark.parametrize("n", SIZES)
    @pytest.mark.parametrize("weighted", [False, True])
    def test_it_is_the_sum_above_the_diagonal(self, n, weighted):
        form = matrix_form(n)
        w = weights_of(n) if weighted else unit_weights(n)
        terms = np.triu(form.H, 1) * np.outer(w, w)
        assert pair_sum(form, w) == pytest.approx(terms.sum(), rel=0, abs=1e-12 * np.abs(terms).sum())

    def test_weight_two_is_two_rows(self):
        form, twice = matrix_form(40), np.array([3, 17])
        rows = np.append(np.arange(40), twice)
        w = np.ones(40)
        w[twice] = 2
        doubled = pair_sum(MatrixForm(form.H[np.ix_(rows, rows)]), unit_weights(42))
        assert pair_sum(form, w) == pytest.approx(doubled - form.H[twice, twice].sum(), rel=1e-12)

    def test_the_order_of_rows_does_not_matter(self):
        form, order = matrix_form(300), np.random.default_rng(5).permutation(300)
        other = MatrixForm(form.H[np.ix_(order, order)])
        w = weights_of(300)
        assert pair_sum(form, w) == pytest.approx(pair_sum(other, w[order]), rel=0, abs=1e-12 * np.abs(form.H).sum())

    def test_the_number_of_cores_does_not_matter(self):
        form, w = vector_form(1100), weights_of(1100)
        found = pair_sum(form, w)
        with (
            mock.patch.object(dispatch.os, "sched_getaffinity", return_value={0}, create=True),
            mock.patch.object(dispatch.os, "cpu_count", return_value=1),
        ):
            assert pair_sum(form, w) == pytest.approx(found, rel=0, abs=1e-13 * np.abs(form.H).sum())

    def test_large_forms_of_vectors_take_the_compiled_body(self):
        form, w = vector_form(300), weights_of(300)
        with (
            mock.patch.object(dispatch, "FAST_TERMS", 0),
            mock.patch.object(dispatch, "has_numba", return_value=True),
            mock.patch.object(module.vector_sums, "fast_pair_sum", return_value=7.0) as fast,
        ):
            assert pair_sum(form, w) == 7.0
            assert pair_sum(matrix_form(5), unit_weights(5)) != 7.0
        fast.assert_called_once_with(form, w)

    def test_nothing_is_changed(self):
        form, w = matrix_form(150), weights_of(150)
        H, v = form.H.copy(), w.copy()
        pair_sum(form, w)
        assert (form.H == H).all()
        assert (w == v).all()


class TestCountedSums:
    @pytest.mark.parametrize("n", [*SIZES, module.BLOCK, module.BLOCK + 1, 2 * module.BLOCK + TILE + 3])
    @pytest.mark.parametrize("make", [matrix_form, vector_form])
    def test_they_are_those_of_the_matrix(self, n, make):
        form = make(n)
        i, j = np.nonzero(~np.eye(n, dtype=bool))
        H = np.diag(form.diagonal())
        H[i, j] = form.h(i, j)
        C = np.random.default_rng(2).integers(0, 5, (7, n)).astype(np.uint16)
        before = C.copy()
        quadratic, rows = counted_sums(form, C)
        scale = np.abs(H).sum()
        np.testing.assert_allclose(quadratic, ((C @ H) * C).sum(axis=1), rtol=0, atol=1e-12 * 25 * scale)
        np.testing.assert_allclose(rows, H.sum(axis=1), rtol=0, atol=1e-12 * scale)
        assert np.array_equal(C, before)

    def test_many_classes_go_to_threads(self):
        form = vector_form(300, K=module.CHEAP_CLASSES + 2)
        C = np.ones((1, 300), dtype=np.uint16)
        quadratic, rows = counted_sums(form, C)
        whole = 2 * pair_sum(form, unit_weights(300)) + form.diagonal().sum()
        assert quadratic[0] == pytest.approx(whole, rel=1e-12)
        assert rows.sum() == pytest.approx(whole, rel=1e-12)

    def test_large_counts_do_not_overflow(self):
        form = matrix_form(3)
        C = np.full((1, 3), 65535, dtype=np.uint16)
        assert counted_sums(form, C)[0] == pytest.approx(65535.0**2 * form.H.sum(), rel=1e-12)

    def test_the_replicates_of_calibrationtests_jl(self, kernel_book):
        (vector,) = (v for v in kernel_book["vectors"] if v["kind"] == "bootstrap-replicates")
        data = kernel_book["data"][vector["inputs"]["data"]]
        p, y = np.array(data["prediction"]), np.array(data["y"])
        e = y - p
        # Binary and delta: h = 2 (y - p)(y' - p') k(|p - p'|).
        form = MatrixForm(2 * np.outer(e, e) * np.exp(-np.abs(p[:, None] - p) / 0.2))
        C = np.array(vector["inputs"]["counts"], dtype=np.uint16)
        n = form.n
        quadratic, rows = counted_sums(form, C)
        T = (quadratic - C @ form.diagonal() - 2 * (n - 1) * (C @ rows) / n + (n - 1) / n * rows.sum()) / n
        np.testing.assert_allclose(T, vector["expected"], rtol=1e-12)


@pytest.fixture(scope="module")
def kernel_book(request):
    return json.loads((request.config.rootpath / "tests" / "references" / "kernel.json").read_text())


class TestMultinomialCounts:
    @pytest.mark.parametrize(("n", "resamples"), [(1, 3), (7, 1), (100, 2000), (70_000, 3)])
    def test_each_resample_draws_n_rows(self, n, resamples):
        C = multinomial_counts(n, resamples, np.random.default_rng(0))
        assert C.dtype == np.uint16
        assert C.shape == (resamples, n)
        assert (C.sum(axis=1) == n).all()

    def test_rows_are_drawn_alike_and_independently(self):
        n, resamples = 20, 20_000
        C = multinomial_counts(n, resamples, np.random.default_rng(3)).astype(float)
        # Means 1, variances 1 - 1/n, covariances -1/n; the limits are five standard errors.
        assert np.abs(C.mean(axis=0) - 1).max() < 5 / np.sqrt(resamples)
        expected = np.eye(n) - 1 / n
        assert np.abs(np.cov(C.T) - expected).max() < 5 * np.sqrt(3 / resamples)

    def test_the_generator_decides(self):
        first, second, third = (multinomial_counts(50, 40, np.random.default_rng(seed)) for seed in (1, 1, 2))
        assert (first == second).all()
        assert (first != third).any()

    def test_a_count_that_does_not_fit_is_refused(self):
        class Stuck:
            def integers(self, n, size):
                return np.zeros(size, dtype=np.int64)

        with pytest.raises(OverflowError, match="70000 times"):
            multinomial_counts(70_000, 1, Stuck())
