"""What a plot of cumulative differences draws."""

import numpy as np
import pytest

from calibrant import cumulative_differences

CURVE = cumulative_differences([0, 1, 0, 0], [0.25, 0.5, 0.5, 1.0])


@pytest.fixture
def ax(plt):
    return CURVE.plot()


def test_walk(ax):
    (walk,) = [line for line in ax.lines if line.get_label() == "cumulative difference"]
    np.testing.assert_array_equal(walk.get_xdata(), CURVE.abscissa)
    np.testing.assert_array_equal(walk.get_ydata(), CURVE.difference)


def test_band_is_two_standard_deviations_of_the_end(ax):
    (band,) = ax.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((-2 * CURVE.scale, 2 * CURVE.scale))


def test_axes(ax):
    assert ax.get_xlabel() == "share of rows, by score"
    assert ax.get_ylabel() == "cumulative observed minus predicted"
    assert ax.get_xlim() == (0.0, 1.0)


def test_scores_stand_where_they_are_reached(ax):
    ax.figure.canvas.draw()
    (top,) = ax.child_axes
    written = dict(zip(top.get_xticks(), (float(text.get_text()) for text in top.get_xticklabels()), strict=True))
    assert written == {0.25: 0.25, 0.75: 0.5, 1.0: 1.0}
    assert top.get_xlabel() == "score"


@pytest.mark.parametrize("n", [1, 2, 1000])
def test_any_number_of_scores(plt, n):
    p = (np.arange(n) + 0.5) / n
    ax = cumulative_differences(p > 0.5, p).plot()
    ax.figure.canvas.draw()
    assert 1 <= len(ax.child_axes[0].get_xticks()) <= min(n, 8)
