"""Outcomes judged by predictive laws, at the boundary."""

import numpy as np
import pytest

from calibrant.inputs.laws import MvNormal, Normal, Samples
from calibrant.inputs.outcomes import read_outcomes
from calibrant.inputs.weights import is_unit

LAW = Normal([0.0, 1.0, 2.0], 1.0)
VECTORS = MvNormal(np.zeros((3, 2)), np.eye(2))
ONE_COORDINATE = MvNormal(np.zeros((3, 1)), [[1.0]])


class TestRead:
    @pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", ">f8", "object"])
    def test_every_type_becomes_float64(self, dtype):
        rows = read_outcomes(np.array([1, 2, 3], dtype), LAW)
        assert rows.y.dtype == np.dtype("float64")
        assert rows.y.tolist() == [1.0, 2.0, 3.0]
        assert rows.law is LAW
        assert rows.n == 3
        assert is_unit(rows.w)

    def test_vectors(self):
        assert read_outcomes([[1, 2], [3, 4], [5, 6]], VECTORS).y.shape == (3, 2)
        assert read_outcomes([[1], [2], [3]], ONE_COORDINATE).y.shape == (3, 1)

    def test_frames(self, require):
        for library in ("pandas", "polars"):
            frame = require(library).DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})
            assert read_outcomes(frame["a"], LAW).y.tolist() == [1.0, 2.0, 3.0]
            assert read_outcomes(frame, VECTORS).y.tolist() == [[1, 4], [2, 5], [3, 6]]

    def test_rows_of_weight_0_are_dropped_whatever_they_hold(self):
        rows = read_outcomes([1.0, np.nan, 3.0], LAW, weights=[2, 0, 3])
        assert rows.n == rows.law.n == 2
        assert rows.y.tolist() == [1.0, 3.0]
        assert rows.law.mean.tolist() == [0.0, 2.0]
        assert rows.w.tolist() == [2.0, 3.0]

    def test_take(self):
        rows = read_outcomes([1.0, 2.0, 3.0], LAW, weights=[1, 2, 3]).take(np.array([2, 0]))
        assert rows.y.tolist() == [3.0, 1.0]
        assert rows.law.mean.tolist() == [2.0, 0.0]
        assert rows.w.tolist() == [3.0, 1.0]

    def test_the_callers_outcomes_are_not_modified(self):
        y = np.array([1.0, 2.0, 3.0])
        y.flags.writeable = False
        read_outcomes(y, LAW, weights=[1, 0, 1])
        assert y.tolist() == [1.0, 2.0, 3.0]


SWAPPED = Samples(np.zeros((5, 3, 2)))
REFUSED = {
    "no law": ([1, 2, 3], np.zeros(3), ["prediction must be a law", "Normal(mean, std)", "ndarray"]),
    "the class of a law": ([1, 2, 3], Normal, ["prediction must be a law"]),
    "too few": ([1, 2], LAW, ["shape (3,)", "one number for each of the 3 rows of Normal", "(2,)", "same table"]),
    "too many": ([1, 2, 3, 4], LAW, ["got shape (4,)", "same table"]),
    "one number": (np.array(1.0), LAW, ["got shape ()"]),
    "a number": (1.0, LAW, ["got shape ()"]),
    "a column": ([[1], [2], [3]], LAW, ["got shape (3, 1)", "y[:, 0]"]),
    "vectors for a real law": (np.zeros((3, 2)), LAW, ["got shape (3, 2)", "law of vectors"]),
    "numbers for vectors": ([1, 2, 3], VECTORS, ["shape (3, 2)", "one vector", "got shape (3,)", "vector per row"]),
    "numbers for one coordinate": ([1, 2, 3], ONE_COORDINATE, ["shape (3, 1)", "got shape (3,)", "y[:, None]"]),
    "other coordinates": (np.zeros((3, 4)), VECTORS, ["shape (3, 2)", "got shape (3, 4)"]),
    "swapped draws": (np.zeros((3, 2)), SWAPPED, ["axes of draws look swapped", "(n, M, D)", "swapaxes(draws, 0, 1)"]),
    "other draws": (np.zeros((4, 2)), SWAPPED, ["got shape (4, 2)", "same table"]),
    "missing": ([1, np.nan, 3], LAW, ["y must be finite", "row 1 is nan (missing)", "Drop or repair"]),
    "None": ([1, 2, None], LAW, ["y must be finite", "row 2 is nan (missing)"]),
    "infinite": ([np.inf, 2, 3], LAW, ["y must be finite", "row 0 is inf. Drop"]),
    "missing coordinate": ([[0, 0], [0, 0], [0, np.nan]], VECTORS, ["row 2, coordinate 1 is nan"]),
    "bool": ([True, False, True], LAW, ["y must be real numbers", "bool", "astype(float)"]),
    "text": (["a", "b", "c"], LAW, ["y must be real numbers", "row 0 is 'a'"]),
    "complex": ([1, 2, 3j], LAW, ["y must be real numbers", "complex128"]),
    "nothing": (None, LAW, ["y is missing"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(refusal, name):
    y, law, words = REFUSED[name]
    message = refusal(read_outcomes, y, law)
    assert all(word in message for word in words), message


def test_rows_are_counted_before_any_is_dropped(refusal):
    message = refusal(read_outcomes, [1.0, 2.0, np.inf], LAW, weights=[0, 1, 1])
    assert "row 2 is inf" in message
    message = refusal(read_outcomes, np.array([[0, 0], [0, 0], [np.nan, 0]]), VECTORS, weights=[0, 1, 1])
    assert "row 2, coordinate 0 is nan" in message


def test_weights_are_read_like_everywhere(refusal):
    assert "weights must have one value per row" in refusal(read_outcomes, [1, 2, 3], LAW, weights=[1, 2])
