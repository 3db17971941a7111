"""Blocks of two sets of points, from a stream."""

import numpy as np
import pytest

from calibrant import Gaussian, InputError, Summary, SummaryError
from calibrant.metrics.mmd import mmd
from calibrant.summaries.point_blocks import PointBlocks

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


def test_bytes():
    for kernel in ("gaussian", "laplace", "polynomial"):
        summary = PointBlocks.of(Y, X, kernel=kernel, blocksize=30)
        assert Summary.from_bytes(summary.to_bytes()) == summary
    own = PointBlocks.of(Y, X, kernel=Gaussian(1.0, lambda a, b: np.abs(a - b).max(axis=-1)))
    with pytest.raises(SummaryError, match="of one's own has no form as bytes"):
        own.to_bytes()


def test_what_does_not_merge():
    for other, words in [
        (blocks(Y, X, blocksize=5), "of 10 points .* of 5 points"),
        (blocks(Y, X, estimator="linear", blocksize=None), "block MMD² .* linear MMD²"),
        (blocks(Y[:, :2], X[:, :2]), "3 coordinates .* with 2"),
        (blocks(Y, X, bandwidth=2.0), "Give one bandwidth, as a number"),
    ]:
        with pytest.raises(SummaryError, match=words):
            blocks(Y, X) + other


def test_options_stay_with_the_summary():
    summary = blocks(Y, X)
    assert mmd(summary, estimator="block") == summary.mean
    for options in (
        {"bandwidth": 1.0},
        {"bandwidth": np.ones(2)},
        {"estimator": "linear"},
        {"estimator": np.ones(2)},
        {"kernel": "laplace"},
        {"blocksize": 10},
    ):
        with pytest.raises(InputError, match="options cannot be given with PointBlocks"):
            mmd(summary, **options)
    with pytest.raises(InputError, match="points cannot be given"):
        mmd(summary, X)
