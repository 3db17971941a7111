"""Outcomes and draws as members of one set."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Samples
from calibrant.inputs.rows import read_outcomes
from calibrant.ranking import members as module
from calibrant.ranking.members import Members, check_scale, coordinate_scale, member_ranks, outcome_counts


def of(y, draws):
    return Members.of(read_outcomes(y, Samples(draws)))


def test_the_outcome_comes_first():
    y, draws = np.array([[0.0, 1.0]]), np.array([[[2.0, 3.0], [4.0, 5.0]]])
    found = of(y, draws)
    assert (found.n, found.M, found.D) == (1, 2, 2)
    np.testing.assert_array_equal(found.block(slice(0, 1)), [[[0, 1], [2, 3], [4, 5]]])
    found.block(slice(0, 1))[:] = 9  # a copy
    assert (y.max(), draws.max()) == (1, 5)
    np.testing.assert_array_equal(of([7.0], [[8.0, 9.0]]).block(slice(0, 9)), [[[7], [8], [9]]])


def test_blocks_cover_the_rows(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 12)
    found = of(np.zeros((5, 2)), np.ones((5, 2, 2)))
    assert found.size == 2
    assert [len(found.block(slice(at, at + 2))) for at in (0, 2, 4)] == [2, 2, 1]
    monkeypatch.setattr(module, "BLOCK", 1)
    assert found.size == 1


def test_refusals(refusal):
    assert "row 1, draw 0 is inf" in refusal(of, [0.0, 0.0], [[1.0], [np.inf]])
    far = of(np.zeros(3, np.float32), np.array([[1.0], [2.0], [1e300]]))
    assert "row 2 goes beyond it" in refusal(far.block, slice(1, 3))
    assert "compared as float32" in refusal(far.block, slice(0, 3))
    message = refusal(member_ranks, lambda part: SCORES[part], 3, None, M=3, size=3, what="the depth")
    assert message.startswith("the depth of the outcome equals that of draws in 2 of 3 ranks")


SCORES = np.array([[2, 1, 2, 3], [0, 1, 1, 1], [5, 5, 5, 5]])


def test_counts_of_draws_below_the_outcome_and_beside_it():
    less, equal = outcome_counts(SCORES)
    assert (less.tolist(), equal.tolist()) == ([1, 0, 0], [1, 0, 3])


@pytest.mark.parametrize("size", [1, 2, 99])
def test_any_number_of_rows_at_a_time(size):
    found = member_ranks(lambda part: SCORES[part], 3, 0, M=3, size=size, what="it")
    assert found.rank[0] in (1, 2)
    assert found.rank[1] == 0
    assert (found.tied.tolist(), found.M, found.names) == ([2], 3, ("",))
    once = member_ranks(lambda part: SCORES[part], 3, 0, M=3, size=3, what="it")
    np.testing.assert_array_equal(found.rank, once.rank)


DOUBLE = np.dtype(np.float64)


def members_of(z):
    """Return members z (n, m, D)."""
    return Members(np.ascontiguousarray(z[:, 0]), np.ascontiguousarray(z[:, 1:]), DOUBLE)


@given(st.integers(1, 6), st.integers(2, 6), st.integers(1, 4), st.floats(-250, 250), st.integers(0, 10**6))
def test_pooled_is_the_spread_of_all_members(n, m, D, power, seed):
    z = np.random.default_rng(seed).normal(5, 1, (n, m, D)) * 10.0**power
    with np.errstate(all="ignore"):
        expected = (z / 10.0**power).std(axis=(0, 1)) * 10.0**power
    np.testing.assert_allclose(coordinate_scale("pooled", members_of(z)), expected, rtol=2e-6)


@given(st.integers(0, 10**6))
def test_no_order_changes_it(seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(100, 1, (7, 5, 3))
    z[:, :, 2] = 0.1  # a constant coordinate stays as it is
    found = coordinate_scale("pooled", members_of(z))
    assert found[2] == 1.0
    turned = np.stack([row[rng.permutation(5)] for row in z[rng.permutation(7)]])  # outcomes become draws
    np.testing.assert_array_equal(coordinate_scale("pooled", members_of(turned)), found)
    with mock.patch.object(module, "BLOCK", 24):
        np.testing.assert_array_equal(coordinate_scale("pooled", members_of(z)), found)


@pytest.mark.parametrize("far", [1.7e308, 5e-324])
def test_ends_of_float64(far):
    found = coordinate_scale("pooled", members_of(np.array([[[far], [-far]]])))
    assert found[0] in (1.0, pytest.approx(far, rel=1e-5))


@pytest.mark.parametrize(
    ("scale", "words"),
    [
        (2.0, "got shape ()"),
        ([1.0, -1.0], "coordinate 1 is -1.0"),
        ([np.inf, 1.0], "coordinate 0 is inf"),
        ([True, False], "real numbers"),
    ],
)
def test_given_scales(refusal, scale, words):
    members = members_of(np.zeros((1, 2, 2)))
    assert 'scale must be "pooled", None or an array' in refusal(check_scale, "std")
    assert words in refusal(coordinate_scale, scale, members)
    assert coordinate_scale(None, members).tolist() == [1.0, 1.0]
    assert coordinate_scale([2, 3], members).tolist() == [2.0, 3.0]
