"""Shortest trees with one member left out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist

from calibrant.primitives.spanning_tree import tree_lengths


def defined(z):
    return [minimum_spanning_tree(cdist(*[np.delete(z, i, axis=0)] * 2)).sum() for i in range(len(z))]


@given(st.integers(3, 12), st.integers(1, 4), st.integers(0, 10**6))
def test_are_the_definition(m, D, seed):
    z = np.random.default_rng(seed).normal(size=(2, m, D))
    found, expected = tree_lengths(z, np.ones(D)), np.array([defined(row) for row in z])
    np.testing.assert_allclose(found / found[:, :1], expected / expected[:, :1], rtol=1e-12)


@given(st.integers(2, 10), st.integers(0, 10**6))
def test_members_that_change_places_take_their_trees_with_them(m, seed):
    rng = np.random.default_rng(seed)
    z, order = rng.integers(0, 3, (1, m, 2)) * 0.1, rng.permutation(m)
    found = tree_lengths(z, np.ones(2))
    np.testing.assert_array_equal(tree_lengths(z[:, order], np.ones(2)), found[:, order])


def test_scale():
    z = np.array([[[0.0, 0.0], [1.0, 0.0], [0.0, 10.0]]])
    found = tree_lengths(z, np.array([1.0, 10.0]))
    np.testing.assert_allclose(found / found[0, 2], [[np.sqrt(2), 1.0, 1.0]], rtol=1e-12)


@pytest.mark.parametrize("m", [1, 2])
def test_nothing_is_left_to_join(m):
    assert tree_lengths(np.random.default_rng(0).normal(size=(3, m, 2)), np.ones(2)).tolist() == [[0] * m] * 3
