"""Outcomes: what counts as an event or a column, and what is refused with its row."""

import enum
from decimal import Decimal

import numpy as np
import pytest

from calibrant import ece
from calibrant.inputs.labels import moment_texts, plain_label, read_columns, read_events

SCORES = [0.25, 0.625, 0.875]


def events(y, rows=None, classes=None, pos_label=None):
    return read_events(np.asarray(y), rows, classes=classes, pos_label=pos_label).tolist()


def columns(y, K=3, rows=None, classes=None):
    return read_columns(np.asarray(y), rows, K=K, classes=classes).tolist()


class TestEvents:
    def test_zeros_and_ones_of_every_type(self):
        for dtype in ("bool", "int8", "uint64", ">i4", "float16", "float64"):
            assert events(np.array([0, 1, 1]).astype(dtype)) == [0, 1, 1]
        for values in ([0, 1, 1], [False, True, True], [0.0, 1, 1.0]):
            assert events(np.array(values, dtype=object)) == [0, 1, 1]
        assert (events([0, 0]), events([1, 1])) == ([0, 0], [1, 1])

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

    def test_the_second_of_two_classes_is_the_event(self, require):
        for make in (list, tuple, np.array, require("pandas").Index):
            assert events(["no", "yes", "yes"], classes=make(["no", "yes"])) == [0, 1, 1]


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


def test_events_refused(refuses):
    refuses(lambda y, options: ece(y, SCORES, **options), EVENTS_REFUSED)


def test_missing_outcomes_of_frames(require, refuses, refusal):
    pandas, polars, arrow = require("pandas"), require("polars"), require("pyarrow")
    columns = [pandas.Series([0, None, 1], dtype=t) for t in ("Int64", "boolean", "Float64", "category", "object")]
    for values in ([0, None, 1], [False, None, True], [0.0, None, 1.0]):
        columns += [polars.Series(values), arrow.array(values)]
    refuses(lambda y: ece(y, SCORES), [(y, ["row 1 is", "missing"]) for y in columns])
    for dtype in ("string", "category", "object"):
        y = pandas.Series(["no", None, "yes"], dtype=dtype)
        assert "row 1 is" in refusal(ece, y, SCORES, pos_label="yes")
        assert "row 1 is" in refusal(ece, y, SCORES, classes=["no", "yes"])


class TestColumns:
    def test_column_numbers_of_every_type(self):
        for dtype in ("int8", "uint16", "float32", ">i8", "object"):
            assert columns(np.array([2, 0, 1]).astype(dtype)) == [2, 0, 1]

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


def test_columns_refused(refuses):
    refuses(lambda y, options: ece(y, [[0.5, 0.25, 0.25]] * 3, **options), COLUMNS_REFUSED)


def test_row_numbers_are_the_callers(refusal):
    # Row 0 weighs nothing and is dropped, with its bad outcome; the bad one that is left came as row 2.
    assert "row 2 is 5" in refusal(ece, [9, 1, 5], SCORES, weights=[0, 1, 1])
    assert "row 2 is 5" in refusal(ece, [9, 1, 5], [[0.5, 0.5]] * 3, weights=[0, 1, 1])
    assert "row 2 is 'z'" in refusal(ece, ["y", "a", "z"], SCORES, classes=["a", "b"], weights=[0, 1, 1])
    assert "row 2 is None" in refusal(ece, [None, "a", None], SCORES, pos_label="a", weights=[0, 1, 1])


MOMENTS = [
    *(("2024-02-29T06:00:00", f"M8[{unit}]", "2024-02-29T06:00:00") for unit in ("h", "m", "s", "ms", "us", "ns")),
    ("2024-02-29T06:00:00.250", "M8[ns]", "2024-02-29T06:00:00.25"),
    ("2024-02-20", "M8[D]", "2024-02-20"),
    (90, "m8[s]", "90000000000 nanoseconds"),
    (90_000, "m8[ms]", "90000000000 nanoseconds"),
    (200_000, "m8[D]", "200000 days"),  # spans of centuries keep their unit
]


@pytest.mark.parametrize(("value", "dtype", "text"), MOMENTS)
def test_moments_and_spans(value, dtype, text):
    assert moment_texts(np.array([value, "NaT"], dtype=dtype)) == [text, "NaT"]


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
