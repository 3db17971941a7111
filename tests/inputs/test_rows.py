"""Outcomes judged by predictive distributions, at the boundary."""

import numpy as np
import pytest

from calibrant import CdfValues, Intervals, Quantiles, Sets
from calibrant.inputs.arrays import is_unit
from calibrant.inputs.kinds import KINDS
from calibrant.inputs.parametric import MvNormal, Normal
from calibrant.inputs.rows import CdfRows, IntervalRows, QuantileRows, SetRows, read_outcomes
from calibrant.inputs.samples import Samples

DISTRIBUTION = Normal([0.0, 1.0, 2.0], 1.0)
VECTORS = MvNormal(np.zeros((3, 2)), np.eye(2))
ONE_COORDINATE = MvNormal(np.zeros((3, 1)), [[1.0]])


def lists(rows):
    return rows.y.tolist(), rows.distribution.mean.tolist(), rows.w.tolist()


class TestRead:
    def test_every_type_becomes_float64(self):
        for dtype in ("uint8", "int64", "float32", ">f8", "object"):
            rows = read_outcomes(np.array([1, 2, 3], dtype), DISTRIBUTION)
            assert (rows.n, rows.y.dtype, rows.y.tolist()) == (3, np.dtype("float64"), [1.0, 2.0, 3.0])
            assert rows.distribution is DISTRIBUTION
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
        y = np.array([1.0, np.nan, 3.0])
        y.flags.writeable = False  # the outcomes of the caller stay
        rows = read_outcomes(y, DISTRIBUTION, weights=[2, 0, 3])
        assert lists(rows) == ([1.0, 3.0], [0.0, 2.0], [2.0, 3.0])

    def test_take(self):
        rows = read_outcomes([1.0, 2.0, 3.0], DISTRIBUTION, weights=[1, 2, 3]).take(np.array([2, 0]))
        assert lists(rows) == ([3.0, 1.0], [2.0, 0.0], [3.0, 1.0])


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
    "vectors for numbers": (np.zeros((3, 2)), DISTRIBUTION, ["got shape (3, 2)", "distribution of vectors"]),
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


def test_refused(refuses):
    refuses(read_outcomes, REFUSED)
    weighted = {  # rows are counted before any is dropped
        "infinite": ([1.0, 2.0, np.inf], DISTRIBUTION, [0, 1, 1], "row 2 is inf"),
        "missing": ([[0, 0], [0, 0], [np.nan, 0]], VECTORS, [0, 1, 1], "row 2, coordinate 0 is nan"),
        "too few weights": ([1, 2, 3], DISTRIBUTION, [1, 2], "weights must have one value per row"),
    }
    refuses(lambda y, distribution, weights: read_outcomes(y, distribution, weights=weights), weighted)


inf = np.inf
INTERVALS = Intervals([0, 0, 0], [1, 2, 3], 0.9)
QUANTILES = Quantiles([[0, 1], [0, 2], [0, 3]], [0.1, 0.9])
SETS = Sets([[True, False], [True, True], [False, False]], 0.9)


class TestReadJudged:
    @pytest.mark.parametrize(
        ("y", "prediction", "kind", "covered", "sizes"),
        [
            ([1, 2, 4], INTERVALS, IntervalRows, [[True], [True], [False]], [[1], [2], [3]]),
            ([1, 0, 4], QUANTILES, QuantileRows, [[False, True], [True, True], [False, False]], None),
            ([1, 1, 0], SETS, SetRows, [[False], [True], [False]], [[1], [2], [0]]),
        ],
    )
    def test_what_is_covered(self, y, prediction, kind, covered, sizes):
        rows = KINDS[prediction.prediction_kind].read(y, prediction)
        assert isinstance(rows, kind)
        assert rows.covered.tolist() == covered
        assert sizes is None or rows.sizes.tolist() == sizes
        assert is_unit(rows.w)
        assert rows.keep is None

    def test_values_of_a_distribution_function(self):
        rows = CdfRows.read(None, CdfValues([0.1, 0.2]))
        assert isinstance(rows, CdfRows)
        assert rows.n == 2

    def test_a_float64_outcome_is_not_copied(self):
        y = np.arange(3.0)
        assert np.shares_memory(IntervalRows.read(y, INTERVALS).y, y)

    def test_outcomes_become_float64(self, require):
        pd, pl = require("pandas"), require("polars")
        given = [np.array([1, 2, 4], dtype) for dtype in ("int8", "uint64", "float16", "float32")]
        given += [pd.Series([1, 2, 4], index=[9, 8, 7]), pl.Series([1, 2, 4]), pd.array([1, 2, 4], dtype="Int64")]
        for y in given:
            found = IntervalRows.read(y, INTERVALS).y
            assert (found.dtype, found.tolist()) == (np.float64, [1, 2, 4])
        assert IntervalRows.read([1.7e308, 1.7e308, -1e308], INTERVALS).n == 3  # the sum is not finite


class TestWeights:
    @pytest.mark.parametrize(("y", "prediction"), [([1, 2, 4], INTERVALS), ([1, 2, 4], QUANTILES), ([0, 1, 0], SETS)])
    def test_rows_of_weight_zero_are_dropped(self, y, prediction):
        rows = KINDS[prediction.prediction_kind].read(y, prediction, weights=[2, 0, 1])
        assert (rows.n, rows.y.tolist(), rows.w.tolist()) == (2, [y[0], y[2]], [2, 1])
        assert rows.keep.tolist() == [True, False, True]
        assert is_unit(KINDS[prediction.prediction_kind].read(y, prediction, weights=[1, 0, 1]).w)

    def test_a_dropped_row_may_be_anything(self):
        assert IntervalRows.read([1, np.nan, 4], INTERVALS, weights=[1, 0, 1]).n == 2

    def test_refused(self, refuses):
        cases = [
            ([1, 2, inf], INTERVALS, [1, 0, 1], "y must be finite; row 2 is inf"),
            ([0, 1, 5], SETS, [1, 0, 1], "row 2"),
            ([1, 2, 4], INTERVALS, [1, 1], "expected 3 rows, got 2"),
        ]
        refuses(lambda y, prediction, w: KINDS[prediction.prediction_kind].read(y, prediction, weights=w), cases)


def test_sizes_without_outcomes():
    rows = IntervalRows.alone(INTERVALS)
    assert rows.sizes[:, 0].tolist() == [1, 2, 3]
    assert rows.take(slice(1, 3)).sizes[:, 0].tolist() == [2, 3]
    assert SetRows.alone(SETS, weights=[1, 0, 1]).sizes[:, 0].tolist() == [1, 0]


def test_a_slice_shares_memory():
    rows = IntervalRows.read(np.array([1.0, 2.0, 4.0]), INTERVALS)
    part = rows.take(slice(1, 3))
    assert part.covered[:, 0].tolist() == [True, False]
    assert np.shares_memory(part.y, rows.y)
    assert np.shares_memory(part.prediction.lower, rows.prediction.lower)
    assert is_unit(part.w)


REFUSED_BY_EACH = [
    (np.zeros((3, 1), int), "y must be 1-D, one outcome per row; got shape (3, 1). Pass its one column as y[:, 0]"),
    (np.zeros((3, 2), int), "Pass one outcome per row"),
    ([0, 1], " must have the same number of rows; got 2 outcomes and 3 predictions"),
]
NOT_FINITE = [
    ([0.0, np.nan, np.nan], "y must be finite; row 1 is nan (missing). Drop or repair such rows"),
    ([0.0, inf, inf], "y must be finite; row 1 is inf. Drop or repair such rows"),
    ([0.0, -inf, -inf], "y must be finite; row 1 is -inf. Drop or repair such rows"),
    ([inf, -inf, 0.0], "row 0 is inf"),
    ([0.0, None, 1.0], "row 1 is nan"),
    *((y, "y ") for y in (None, ["a", "b", "c"], [True, False, True])),
]


@pytest.mark.parametrize("prediction", [INTERVALS, QUANTILES, SETS])
def test_refused_outcomes(refuses, prediction):
    cases = REFUSED_BY_EACH if prediction is SETS else REFUSED_BY_EACH + NOT_FINITE
    refuses(lambda y: KINDS[prediction.prediction_kind].read(y, prediction), cases)


def test_outcomes_that_are_not_for_this_kind(refusal):
    assert refusal(IntervalRows.read, [1, 2, 3], INTERVALS, classes=[1, 2]).startswith("classes= is for labels")
    message = refusal(CdfRows.read, [1.0], CdfValues([0.1]))
    assert message == "CdfValues contain the outcome already; pass None for y"
