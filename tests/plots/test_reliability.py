"""What a binned reliability diagram draws."""

import numpy as np
import pytest

from calibrant import reliability_curve

# (0, 0.25] holds two rows, (0.25, 0.75] none, (0.75, 1] one.
CURVE = reliability_curve([0, 1, 1], [0.125, 0.25, 1.0], bins=4)


@pytest.fixture
def ax(plt):
    return CURVE.plot()


def bars(ax, word):
    """Return the bars whose label has this word as (left, bottom, width, height)."""
    drawn = [container for container in ax.containers if hasattr(container, "patches")]
    (container,) = [container for container in drawn if word in container.get_label()]
    return np.array([(*bar.get_xy(), bar.get_width(), bar.get_height()) for bar in container])


def test_points(ax):
    (container,) = [container for container in ax.containers if hasattr(container, "lines")]
    points, _, (sticks,) = container.lines
    np.testing.assert_array_equal(points.get_xdata(), [0.1875, 1.0])
    np.testing.assert_array_equal(points.get_ydata(), [0.5, 1.0])
    ends = np.array([stick[:, 1] for stick in sticks.get_segments()])
    shown = CURVE.count > 0
    np.testing.assert_allclose(ends, np.stack([CURVE.interval_low, CURVE.interval_high], axis=1)[shown])


def test_no_bar_for_empty_bins(ax):
    for boxes in (bars(ax, "share of rows"), bars(ax, "if calibrated")):
        assert len(boxes) == 2
        np.testing.assert_allclose(boxes[:, 0] + boxes[:, 2] / 2, [0.125, 0.875])


def test_band(ax):
    band = bars(ax, "if calibrated")
    shown = CURVE.count > 0
    np.testing.assert_allclose(band[:, 1], CURVE.consistency_low[shown])
    np.testing.assert_allclose(band[:, 1] + band[:, 3], CURVE.consistency_high[shown])


def test_counts(ax):
    heights = bars(ax, "share of rows")[:, 3]
    assert heights[0] == pytest.approx(2 * heights[1])
    assert heights.max() < 0.2


def test_axes(ax):
    assert ax.get_xlabel() == "predicted probability"
    assert ax.get_ylabel() == "observed frequency"
    assert ax.get_aspect() == 1.0
    for low, high in (ax.get_xlim(), ax.get_ylim()):
        assert low <= 0
        assert high >= 1


def test_diagonal(ax):
    (diagonal,) = [line for line in ax.lines if line.get_label() == "calibrated"]
    np.testing.assert_array_equal(diagonal.get_xydata(), [[0, 0], [1, 1]])


def test_level_is_written(plt):
    ax = reliability_curve([0, 1], [0.2, 0.7], level=0.9).plot()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sum("90 %" in label for label in labels) == 2  # of the intervals and of the band


def test_weights(plt):
    ax = reliability_curve([0, 1], [0.2, 0.7], bins=2, weights=[1, 3], resamples=19).plot()
    heights = bars(ax, "share of rows")[:, 3]
    assert heights[1] == pytest.approx(3 * heights[0])
