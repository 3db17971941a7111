"""Sums per cell of the simplex."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calibrant.core.kept_rows import KeptRows
from calibrant.errors import SummaryError
from calibrant.inputs.probabilities import read_probabilities, two_columns
from calibrant.probabilities.canonical import SimplexCells, bin_numbers, distinct, sums_by_cell

Y, P, W = [0, 2, 1], [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.75, 0.25, 0.0]], [1.0, 2.0, 0.5]


def of(y, prediction, weights=None, m=2):
    return SimplexCells.of(read_probabilities(y, prediction, weights=weights), m)


def test_by_hand():
    # The first two rows share the cell of the lower halves.
    found = of(Y, P, W)
    assert found.keys.tolist() == [[0, 0, 0], [1, 0, 0]]
    assert found.count.tolist() == [2, 1]
    assert found.w.tolist() == [3.0, 0.5]
    assert found.wp.tolist() == [[1.0, 1.25, 0.75], [0.375, 0.125, 0.0]]
    assert found.wy.tolist() == [[1.0, 0.0, 2.0], [0.0, 0.5, 0.0]]
    assert (found.n, found.K, found.bins) == (3, 3, 2)
    assert repr(found) == "SimplexCells(n=3)"


def test_two_columns_are_the_second():
    y, p = [0, 1, 1], np.array([0.25, 0.5, 0.75])
    assert of(y, np.stack([1 - p, p], axis=1)) == of(y, p)
    assert of(y, p).keys.tolist() == [[0], [1]]
    assert of(y, p).wp.tolist() == [[1.25, 0.75], [0.25, 0.75]]


def test_the_first_of_two_columns_is_not_looked_at():
    # It is off by rounding, which must not make another cell.
    assert of([0, 1], [[0.5 + 1e-9, 0.5], [0.5, 0.5]]).keys.tolist() == [[0]]


def test_other_cells_do_not_merge(refusal):
    message = refusal(lambda: of(Y, P) + of(Y, P, m=3), error=SummaryError)
    assert message == "cells of 2 bins and 3 classes do not merge with cells of 3 bins and 3 classes"
    message = refusal(lambda: of(Y, P) + of([0], [0.5]), error=SummaryError)
    assert message == "cells of 2 bins and 3 classes do not merge with cells of 2 bins and 2 classes"
    message = refusal(lambda: of(Y, P) + KeptRows.of(read_probabilities(Y, P)), error=SummaryError)
    assert "SimplexCells and KeptRows" in message


def test_columns_belong_together(refusal):
    found = of(Y, P)
    for name in ("keys", "count", "w", "wp", "wy"):
        column = getattr(found, name)
        assert "the same cells" in refusal(replace, found, error=SummaryError, **{name: column[:1]})
        assert "the same cells" in refusal(replace, found, error=SummaryError, **{name: column[None]})


class TestBinNumbers:
    def test_by_hand(self):
        # Right-closed halves: 0.5 belongs to the first, and 0 too.
        assert bin_numbers(np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]]), 2).tolist() == [[0, 0, 0], [0, 1, 0]]

    @pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
    @pytest.mark.parametrize("m", [2, 3, 7, 10, 15, 100])
    def test_edges_are_compared_in_the_precision_of_the_vectors(self, dtype, m):
        edges = np.arange(m + 1) / m
        P = two_columns(edges).astype(dtype)
        expected = np.maximum(np.arange(m + 1) - 1, 0)
        assert bin_numbers(P, m)[:, 1].tolist() == expected.tolist()

    def test_rounding_of_a_product_decides_nothing(self):
        # 100 * 0.07 is above 7 in floating point.
        assert bin_numbers(np.array([[0.93, 0.07]]), 100).tolist() == [[92, 6]]


class TestDistinct:
    def test_by_hand(self):
        keys, place = distinct(np.array([[1, 0], [0, 5], [1, 0], [0, 2]]))
        assert keys.tolist() == [[0, 2], [0, 5], [1, 0]]
        assert place.tolist() == [2, 1, 2, 0]

    def test_no_rows(self):
        keys, place = distinct(np.zeros((0, 3), np.int64))
        assert keys.shape == (0, 3)
        assert place.shape == (0,)

    @given(arrays(np.int64, st.tuples(st.integers(1, 20), st.integers(1, 6)), elements=st.integers(0, 3)))
    def test_as_unique_rows(self, keys):
        expected, inverse = np.unique(keys, axis=0, return_inverse=True)
        found, place = distinct(keys)
        assert found.tolist() == expected.tolist()
        assert place.tolist() == inverse.reshape(-1).tolist()

    def test_many_classes_and_many_bins(self):
        # (10^7)^30 cells: far more than a whole number of 64 bits can tell apart.
        keys = np.full((3, 30), 9_999_999)
        keys[1, 29] = 0
        found, place = distinct(keys)
        assert found.tolist() == [keys[1].tolist(), keys[0].tolist()]
        assert place.tolist() == [1, 0, 1]


def test_sums_by_hand():
    P = np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0], [0.0, 0.5, 0.5]], "float32")
    sums = sums_by_cell(np.array([1, 0, 1]), 2, np.array([0, 2, 1]), P, np.array([2.0, 1.0, 4.0]))
    assert sums.rows.tolist() == [1, 2]
    assert sums.w.tolist() == [1.0, 6.0]
    assert sums.wp.tolist() == [[1.0, 0.0, 0.0], [1.0, 2.5, 2.5]]
    assert sums.wy.tolist() == [[0.0, 0.0, 1.0], [2.0, 4.0, 0.0]]


def test_two_columns_of_low_precision_are_exact():
    p = np.array([0.1, 0.7], "float16")
    assert (two_columns(p).sum(axis=1) == 1).all()
    assert (two_columns(p)[:, 1] == p).all()
