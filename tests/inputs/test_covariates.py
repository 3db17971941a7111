"""Covariates at the boundary: containers, names, categories, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from calibrant.inputs.covariates import MAX_CATEGORIES, read_covariate_table

X = np.array([[1.0, 5.0], [2.0, 6.0], [4.0, 7.0]])


class TestContainers:
    @pytest.mark.parametrize("make", [np.asarray, np.ndarray.tolist])
    def test_arrays_have_numbered_names(self, make):
        found = read_covariate_table(make(X), 3, None)
        assert found.names == ("x0", "x1")
        assert (found.x == X).all()
        assert found.labels == ((), ())

    @pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, dict])
    def test_frames_bring_names_and_categories(self, make):
        found = read_covariate_table(make({"a": X[:, 0], "b": ["u", "t", "u"], "c": [True, False, True]}), 3, None)
        assert found.names == ("a", "b", "c")
        assert found.labels == ((), ("t", "u"), ("False", "True"))
        assert found.x.tolist() == [[1, 1, 1], [2, 0, 0], [4, 1, 1]]

    def test_series_have_a_name(self):
        assert read_covariate_table(pd.Series(X[:, 0], name="age"), 3, None).names == ("age",)

    def test_objects_that_are_numbers_are_numbers(self):
        assert read_covariate_table(np.array([1, 2.5, 3], dtype=object), 3, None).labels == ((),)

    def test_dropped_rows(self):
        keep = np.array([True, False, True])
        x = X.copy()
        x[1] = np.nan
        assert read_covariate_table(x, 2, keep).x.tolist() == [[1, 5], [4, 7]]


def test_numbers_of_categories():
    found = read_covariate_table({"a": [1, 2, 3], "b": ["u", "t", "s"]}, 3, None)
    assert found.numbers.tolist() == [[1, 0, 1], [2, 1, 0], [3, 0, 0]]
    assert found.columns([1]).names == ("b",)
    assert found.take(np.array([2])).x.tolist() == [[3, 0]]


def test_rare_categories_are_pooled():
    texts = [f"c{k:02}" for k in range(30) for _ in range(30 - k)] + ["other"] * 100
    found = read_covariate_table(np.array(texts), len(texts), None).pooled
    (labels,) = found.labels
    assert len(labels) == MAX_CATEGORIES
    assert labels[-1] == "other ones"
    assert np.bincount(found.x[:, 0].astype(int))[-1] == sum(30 - k for k in range(14, 30))


REFUSED = [
    (X[:2], "expected 3 rows"),
    (np.zeros((3, 2, 2)), "shape"),
    (np.zeros((3, 0)), "no columns"),
    (np.zeros((3, 201)), "at most 200"),
    ([1.0, np.nan, 2.0], "row 1"),
    ([1.0, np.inf, 2.0], "finite"),
    (np.array(["a", None, "b"], dtype=object), "missing"),
    (np.array(["2020-01-01"] * 3, dtype="datetime64[D]"), "numbers, texts or booleans"),
    (None, "missing"),
    ("text", "column"),
]


def test_refused(refuses, refusal):
    refuses(lambda x: read_covariate_table(x, 3, None), REFUSED)
    words = "covariates (x0) has 40 different categories in 40 rows, such as 'r0' and"
    assert words in refusal(read_covariate_table, np.array([f"r{i}" for i in range(40)]), 40, None)
    assert len(read_covariate_table(np.array([f"r{i}" for i in range(16)]), 16, None).labels[0]) == 16
    assert len(read_covariate_table(np.array([f"r{i}" for i in range(20)] * 2), 40, None).labels[0]) == 20
