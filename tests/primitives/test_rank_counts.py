"""Draws below an outcome and equal to it: two bodies, and the definition."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives import rank_counts as module
from calibrant.primitives.rank_counts import rank_counts, reference_counts
from calibrant.primitives.rank_counts_fast import compiled_counts

DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)


def counted(body, y, draws):
    less, equal = np.full((2, *y.shape), -1, np.int64)
    body(y, draws, less, equal)
    return less, equal


def defined(y, draws):
    return (draws < y[:, None]).sum(axis=1), (draws == y[:, None]).sum(axis=1)


def agree(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == np.int64
        np.testing.assert_array_equal(ours, theirs)


def test_by_hand():
    agree(rank_counts(np.array([2.0]), np.array([[1.0, 2.0, 2.0, 5.0]]), DOUBLE), ([1], [2]))
    y, draws = np.array([[1.0, 5.0]]), np.array([[[0.0, 5.0], [1.0, 6.0], [2.0, 4.0]]])
    agree(rank_counts(y, draws, DOUBLE), ([[1, 1]], [[1, 1]]))


@pytest.mark.parametrize("body", [reference_counts, compiled_counts()], ids=["reference", "fast"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(st.integers(1, 5), st.integers(1, 600), st.integers(1, 4), st.integers(0, 10**6))
def test_bodies_are_the_definition(body, dtype, n, M, D, seed):
    rng = np.random.default_rng(seed)
    values = np.array([-np.inf, -1.0, -0.0, 0.0, 0.5, 1.0, np.inf], dtype)
    y, draws = rng.choice(values[1:-1], (n, D)), rng.choice(values, (n, M, D))
    agree(counted(body, y, draws), defined(y, draws))


@pytest.mark.parametrize("M", [254, 255, 256, 257, 600])
def test_more_draws_than_a_byte_counts(M):
    y = np.array([1.0, 0.0])
    draws = np.stack([np.zeros(M), np.zeros(M)])
    agree(rank_counts(y, draws, DOUBLE), ([M, 0], [0, M]))


def test_more_than_one_block(monkeypatch):
    rng = np.random.default_rng(0)
    y, draws = rng.integers(0, 5, (40, 2)) * 1.0, rng.integers(0, 5, (40, 7, 2)) * 1.0
    for block in (1, 14, 50, 10**6):
        monkeypatch.setattr(module, "BLOCK", block)
        agree(rank_counts(y, draws, DOUBLE), defined(y, draws))


def test_the_compiled_body_takes_over(monkeypatch):
    rng = np.random.default_rng(1)
    y, draws = rng.integers(0, 5, (40, 2)) * 1.0, rng.integers(0, 5, (40, 7, 2)) * 1.0
    monkeypatch.setattr(module, "takes_fast_body", lambda size: size == draws.size)
    monkeypatch.setattr(module, "reference_counts", None)
    agree(rank_counts(y, draws, DOUBLE), defined(y, draws))


@pytest.mark.parametrize(("y", "draws"), [(np.float64, np.float32), (np.float32, np.float64)])
def test_both_are_compared_as_the_coarser_type(y, draws):
    found = rank_counts(np.array([0.1]).astype(y), np.array([[0.1, 0.3]]).astype(draws), SINGLE)
    agree(found, ([0], [1]))


def test_strided_and_read_only_arrays():
    members = np.arange(24.0).reshape(2, 12)
    members.flags.writeable = False
    agree(rank_counts(members[:, 3], members[:, ::2], DOUBLE), ([2, 2], [0, 0]))


def test_memory_does_not_grow_with_the_draws():
    y, draws = np.zeros((200, 2)), np.zeros((200, 4000, 2), np.float32)
    rank_counts(y[:1], draws[:1], SINGLE)
    tracemalloc.start()
    rank_counts(y, draws, SINGLE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < draws.nbytes / 2
