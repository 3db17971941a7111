"""Cells of the simplex."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calibrant.inputs.probabilities import two_columns
from calibrant.primitives import simplex_cells
from calibrant.primitives.simplex_cells import added_cells, bin_numbers, distinct, sums_by_cell


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

    @given(arrays(np.int64, st.tuples(st.integers(1, 20), st.integers(1, 6)), elements=st.integers(0, 3)))
    def test_ranks_replace_numbers_that_grow_too_large(self, keys):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(simplex_cells, "LARGEST_CODE", 5)
            found, place = distinct(keys)
        assert found.tolist() == np.unique(keys, axis=0).tolist()
        assert found[place].tolist() == keys.tolist()

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


@given(arrays(np.int64, (12, 2), elements=st.integers(0, 2)), st.integers(0, 12))
def test_cells_of_two_parts_add_up(keys, cut):
    rng = np.random.default_rng(0)
    y, P, w = rng.integers(0, 3, 12), rng.integers(0, 8, (12, 3)) / 8, rng.integers(1, 5, 12).astype(float)

    def cells(part):
        found, place = distinct(keys[part])
        return found, sums_by_cell(place, len(found), y[part], P[part], w[part])

    found, sums = added_cells(*cells(slice(cut)), *cells(slice(cut, None)))
    expected, whole = cells(slice(None))
    assert found.tolist() == expected.tolist()
    for ours, theirs in zip(sums, whole, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype


def test_two_columns_of_low_precision_are_exact():
    p = np.array([0.1, 0.7], "float16")
    assert (two_columns(p).sum(axis=1) == 1).all()
    assert (two_columns(p)[:, 1] == p).all()
