"""Predictions at the boundary: what is read, and what is refused with row, value and remedy."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from calibrant import ece, kuiper_test, one_vs_rest, top_label
from calibrant.inputs.probabilities import Binary, Classes, read_binary, read_probabilities

Y = [0, 1, 0]


class TestRead:
    def test_one_column_gives_binary_and_several_classes(self):
        rows = read_probabilities([0, 1], [0.25, 1.0])
        assert isinstance(rows, Binary)
        assert (rows.n, rows.y.tolist(), rows.p.tolist(), rows.w.tolist()) == (2, [0, 1], [0.25, 1.0], [1.0, 1.0])
        rows = read_probabilities([2, 0], [[0.25, 0.25, 0.5], [1, 0, 0]], weights=[1, 3])
        assert isinstance(rows, Classes)
        assert (rows.n, rows.K, rows.y.tolist(), rows.w.tolist()) == (2, 3, [2, 0], [1.0, 3.0])

    def test_precision_is_kept_and_other_numbers_become_float64(self):
        for dtype in ("float16", "float32", "float64"):
            assert read_binary([0, 1], np.array([0.3, 0.4], dtype), verb="x").p.dtype == dtype
        for p in ([0, 1], np.array([0, 1], "uint8"), np.array([0.0, 1.0], "longdouble")):
            rows = read_binary([0, 1], p, verb="x")
            assert (rows.p.dtype, rows.p.tolist()) == ("float64", [0.0, 1.0])

    def test_ends_negative_zero_and_one_row_are_legal(self):
        assert ece([0, 1, 0], [0.0, 1.0, -0.0]) == 0.0
        assert ece([1], [0.75]) == ece([1], [[0.25, 0.75]]) == 0.25

    def test_a_row_may_be_off_by_a_millionth(self):
        assert read_probabilities([0], [[0.5, 0.5 + 9e-7]]).n == 1
        assert read_probabilities([0], np.array([[0.1] * 10], "float32")).n == 1

    def test_rows_are_summed_in_float64(self):
        # 2000 equal columns of 1/2048 and one for the rest: exact in float16, but a float16 sum stalls.
        P = np.append(np.full(2000, 1 / 2048), 48 / 2048).astype("float16")[None, :]
        assert read_probabilities([0], P).K == 2001


class TestWeightlessRows:
    def test_are_dropped_before_they_are_checked(self):
        # Row 1 has a missing score and no outcome there is. What is left is off by 0.25 in each of two bins.
        for missing in (np.nan, None):
            assert ece([0, 9, 1], [0.25, missing, 0.75], weights=[1, 0, 1], bins=2) == 0.25
        P = [[0.25, 0.75], [np.nan, 7], [0.5, 0.5]]
        assert ece([1, 5, 0], P, weights=[1, 0, 1], bins=2) == ece([1, 0], [P[0], P[2]], bins=2)

    def test_row_numbers_stay_the_callers(self, refuses):
        cases = [
            ([np.nan, 0.5, 1.5], "row 2 is 1.5"),
            ([[7, 7], [0.5, 0.5], [0.5, 0.25]], "row 2 sums to 0.75"),
            ([[7, 7], [0.5, 0.5], [0.5, -0.5]], "row 2, column 1 is -0.5"),
        ]
        refuses(lambda p: ece([0, 1, 1], p, weights=[0, 1, 1]), cases)

    def test_ones_and_zeros_equal_the_rows_that_stay(self):
        y, p = np.array([0, 1, 1, 0]), np.array([0.1, 0.3, 0.6, 0.9])
        keep = np.array([True, False, True, True])
        assert ece(y, p, weights=keep.astype(float)) == pytest.approx(ece(y[keep], p[keep]), rel=1e-12)


OUT_OF_RANGE = {
    "NaN": ([0.1, np.nan, 0.3], ["[0, 1]", "row 1 is nan (missing)", "Drop or repair"]),
    "None": ([0.1, None, 0.3], ["[0, 1]", "row 1 is", "missing", "Drop or repair"]),
    "infinite": ([0.1, np.inf, 0.3], ["[0, 1]", "row 1 is inf"]),
    "minus infinite": ([0.1, -np.inf, 0.3], ["[0, 1]", "row 1 is -inf"]),
    "a little above": ([0.1, 1 + 1e-7, 0.3], ["[0, 1]", "row 1 is 1.0000001", "numpy.clip"]),
    "a little below": ([0.1, 0.2, -1e-7], ["[0, 1]", "row 2 is -1e-07", "numpy.clip"]),
    "percent": ([10.0, 20.0, 95.0], ["[0, 1]", "row 0 is 10.0", "divide by 100"]),
    "percent as integers": ([10, 20, 95], ["[0, 1]", "row 0 is 10.0", "divide by 100"]),
    "one percentage among fractions": ([0.1, 20.0, 0.95], ["[0, 1]", "row 1 is 20.0", "divide by 100"]),
    "logits": ([0.5, -2.5, 1.2], ["[0, 1]", "row 1 is -2.5", "expit", "softmax"]),
    "positive logits": ([0.5, 1.2, 0.1], ["[0, 1]", "row 1 is 1.2", "expit"]),
    "float32 a little above": (np.array([0.1, 1, 1 + 2e-7], "float32"), ["row 2 is 1.000000", "numpy.clip"]),
}


NO_PROBABILITIES = {
    "(n, 1)": (np.full((3, 1), 0.5), ["1-D", "got shape (3, 1)", "Pass its one column"]),
    "0-d": (np.array(0.5), ["1-D", "got shape ()"]),
    "3-D": (np.full((3, 2, 2), 0.5), ["1-D", "got shape (3, 2, 2)"]),
    "no columns": (np.zeros((3, 0)), ["K >= 2", "got shape (3, 0)"]),
    "text": (["0.1", "0.2", "0.3"], ["numbers", "row 0 is '0.1' (str)"]),
    "array of text": (np.array(["0.1", "0.2", "0.3"]), ["probabilities", "'0.1'", ".astype(float)"]),
    "one text": ([0.1, "high", 0.3], ["numbers", "row 1 is 'high' (str)"]),
    "objects": ([0.1, object, 0.3], ["numbers", "row 1 is <class 'object'> (type)"]),
    "one boolean among objects": (np.array([0.1, True, 0.3], object), ["numbers", "row 1 is True (bool)"]),
    "booleans": ([True, False, True], ["probabilities", "type bool, such as True", "predict_proba"]),
    "complex": (np.array([0.1j, 0.2, 0.3]), ["probabilities", "complex128", "0.1j"]),
    "dates": (np.array(["2020-01-01"] * 3, "M8[D]"), ["probabilities", "datetime64[D]"]),
    "durations": (np.array([0, 1, 1], "m8[s]"), ["probabilities", "timedelta64[s]"]),
    "records": (np.zeros(3, [("p", float)]), ["probabilities", "'p'"]),
}


OFF_THE_SIMPLEX = {
    "sum": ([[0.5, 0.5], [0.5, 0.6]], ["sum to 1 within 1e-06", "row 1 sums to 1.1", "P / P.sum("]),
    "sum off by two millionths": ([[0.5, 0.5], [0.5, 0.5 - 2e-6]], ["row 1 sums to 0.999998"]),
    "NaN": ([[0.5, 0.5], [np.nan, 1.0]], ["row 1, column 0 is nan (missing)"]),
    "negative": ([[0.5, 0.5], [1.5, -0.5]], ["row 1, column 0 is 1.5", "softmax"]),
    "logits": ([[3.0, -3.0], [0.0, 1.0]], ["row 0, column 0 is 3.0", "softmax"]),
    "percent": ([[60.0, 40.0], [10.0, 90.0]], ["row 0, column 0 is 60.0", "divide by 100"]),
    "text in a row": ([[0.5, 0.5], [0.5, "x"]], ["row 1 is 'x' (str)"]),
}


ROWS_THAT_DO_NOT_MATCH = {
    "y shorter": ([0, 1], [0.1, 0.2, 0.3], ["same number of rows", "2 outcomes and 3 predictions"]),
    "y longer": ([0, 1, 1, 0], [0.1, 0.2, 0.3], ["same number of rows", "4 outcomes and 3 predictions"]),
    "one outcome": ([1], [0.1, 0.2, 0.3], ["1 outcomes and 3 predictions"]),  # never broadcast
    "one-hot": (np.eye(3), np.eye(3), ["1-D", "got shape (3, 3)", "numpy.argmax(y, axis=1)"]),
    "y as a column": (np.ones((3, 1)), [0.1, 0.2, 0.3], ["1-D", "got shape (3, 1)", "pass the column of labels"]),
    "0-d y": (np.array(1), [0.1, 0.2, 0.3], ["1-D", "got shape ()"]),
    "empty": ([], [], ["no rows", "at least one row"]),
    "empty matrix": ([], np.zeros((0, 3)), ["no rows", "at least one row"]),
    "empty scores": ([0, 1], [], ["no rows"]),
    "swapped": ([0.2, 0.7, 0.1], [0, 1, 0], ["0 and 1", "row 0 is 0.2", "swapped?"]),
    "matrix swapped": (np.full((3, 2), 0.5), [0, 1, 0], ["y must be 1-D"]),
}


def test_refused(refuses):
    refuses(partial(ece, Y), OUT_OF_RANGE)
    refuses(partial(ece, Y), NO_PROBABILITIES)
    refuses(partial(ece, [0, 1]), OFF_THE_SIMPLEX)
    refuses(ece, ROWS_THAT_DO_NOT_MATCH)
    words = ["kuiper_test", "one probability per row", "(2, 2)", "top_label(y, P)", "one_vs_rest(y, P, k)"]
    refuses(kuiper_test, [([0, 1], [[0.5, 0.5], [0.25, 0.75]], words)])


def test_missing_scores_of_frames(require, refusal):
    pandas, polars, pyarrow = require("pandas"), require("polars"), require("pyarrow")
    values = [0.1, None, 0.3]
    for column in (pandas.Series(values, dtype="Float64"), polars.Series(values), pyarrow.array(values)):
        assert "row 1 is nan (missing)" in refusal(ece, Y, column)
    frame = polars.DataFrame({"a": values, "b": [0.9, 0.5, 0.7]})
    assert "row 1, column 0 is nan (missing)" in refusal(ece, Y, frame)


def test_reductions_of_classes():
    def lists(rows):
        return rows.y.tolist(), rows.p.tolist(), rows.w.tolist()

    P = [[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.0, 0.75, 0.25]]
    rows = read_probabilities([0, 1, 2], P, weights=[1, 2, 3])
    assert lists(rows.top_label()) == ([1, 1, 0], [0.5, 0.5, 0.75], [1.0, 2.0, 3.0])  # the first of tied classes
    assert lists(rows.one_vs_rest(2)) == ([0, 0, 1], [0.0, 0.25, 0.25], [1.0, 2.0, 3.0])
    first, second, third = rows.by_predicted_label()
    assert lists(first) == ([1], [0.5], [1.0])
    assert lists(second) == ([1, 0], [0.5, 0.75], [2.0, 3.0])
    assert third.n == 0


P = np.array([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.0, 0.25, 0.75]])


class TestTopLabel:
    def test_outcome_and_confidence(self):
        correct, confidence = top_label([1, 1, 2], P)
        assert correct.tolist() == [False, True, True]  # ties go to the lowest column
        assert confidence.tolist() == [0.5, 0.5, 0.75]
        assert correct.dtype == bool
        assert top_label(["a", "b", "c"], P, classes=["a", "b", "c"])[0].all()
        assert top_label([0, 0, 0], P.astype("float32"))[1].dtype == "float32"

    def test_confidence_ece_is_the_ece_of_the_reduction(self, D2):
        assert ece(*D2) == pytest.approx(ece(*top_label(*D2)), rel=1e-12)
        assert ece(*D2, notion="confidence") == ece(*D2)


@pytest.mark.parametrize(
    ("y", "k", "classes", "happened", "probability"),
    [
        ([1, 1, 2], 2, None, [False, False, True], [0.0, 0.25, 0.75]),
        (["a", "b", "c"], "b", ["a", "b", "c"], [False, True, False], [0.5, 0.5, 0.25]),
        ([1, 2, 3], 1, [1, 2, 3], [True, False, False], [0.5, 0.25, 0.0]),  # with classes= a number is a label
    ],
)
def test_one_vs_rest(y, k, classes, happened, probability):
    assert [part.tolist() for part in one_vs_rest(y, P, k, classes=classes)] == [happened, probability]


def test_reductions_are_copies():
    for _, probability in (top_label([0, 0, 0], P), one_vs_rest([0, 0, 0], P, 2)):
        probability[:] = 0
        assert P.max() == 0.75


def test_refused_reductions(refuses):
    cases = [
        (3, None, ["column number 0..2", "got 3"]),
        (-1, None, ["at least 0", "got -1"]),
        (1.0, None, ["whole number", "got 1.0"]),
        ("a", None, ["whole number", "got 'a'"]),
        ("z", [0, 1, 2], ["one of classes=[0, 1, 2]", "got 'z'"]),
    ]
    refuses(lambda k, classes: one_vs_rest([0, 1, 2], P, k, classes=classes), cases)
    refuses(top_label, [([0, 1], [0.5, 0.5], "got a 1-D prediction, which needs no reduction")])


def test_other_predictions_are_refused_with_the_class_that_they_belong_to(refuses):
    y = np.array([0.3, -1.2, 0.7])
    cases = [
        (np.zeros((3, 2, 4)), "as Intervals(bounds[:, 0], bounds[:, 1], levels)"),
        (np.zeros((3, 2, 1)), "as Intervals(bounds[:, 0, 0], bounds[:, 1, 0], level)"),
        ((y - 1, y + 1), "Pass bounds as Intervals(lower, upper, level)"),
        (np.stack([y - 1, y, y + 1], axis=1), "if quantiles Quantiles(values, levels)"),
        (np.stack([y + 20, y + 30, y + 40], axis=1), "if quantiles Quantiles(values, levels)"),
        (np.array(["yes", "no", "yes"]), "If these are predicted labels, pass probabilities"),
        (np.array(["0.4", "0.3", "0.2"]), "convert them with .astype(float)"),
        (np.array(["46%", "3 %", "2%"]), "Drop the percent signs, convert to numbers and divide by 100"),
    ]
    refuses(partial(read_probabilities, y), cases)


class TestFramesOfClasses:
    P = pd.DataFrame([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]], columns=["zero", "one", "two"])

    def test_columns_in_another_order_than_classes_are_refused(self, refusal):
        """Ten digits named in words, with the alphabetical `classes_` of a model: an ECE of 0.865 for 0.0225."""
        for P in (self.P, self.P.add_prefix("p_").add_suffix(" (raw)")):
            message = refusal(ece, ["zero", "one"], P, classes=["one", "two", "zero"])
            assert f"column 0 is {P.columns[0]!r}, and the first class 'one'" in message
            assert ece(["zero", "one"], P, classes=["zero", "one", "two"]) == ece([0, 1], self.P)

    @pytest.mark.parametrize("names", [[2, 0, 1], ["p2", "p0", "p1"]])
    def test_column_numbers_in_another_order_are_refused(self, refusal, names):
        message = refusal(ece, [0, 1], self.P.set_axis(names, axis=1))
        assert f"column 0 is '{names[0]}', and the first class '0'" in message

    def test_columns_of_other_classes_are_refused(self, refusal):
        message = refusal(ece, ["a", "b"], self.P, classes=["a", "b", "c"])
        assert message.startswith("the columns of prediction are called 'zero', 'one', 'two', and the classes 'a', 'b'")
        assert message.endswith("pass them without names, prediction.to_numpy()")
        assert ece(["a", "b"], self.P.to_numpy(), classes=["a", "b", "c"]) == ece([0, 1], self.P)
        cars = ["cat", "car", "can"]  # which begin alike
        named = self.P.set_axis([f"p_{name}" for name in cars], axis=1)
        assert ece(cars[:2], named, classes=cars) == ece([0, 1], self.P)

    @pytest.mark.parametrize("names", [[0, 1, 2], ["p0", "p1", "p2"]])
    def test_other_names_are_no_reason(self, names):
        classes = ["a", "b", "c"] if "p0" in names else [1, 2, 0]  # numbers of columns are no names
        assert ece(classes[:2], self.P.set_axis(names, axis=1), classes=classes) == ece([0, 1], self.P)


def test_two_columns_are_judged_by_the_more_probable_class():
    p = np.array([0.2, 0.2, 0.8, 0.8])
    y = [0, 0, 1, 0]
    P = np.column_stack([1 - p, p])
    assert ece(y, P) == pytest.approx(ece(*top_label(y, P))) == pytest.approx(0.05)
    assert ece(y, P[:, 1]) == pytest.approx(0.25)
