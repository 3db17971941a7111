"""Points that occur several times."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives import distinct_points as module
from calibrant.primitives.distinct_points import distinct


@given(data=st.data())
def test_counts_and_places(clouds, data):
    Z = np.concatenate(data.draw(clouds.two_sets()))
    found = distinct(Z)
    expected, count = np.unique(Z, axis=0, return_counts=True)
    order = np.lexsort(found.points.T[::-1])
    np.testing.assert_array_equal(found.points[order], expected)
    np.testing.assert_array_equal(found.count[order], count)
    np.testing.assert_array_equal(found.points[found.place], Z[np.lexsort(Z.T[::-1])])
    shuffled = Z[np.random.default_rng(0).permutation(len(Z))]
    again = distinct(shuffled)
    np.testing.assert_array_equal(again.points[again.place], found.points[found.place])


def test_a_zero_is_a_zero():
    found = distinct(np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 2.0]]))
    assert found.count.tolist() == [2, 1]


@pytest.mark.parametrize("Z", [[[1.0, 5.0], [0.0, 5.0]], [[5.0, 1.0], [5.0, 0.0]]])
def test_different_points_stay_as_they_are(Z):
    Z = np.array(Z)
    found = distinct(Z)
    assert found.points is Z
    assert found.count.tolist() == [1, 1]
    assert found.place.tolist() == [1, 0]


def test_pieces(monkeypatch):
    Z = np.random.default_rng(0).integers(0, 3, (50, 2)) * 1.0
    whole = distinct(Z)
    monkeypatch.setattr(module, "PIECE", 7)
    for name in ("points", "count", "place"):
        np.testing.assert_array_equal(getattr(distinct(Z), name), getattr(whole, name))
