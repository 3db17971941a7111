"""Importance weights at the boundary."""

from fractions import Fraction

import numpy as np
import pytest

from calibrant import ece
from calibrant.inputs.weights import is_unit, pair_weight, read_weights, take_weights, unit_weights

Y, P = [0, 1, 0], [0.25, 0.625, 0.875]


class TestUnit:
    def test_takes_the_memory_of_one(self):
        w = unit_weights(10**9)
        assert w.shape == (10**9,)
        assert w.strides == (0,)
        assert is_unit(w)

    @pytest.mark.parametrize("n", [0, 1, 5])
    def test_of_any_length(self, n):
        assert is_unit(unit_weights(n))

    def test_other_weights_are_not_unit(self):
        assert not is_unit(np.ones(3))
        assert not is_unit(np.broadcast_to(2.0, 3))

    def test_rows_of_it_are_unit_too(self):
        rows = np.array([0, 2])
        assert is_unit(take_weights(unit_weights(3), rows))
        assert take_weights(np.array([1.0, 2.0, 3.0]), rows).tolist() == [1.0, 3.0]

    @pytest.mark.parametrize("weights", [None, [1, 1, 1], np.ones(3, "float32")])
    def test_ones_are_recognised(self, weights):
        assert is_unit(read_weights(weights, 3))


def exact_pair_weight(w):
    w = [Fraction(float(x)) for x in w]
    return float(sum(w) ** 2 - sum(x * x for x in w))


class TestPairs:
    @pytest.mark.parametrize(
        "w",
        [[2.0, 3.0], [1.0, 2.0, 0.5, 7.0], [1e16, 1.0, 1.0], [1.0, 1e16, 1.0], [1.0, 1.0, 1e16], [1e-8, 1e8, 1e8]],
    )
    def test_against_all_pairs(self, w):
        assert pair_weight(np.array(w)) == pytest.approx(exact_pair_weight(w), rel=1e-15)
        # (Σw)² - Σw² has no digit of it left
        once = np.ones(len(w), np.int64)
        assert pair_weight(np.array(w), once) == pytest.approx(exact_pair_weight(w), rel=1e-15)

    @pytest.mark.parametrize("w", [[1e16, 1.0, 3.0], [0.5, 2.0, 1.0]])
    def test_rows_that_are_counted(self, w):
        count = np.array([1, 4, 2])
        found = pair_weight(np.array(w), count)
        assert found == pytest.approx(exact_pair_weight(np.repeat(w, count)), rel=1e-15)
        assert found == pytest.approx(pair_weight(np.repeat(w, count)), rel=1e-15)

    def test_one_row_has_no_pair(self):
        assert pair_weight(np.array([5.0])) == pair_weight(np.array([5.0]), np.array([1])) == 0
        assert pair_weight(np.array([5.0]), np.array([2])) == 50

    def test_weights_of_one(self):
        assert pair_weight(unit_weights(10)) == 90
        assert pair_weight(unit_weights(0)) == 0


class TestRead:
    @pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "float32", ">f8"])
    def test_every_type_becomes_float64(self, dtype):
        w = read_weights(np.array([1, 2, 0], dtype), 3)
        assert w.dtype == np.float64
        assert w.tolist() == [1.0, 2.0, 0.0]

    def test_is_a_copy(self):
        given = np.array([1.0, 2.0, 3.0])
        read_weights(given, 3)[0] = 9
        assert given[0] == 1.0

    @pytest.mark.parametrize("factor", [1e-100, 1e-3, 7.0, 1e99])
    @pytest.mark.parametrize("options", [{}, {"strategy": "mass"}, {"norm": "l2-squared", "debias": True}])
    def test_a_common_factor_changes_nothing(self, factor, options):
        w = np.array([1.0, 2.0, 3.0, 4.0])
        y, p = [0, 1, 0, 1], [0.1, 0.2, 0.6, 0.7]
        scaled = ece(y, p, weights=w * factor, bins=2, **options)
        assert scaled == pytest.approx(ece(y, p, weights=w, bins=2, **options), rel=1e-12)


REFUSED = {
    "negative": ([1, -1, 1], ["finite and at least 0", "row 1 is -1"]),
    "NaN": ([1, 1, np.nan], ["finite and at least 0", "row 2 is nan"]),
    "infinite": ([np.inf, 1, 1], ["finite and at least 0", "row 0 is inf"]),
    "all zero": ([0, 0, 0], ["not all be 0", "leave weights out"]),
    "too few": ([1, 1], ["one value per row", "expected 3 rows, got 2"]),
    "too many": ([1, 1, 1, 1], ["one value per row", "expected 3 rows, got 4"]),
    "2-D": ([[1], [1], [1]], ["one number per row", "shape (3, 1)"]),
    "0-d": (np.array(1.0), ["one number per row", "shape ()"]),
    "one number": (2.0, ["one value per row", "the single value 2.0"]),
    "huge": ([1e101, 1, 1], ["between 1e-100 and 1e+100", "got 1e+101", "divide the weights by their mean"]),
    "tiny": ([1e-101, 0, 1e-102], ["between 1e-100 and 1e+100", "got 1e-101", "divide the weights"]),
    "booleans": ([True, False, True], ["must be numbers", "bool"]),
    "text": (["1", "2", "3"], ["must be numbers", "'1'"]),
    "None": ([1, None, 1], ["weights must be", "row 1 is"]),
    "one text": ([1, 2, "x"], ["must be numbers", "row 2 is 'x'"]),
    "complex": ([1, 1j, 1], ["must be numbers", "complex128"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(refusal, name):
    weights, words = REFUSED[name]
    message = refusal(ece, Y, P, weights=weights)
    assert all(word in message for word in words), message


def test_missing_weights_of_frames(require, refusal):
    values = [1.0, None, 2.0]
    for library in ("pandas", "polars"):
        column = require(library).Series(values)
        assert "row 1 is nan" in refusal(ece, Y, P, weights=column)
    nullable = require("pandas").Series(values, dtype="Float64")
    assert "row 1 is" in refusal(ece, Y, P, weights=nullable)


def test_object_numbers_are_weights():
    assert ece(Y, P, weights=np.array([1, 1, 1], dtype=object), bins=2) == 0.25
