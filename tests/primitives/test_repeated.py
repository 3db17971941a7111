"""Repeated rows and values: by hand, by sets of tuples, and whatever the order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from calibrant.inputs.points import PointSets, read_point_sets
from calibrant.primitives.repeated import Repeated, repeated

FEW = st.sampled_from([0.0, -0.0, 1.0, 0.1, -1.5, 5e-324, 1e150])


@st.composite
def sets(draw):
    d = draw(st.integers(1, 4))
    n, m = draw(st.integers(2, 12)), draw(st.integers(2, 12))
    return PointSets(draw(hnp.arrays(float, (n, d), elements=FEW)), draw(hnp.arrays(float, (m, d), elements=FEW)))


def share(values):
    return 1 - len(set(values)) / len(values)


@given(sets())
def test_the_definition(drawn):
    y, points = (list(map(tuple, array.tolist())) for array in (drawn.y, drawn.points))
    expected = Repeated(
        share(y),
        share(points),
        np.mean([share(column) for column in zip(*y, strict=True)]),
        np.mean([share(column) for column in zip(*points, strict=True)]),
        np.mean([row in set(y) for row in points]),
    )
    assert repeated(drawn) == pytest.approx(expected, abs=1e-15)


@given(sets(), st.data())
def test_the_order_of_rows_changes_nothing(drawn, data):
    order = np.array(data.draw(st.permutations(range(drawn.n))))
    moved = PointSets(drawn.y[order], drawn.points[::-1])
    assert repeated(moved) == repeated(drawn)


def test_continuous_draws_repeat_nothing():
    rng = np.random.default_rng(0)
    assert repeated(PointSets(rng.normal(size=(500, 3)), rng.normal(size=(400, 3)))) == (0, 0, 0, 0, 0)


def test_what_rounding_copying_and_memory_leave_behind():
    rng = np.random.default_rng(1)
    y, points = rng.normal(size=(100, 2)), rng.normal(size=(100, 2))
    rounded = repeated(PointSets(y, np.round(points, 1)))
    assert rounded.repeated_values_points > 0.3
    assert rounded.repeated_values_y == rounded.repeated_y == rounded.shared_rows == 0
    assert repeated(PointSets(y, points[rng.integers(0, 50, 100)])).repeated_points >= 0.5
    assert repeated(PointSets(y, np.concatenate([points[:75], y[:25]]))).shared_rows == 0.25


def test_read_only_strided_and_single_precision_input():
    y = np.array([[1.5, 2.0], [1.5, 2.0], [0.25, -0.0], [0.25, 0.0]])
    y.flags.writeable = False
    expected = repeated(PointSets(y, y.copy()))
    assert expected == (0.5, 0.5, 0.5, 0.5, 1.0)
    wide = np.repeat(y, 2, axis=1)[:, ::2]
    assert repeated(PointSets(wide, np.asfortranarray(y))) == expected
    assert repeated(read_point_sets(y.astype(np.float32), y)) == expected
    assert np.signbit(y[2, 1])
    assert all(type(value) is float for value in expected)
