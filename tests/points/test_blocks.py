"""Blocks of two sets of points, from a stream."""

from dataclasses import replace

import numpy as np
import pytest

from calibrant.errors import InputError, SummaryError
from calibrant.kernels import Exponential, Gaussian
from calibrant.kernels.pair_sums import kernel_tile
from calibrant.kernels.point_kernels import Polynomial
from calibrant.points import blocks as module
from calibrant.points.blocks import PointBlocks, block_terms
from calibrant.points.discrepancy import mmd
from calibrant.summaries import Summary

RNG = np.random.default_rng(0)
Y, X = RNG.normal(size=(100, 3)), RNG.normal(0.2, 1.0, size=(100, 3))


def blocks(y, x, **options):
    return PointBlocks.of(y, x, **{"bandwidth": 1.0, "blocksize": 10, **options})


@pytest.mark.parametrize("estimator", ["block", "linear"])
@pytest.mark.parametrize("size", [10, 30, 100])
def test_batches_of_whole_blocks_add_up(estimator, size):
    options = {"estimator": estimator, "blocksize": 10 if estimator == "block" else None}
    whole = blocks(Y, X, **options)
    parts = sum(blocks(Y[k : k + size], X[k : k + size], **options) for k in range(0, 100, size))
    assert (parts.blocks, parts.n) == (whole.blocks, whole.n)
    assert parts.mean == pytest.approx(whole.mean, rel=1e-12)
    assert parts.standard_error == pytest.approx(whole.standard_error, rel=1e-12)


def test_left_over_points_fill_blocks():
    parts = [blocks(Y[k : k + 7], X[k : k + 4]) for k in range(0, 98, 7)]
    total = sum(parts)
    assert total.blocks == 5  # 14 batches of 4 points of the smaller set
    assert (len(total.left_y), len(total.left_points)) == (98 - 50, 56 - 50)
    assert total.n == 98 + 56


def test_by_hand():
    first, second = (mmd(Y[k : k + 10], X[k : k + 10], bandwidth=1.0) for k in (0, 10))
    found = blocks(Y[:20], X[:20])
    assert found.mean == pytest.approx((first + second) / 2, rel=1e-12)
    assert found.standard_error == pytest.approx(abs(first - second) / 2, rel=1e-9)
    assert mmd(found) == found.mean


def test_fewer_than_two_blocks_have_no_standard_error():
    assert np.isnan(blocks(Y[:10], X[:10]).standard_error)


def test_bytes(refusal):
    for kernel in ("gaussian", "laplace", "polynomial"):
        summary = PointBlocks.of(Y, X, kernel=kernel, blocksize=30)
        assert Summary.from_bytes(summary.to_bytes()) == summary
    own = PointBlocks.of(Y, X, kernel=Gaussian(1.0, lambda a, b: np.abs(a - b).max(axis=-1)))
    assert "of your own has no form as bytes" in refusal(own.to_bytes, error=SummaryError)


def test_what_does_not_merge():
    for other, words in [
        (blocks(Y, X, blocksize=5), "of 10 points .* of 5 points"),
        (blocks(Y, X, estimator="linear", blocksize=None), "block MMD² .* linear MMD²"),
        (blocks(Y[:, :2], X[:, :2]), "3 coordinates .* with 2"),
        (blocks(Y, X, bandwidth=2.0), "Give one bandwidth, as a number"),
    ]:
        with pytest.raises(SummaryError, match=words):
            blocks(Y, X) + other


def test_a_spread_beyond_float64():
    first, second = (replace(blocks(Y, X), mean=mean) for mean in (1e200, -1e200))
    with pytest.raises(SummaryError, match=r"must be finite numbers; got 0\.0 and inf"):
        first + second
    with pytest.raises(InputError, match="the kernel's values are too large, or not finite"):
        blocks(1e30 * Y, 1e30 * X, kernel="polynomial", bandwidth="median")


def test_options_stay_with_the_summary(refusal):
    summary = blocks(Y, X)
    assert mmd(summary, estimator="block") == summary.mean
    for options in (
        {"bandwidth": 1.0},
        {"bandwidth": np.ones(2)},
        {"estimator": "linear"},
        {"kernel": "laplace"},
        {"blocksize": 10},
    ):
        assert "options cannot be given with PointBlocks" in refusal(mmd, summary, **options)
    assert "points cannot be given" in refusal(mmd, summary, X)


KERNELS = {
    "gaussian": Gaussian(1.5, "euclidean"),
    "laplace": Exponential(2.0, "l1"),
    "polynomial": Polynomial(),
    "own": Gaussian(1.5, lambda a, b: np.abs(a - b).max(axis=-1)),
}


def sets(n, d):
    rng = np.random.default_rng(d)
    return rng.normal(size=(n, d)), rng.normal(0.3, 1.2, size=(n, d))


@pytest.mark.parametrize("few", [1, 1 << 20])
@pytest.mark.parametrize("d", [1, 20])
@pytest.mark.parametrize("name", KERNELS)
def test_blocks(name, d, few, monkeypatch):
    monkeypatch.setattr(module, "NUMBERS_AT_ONCE", few)
    y, x = sets(12, d)
    found = block_terms(y, x, KERNELS[name], 4)
    for b in range(3):
        Z = np.concatenate([y[4 * b : 4 * b + 4], x[4 * b : 4 * b + 4]])
        K = kernel_tile(Z, KERNELS[name])(slice(0, 8), slice(0, 8))
        np.fill_diagonal(K, 0.0)
        expected = K[:4, :4].sum() / 12 + K[4:, 4:].sum() / 12 - 2 * K[:4, 4:].mean()
        assert found[b] == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("d", [1, 20])
@pytest.mark.parametrize("name", KERNELS)
def test_pairs(name, d):
    y, x = sets(10, d)
    found = block_terms(y, x, KERNELS[name], 2, linear=True)
    for k in range(5):
        Z = np.stack([y[2 * k], y[2 * k + 1], x[2 * k], x[2 * k + 1]])
        K = kernel_tile(Z, KERNELS[name])(slice(0, 4), slice(0, 4))
        assert found[k] == pytest.approx(K[0, 1] + K[2, 3] - K[0, 3] - K[1, 2], rel=1e-9, abs=1e-12)
