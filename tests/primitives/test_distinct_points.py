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
    np.testing.assert_array_equal(found.points[found.order], expected)
    np.testing.assert_array_equal(found.points[found.place], Z)
    np.testing.assert_array_equal(expected[found.rank], Z)


@given(data=st.data())
def test_the_order_of_rows_changes_nothing(clouds, data):
    Z = np.concatenate(data.draw(clouds.two_sets()))
    moved = np.array(data.draw(st.permutations(range(len(Z)))))
    found, again = distinct(Z), distinct(Z[moved])
    np.testing.assert_array_equal(again.rank, found.rank[moved])
    np.testing.assert_array_equal(again.points[again.order], found.points[found.order])


def test_a_zero_is_a_zero():
    found = distinct(np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 2.0]]))
    assert found.count.tolist() == [2, 1]


@pytest.mark.parametrize("Z", [[[1.0, 5.0], [0.0, 5.0]], [[5.0, 1.0], [5.0, 0.0]]])
def test_different_points_stay_as_they_are(Z):
    Z = np.array(Z)
    found = distinct(Z)
    assert found.points is Z
    assert found.count.tolist() == [1, 1]
    assert found.place.tolist() == [0, 1]
    assert found.order.tolist() == found.rank.tolist() == [1, 0]


def test_pieces(monkeypatch):
    Z = np.random.default_rng(0).integers(0, 3, (50, 2)) * 1.0
    whole = distinct(Z)
    monkeypatch.setattr(module, "PIECE", 7)
    for name in ("points", "count", "place", "order"):
        np.testing.assert_array_equal(getattr(distinct(Z), name), getattr(whole, name))
