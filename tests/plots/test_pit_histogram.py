"""What a histogram of the probability integral transform draws."""

import numpy as np
import pytest

from calibrant import CdfValues, plots
from calibrant.curves.pit_histogram import pit_histogram

CURVE = pit_histogram(None, CdfValues([0.5, 1.0], below=[0.0, 0.0]), bins=2)


@pytest.fixture
def ax(plt):
    return CURVE.plot()


def test_bars(ax):
    bars = ax.containers[0]
    assert [bar.get_x() for bar in bars] == [0.0, 0.5]
    assert [bar.get_width() for bar in bars] == [0.5, 0.5]
    assert [bar.get_height() for bar in bars] == [1.5, 0.5]


def test_reference_line(ax):
    (line,) = [line for line in ax.lines if line.get_label() == "calibrated"]
    np.testing.assert_array_equal(line.get_ydata(), [1, 1])


def test_axes(ax):
    assert ax.get_xlabel() == "probability integral transform"
    assert ax.get_ylabel() == "share of rows over expected share"
    assert ax.get_xlim() == (0, 1)
    assert ax.get_ylim()[0] == 0


def test_marks():
    first, second = plots.marks(CURVE.kind, CURVE.columns, CURVE.details)
    assert (first.x, first.y, first.text) == (0.25, 1.5, "0 to 0.5\n75.0% of rows, expected 50.0%")
    assert (second.x, second.y) == (0.75, 0.5)


def test_words():
    words = plots.describe(CURVE.kind, CURVE.columns, CURVE.details)
    assert "in 2 bins, each expected to hold 50.0%" in words
    assert "The fullest, from 0 to 0.5, holds 75.0%" in words
