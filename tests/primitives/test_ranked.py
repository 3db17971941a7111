"""Ties of ranks, which chance decides."""

import numpy as np
import pytest
from scipy import stats

from calibrant.primitives.ranked import column_names, ranked


def test_without_ties_nothing_is_drawn():
    less, none = np.array([3, 0, 4]), np.zeros(3, np.int64)
    generator = np.random.default_rng(0)
    found = ranked(less, none, generator, M=4)
    np.testing.assert_array_equal(found.rank, less)
    assert generator.random() == np.random.default_rng(0).random()
    assert (found.M, found.names, found.tied.tolist(), found.cells) == (4, ("",), [0], False)
    np.testing.assert_array_equal(ranked(less, none, None, M=4).rank, less)


def test_the_counts_stay_as_they_are():
    less, equal = np.array([1, 2]), np.array([1, 0])
    found = ranked(less, equal, 0, M=3)
    found.rank[:] = 9
    assert (less.tolist(), equal.tolist()) == ([1, 2], [1, 0])


def test_every_place_is_equally_likely():
    found = ranked(np.full(9000, 2), np.full(9000, 2), 0, M=6)
    counts = np.bincount(found.rank, minlength=7)
    assert counts[[0, 1, 5, 6]].tolist() == [0, 0, 0, 0]
    assert stats.chisquare(counts[2:5]).pvalue > 0.001
    assert found.tied.tolist() == [9000]


def test_columns():
    less, equal = np.zeros((3, 2), np.int64), np.array([[0, 1], [0, 1], [0, 0]])
    assert ranked(less, equal, 0, M=4).tied.tolist() == [0, 2]
    assert ranked(less, equal, 0, M=4).names == ("0", "1")
    assert ranked(less, equal, 0, M=4, names=("a", "b")).names == ("a", "b")
    assert column_names(np.zeros(3)) == ("",)


def test_a_seed_repeats_itself():
    less, equal = np.zeros(50, np.int64), np.full(50, 9)
    first, second, third = (ranked(less, equal, seed, M=9).rank for seed in (1, np.random.default_rng(1), 2))
    np.testing.assert_array_equal(first, second)
    assert (first != third).any()


def test_ties_need_a_generator(refusal):
    message = refusal(ranked, np.zeros((1000, 2), int), np.ones((1000, 2), int), None, M=9)
    assert "the outcome equals draws in 2,000 of 2,000 ranks" in message
    assert "pass rng=" in message


@pytest.mark.parametrize("rng", [-1, 1.5, "0", True])
def test_no_generator(refusal, rng):
    assert "rng must be a numpy Generator" in refusal(ranked, np.array([0]), np.array([1]), rng, M=1)
