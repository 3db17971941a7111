"""Eigenvalues of a kernel matrix and the sum of their squares, which is found without them."""

import numpy as np
import pytest

from calibrant import Exponential, Gaussian, Matern52
from calibrant.inputs.weights import unit_weights
from calibrant.primitives import kernel_spectrum
from calibrant.primitives.kernel_spectrum import eigenvalues, sum_of_squares, unit_rows

KERNELS = ["cosine", Gaussian(1.0, "euclidean"), Exponential(2.0, "l1"), Matern52(1.0, "euclidean")]
SHAPES = [(1, 1), (3, 40), (40, 3), (600, 2), (300, 20)]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_shares(kernel, shape, weighted):
    draw = np.random.default_rng(0)
    X = draw.normal(size=shape)
    w = draw.uniform(0.1, 9, len(X)) if weighted else unit_weights(len(X))
    values = eigenvalues(X, w, kernel)
    assert values.size == (min(shape) if kernel == "cosine" else len(X))
    assert (np.diff(values) >= 0).all()
    assert values.sum() == pytest.approx(1.0, rel=1e-12)  # the diagonal is that of shares
    assert values[0] > -1e-14
    assert sum_of_squares(X, w, kernel) == pytest.approx((values**2).sum(), rel=1e-11)


@pytest.mark.parametrize("d", [3, 20])
def test_both_matrices_of_a_cosine_have_the_same_eigenvalues(d):
    draw = np.random.default_rng(1)
    X, w = draw.normal(size=(12, d)), draw.uniform(0.5, 2, 12)
    U, p = unit_rows(X), w / w.sum()
    twin = np.linalg.eigvalsh((U * p[:, None]).T @ U)[::-1]
    gram = np.linalg.eigvalsh(np.sqrt(np.multiply.outer(p, p)) * (U @ U.T))[::-1]
    both = min(12, d)
    found = eigenvalues(X, w, "cosine")[::-1]
    for expected in (twin, gram):
        np.testing.assert_allclose(found[:both], expected[:both], rtol=1e-9, atol=1e-14)


def test_chunks_change_nothing(monkeypatch):
    X = np.random.default_rng(2).normal(size=(50, 4))
    whole = eigenvalues(X, unit_weights(50), "cosine")
    monkeypatch.setattr(kernel_spectrum, "BLOCK", 7)
    monkeypatch.setattr(kernel_spectrum, "CHUNK_NUMBERS", 1)
    np.testing.assert_allclose(eigenvalues(X, unit_weights(50), "cosine"), whole, rtol=1e-12)


def test_rows_of_any_size_have_length_1():
    rows = unit_rows(np.array([[3e-200, 4e-200], [3e149, -4e149], [0.0, 5.0]]))
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0.6, -0.8], [0.0, 1.0]], rtol=1e-15)
