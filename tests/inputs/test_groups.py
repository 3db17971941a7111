"""Labels that put rows into groups."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.inputs.containers import is_missing
from calibrant.inputs.groups import read_groups


def names(labels):
    labels = np.asarray(labels)
    (found,) = read_groups({"g": labels}, len(labels), intersections=1, keep=None)
    return found.names


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        ([1, 2], ["g = 1", "g = 2"]),
        ([1.0, 2.0, np.nan], ["g = (missing)", "g = 1", "g = 2"]),
        ([-0.0, 0.0, 0.5], ["g = 0", "g = 0.5"]),
        ([np.inf, 1e300], ["g = 1" + "0" * 300, "g = inf"]),
        ([True, False], ["g = False", "g = True"]),
    ],
)
def test_a_number_has_one_name_however_it_is_stored(labels, found):
    assert [name[:9] for name in names(labels)] == [name[:9] for name in found]


def test_a_number_and_its_text_are_two_labels():
    assert names(np.array([1, "1", 1.0], dtype=object)) == ["g = '1'", "g = 1"]


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([2**53, 2**53 + 1, None]),
        pl.Series([2**53, 2**53 + 1, None], dtype=pl.Decimal(20, 0)),
        pl.Series([2**53, 2**53 + 1, None], dtype=pl.Decimal(20, 2)),
        pd.Series([2**53, 2**53 + 1, None], dtype="Int64"),
        pa.array([2**53, 2**53 + 1, None]),
        pa.chunked_array([[2**53], [2**53 + 1, None]]),
    ],
)
def test_long_numbers_are_not_rounded_where_one_is_missing(column):
    (found,) = read_groups({"g": column}, 3, intersections=1, keep=None)
    assert found.names == ["g = (missing)", f"g = {2**53}", f"g = {2**53 + 1}"]


def test_decimal_numbers_have_the_names_of_other_numbers():
    assert names(np.array([Decimal("1.50"), Decimal("2.0"), 1.5, 2], dtype=object)) == ["g = 1.5", "g = 2"]


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_moments_have_one_name_in_any_unit(unit):
    assert names(np.array(["2024-01-01T10:20:00"], dtype=f"M8[{unit}]")) == ["g = 2024-01-01T10:20:00"]
    assert names(np.array(["2024-01-01"], dtype="M8[D]")) == ["g = 2024-01-01"]


@given(st.lists(st.one_of(st.sampled_from(["a", "b", "1", None, 1, 1.0, True, 2.5, float("nan")])), min_size=1))
def test_rows_of_one_label_are_together(labels):
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    (found,) = read_groups({"g": array}, len(labels), intersections=1, keep=None)
    called = [found.names[code] for code in found.code]
    for name, label in zip(called, labels, strict=True):
        missing = is_missing(label)
        same = [other for other, its in zip(labels, called, strict=True) if its == name]
        if missing:
            assert name == "g = (missing)"
            assert all(map(is_missing, same))
        else:
            assert all(isinstance(other, str) == isinstance(label, str) and other == label for other in same)


def test_labels_that_cannot_be_looked_up():
    array = np.empty(3, dtype=object)
    array[:] = [[1], [2], [1]]
    (found,) = read_groups({"g": array}, 3, intersections=1, keep=None)
    assert (found.code.tolist(), found.names) == ([0, 1, 0], ["g = [1]", "g = [2]"])
