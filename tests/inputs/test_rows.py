"""Outcomes judged by predictive distributions, at the boundary."""

import numpy as np
import pytest

from calibrant import CdfValues, Intervals, Quantiles, Sets
from calibrant.inputs.arrays import is_unit
from calibrant.inputs.kinds import read_typed
from calibrant.inputs.parametric import MvNormal, Normal
from calibrant.inputs.rows import CdfRows, IntervalRows, QuantileRows, SetRows, read_outcomes
from calibrant.inputs.samples import Samples

DISTRIBUTION = Normal([0.0, 1.0, 2.0], 1.0)
VECTORS = MvNormal(np.zeros((3, 2)), np.eye(2))
ONE_COORDINATE = MvNormal(np.zeros((3, 1)), [[1.0]])


class TestRead:
    @pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", ">f8", "object"])
    def test_every_type_becomes_float64(self, dtype):
        rows = read_outcomes(np.array([1, 2, 3], dtype), DISTRIBUTION)
        assert rows.y.dtype == np.dtype("float64")
        assert rows.y.tolist() == [1.0, 2.0, 3.0]
        assert rows.distribution is DISTRIBUTION
        assert rows.n == 3
        assert is_unit(rows.w)

    def test_vectors(self):
        assert read_outcomes([[1, 2], [3, 4], [5, 6]], VECTORS).y.shape == (3, 2)
        assert read_outcomes([[1], [2], [3]], ONE_COORDINATE).y.shape == (3, 1)

    def test_frames(self, require):
        for library in ("pandas", "polars"):
            frame = require(library).DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})
            assert read_outcomes(frame["a"], DISTRIBUTION).y.tolist() == [1.0, 2.0, 3.0]
            assert read_outcomes(frame, VECTORS).y.tolist() == [[1, 4], [2, 5], [3, 6]]

    def test_rows_of_weight_0_are_dropped_whatever_they_hold(self):
        rows = read_outcomes([1.0, np.nan, 3.0], DISTRIBUTION, weights=[2, 0, 3])
        assert rows.n == rows.distribution.n == 2
        assert rows.y.tolist() == [1.0, 3.0]
        assert rows.distribution.mean.tolist() == [0.0, 2.0]
        assert rows.w.tolist() == [2.0, 3.0]

    def test_take(self):
        rows = read_outcomes([1.0, 2.0, 3.0], DISTRIBUTION, weights=[1, 2, 3]).take(np.array([2, 0]))
        assert rows.y.tolist() == [3.0, 1.0]
        assert rows.distribution.mean.tolist() == [2.0, 0.0]
        assert rows.w.tolist() == [3.0, 1.0]

    def test_the_callers_outcomes_are_not_modified(self):
        y = np.array([1.0, 2.0, 3.0])
        y.flags.writeable = False
        read_outcomes(y, DISTRIBUTION, weights=[1, 0, 1])
        assert y.tolist() == [1.0, 2.0, 3.0]


SWAPPED = Samples(np.zeros((5, 3, 2)))
REFUSED = {
    "no distribution": ([1, 2, 3], np.zeros(3), ["prediction must be a distribution", "Normal(mean, std)", "ndarray"]),
    "the class of a distribution": ([1, 2, 3], Normal, ["prediction must be a distribution"]),
    "too few": (
        [1, 2],
        DISTRIBUTION,
        ["shape (3,)", "one number for each of the 3 rows of Normal", "(2,)", "same table"],
    ),
    "too many": ([1, 2, 3, 4], DISTRIBUTION, ["got shape (4,)", "same table"]),
    "one number": (np.array(1.0), DISTRIBUTION, ["got shape ()"]),
    "a number": (1.0, DISTRIBUTION, ["got shape ()"]),
    "a column": ([[1], [2], [3]], DISTRIBUTION, ["got shape (3, 1)", "y[:, 0]"]),
    "vectors for a real distribution": (
        np.zeros((3, 2)),
        DISTRIBUTION,
        ["got shape (3, 2)", "distribution of vectors"],
    ),
    "numbers for vectors": ([1, 2, 3], VECTORS, ["shape (3, 2)", "one vector", "got shape (3,)", "vector per row"]),
    "numbers for one coordinate": ([1, 2, 3], ONE_COORDINATE, ["shape (3, 1)", "got shape (3,)", "y[:, None]"]),
    "other coordinates": (np.zeros((3, 4)), VECTORS, ["shape (3, 2)", "got shape (3, 4)"]),
    "swapped draws": (np.zeros((3, 2)), SWAPPED, ["axes of draws look swapped", "(n, M, D)", "swapaxes(draws, 0, 1)"]),
    "other draws": (np.zeros((4, 2)), SWAPPED, ["got shape (4, 2)", "same table"]),
    "missing": ([1, np.nan, 3], DISTRIBUTION, ["y must be finite", "row 1 is nan (missing)", "Drop or repair"]),
    "None": ([1, 2, None], DISTRIBUTION, ["y must be finite", "row 2 is nan (missing)"]),
    "infinite": ([np.inf, 2, 3], DISTRIBUTION, ["y must be finite", "row 0 is inf. Drop"]),
    "missing coordinate": ([[0, 0], [0, 0], [0, np.nan]], VECTORS, ["row 2, coordinate 1 is nan"]),
    "bool": ([True, False, True], DISTRIBUTION, ["y must be real numbers", "bool", "astype(float)"]),
    "text": (["a", "b", "c"], DISTRIBUTION, ["y must be real numbers", "row 0 is 'a'"]),
    "complex": ([1, 2, 3j], DISTRIBUTION, ["y must be real numbers", "complex128"]),
    "nothing": (None, DISTRIBUTION, ["y is missing"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(refusal, name):
    y, distribution, words = REFUSED[name]
    message = refusal(read_outcomes, y, distribution)
    assert all(word in message for word in words), message


def test_rows_are_counted_before_any_is_dropped(refusal):
    message = refusal(read_outcomes, [1.0, 2.0, np.inf], DISTRIBUTION, weights=[0, 1, 1])
    assert "row 2 is inf" in message
    message = refusal(read_outcomes, np.array([[0, 0], [0, 0], [np.nan, 0]]), VECTORS, weights=[0, 1, 1])
    assert "row 2, coordinate 0 is nan" in message


def test_weights_are_read_like_everywhere(refusal):
    assert "weights must have one value per row" in refusal(read_outcomes, [1, 2, 3], DISTRIBUTION, weights=[1, 2])


inf = np.inf
INTERVALS = Intervals([0, 0, 0], [1, 2, 3], 0.9)
QUANTILES = Quantiles([[0, 1], [0, 2], [0, 3]], [0.1, 0.9])
SETS = Sets([[True, False], [True, True], [False, False]], 0.9)


class TestReadJudged:
    def test_intervals(self):
        rows = read_typed([1, 2, 4], INTERVALS)
        assert isinstance(rows, IntervalRows)
        assert rows.covered[:, 0].tolist() == [True, True, False]
        assert rows.sizes[:, 0].tolist() == [1, 2, 3]
        assert is_unit(rows.w)
        assert rows.keep is None

    def test_quantiles(self):
        rows = read_typed([1, 0, 4], QUANTILES)
        assert isinstance(rows, QuantileRows)
        assert rows.covered.tolist() == [[False, True], [True, True], [False, False]]

    def test_sets(self):
        rows = read_typed(["b", "b", "a"], SETS, classes=["a", "b"])
        assert isinstance(rows, SetRows)
        assert rows.covered[:, 0].tolist() == [False, True, False]
        assert rows.sizes[:, 0].tolist() == [1, 2, 0]

    def test_values_of_a_distribution_function(self):
        rows = read_typed(None, CdfValues([0.1, 0.2]))
        assert isinstance(rows, CdfRows)
        assert rows.n == 2

    def test_a_float64_outcome_is_not_copied(self):
        y = np.arange(3.0)
        assert np.shares_memory(read_typed(y, INTERVALS).y, y)

    @pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float32"])
    def test_outcomes_become_float64(self, dtype):
        assert read_typed(np.array([1, 2, 3], dtype), INTERVALS).y.dtype == np.float64

    def test_columns_of_frames(self, require):
        pd, pl = require("pandas"), require("polars")
        for y in (pd.Series([1, 2, 4], index=[9, 8, 7]), pl.Series([1, 2, 4]), pd.array([1, 2, 4], dtype="Int64")):
            assert read_typed(y, INTERVALS).y.tolist() == [1, 2, 4]

    def test_large_outcomes_are_finite(self):
        assert read_typed([1.7e308, 1.7e308, -1e308], INTERVALS).n == 3


class TestWeights:
    @pytest.mark.parametrize(("y", "prediction"), [([1, 2, 4], INTERVALS), ([1, 2, 4], QUANTILES), ([0, 1, 0], SETS)])
    def test_rows_of_weight_zero_are_dropped(self, y, prediction):
        rows = read_typed(y, prediction, weights=[2, 0, 1])
        assert rows.n == 2
        assert rows.y.tolist() == [y[0], y[2]]
        assert rows.w.tolist() == [2, 1]
        assert rows.keep.tolist() == [True, False, True]

    @pytest.mark.parametrize(("y", "prediction"), [([1, 2, 4], INTERVALS), ([0, 1, 0], SETS)])
    def test_what_is_left_may_weigh_one(self, y, prediction):
        assert is_unit(read_typed(y, prediction, weights=[1, 0, 1]).w)

    def test_a_dropped_row_may_be_anything(self):
        assert read_typed([1, np.nan, 4], INTERVALS, weights=[1, 0, 1]).n == 2

    def test_refused_rows_keep_their_number(self, refusal):
        message = refusal(read_typed, [1, 2, inf], INTERVALS, weights=[1, 0, 1])
        assert message.startswith("y must be finite; row 2 is inf")
        assert "row 2" in refusal(read_typed, [0, 1, 5], SETS, weights=[1, 0, 1])

    def test_weights_of_other_length(self, refusal):
        assert "expected 3 rows, got 2" in refusal(read_typed, [1, 2, 4], INTERVALS, weights=[1, 1])


class TestWithoutOutcome:
    def test_sizes_are_there(self):
        assert IntervalRows.alone(INTERVALS).sizes[:, 0].tolist() == [1, 2, 3]
        assert SetRows.alone(SETS, weights=[1, 0, 1]).sizes[:, 0].tolist() == [1, 0]

    def test_take(self):
        assert IntervalRows.alone(INTERVALS).take(slice(1, 3)).sizes[:, 0].tolist() == [2, 3]


def test_a_slice_shares_memory():
    rows = read_typed(np.array([1.0, 2.0, 4.0]), INTERVALS)
    part = rows.take(slice(1, 3))
    assert part.covered[:, 0].tolist() == [True, False]
    assert np.shares_memory(part.y, rows.y)
    assert np.shares_memory(part.prediction.lower, rows.prediction.lower)
    assert is_unit(part.w)


class TestRefused:
    @pytest.mark.parametrize("prediction", [INTERVALS, QUANTILES, SETS])
    def test_a_column_is_not_broadcast(self, prediction, refusal):
        message = refusal(read_typed, np.zeros((3, 1), int), prediction)
        assert message == "y must be 1-D, one outcome per row; got shape (3, 1). Pass its one column as y[:, 0]"
        assert "Pass one outcome per row" in refusal(read_typed, np.zeros((3, 2), int), prediction)

    @pytest.mark.parametrize("prediction", [INTERVALS, QUANTILES, SETS])
    def test_lengths(self, prediction, refusal):
        name = type(prediction).__name__
        assert refusal(read_typed, [0, 1], prediction) == (
            f"y and {name} must have the same number of rows; got 2 outcomes and 3 predictions. "
            "Take both from the same table"
        )

    @pytest.mark.parametrize(("bad", "shown"), [(np.nan, "nan (missing)"), (inf, "inf"), (-inf, "-inf")])
    @pytest.mark.parametrize("prediction", [INTERVALS, QUANTILES])
    def test_not_finite(self, bad, shown, prediction, refusal):
        message = refusal(read_typed, [0.0, bad, bad], prediction)
        assert message == f"y must be finite; row 1 is {shown}. Drop or repair such rows"

    def test_opposite_infinities(self, refusal):
        assert "row 0 is inf" in refusal(read_typed, [inf, -inf, 0.0], INTERVALS)

    def test_missing_in_a_list(self, refusal):
        assert "row 1 is nan" in refusal(read_typed, [0.0, None, 1.0], INTERVALS)

    @pytest.mark.parametrize("y", [None, ["a", "b", "c"], [True, False, True]])
    def test_no_numbers(self, y, refusal):
        assert refusal(read_typed, y, INTERVALS).startswith("y ")

    def test_classes_of_numbers(self, refusal):
        assert refusal(read_typed, [1, 2, 3], INTERVALS, classes=[1, 2]).startswith("classes= is for labels")

    def test_an_outcome_beside_values_of_a_distribution_function(self, refusal):
        message = refusal(read_typed, [1.0], CdfValues([0.1]))
        assert message == "CdfValues contain the outcome already; pass None for y"
