"""What a reliability diagram of quantiles draws."""

import numpy as np
import pytest

from calibrant import Quantiles, plots, reliability_curve

Y = [3.0, 1.0, 5.0, 4.0]
VALUES = np.stack([np.arange(4.0), np.arange(4.0) + 2], axis=1)
CURVE = reliability_curve(Y, Quantiles(VALUES, [0.25, 0.75]))


@pytest.fixture
def ax(plt):
    return CURVE.plot()


def test_one_line_per_level(ax):
    for level in (0.25, 0.75):
        (line,) = [line for line in ax.lines if line.get_label() == f"level {level:g}"]
        chosen = CURVE.level == level
        np.testing.assert_array_equal(line.get_xdata(), CURVE.forecast[chosen])
        middle = (CURVE.recalibrated_low + CURVE.recalibrated_high)[chosen] / 2
        np.testing.assert_array_equal(line.get_ydata(), middle)


def test_one_region_per_level(ax):
    assert len(ax.collections) == 2
    corners = ax.collections[1].get_paths()[0].vertices
    chosen = CURVE.level == 0.75
    for x, low, high in zip(
        CURVE.forecast[chosen], CURVE.recalibrated_low[chosen], CURVE.recalibrated_high[chosen], strict=True
    ):
        heights = corners[corners[:, 0] == x, 1]
        assert (heights.min(), heights.max()) == (low, high)


def test_diagonal(ax):
    (line,) = [line for line in ax.lines if line.get_label() == "calibrated"]
    np.testing.assert_array_equal(line.get_xydata(), [[0, 0], [5, 5]])


def test_axes(ax):
    assert ax.get_xlabel() == "forecast quantile"
    assert ax.get_ylabel() == "recalibrated quantile"


def test_few_labels_for_many_levels(plt):
    levels = np.arange(1, 20) / 20
    ax = reliability_curve(Y, Quantiles(np.arange(4.0)[:, None] + levels, levels)).plot()
    assert len(ax.get_legend().get_texts()) == 8


def test_infinite_forecasts_are_left_out(plt):
    curve = reliability_curve(Y, Quantiles([-np.inf, 1.0, 2.0, np.inf], 0.5))
    ax = curve.plot()
    (line,) = [line for line in ax.lines if line.get_label() == "level 0.5"]
    np.testing.assert_array_equal(line.get_xdata(), [1.0, 2.0])
    assert len(plots.marks(curve.kind, curve.columns, curve.details)) == 2
    assert "forecast" in plots.describe(curve.kind, curve.columns, curve.details)


def test_marks_and_words():
    marks = plots.marks(CURVE.kind, CURVE.columns, CURVE.details)
    assert len(marks) == 8
    assert marks[0].text == "level 0.25: forecast 0\nrecalibrated 1\n1 rows"
    words = plots.describe(CURVE.kind, CURVE.columns, CURVE.details)
    assert words.startswith("Recalibrated against forecast quantiles of 2 levels. The largest gap is at level")


def test_each_level_is_thinned_alone():
    y = np.random.default_rng(0).normal(size=5000)
    q = y + np.random.default_rng(1).normal(size=5000)
    curve = reliability_curve(y, Quantiles(np.stack([q - 1, q + 1], axis=1), [0.2, 0.8]))
    few = plots.thin(curve.kind, curve.columns, 400)
    assert len(few["level"]) <= 400
    for level in (0.2, 0.8):
        ours, all_ = few["level"] == level, curve.level == level
        assert ours.sum() > 50
        for name in ("forecast", "recalibrated_low", "recalibrated_high"):
            ends = (few[name][ours].min(), few[name][ours].max())
            assert ends == (curve.columns[name][all_].min(), curve.columns[name][all_].max())
