"""The order of points: that of tuples of their coordinates."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calibrant.inputs.point_order import point_order

NUMBERS = st.floats(-1e150, 1e150) | st.integers(-2, 2).map(float) | st.just(-0.0)


@given(st.integers(1, 4).flatmap(lambda d: st.lists(st.tuples(*[NUMBERS] * d), min_size=1, max_size=20)))
def test_points_are_sorted(points):
    z = np.array(points)
    np.testing.assert_array_equal(z[point_order(z)], np.array(sorted(points)))


@given(st.permutations(range(9)))
def test_the_order_in_which_they_came_has_no_part(order):
    z = np.array([[0, 1], [-0.0, 1], [2, -1], [2, 0.5], [-3, 1e-300], [0, 0], [5, 5], [5, 5], [1, 2]])
    np.testing.assert_array_equal(z[list(order)][point_order(z[list(order)])], z[np.lexsort(z.T[::-1])])


def test_memory_in_another_order():
    z = np.random.default_rng(0).integers(0, 3, (40, 5)).astype(float)
    np.testing.assert_array_equal(point_order(np.asfortranarray(z)), point_order(z))
    np.testing.assert_array_equal(z[point_order(z)], z[np.lexsort(z.T[::-1])])
