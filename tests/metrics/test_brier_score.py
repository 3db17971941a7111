"""Brier score."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import brier_score, summarize


def test_binary_by_hand():
    assert brier_score([0, 1], [0.25, 0.5]) == (0.0625 + 0.25) / 2


def test_classes_by_hand():
    # The first row has 0.25² + (1 - 0.25)² + 0.5², the second is right.
    assert brier_score([1, 0], [[0.25, 0.25, 0.5], [1.0, 0.0, 0.0]]) == (0.0625 + 0.5625 + 0.25) / 2


def test_worst_and_best():
    assert brier_score([1, 0], [0.0, 1.0]) == 1.0
    assert brier_score([1, 0], np.eye(2)) == 2.0
    assert brier_score([1, 0], np.eye(2), half=True) == 1.0
    assert brier_score([0, 1], np.eye(2)) == 0.0


def test_weights():
    assert brier_score([0, 1], [0.25, 0.5], weights=[3, 1]) == (3 * 0.0625 + 0.25) / 4


def test_values_of_the_specification(D1, D2):
    assert brier_score(*D1) == pytest.approx(0.2157592, abs=5e-8)
    assert brier_score(*D2) == pytest.approx(0.6617014, abs=5e-8)


@given(st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1)), min_size=1, max_size=20))
def test_two_columns_have_twice_the_value_of_one(drawn):
    y, p = (np.array(column) for column in zip(*drawn, strict=True))
    P = np.stack([1 - p, p], axis=1)
    assert brier_score(y, P) == pytest.approx(2 * brier_score(y, p), rel=1e-12, abs=1e-15)
    assert brier_score(y, P, half=True) == pytest.approx(brier_score(y, p), rel=1e-12, abs=1e-15)


def test_small_errors_keep_their_digits():
    # 1 - 2 P_y + ΣP² would cancel to 0 here.
    assert brier_score([0], [[1 - 1e-9, 1e-9]]) == pytest.approx(2e-18, rel=1e-6)


def test_sums_are_float64():
    p = np.full(100_000, 0.1, "float16")
    assert brier_score(np.zeros(100_000, int), p) == pytest.approx(float(np.float16(0.1)) ** 2, rel=1e-12)


def test_half_is_for_classes(refusal):
    assert "half=True is for class probabilities of shape (n, K)" in refusal(brier_score, [0, 1], [0.5, 0.5], half=True)
    assert "half must be one of False, True; got 1" in refusal(brier_score, [0, 1], np.eye(2), half=1)


def test_of_a_grid(refusal):
    grid = summarize("ece", [0, 1], [0.25, 0.5], weights=[1, 3])
    assert brier_score(grid) == (0.0625 + 3 * 0.25) / 4
    assert "half=True is for class probabilities of shape (n, K)" in refusal(brier_score, grid, half=True)


def test_of_a_grid_of_rare_events_keeps_its_digits():
    p = np.array([1e-6, 2e-6, 5e-4])
    assert brier_score(summarize("ece", [0, 0, 0], p)) == pytest.approx(float((p * p).mean()), rel=1e-14)
