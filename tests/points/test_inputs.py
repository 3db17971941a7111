"""Sets of points at the boundary."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from calibrant.kernels.median import point_order
from calibrant.points.inputs import PointSets, Repeated, distinct, read_point_sets, read_points, repeated

POINTS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8"])
def test_any_precision_becomes_float64(dtype):
    found = read_points(np.array(POINTS, dtype), "points")
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, POINTS)
    assert not found.flags.writeable


def test_two_sets():
    sets = read_point_sets(POINTS, POINTS[:2])
    assert (sets.n, sets.m, sets.d) == (3, 2, 2)
    np.testing.assert_array_equal(sets.pooled, [*POINTS, *POINTS[:2]])


FRAMES = {
    "pandas": lambda names: pd.DataFrame(POINTS, columns=names),
    "polars": lambda names: pl.DataFrame(POINTS, schema=names, orient="row"),
    "table": lambda names: pa.table(dict(zip(names, np.transpose(POINTS), strict=True))),
    "batch": lambda names: pa.record_batch(dict(zip(names, np.transpose(POINTS), strict=True))),
    "xarray": lambda names: xr.DataArray(POINTS, dims=["row", "of"], coords={"of": names, "row": [7, 8, 9]}),
}
EVERY_FRAME = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)


@EVERY_FRAME
def test_columns_in_another_order(frame, refusal):
    for other in FRAMES.values():
        message = refusal(read_point_sets, frame(["a", "b"]), other(["b", "a"]))
        assert message.startswith("y and points name the same columns in another order: ['a', 'b'] and ['b', 'a']. Put")


@EVERY_FRAME
def test_columns_of_other_names(frame, refusal):
    for names in (["c", "d"], ["a", "d"]):
        for other in FRAMES.values():
            message = refusal(read_point_sets, frame(["a", "b"]), other(names))
            assert message.startswith("y and points name their columns differently: column ")
            assert "is 'b' in y and 'd' in points" in message or "is 'a' in y and 'c' in points" in message
            read_point_sets(frame(["a", "b"]), np.asarray(other(names)))


@EVERY_FRAME
def test_columns_of_the_same_names(frame):
    for other in FRAMES.values():
        read_point_sets(frame(["a", "b"]), other(["a", "b"]))


@EVERY_FRAME
def test_columns_without_names(frame):
    for plain in (pd.DataFrame(POINTS), pl.DataFrame(POINTS, orient="row"), xr.DataArray(POINTS), POINTS):
        read_point_sets(frame(["a", "b"]), plain)
        read_point_sets(plain, frame(["a", "b"]))
    read_point_sets(frame(["1998", "1999"]), pd.DataFrame(POINTS, columns=[1998, 1999]))


def test_a_dataset_is_refused(refusal):
    array = FRAMES["xarray"](["a", "b"])
    message = refusal(read_points, array.to_dataset("of"), "points")
    assert message == "points is an xarray Dataset; pass one array, such as points.to_dataarray().T"
    np.testing.assert_array_equal(read_points(array.to_dataset("of").to_dataarray().T, "points"), POINTS)


NUMBERS = st.floats(-1e150, 1e150) | st.integers(-2, 2).map(float) | st.just(-0.0)


@given(st.integers(1, 4).flatmap(lambda d: st.lists(st.tuples(*[NUMBERS] * d), min_size=1, max_size=20)))
def test_points_are_sorted(points):
    z = np.array(points)
    np.testing.assert_array_equal(z[point_order(z)], np.array(sorted(points)))


@given(st.permutations(range(9)))
def test_the_order_in_which_they_came_has_no_part(order):
    z = np.array([[0, 1], [-0.0, 1], [2, -1], [2, 0.5], [-3, 1e-300], [0, 0], [5, 5], [5, 5], [1, 2]])
    np.testing.assert_array_equal(z[list(order)][point_order(z[list(order)])], z[np.lexsort(z.T[::-1])])


@given(data=st.data())
def test_distinct_points_have_counts_and_places(clouds, data):
    Z = np.concatenate(data.draw(clouds.two_sets()))
    found = distinct(Z)
    expected, count = np.unique(Z, axis=0, return_counts=True)
    order = np.lexsort(found.points.T[::-1])
    np.testing.assert_array_equal(found.points[order], expected)
    np.testing.assert_array_equal(found.count[order], count)
    np.testing.assert_array_equal(found.points[found.order], expected)
    np.testing.assert_array_equal(found.points[found.place], Z)
    np.testing.assert_array_equal(expected[found.rank], Z)


def test_a_zero_is_a_zero():
    assert distinct(np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 2.0]])).count.tolist() == [2, 1]


@pytest.mark.parametrize("Z", [[[1.0, 5.0], [0.0, 5.0]], [[5.0, 1.0], [5.0, 0.0]]])
def test_different_points_stay_as_they_are(Z):
    Z = np.array(Z)
    found = distinct(Z)
    assert found.points is Z
    assert found.count.tolist() == [1, 1]
    assert found.place.tolist() == [0, 1]
    assert found.order.tolist() == found.rank.tolist() == [1, 0]


FEW = st.sampled_from([0.0, -0.0, 1.0, 0.1, -1.5, 5e-324, 1e150])


@st.composite
def sets(draw):
    d = draw(st.integers(1, 4))
    n, m = draw(st.integers(2, 12)), draw(st.integers(2, 12))
    return PointSets(draw(hnp.arrays(float, (n, d), elements=FEW)), draw(hnp.arrays(float, (m, d), elements=FEW)))


def share(values):
    return 1 - len(set(values)) / len(values)


@given(sets())
def test_the_definition_of_repetitions(drawn):
    y, points = (list(map(tuple, array.tolist())) for array in (drawn.y, drawn.points))
    expected = Repeated(
        share(y),
        share(points),
        np.mean([share(column) for column in zip(*y, strict=True)]),
        np.mean([share(column) for column in zip(*points, strict=True)]),
        np.mean([row in set(y) for row in points]),
    )
    assert repeated(drawn) == pytest.approx(expected, abs=1e-15)


def test_what_rounding_copying_and_memory_leave_behind():
    rng = np.random.default_rng(1)
    y, points = rng.normal(size=(100, 2)), rng.normal(size=(100, 2))
    rounded = repeated(PointSets(y, np.round(points, 1)))
    assert rounded.repeated_values_points > 0.3
    assert rounded.repeated_values_y == rounded.repeated_y == rounded.shared_rows == 0
    assert repeated(PointSets(y, points[rng.integers(0, 50, 100)])).repeated_points >= 0.5
    assert repeated(PointSets(y, np.concatenate([points[:75], y[:25]]))).shared_rows == 0.25
