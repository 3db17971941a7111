"""Scores by which vectors are put into an order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibrant.primitives import pre_ranks as module
from calibrant.primitives.member_distances import distance_sums
from calibrant.primitives.members import Members
from calibrant.primitives.pre_ranks import average, band_depth, doubled_ranks, multivariate, pre_rank
from calibrant.primitives.spanning_tree import tree_lengths

LATTICE = st.tuples(st.integers(1, 4), st.integers(1, 12), st.integers(1, 4), st.integers(0, 10**6))


def lattice(shape_and_seed):
    *shape, seed = shape_and_seed
    return np.random.default_rng(seed).integers(0, 4, shape) * 1.0


def mid_ranks(z):
    return stats.rankdata(z, axis=1)


@given(LATTICE)
def test_doubled_ranks(given_):
    z = lattice(given_)
    np.testing.assert_array_equal(doubled_ranks(z), 2 * mid_ranks(z))


def test_zeros_of_both_signs_are_tied():
    assert doubled_ranks(np.array([[[0.0], [-0.0], [1.0]]])).ravel().tolist() == [3, 3, 6]


@given(LATTICE)
def test_average(given_):
    z = lattice(given_)
    np.testing.assert_array_equal(average(z), 2 * mid_ranks(z).sum(axis=2))


@given(LATTICE)
def test_band_depth(given_):
    z = lattice(given_)
    R, m = mid_ranks(z), z.shape[1]
    np.testing.assert_array_equal(band_depth(z), -4 * ((m - R) * (R - 1)).sum(axis=2))


@given(LATTICE)
def test_multivariate(given_):
    z = lattice(given_)
    below = (z[:, None, :, :] <= z[:, :, None, :]).all(axis=3)  # [row, i, j]: j is below i
    np.testing.assert_array_equal(multivariate(z), below.sum(axis=2))


@pytest.mark.parametrize("score", [average, band_depth, multivariate])
@given(given_=LATTICE)
def test_members_that_change_places_take_their_scores_with_them(score, given_):
    z = lattice(given_)
    order = np.random.default_rng(0).permutation(z.shape[1])
    np.testing.assert_array_equal(score(z[:, order]), score(z)[:, order])
    assert score(z).dtype.kind == "i"


class TestChoice:
    MEMBERS = Members(np.zeros((2, 2)), np.arange(12.0).reshape(2, 3, 2) ** 2, np.dtype(np.float64))
    SCALE = np.array([1.0, 3.0])

    @pytest.mark.parametrize(
        ("method", "score"),
        [
            ("mean_distance", distance_sums),
            ("band_depth", lambda z, scale: band_depth(z)),
            ("average", lambda z, scale: average(z)),
            ("multivariate", lambda z, scale: multivariate(z)),
            ("spanning_tree", lambda z, scale: -tree_lengths(z, scale)),
        ],
    )
    def test_by_name(self, method, score):
        part = slice(1, 2)
        expected = score(self.MEMBERS.block(part), self.SCALE)
        np.testing.assert_array_equal(pre_rank(method, self.MEMBERS, self.SCALE)(part), expected)

    def test_the_whole_work_decides_about_the_body(self, monkeypatch):
        asked = []
        monkeypatch.setattr(module, "takes_fast_double_sum", lambda *size: asked.append(size) or True)
        used = []
        monkeypatch.setattr(module, "distance_sums", lambda z, scale, fast: used.append(fast))
        pre_rank("mean_distance", self.MEMBERS, self.SCALE)(slice(0, 1))
        assert asked == [(4, 4)]
        assert used == [True]
