"""What predictions were made from, at the boundary."""

import numpy as np
import pandas as pd
import pytest

from calibrant.inputs.covariates import covariate_columns, read_covariates

KEEP = np.array([True, False, True])


class TestAsTheyCame:
    def test_any_shape_and_type(self):
        x = np.arange(24).reshape(3, 2, 4)
        found = read_covariates(x, 3, None)
        np.testing.assert_array_equal(found, x)
        assert not found.flags.writeable
        assert x.flags.writeable
        assert read_covariates(["a", "b", "c"], 2, KEEP).tolist() == ["a", "c"]

    @pytest.mark.parametrize("x", [[1, 2], np.array(3.0), np.zeros((2, 3))])
    def test_number_of_rows(self, refusal, x):
        assert "expected 3 rows" in refusal(read_covariates, x, 2, KEEP)


class TestColumns:
    def test_numbers(self):
        assert covariate_columns([1, 2, 3], 3, None).tolist() == [[1.0], [2.0], [3.0]]
        frame = pd.DataFrame({"a": [1, 2, 3], "b": [0.5, np.nan, 1.5]})
        assert covariate_columns(frame, 2, KEEP).tolist() == [[1.0, 0.5], [3.0, 1.5]]

    @pytest.mark.parametrize(
        ("x", "words"),
        [
            ([1.0, 2.0], "expected 3 rows, got shape (2,)"),
            (np.zeros((3, 2, 2)), "(n,) or (n, q)"),
            (np.zeros((3, 0)), "(n,) or (n, q)"),
            ([[1.0], [2.0], [np.inf]], "row 2, column 0 is inf"),
            (["a", "b", "c"], "real numbers"),
        ],
    )
    def test_refusals(self, refusal, x, words):
        assert words in refusal(covariate_columns, x, 3, None)
