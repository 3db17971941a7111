"""Widths that differ by rounding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives.tied_widths import largest_bound, tie_starts, tolerance_of


def walked(widths, tolerance):
    """The definition: walk up, and begin anew where a width is too far from the first member."""
    starts = [0]
    for i, width in enumerate(widths):
        first = widths[starts[-1]]
        if not (width == first or width <= first + tolerance < np.inf):
            starts.append(i)
    return starts


def test_by_hand():
    assert tie_starts(np.array([1.0, 1.1, 1.2, 1.3, 9.0]), 0.15).tolist() == [0, 2, 4]
    assert tie_starts(np.array([2.0]), 0.0).tolist() == [0]
    assert tie_starts(np.array([0.0, 0.0, 1.0]), 0.0).tolist() == [0, 2]


@given(st.lists(st.integers(0, 60), min_size=1, max_size=40), st.integers(0, 12), st.integers(0, 3))
def test_is_the_walk(steps, tolerance, infinite):
    widths = np.concatenate([np.cumsum(steps) / 8, np.full(infinite, np.inf)])
    assert tie_starts(widths, tolerance / 8).tolist() == walked(widths, tolerance / 8)


def test_long_chains():
    widths = np.arange(100_000) / 1024
    assert tie_starts(widths, 1 / 1024).tolist() == list(range(0, 100_000, 2))
    assert tie_starts(widths, 200.0).tolist() == [0]


def test_infinite_widths_are_one_tie():
    assert tie_starts(np.array([np.inf, np.inf]), 1.0).tolist() == [0]
    assert tie_starts(np.array([1.7e308, 1.75e308, np.inf]), 1e307).tolist() == [0, 2]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rounding_of_a_constant_width_is_a_tie(dtype):
    rng = np.random.default_rng(0)
    centre = rng.normal(0, 100, 5000).astype(dtype)
    radius = np.dtype(dtype).type(0.7)
    lower, upper = ((centre + sign * radius).astype("float64")[:, None] for sign in (-1, 1))
    widths = np.sort((upper - lower)[:, 0])
    assert np.unique(widths).size > 1
    tolerance = tolerance_of(largest_bound(lower, upper)[0], np.finfo(dtype).eps)
    assert tie_starts(widths, tolerance).tolist() == [0]


def test_largest_finite_bound():
    lower = np.array([[-np.inf, -7.0, -np.inf], [1.0, 2.0, -np.inf]])
    upper = np.array([[3.0, 5.0, np.inf], [np.inf, 6.0, np.inf]])
    assert largest_bound(lower, upper).tolist() == [3.0, 7.0, 0.0]
