"""Shares that a whole number of ranks can have."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.curves.attainable import nearest, read_points


@given(
    share=st.floats(0.001, 0.999),
    possible=st.sets(st.integers(1, 99), min_size=1).map(lambda found: np.array(sorted(found))),
)
def test_nothing_possible_is_nearer(share, possible):
    (found,) = nearest(share, possible, 100, name="levels")
    assert found in possible
    assert abs(found - 100 * share) <= abs(possible - 100 * share).min() + 1e-3


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_higher_of_two_that_are_equally_near(dtype):
    # 0.95 of 100 lies between 94 and 96, and slightly below the middle as a float32.
    assert nearest(np.array([0.95, 0.75], dtype), np.arange(50, 100, 2), 100, name="levels").tolist() == [96, 76]


def test_the_ends():
    assert nearest([0.01, 0.99], np.array([4, 6]), 10, name="levels").tolist() == [4, 6]


@pytest.mark.parametrize(
    ("points", "M", "expected"),
    [
        (1, 1, [1]),
        (3, 3, [1, 2, 3]),
        (3, 99, [25, 50, 75]),
        (4, 9, [2, 4, 6, 8]),
        (2, 9, [3, 7]),  # 10/3 and 20/3
        ([0.5, 0.1, 0.1001], 99, [10, 50]),
        (0.25, 3, [1]),
    ],
)
def test_points(points, M, expected):
    assert read_points(points, M).tolist() == expected


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (0, "points must be at least 1"),
        (10, "at most M = 9"),
        (True, "points must be numbers"),
        ([], "points must be a number or a list"),
        ([[0.5]], "got shape (1, 1)"),
        ([0.5, 1.0], "strictly between 0 and 1; got 1.0"),
        ([90.0], "Divide percentages by 100"),
        ([np.nan], "got nan"),
        (["a"], "points must be"),
    ],
)
def test_refusals(refusal, points, words):
    assert words in refusal(read_points, points, 9)
