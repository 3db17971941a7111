"""Sums of a kernel over pairs of points: every body gives the plain double sum."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.kernels import Exponential, Gaussian, Matern32, Matern52, RationalQuadratic
from calibrant.kernels import pair_sums as kernel_pair_sums
from calibrant.kernels.pair_sums import TILE as KERNEL_TILE
from calibrant.kernels.point_kernels import Polynomial
from calibrant.points import sums as module

KERNELS = {
    "gaussian": Gaussian(1.5, "euclidean"),
    "exponential": Exponential(2.0, "euclidean"),
    "laplace": Exponential(2.0, "l1"),
    "matern32": Matern32(1.5, "euclidean"),
    "matern52": Matern52(1.5, "euclidean"),
    "rational": RationalQuadratic(1.0, 1.5, "euclidean"),
    "polynomial": Polynomial(),
    "own": Gaussian(1.5, lambda a, b: np.abs(a - b).max(axis=-1)),
}


def points(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def by_definition(Z, kernel, sizes, w=None, squared=False):
    """Return the sums of plain loops over the full matrix."""
    if isinstance(kernel, Polynomial):
        K = (Z @ Z.T / Z.shape[1] + 1) ** 3
    else:
        apart = Z[:, None] - Z[None, :]
        if callable(kernel.distance):
            D = np.abs(apart).max(axis=-1)
        else:
            D = np.abs(apart).sum(-1) if kernel.distance == "l1" else np.sqrt((apart**2).sum(-1))
        K = kernel.of_distance(D)
    K = np.triu(K**2 if squared else K, 1) * (1.0 if w is None else np.outer(w, w))
    ends = np.concatenate([[0], np.cumsum(sizes)])
    parts = [slice(a, b) for a, b in itertools.pairwise(ends)]
    return np.array([[K[a, b].sum() if i <= j else 0.0 for j, b in enumerate(parts)] for i, a in enumerate(parts)])


@pytest.mark.parametrize("name", KERNELS)
def test_double_sum(name, for_each):
    def check(d, squared):
        Z, w = points(70, d), np.random.default_rng(1).random(70)
        for weights in (None, w):
            found = module.pair_sums(Z, KERNELS[name], (30, 40), weights, squared=squared)
            expected = by_definition(Z, KERNELS[name], (30, 40), weights, squared)
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)

    for_each(list(itertools.product([1, 3, 16, 17, 40], [False, True])), check)


@pytest.mark.parametrize("name", ["gaussian", "polynomial"])
@pytest.mark.parametrize("d", [2, 18])
def test_tiles_and_blocks_of_any_size(name, d, for_each):
    def check(*sizes):
        Z, w = points(sum(sizes), d), np.random.default_rng(2).random(sum(sizes))
        expected = by_definition(Z, KERNELS[name], sizes, w)
        np.testing.assert_allclose(module.pair_sums(Z, KERNELS[name], sizes, w), expected, rtol=1e-10)

    for_each([(1, 1), (module.TILE, 1), (module.TILE + 1, module.TILE - 1), (3, module.BLOCK + 5), (2, 3, 4)], check)


def test_far_from_the_origin():
    Z = points(60, 20)
    near, far = (module.pair_sums(Z + offset, KERNELS["gaussian"], (30, 30)) for offset in (0.0, 1e6))
    np.testing.assert_allclose(far, near, rtol=1e-8)


def test_parts_never_mix_sets():
    found = module.parts_of((5, 3), 2)
    assert [(part.rows.start, part.rows.stop, part.set) for part in found] == [
        (0, 2, 0), (2, 4, 0), (4, 5, 0), (5, 7, 1), (7, 8, 1)
    ]  # fmt: skip


@settings(max_examples=30)
@given(st.lists(st.integers(1, 4), min_size=2, max_size=12), st.integers(0, 2**31))
def test_a_weight_is_so_many_equal_points(counts, seed):
    Z = np.random.default_rng(seed).normal(size=(len(counts), 2))
    w = np.array(counts, dtype=float)
    repeated = np.repeat(Z, counts, axis=0)
    whole = module.pair_sums(repeated, KERNELS["gaussian"], (len(repeated),))[0, 0]
    equal = (w * (w - 1) / 2).sum()  # pairs of copies, at distance 0
    assert module.pair_sums(Z, KERNELS["gaussian"], (len(Z),), w)[0, 0] + equal == pytest.approx(whole, rel=1e-12)


KERNEL_BLOCK = kernel_pair_sums.PRODUCT_ROWS
DISTANCE_KERNELS = [lambda d: np.exp(-d), lambda d: np.exp(-d / 3), np.cos]


def distances(N, seed=0):
    D = np.abs(np.random.default_rng(seed).normal(size=(N, N)))
    D = D + D.T
    np.fill_diagonal(D, np.nan)  # nobody may look at it
    return D


def tile_of(D):
    def tile(rows, columns):
        found = D[rows, columns]
        assert max(found.shape) <= KERNEL_TILE
        return found

    return tile


def whole(K, V):
    """Return a, b, s and the sum of squares from the matrix."""
    K = np.where(np.eye(len(K), dtype=bool), 0.0, K)
    V = V.astype(float)
    return ((V @ K) * V).sum(axis=1), V @ K.sum(axis=1), K.sum(), (K * K).sum()


@pytest.mark.parametrize("N", [2, 3, KERNEL_TILE + 1, KERNEL_BLOCK, KERNEL_BLOCK + 1, 2 * KERNEL_BLOCK + 7])
def test_one_kernel(N):
    D = distances(N)
    V = module.relabellings(N // 2, N - N // 2, module.SPLITS_OF_ALL_ROWS + 3, np.random.default_rng(1))
    sums = module.permuted_sums(tile_of(D), V)
    for found, expected in zip(sums, whole(D, V), strict=True):
        np.testing.assert_allclose(found[0], expected, rtol=1e-12)


def test_many_splits_are_cut(monkeypatch):
    N = KERNEL_BLOCK + 3
    D, V = distances(N), module.relabellings(9, N - 9, 10, np.random.default_rng(1))
    whole = module.permuted_sums(tile_of(D), V, DISTANCE_KERNELS)
    monkeypatch.setattr("calibrant.points.sums.SPLITS_OF_A_BLOCK", 4)
    for found, expected in zip(module.permuted_sums(tile_of(D), V, DISTANCE_KERNELS), whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("N", [5, KERNEL_BLOCK + 9])
def test_each_kernel_of_the_same_distances(N):
    D, V = distances(N), module.relabellings(N // 3, N - N // 3, 7, np.random.default_rng(2))
    sums = module.permuted_sums(tile_of(D), V, DISTANCE_KERNELS)
    assert [part.shape for part in sums] == [(3, 7), (3, 7), (3,), (3,)]
    for number, kernel in enumerate(DISTANCE_KERNELS):
        for found, expected in zip(sums, whole(kernel(D), V), strict=True):
            np.testing.assert_allclose(found[number], expected, rtol=1e-11, atol=1e-9)


def test_a_block_is_formed_once_for_all_kernels_and_splits():
    N, seen = KERNEL_BLOCK + 1, []
    D = distances(N)

    def tile(rows, columns):
        seen.append((rows.start, columns.start))
        return D[rows, columns]

    module.permuted_sums(tile, module.relabellings(N - 5, 5, 50, np.random.default_rng(0)), DISTANCE_KERNELS)
    assert len(seen) == len(set(seen))
    assert all(row <= column for row, column in seen)


@given(data=st.data(), N=st.integers(2, 9), B=st.integers(1, 4))
def test_whole_numbers_are_exact(data, N, B):
    numbers = st.integers(-1000, 1000)
    A = np.array(data.draw(st.lists(st.lists(numbers, min_size=N, max_size=N), min_size=N, max_size=N)), float)
    V = np.array(data.draw(st.lists(st.lists(st.integers(0, 1), min_size=N, max_size=N), min_size=B, max_size=B)))
    K = A + A.T
    for found, expected in zip(module.permuted_sums(tile_of(K), V.astype(np.uint8)), whole(K, V), strict=True):
        np.testing.assert_array_equal(found[0], expected)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 9), (9, 1), (30, 40)])
def test_sizes(n, m):
    found = module.relabellings(n, m, 50, np.random.default_rng(0))
    assert found.shape == (50, n + m)
    assert (found.sum(axis=1) == n).all()
    assert set(np.unique(found)) <= {0, 1}


def test_every_division_is_equally_likely():
    found = module.relabellings(2, 2, 60_000, np.random.default_rng(0))
    codes, counts = np.unique(found @ [8, 4, 2, 1], return_counts=True)
    assert len(codes) == 6
    assert (abs(counts - 10_000) < 5 * np.sqrt(10_000 * 5 / 6)).all()


def test_memory_is_cut_but_not_the_stream(monkeypatch):
    whole = module.relabellings(3, 4, 20, np.random.default_rng(0))
    monkeypatch.setattr(module, "KEYS_AT_ONCE", 7)
    np.testing.assert_array_equal(module.relabellings(3, 4, 20, np.random.default_rng(0)), whole)


@pytest.mark.parametrize("N", [4, 10_000])
def test_no_more_than_memory_holds(N, refusal):
    most = module.MAX_DIVISION_BYTES // (N + module.STATISTIC_BYTES)
    module.check_divisions(most, N)
    message = refusal(module.relabellings, 2, N - 2, most + 1, np.random.default_rng(0))
    assert f"{most + 1:,} random divisions of the points would take 2.1 GB of memory; at most {most:,}" in message
    assert "Pass fewer resamples" in message
