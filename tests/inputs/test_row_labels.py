"""Labels of rows."""

import datetime

import numpy as np
import pytest

from calibrant.inputs.row_labels import label_order, read_row_labels


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
        ([np.int64(4), np.int64(3)], [1, 0], (3, 4)),
    ],
)
def test_labels_of_any_kind(labels, code, values):
    found = read_row_labels(labels, len(labels))
    assert found.code.tolist() == code
    assert found.values == values
    assert [type(value) for value in found.values] == [type(value) for value in values]


def test_frames(require):
    pandas, polars = require("pandas"), require("polars")
    for column in (pandas.Series(["b", "a"], index=[7, 3]), pandas.Categorical(["b", "a"]), polars.Series(["b", "a"])):
        assert read_row_labels(column, 2).values == ("a", "b")


def test_different_labels_stay_different():
    class Odd:
        def __str__(self):
            return "1"

        def __repr__(self):
            return "one"

    found = read_row_labels(["1", Odd()], 2)
    assert len(set(found.values)) == 2


def test_kept_rows():
    keep = np.array([True, False, True])
    found = read_row_labels(["b", None, "a"], 2, keep=keep)
    assert found.code.tolist() == [1, 0]


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), np.datetime64("NaT")])
def test_missing_ones_are_named_with_their_row(missing, refusal):
    keep = np.array([False, True, True])
    labels = np.array(["a", "b", missing], dtype=object)
    assert "series must not be missing; row 2 is" in refusal(read_row_labels, labels, 2, name="series", keep=keep)


def test_missing_numbers_and_times(refusal):
    assert "row 1 is nan" in refusal(read_row_labels, np.array([1.0, np.nan]), 2)
    assert "row 0" in refusal(read_row_labels, np.array(["NaT", "2024"], "datetime64[Y]"), 2)


def test_shapes(refusal):
    assert "expected 3 rows, got shape (2,)" in refusal(read_row_labels, ["a", "b"], 3)
    assert "got shape (2, 2)" in refusal(read_row_labels, np.zeros((2, 2)), 2)
    assert "groups must be an array" in refusal(read_row_labels, "ab", 2)
    assert "row 1 is {}" in refusal(read_row_labels, [1, {}], 2)


def test_order():
    assert label_order([3, 1, 2]) == [1, 2, 0]
    assert label_order(["b", 2, "a", 1]) == [3, 1, 2, 0]
