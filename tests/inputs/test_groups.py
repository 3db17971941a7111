"""Labels that put rows into groups."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.inputs.arrays import is_missing
from calibrant.inputs.covariates import read_covariate_table
from calibrant.inputs.groups import label_order, read_groups, read_row_labels


def grouped(labels, name="g"):
    (found,) = read_groups({name: labels}, len(labels), intersections=1, keep=None)
    return found


def names(labels):
    return grouped(np.asarray(labels)).names


def boxed(labels):
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        ([1, 2], ["g = 1", "g = 2"]),
        ([1.0, 2.0, np.nan], ["g = (missing)", "g = 1", "g = 2"]),
        ([-0.0, 0.0, 0.5], ["g = 0", "g = 0.5"]),
        ([np.inf, 1e300], ["g = 1" + "0" * 300, "g = inf"]),
        ([True, False], ["g = False", "g = True"]),
        (["a", "a\0"], ["g = a", "g = a\0"]),
        (np.array(["2020", "NaT"], "M8[Y]"), ["g = (missing)", "g = 2020"]),
    ],
)
def test_a_label_has_one_name_however_it_is_stored(labels, found):
    labels = np.array(labels, dtype=object) if isinstance(labels[0], str) else labels  # which keeps a NUL
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
    assert grouped(column).names == ["g = (missing)", f"g = {2**53}", f"g = {2**53 + 1}"]


def test_decimal_numbers_have_the_names_of_other_numbers():
    assert names(np.array([Decimal("1.50"), Decimal("2.0"), 1.5, 2], dtype=object)) == ["g = 1.5", "g = 2"]


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_moments_have_one_name_in_any_unit(unit):
    assert names(np.array(["2024-01-01T10:20:00"], dtype=f"M8[{unit}]")) == ["g = 2024-01-01T10:20:00"]
    assert names(np.array(["2024-01-01"], dtype="M8[D]")) == ["g = 2024-01-01"]


@given(st.lists(st.one_of(st.sampled_from(["a", "b", "1", None, 1, 1.0, True, 2.5, float("nan")])), min_size=1))
def test_rows_of_one_label_are_together(labels):
    found = grouped(boxed(labels))
    called = [found.names[code] for code in found.code]
    for name, label in zip(called, labels, strict=True):
        same = [other for other, its in zip(labels, called, strict=True) if its == name]
        if is_missing(label):
            assert name == "g = (missing)"
            assert all(map(is_missing, same))
        else:
            assert all(isinstance(other, str) == isinstance(label, str) and other == label for other in same)


def test_labels_that_cannot_be_looked_up():
    found = grouped(boxed([[1], [2], [1]]))
    assert (found.code.tolist(), found.names) == ([0, 1, 0], ["g = [1]", "g = [2]"])


@pytest.mark.parametrize(
    ("labels", "code", "values"),
    [
        (["b", "a", "b"], [1, 0, 1], ("a", "b")),
        (np.array([10, 9, 10]), [1, 0, 1], (9, 10)),
        (np.array([0.0, -0.0, 1.5]), [0, 0, 1], (0.0, 1.5)),
        (np.array([True, False]), [1, 0], (False, True)),
        ([("x", 2), ("x", 1)], [1, 0], ("('x', 1)", "('x', 2)")),
        ([datetime.date(2024, 5, 1), datetime.date(2023, 5, 1)], [1, 0], ("2023-05-01", "2024-05-01")),
        (np.array(["2024-05", "2023-05"], "datetime64[M]"), [1, 0], ("2023-05", "2024-05")),
        (["a", 1, "a"], [1, 0, 1], (1, "a")),
        ([frozenset({2}), frozenset({1})], [1, 0], ("frozenset({1})", "frozenset({2})")),
        ([np.int64(4), np.int64(3)], [1, 0], (3, 4)),
        (pd.Series(["b", "a"], index=[7, 3]), [1, 0], ("a", "b")),
        (pd.Categorical(["b", "a"]), [1, 0], ("a", "b")),
        (pl.Series(["b", "a"]), [1, 0], ("a", "b")),
    ],
)
def test_labels_of_any_kind(labels, code, values):
    found = read_row_labels(labels, len(labels))
    assert found.code.tolist() == code
    assert found.values == values
    assert [type(value) for value in found.values] == [type(value) for value in values]


def test_different_labels_stay_different():
    class Odd:
        def __str__(self):
            return "1"

        def __repr__(self):
            return "one"

    assert len(set(read_row_labels(["1", Odd()], 2).values)) == 2


def test_kept_rows():
    keep = np.array([True, False, True])
    assert read_row_labels(["b", None, "a"], 2, keep=keep).code.tolist() == [1, 0]


def test_missing_groups_are_refused(refusal):
    """An audit shows them in a row of their own; a verb would count them as one more group in silence."""
    keep = np.array([False, True, True])
    for missing in (None, float("nan"), np.float32("nan"), np.datetime64("NaT")):
        labels = np.array(["a", "b", missing], dtype=object)
        assert "series must not be missing; row 2 is" in refusal(read_row_labels, labels, 2, name="series", keep=keep)
    assert "row 1 is nan" in refusal(read_row_labels, np.array([1.0, np.nan]), 2)
    assert "row 0" in refusal(read_row_labels, np.array(["NaT", "2024"], "datetime64[Y]"), 2)


NOON = pa.array([datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC), None], pa.timestamp("us", tz="UTC"))


ZONES = {"Asia/Kolkata": "17:30+05:30", "America/New_York": "07:00-05:00", "-03:00": "09:00-03:00"}


@pytest.mark.parametrize("zone", ZONES)
def test_moments_are_shown_in_their_zone(zone):
    column = pa.chunked_array([NOON.cast(pa.timestamp("us", tz=zone))])
    for labels in (column, column.to_pandas(), *([] if zone == "-03:00" else [pl.from_arrow(column)])):
        found = grouped(labels, "at")
        assert (found.names, found.code.tolist()) == (["at = (missing)", f"at = 2024-01-01 {ZONES[zone]}"], [1, 0])


def test_an_hour_that_comes_twice_is_two_groups():
    """Of one wall time, at the end of summer time."""
    moments = pd.to_datetime(["2024-10-27T00:30Z", "2024-10-27T01:30Z"]).tz_convert("Europe/Berlin")
    assert grouped(moments.to_series(), "at").names == ["at = 2024-10-27 02:30+01:00", "at = 2024-10-27 02:30+02:00"]


def test_ordered_categories_keep_their_order():
    values, order = ["mid", "low", None, "high"], ["low", "mid", "high", "never"]
    ordered = pd.Series(pd.Categorical(values, categories=order, ordered=True))
    for labels in (ordered, pl.Series(values, dtype=pl.Enum(order))):
        found = grouped(labels)
        assert found.names == ["g = (missing)", "g = low", "g = mid", "g = high"]
        assert found.code.tolist() == [2, 1, 0, 3]
    assert grouped(ordered.cat.as_unordered()).names == ["g = (missing)", "g = high", "g = low", "g = mid"]


def test_a_missing_label_of_a_dictionary():
    """Of pyarrow, whose arrays would have another label there."""
    found = grouped(pa.chunked_array([pa.array(["b", "a", None]).dictionary_encode()]))
    assert [found.names[k] for k in found.code] == ["g = b", "g = a", "g = (missing)"]


WITH_GAP = ["b", None, "a"]
CONTAINERS = [
    np.array(WITH_GAP, dtype=np.dtypes.StringDType(na_object=None)),
    np.array(["b", np.nan, "a"], dtype=np.dtypes.StringDType(na_object=np.nan)),
    boxed(WITH_GAP),
    pd.Categorical(WITH_GAP),
    pd.Series(WITH_GAP, dtype="string"),
    pa.array(WITH_GAP),
    pl.Series(WITH_GAP),
    pl.Series(WITH_GAP, dtype=pl.Categorical),
]


@pytest.mark.parametrize("labels", CONTAINERS, ids=lambda labels: type(labels).__module__)
def test_a_missing_label_in_any_container(labels, refusal):
    assert sorted(grouped(labels).names) == ["g = (missing)", "g = a", "g = b"]
    assert refusal(read_row_labels, labels, 3).startswith("groups must not be missing; row 1 is ")
    assert refusal(read_covariate_table, {"x": labels}, 3, None).startswith("covariates (x) must not be missing; row 1")


def test_arrays_of_strings():
    """NumPy's own strings, which may be read-only, are labels and categories like any other."""
    labels = np.array(["b", "a", "b"], dtype=np.dtypes.StringDType(na_object=None))
    labels.flags.writeable = False
    assert grouped(labels).names == ["g = a", "g = b"]
    assert read_row_labels(labels, 3).code.tolist() == [1, 0, 1]
    assert read_covariate_table(labels, 3, None).labels == (("a", "b"),)


def test_what_are_no_labels(refuses):
    cases = [
        (["a", "b"], 3, "expected 3 rows, got shape (2,)"),
        (np.zeros((2, 2)), 2, "got shape (2, 2)"),
        ("ab", 2, "groups must be an array"),
        ([1, {}], 2, "row 1 is {}"),
        (pl.LazyFrame({"g": ["a", "b"]}), 2, "groups is a lazy frame"),
    ]
    refuses(read_row_labels, cases)


@pytest.mark.parametrize(("labels", "order"), [([3, 1, 2], [1, 2, 0]), (["b", 2, "a", 1], [3, 1, 2, 0])])
def test_order(labels, order):
    assert label_order(labels) == order


class TestTinyGroups:
    def test_a_column_of_numbers_is_refused(self, refusal):
        message = refusal(read_groups, {"{age}": np.linspace(0, 1, 5000)}, 5000, intersections=1, keep=None)
        assert "the groups of {age} are too small to say anything about any of them" in message
        assert "there are 5,000, of a median size of 1. Put numbers into ranges first" in message

    @pytest.mark.parametrize(
        "labels", [np.arange(20), np.arange(5000) // 10, np.append(np.arange(500), np.full(10, -1))]
    )
    def test_few_groups_and_columns_with_a_larger_group_are_not(self, labels):
        assert len(names(labels)) == np.unique(labels).size

    def test_nor_is_one_batch_of_many(self):
        assert read_groups(np.arange(50), 50, intersections=1, keep=None, is_batch=True)
