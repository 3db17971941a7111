"""Outcomes: what counts as an event or a column, and what is refused with its row."""

import enum
from decimal import Decimal

import numpy as np
import pytest

from calibrant import ece
from calibrant.inputs.labels import moment_texts, plain_label, read_classes, read_columns, read_events

SCORES = [0.25, 0.625, 0.875]


def events(y, rows=None, classes=None, pos_label=None):
    return read_events(np.asarray(y), rows, classes=classes, pos_label=pos_label).tolist()


def columns(y, K=3, rows=None, classes=None):
    return read_columns(np.asarray(y), rows, K=K, classes=classes).tolist()


class TestEvents:
    @pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", ">i4", "float16", "float64"])
    def test_zeros_and_ones_of_every_type(self, dtype):
        assert events(np.array([0, 1, 1]).astype(dtype)) == [0, 1, 1]

    def test_one_class_alone_is_legal(self):
        assert events([0, 0]) == [0, 0]
        assert events([1, 1]) == [1, 1]

    @pytest.mark.parametrize("values", [[0, 1, 1], [False, True, True], [0.0, 1, 1.0]])
    def test_objects_that_are_zeros_and_ones(self, values):
        assert events(np.array(values, dtype=object)) == [0, 1, 1]

    @pytest.mark.parametrize(
        ("y", "pos_label", "expected"),
        [
            (["no", "yes"], "yes", [0, 1]),
            ([1, 2], 2, [0, 1]),
            ([-1, 1], 1, [0, 1]),
            ([0, 1], 0, [1, 0]),
            ([False, True], False, [1, 0]),
            ([0.5, 1.5], 1.5, [0, 1]),
            (np.array([1, "1"], dtype=object), "1", [0, 1]),  # a number is not the text that looks like it
            (["a", "a"], "b", [0, 0]),  # a batch without events
        ],
    )
    def test_pos_label_names_the_event(self, y, pos_label, expected):
        assert events(y, pos_label=pos_label) == expected

    @pytest.mark.parametrize("classes", [["no", "yes"], ("no", "yes"), np.array(["no", "yes"])])
    def test_the_second_of_two_classes_is_the_event(self, classes):
        assert events(["no", "yes", "yes"], classes=classes) == [0, 1, 1]


EVENTS_REFUSED = {
    "minus one": ([1, -1, 1], {}, ["0 and 1", "row 1 is -1", "pos_label="]),
    "one and two": ([1, 2, 1], {}, ["0 and 1", "row 1 is 2", "pos_label="]),
    "soft": ([0, 0.9, 1], {}, ["0 and 1", "row 1 is 0.9", "swapped?", "Soft labels"]),
    "nearly one": ([0, 1 + 1e-7, 1], {}, ["0 and 1", "row 1 is 1.0000001"]),
    "NaN": ([0, np.nan, 1], {}, ["0 and 1", "row 1 is nan (missing)", "drop rows"]),
    "infinite": ([0, 1, np.inf], {}, ["0 and 1", "row 2 is inf"]),
    "None": ([0, None, 1], {}, ["row 1 is", "missing", "rop "]),
    "text": (["no", "yes", "no"], {}, ["0 and 1", "row 0 is 'no'", "pos_label="]),
    "one text among numbers": ([0, 1, "yes"], {}, ["0 and 1", "row 2 is 'yes'", "pos_label="]),
    "one number too large among objects": ([0, 1, 10**30], {}, ["0 and 1", "row 2 is 1"]),
    "dates": (np.array(["2020-01-01"] * 3, "M8[D]"), {}, ["0 and 1", "row 0 is datetime.date(2020, 1, 1)"]),
    "complex": (np.array([0, 1, 1j]), {}, ["0 and 1", "row"]),
    "misspelt pos_label": (["no", "yes", "no"], {"pos_label": "jes"}, ["'jes' is not among", "'no', 'yes'"]),
    "text pos_label of numbers": ([0, 1, 0], {"pos_label": "1"}, ["'1' is not among", "0, 1"]),
    "a space behind the event": (["yes", "no", "yes "], {"pos_label": "yes"}, ["row 2 is 'yes '", "non-event"]),
    "case of the event": ([1, "yes", "Yes"], {"pos_label": "yes"}, ["pos_label='yes'", "row 2 is 'Yes'"]),
    "missing beside pos_label": (["no", None, "yes"], {"pos_label": "yes"}, ["missing", "row 1 is None"]),
    "NaN beside pos_label": ([1, np.nan, 2], {"pos_label": 2}, ["missing", "row 1 is nan"]),
    "both": ([0, 1, 0], {"classes": [0, 1], "pos_label": 1}, ["either classes= or pos_label="]),
    "unknown label": (["a", "b", "c"], {"classes": ["a", "b"]}, ["['a', 'b']", "row 2 is 'c'"]),
    "three classes": (["a", "b", "c"], {"classes": ["a", "b", "c"]}, ["2 labels for a binary", "got 3"]),
    "twin classes": (["a", "a", "a"], {"classes": ["a", "a"]}, ["different", "'a' comes twice"]),
    "classes as text": (["a", "b", "a"], {"classes": "ab"}, ["list of labels", "'ab'"]),
}


@pytest.mark.parametrize("name", EVENTS_REFUSED)
def test_events_refused(refusal, name):
    y, options, words = EVENTS_REFUSED[name]
    message = refusal(ece, y, SCORES, **options)
    assert all(word in message for word in words), message


class TestMissing:
    @pytest.mark.parametrize("dtype", ["Int64", "boolean", "Float64", "category", "object"])
    def test_pandas(self, require, refusal, dtype):
        y = require("pandas").Series([0, None, 1], dtype=dtype)
        message = refusal(ece, y, SCORES)
        assert "row 1 is" in message
        assert "missing" in message

    @pytest.mark.parametrize("values", [[0, None, 1], [False, None, True], [0.0, None, 1.0]])
    def test_polars_and_arrow(self, require, refusal, values):
        for column in (require("polars").Series(values), require("pyarrow").array(values)):
            message = refusal(ece, column, SCORES)
            assert "row 1 is" in message
            assert "missing" in message

    @pytest.mark.parametrize("dtype", ["string", "category", "object"])
    def test_labels(self, require, refusal, dtype):
        y = require("pandas").Series(["no", None, "yes"], dtype=dtype)
        assert "row 1 is" in refusal(ece, y, SCORES, pos_label="yes")
        assert "row 1 is" in refusal(ece, y, SCORES, classes=["no", "yes"])


class TestColumns:
    @pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", ">i8"])
    def test_column_numbers_of_every_type(self, dtype):
        assert columns(np.array([2, 0, 1]).astype(dtype)) == [2, 0, 1]

    def test_objects_that_are_column_numbers(self):
        assert columns(np.array([2, 0, 1], dtype=object)) == [2, 0, 1]

    @pytest.mark.parametrize(
        ("y", "classes"), [(["c", "a", "b"], ["a", "b", "c"]), ([3, 1, 2], [1, 2, 3]), ([3.0, 1.0, 2.0], (1, 2, 3))]
    )
    def test_labels_in_the_order_of_the_columns(self, y, classes):
        assert columns(y, classes=classes) == [2, 0, 1]

    def test_a_class_that_never_occurs_is_legal(self):
        assert columns(["a", "a"], classes=["a", "b", "c"]) == [0, 0]


COLUMNS_REFUSED = {
    "too large": ([0, 1, 3], {}, ["0..2 (3 columns)", "row 2 is 3", "classes="]),
    "negative": ([0, -1, 1], {}, ["0..2", "row 1 is -1", "classes="]),
    "fraction": ([0, 0.5, 1], {}, ["0..2", "row 1 is 0.5"]),
    "NaN": ([0, np.nan, 1], {}, ["row 1 is nan", "missing"]),
    "None": ([0, None, 1], {}, ["row 1 is", "missing"]),
    "text": (["a", "b", "c"], {}, ["0..2", "row 0 is 'a'", "classes="]),
    "one text among numbers": ([0, 1, "c"], {}, ["0..2", "row 2 is 'c'", "classes="]),
    "unknown label": (["a", "z", "b"], {"classes": ["a", "b", "c"]}, ["['a', 'b', 'c']", "row 1 is 'z'"]),
    "too few classes": ([0, 1, 1], {"classes": [0, 1]}, ["3 labels for 3 columns", "got 2"]),
    "twin classes": ([0, 1, 1], {"classes": [0, 1, 1]}, ["different", "1 comes twice"]),
    "pos_label": ([0, 1, 1], {"pos_label": 1}, ["1-D prediction", "classes="]),
}


@pytest.mark.parametrize("name", COLUMNS_REFUSED)
def test_columns_refused(refusal, name):
    y, options, words = COLUMNS_REFUSED[name]
    message = refusal(ece, y, [[0.5, 0.25, 0.25]] * 3, **options)
    assert all(word in message for word in words), message


def test_row_numbers_are_the_callers(refusal):
    # Row 0 weighs nothing and is dropped, with its bad outcome; the bad one that is left came as row 2.
    assert "row 2 is 5" in refusal(ece, [9, 1, 5], SCORES, weights=[0, 1, 1])
    assert "row 2 is 5" in refusal(ece, [9, 1, 5], [[0.5, 0.5]] * 3, weights=[0, 1, 1])
    assert "row 2 is 'z'" in refusal(ece, ["y", "a", "z"], SCORES, classes=["a", "b"], weights=[0, 1, 1])
    assert "row 2 is None" in refusal(ece, [None, "a", None], SCORES, pos_label="a", weights=[0, 1, 1])


@pytest.mark.parametrize("classes", [["a", "b"], ("a", "b"), np.array(["a", "b"])])
def test_classes_may_be_any_sequence(classes):
    assert read_classes(classes, expected=2, given_by="2 columns") == ["a", "b"]


def test_classes_from_a_frame(require):
    index = require("pandas").Index(["a", "b"])
    assert read_classes(index, expected=2, given_by="2 columns") == ["a", "b"]


@pytest.mark.parametrize("unit", ["h", "m", "s", "ms", "us", "ns"])
def test_a_moment_in_any_unit(unit):
    moments = np.array(["2024-02-29T06:00:00", "NaT"], dtype=f"M8[{unit}]")
    assert moment_texts(moments) == ["2024-02-29T06:00:00", "NaT"]


def test_parts_of_a_second_stay():
    assert moment_texts(np.array(["2024-02-29T06:00:00.250"], dtype="M8[ns]")) == ["2024-02-29T06:00:00.25"]


def test_days_stay_days():
    assert moment_texts(np.array(["2024-02-20"], dtype="M8[D]")) == ["2024-02-20"]


def test_spans_in_any_unit():
    texts = [moment_texts(np.array([k, "NaT"], dtype=f"m8[{unit}]")) for k, unit in ((90, "s"), (90_000, "ms"))]
    assert texts == [["90000000000 nanoseconds", "NaT"]] * 2


def test_spans_of_centuries_keep_their_unit():
    assert moment_texts(np.array([200_000], dtype="m8[D]")) == ["200000 days"]


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (Decimal("1.0"), 1),
        (Decimal("1E+2"), 100),
        (Decimal("-0.50"), Decimal("-0.5")),
        (Decimal("12345678901234567890"), 12345678901234567890),
        ("1.0", "1.0"),
        (1.0, 1.0),
        (None, None),
    ],
)
def test_decimals(value, form):
    found = plain_label(value)
    assert (found, type(found)) == (form, type(form))


def test_a_decimal_that_is_no_number_stays():
    assert plain_label(Decimal("NaN")).is_nan()


class TestManyLabels:
    """Labels of any kind find their column, in a time that grows with the rows and the labels, not with both."""

    class Colour(enum.StrEnum):
        RED = "red"
        BLUE = "blue"

    @pytest.mark.parametrize(
        ("y", "classes", "expected"),
        [
            (np.array(["b", "a", "c"]), ["a", "b", "c"], [1, 0, 2]),
            (np.array([b"b", b"a"]), [b"a", b"b", b"c"], [1, 0]),
            (np.array(["b", 2, None.__class__], object), ["b", 2, None.__class__], [0, 1, 2]),
            (np.array([1.0, "1"], object), ["1", 1, "x"], [1, 0]),
            (np.array([Colour.BLUE, Colour.RED], object), ["red", "blue", "x"], [1, 0]),
            (np.array([2, 1], np.uint8), [1, 2, 3], [1, 0]),
            (np.array([0.1], np.float32), [0.1, 2, 3], [0]),
            (np.array(["2020-01-02"], "M8[D]"), [*np.array(["2020-01-01", "2020-01-02"], "M8[D]"), 1], [1]),
        ],
        ids=["text", "bytes", "objects", "text and numbers", "enum", "whole numbers", "float32", "days"],
    )
    def test_columns(self, y, classes, expected):
        assert read_columns(y, None, K=3, classes=classes).tolist() == expected

    @pytest.mark.parametrize(
        ("y", "row"), [(np.array(["a", "z"]), 1), (np.array(["a", ["a"]], object), 1), (np.array([0, "a"], object), 0)]
    )
    def test_the_first_unknown_label_is_named(self, y, row, refusal):
        message = refusal(read_columns, y, None, K=2, classes=["a", "b"])
        assert f"row {row} is {y.tolist()[row]!r}" in message

    def test_text_is_not_compared_with_every_label(self):
        compared = 0

        class Counted(str):
            __hash__ = str.__hash__

            def __eq__(self, other):
                nonlocal compared
                compared += 1
                return str.__eq__(self, other)

        K, n = 300, 2000
        names = [Counted(f"label {k}") for k in range(K)]
        y = np.array([f"label {i % K}" for i in range(n)], object)
        assert read_columns(y, None, K=K, classes=names).tolist() == [i % K for i in range(n)]
        assert compared < 3 * (n + K)
