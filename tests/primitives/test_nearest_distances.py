"""Distances to the nearest real point."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.inputs.points import PointSets
from calibrant.primitives import nearest_distances as module
from calibrant.primitives.nearest_distances import nearest_distances


def defined(y, points):
    """Return the distances of all points to the nearest point of y that is not themselves."""
    own = np.sqrt(((y[:, None] - y) ** 2).sum(axis=2))
    np.fill_diagonal(own, np.inf)
    return own.min(axis=1), np.sqrt(((points[:, None] - y) ** 2).sum(axis=2)).min(axis=1)


@given(st.integers(0, 10**6), st.integers(2, 30), st.integers(2, 30), st.sampled_from([1, 2, 16, 17, 40]))
def test_definition(seed, n, m, d):
    rng = np.random.default_rng(seed)
    y, points = rng.normal(size=(n, d)), rng.normal(0.5, 2.0, size=(m, d))
    for found, expected in zip(nearest_distances(PointSets(y, points)), defined(y, points), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("d", [2, 30])
class TestCopies:
    def test_a_copy_is_at_distance_zero(self, d):
        y = np.random.default_rng(0).normal(3.0, 1.0, size=(40, d))
        own, other = nearest_distances(PointSets(y, y[::-1].copy()))
        assert (other == 0).all()
        assert own.min() > 0

    def test_a_point_that_occurs_twice_has_itself_near(self, d):
        y = np.random.default_rng(0).normal(3.0, 1.0, size=(40, d))
        y[7] = y[3]
        own, _ = nearest_distances(PointSets(y, y[:5]))
        assert np.flatnonzero(own == 0).tolist() == [3, 7]

    def test_far_from_the_origin(self, d):
        rng = np.random.default_rng(1)
        y, points = (np.round(rng.normal(size=(30, d)), 3) * 2.0**20 + 2.0**40 for _ in range(2))
        for found, expected in zip(nearest_distances(PointSets(y, points)), defined(y, points), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9)

    def test_far_from_each_other(self, d):
        """Half of the points lie on one side, half on the other: no origin is near to all."""
        rng = np.random.default_rng(2)
        y = rng.normal(size=(30, d)) + np.where(np.arange(30) % 2, 1e6, -1e6)[:, None]
        points = y + 1e-3
        _, other = nearest_distances(PointSets(y, points))
        np.testing.assert_allclose(other, 1e-3 * np.sqrt(d), rtol=1e-5)


def test_parts_change_nothing(monkeypatch):
    rng = np.random.default_rng(3)
    sets = PointSets(rng.normal(size=(50, 3)), rng.normal(size=(23, 3)))
    whole = nearest_distances(sets)
    monkeypatch.setattr(module, "ROWS", 7)
    for found, expected in zip(nearest_distances(sets), whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_inputs_are_unchanged():
    rng = np.random.default_rng(4)
    y, points = rng.normal(size=(2, 9, 2))
    before = y.copy(), points.copy()
    y.flags.writeable = points.flags.writeable = False
    nearest_distances(PointSets(y, points))
    np.testing.assert_array_equal(y, before[0])
    np.testing.assert_array_equal(points, before[1])
