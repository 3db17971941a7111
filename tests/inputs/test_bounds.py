"""Bounds and quantiles at the boundary: any container, any precision, no missing value."""

import numpy as np
import pytest

from calibrant.inputs.bounds import read_bounds

EPS = np.finfo(np.float64).eps


class TestRead:
    def test_one_column(self):
        columns, flat, eps = read_bounds([1, 2, 3], "lower")
        assert columns.tolist() == [[1.0], [2.0], [3.0]]
        assert flat
        assert eps == EPS

    def test_several_columns_are_contiguous(self):
        columns, flat, _ = read_bounds(np.arange(6.0).reshape(3, 2), "lower")
        assert columns.flags.f_contiguous
        assert not flat

    @pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
    def test_precision_is_remembered(self, dtype):
        columns, _, eps = read_bounds(np.array([0.1, 0.2], dtype), "lower")
        assert columns.dtype == np.float64
        assert columns[0, 0] == float(np.array(0.1, dtype))
        assert eps == np.finfo(dtype).eps

    def test_long_double_has_the_precision_of_float64(self):
        assert read_bounds(np.array([0.1], np.longdouble), "lower")[2] == EPS

    def test_it_is_a_copy(self):
        given = np.arange(3.0)
        columns, _, _ = read_bounds(given, "lower")
        given[0] = 9.0
        assert columns[0, 0] == 0.0

    def test_infinite_values_are_legal_here(self):
        assert read_bounds([-np.inf, np.inf], "lower")[0].tolist() == [[-np.inf], [np.inf]]

    def test_columns_of_frames(self, require):
        pd, pl = require("pandas"), require("polars")
        for made in (pd.Series([1, 2], index=[7, 7]), pl.Series([1, 2]), pd.array([1, 2], dtype="Int64")):
            assert read_bounds(made, "lower")[0].tolist() == [[1.0], [2.0]]
        for made in (pd.DataFrame({"a": [1, 2], "b": [3, 4]}), pl.DataFrame({"a": [1, 2], "b": [3, 4]})):
            assert read_bounds(made, "lower")[0].tolist() == [[1.0, 3.0], [2.0, 4.0]]


class TestRefused:
    @pytest.mark.parametrize("values", [np.zeros((2, 2, 2)), 3.0, np.array(1.0)])
    def test_shapes(self, values, refusal):
        message = refusal(read_bounds, values, "lower")
        assert message.startswith("lower must have shape (n,), or (n, L) with one column per level; got shape")

    @pytest.mark.parametrize("values", [[], np.zeros((0, 2)), np.zeros((3, 0))])
    def test_no_rows(self, values, refusal):
        assert refusal(read_bounds, values, "upper").startswith("there are no rows: upper is empty (shape")

    def test_missing(self, refusal):
        message = refusal(read_bounds, [0.0, 1.0, np.nan], "upper")
        assert message == "upper must not be missing; row 2 is nan. Drop or repair such rows"
        table = np.zeros((4, 3))
        table[3, 1] = table[3, 2] = np.nan
        assert "row 3, column 1 is nan" in refusal(read_bounds, table, "upper")

    def test_missing_in_a_list(self, refusal):
        assert "row 1 is nan" in refusal(read_bounds, [0.0, None], "upper")

    @pytest.mark.parametrize("values", [["a", "b"], [True, False], [1 + 2j]])
    def test_no_numbers(self, values, refusal):
        assert refusal(read_bounds, values, "upper").startswith("upper must be real numbers")
