"""Sums of kernels for many splits at once, against the whole matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives import pair_sums
from calibrant.primitives.permuted_sums import FEW, permuted_sums
from calibrant.primitives.relabellings import relabellings
from calibrant.primitives.vector_sums import TILE

BLOCK = pair_sums.BLOCK
KERNELS = [lambda d: np.exp(-d), lambda d: np.exp(-d / 3), np.cos]


def distances(N, seed=0):
    D = np.abs(np.random.default_rng(seed).normal(size=(N, N)))
    D = D + D.T
    np.fill_diagonal(D, np.nan)  # nobody may look at it
    return D


def tile_of(D):
    def tile(rows, columns):
        found = D[rows, columns]
        assert max(found.shape) <= TILE
        return found

    return tile


def whole(K, V):
    """Return a, b, s and the sum of squares from the matrix."""
    K = np.where(np.eye(len(K), dtype=bool), 0.0, K)
    V = V.astype(float)
    return ((V @ K) * V).sum(axis=1), V @ K.sum(axis=1), K.sum(), (K * K).sum()


@pytest.mark.parametrize("N", [2, 3, TILE + 1, BLOCK, BLOCK + 1, 2 * BLOCK + 7])
def test_one_kernel(N):
    D, V = distances(N), relabellings(N // 2, N - N // 2, FEW + 3, np.random.default_rng(1))
    sums = permuted_sums(tile_of(D), V)
    for found, expected in zip(sums, whole(D, V), strict=True):
        np.testing.assert_allclose(found[0], expected, rtol=1e-12)


def test_many_splits_are_cut(monkeypatch):
    N = BLOCK + 3
    D, V = distances(N), relabellings(9, N - 9, 10, np.random.default_rng(1))
    whole = permuted_sums(tile_of(D), V, KERNELS)
    monkeypatch.setattr("calibrant.primitives.permuted_sums.MANY", 4)
    for found, expected in zip(permuted_sums(tile_of(D), V, KERNELS), whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("N", [5, BLOCK + 9])
def test_each_kernel_of_the_same_distances(N):
    D, V = distances(N), relabellings(N // 3, N - N // 3, 7, np.random.default_rng(2))
    sums = permuted_sums(tile_of(D), V, KERNELS)
    assert [part.shape for part in sums] == [(3, 7), (3, 7), (3,), (3,)]
    for number, kernel in enumerate(KERNELS):
        for found, expected in zip(sums, whole(kernel(D), V), strict=True):
            np.testing.assert_allclose(found[number], expected, rtol=1e-11, atol=1e-9)


def test_a_block_is_formed_once_for_all_kernels_and_splits():
    N, seen = BLOCK + 1, []
    D = distances(N)

    def tile(rows, columns):
        seen.append((rows.start, columns.start))
        return D[rows, columns]

    permuted_sums(tile, relabellings(N - 5, 5, 50, np.random.default_rng(0)), KERNELS)
    assert len(seen) == len(set(seen))
    assert all(row <= column for row, column in seen)


@given(data=st.data(), N=st.integers(2, 9), B=st.integers(1, 4))
def test_whole_numbers_are_exact(data, N, B):
    numbers = st.integers(-1000, 1000)
    A = np.array(data.draw(st.lists(st.lists(numbers, min_size=N, max_size=N), min_size=N, max_size=N)), float)
    V = np.array(data.draw(st.lists(st.lists(st.integers(0, 1), min_size=N, max_size=N), min_size=B, max_size=B)))
    K = A + A.T
    for found, expected in zip(permuted_sums(tile_of(K), V.astype(np.uint8)), whole(K, V), strict=True):
        np.testing.assert_array_equal(found[0], expected)


def test_a_first_set_of_all_rows_has_all_pairs():
    D = distances(40)
    sums = permuted_sums(tile_of(D), np.ones((1, 40), np.uint8))
    np.testing.assert_allclose([sums.a[0, 0], sums.b[0, 0]], sums.s[0], rtol=1e-13)
