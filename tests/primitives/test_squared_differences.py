"""Sums of squared differences: one number for a pair, wherever it is found."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives import squared_differences as module
from calibrant.primitives.squared_differences import squared_differences, squares_of_pairs


@given(data=st.data())
def test_both_ways_are_the_definition_to_the_last_digit(clouds, data):
    A, B = data.draw(clouds.two_sets())
    expected = clouds.squares(A, B)
    i, j = np.indices(expected.shape).reshape(2, -1)
    np.testing.assert_array_equal(squared_differences(A, B), expected)
    np.testing.assert_array_equal(squares_of_pairs(A, B, i, j).reshape(expected.shape), expected)
    np.testing.assert_array_equal(squares_of_pairs(B, A, j, i).reshape(expected.shape), expected)


def test_many_coordinates_and_pieces(clouds, monkeypatch):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(3, 300)), rng.normal(size=(5, 300))
    i, j = np.indices((3, 5)).reshape(2, -1)
    for piece in (1, 700, 1 << 17):
        monkeypatch.setattr(module, "PIECE", piece)
        np.testing.assert_array_equal(squares_of_pairs(A, B, i, j).reshape(3, 5), clouds.squares(A, B))


def test_no_pairs():
    none = np.array([], dtype=np.intp)
    assert squares_of_pairs(np.zeros((2, 3)), np.zeros((2, 3)), none, none).shape == (0,)
