"""Members of a row in the place of its outcome."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calibrant import Samples
from calibrant.inputs.outcomes import read_outcomes
from calibrant.primitives.exchange import exchanged_counts, member_counts
from calibrant.primitives.rank_counts import rank_counts

DOUBLE = np.dtype(np.float64)
values = st.one_of(st.integers(-2, 2).map(float), st.sampled_from([np.inf, -np.inf, 0.5, -0.0]))


@given(arrays(float, (3, 5, 2), elements=values))
def test_members_are_counted_one_by_one(z):
    less, equal = member_counts(z[:, 0], z[:, 1:], DOUBLE)
    for member in range(5):
        others = np.delete(z, member, axis=1)
        np.testing.assert_array_equal(less[:, :, member], (others < z[:, member, None]).sum(axis=1))
        np.testing.assert_array_equal(equal[:, :, member], (others == z[:, member, None]).sum(axis=1))


def test_the_outcome_comes_first():
    rng = np.random.default_rng(0)
    y, draws = rng.integers(0, 5, (20, 2)) / 1.0, rng.integers(0, 5, (20, 7, 2)) / 1.0
    less, equal = member_counts(y, draws, DOUBLE)
    for found, expected in zip((less, equal), rank_counts(y, draws, DOUBLE), strict=True):
        np.testing.assert_array_equal(found[:, :, 0], expected)


def test_compared_in_the_coarser_type():
    y, draws = np.array([[0.1]]), np.array([[[0.1]]], np.float32)
    assert member_counts(y, draws, np.dtype(np.float32))[1].max() == 1
    assert member_counts(y, draws, DOUBLE)[1].max() == 0


def test_without_ties_every_rank_is_equally_likely():
    rng = np.random.default_rng(0)
    rows = read_outcomes(rng.normal(size=40), Samples(rng.normal(size=(40, 4))))
    tables = exchanged_counts(rows, 500, np.random.default_rng(1))
    assert tables.shape == (500, 5, 1)
    assert (tables.sum(axis=1) == 40).all()
    share = tables.sum(axis=0)[:, 0] / (500 * 40)
    np.testing.assert_allclose(share, 0.2, atol=5 * np.sqrt(0.16 / (500 * 40)))


def test_one_member_stands_for_the_outcome_in_all_columns():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(30, 6))
    both = np.stack([draws, -draws], axis=2)  # where one is high the other is low
    tables = exchanged_counts(read_outcomes(both[:, 0], Samples(both[:, 1:])), 50, np.random.default_rng(1))
    np.testing.assert_array_equal(tables[:, :, 0], tables[:, ::-1, 1])


def test_tied_members_share_their_ranks():
    rows = read_outcomes(np.zeros(100), Samples(np.zeros((100, 3))))
    share = exchanged_counts(rows, 200, np.random.default_rng(0)).sum(axis=0)[:, 0] / 20_000
    np.testing.assert_allclose(share, 0.25, atol=0.02)


@pytest.mark.parametrize("seed", [0, 1])
def test_small_blocks_change_nothing_but_chance(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    rows = read_outcomes(rng.normal(size=(9, 2)), Samples(rng.normal(size=(9, 4, 2))))
    whole = exchanged_counts(rows, 2000, np.random.default_rng(0)).mean(axis=0)
    monkeypatch.setattr("calibrant.primitives.exchange.BLOCK", 1)
    np.testing.assert_allclose(exchanged_counts(rows, 2000, np.random.default_rng(0)).mean(axis=0), whole, atol=0.2)
