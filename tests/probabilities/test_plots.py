"""What the curves of probabilities draw."""

import numpy as np
import pytest

from calibrant import Quantiles, cumulative_differences, reliability_curve
from calibrant.core import pictures as plots

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


def assert_region(region, places, lows, highs):
    corners = region.get_paths()[0].vertices
    for x, low, high in zip(places, lows, highs, strict=True):
        heights = corners[corners[:, 0] == x, 1]
        assert (heights.min(), heights.max()) == (low, high)


def test_points(ax):
    (container,) = [container for container in ax.containers if hasattr(container, "lines")]
    points, _, (sticks,) = container.lines
    np.testing.assert_array_equal(points.get_xdata(), [0.1875, 1.0])
    np.testing.assert_array_equal(points.get_ydata(), [0.5, 1.0])
    ends = np.array([stick[:, 1] for stick in sticks.get_segments()])
    shown = CURVE.count > 0
    np.testing.assert_allclose(ends, np.stack([CURVE.interval_low, CURVE.interval_high], axis=1)[shown])


def test_bars_of_bins_with_rows(ax):
    counts, band = bars(ax, "share of rows"), bars(ax, "if calibrated")
    for boxes in (counts, band):
        assert len(boxes) == 2
        np.testing.assert_allclose(boxes[:, 0] + boxes[:, 2] / 2, [0.125, 0.875])
    shown = CURVE.count > 0
    np.testing.assert_allclose(band[:, 1], CURVE.consistency_low[shown])
    np.testing.assert_allclose(band[:, 1] + band[:, 3], CURVE.consistency_high[shown])
    assert counts[0, 3] == pytest.approx(2 * counts[1, 3])
    assert counts[:, 3].max() < 0.2


@pytest.mark.parametrize(
    ("options", "labels", "aspect"),
    [
        ({}, ("predicted probability", "observed frequency"), 1.0),
        ({"strategy": "isotonic", "resamples": 99}, ("predicted probability", "recalibrated probability"), 1.0),
        (None, ("share of rows, by score", "cumulative observed minus predicted"), "auto"),
    ],
)
def test_axes(plt, options, labels, aspect):
    y, p = [0, 1, 1], [0.125, 0.25, 1.0]
    ax = (cumulative_differences(y, p) if options is None else reliability_curve(y, p, **options)).plot()
    assert ((ax.get_xlabel(), ax.get_ylabel()), ax.get_aspect()) == (labels, aspect)
    assert ax.get_xlim()[0] <= 0
    assert ax.get_xlim()[1] >= 1
    for diagonal in (line for line in ax.lines if line.get_label() == "calibrated"):
        np.testing.assert_array_equal(diagonal.get_xydata(), [[0, 0], [1, 1]])


def test_level_is_written(plt):
    ax = reliability_curve([0, 1], [0.2, 0.7], level=0.9).plot()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sum("90 %" in label for label in labels) == 2  # of the intervals and of the band


def test_isotonic_fit_and_its_region(plt):
    curve = reliability_curve([1, 0, 1], [0.25, 0.5, 0.75], strategy="isotonic", resamples=99)
    ax = curve.plot()
    (fit,) = [line for line in ax.lines if line.get_label() == "isotonic fit"]
    np.testing.assert_array_equal(fit.get_xydata(), [[0.25, 0.5], [0.5, 0.5], [0.75, 1.0]])
    (region,) = ax.collections
    assert_region(region, curve.p, curve.consistency_low, curve.consistency_high)
    assert "95 %" in region.get_label()


class TestCumulative:
    curve = cumulative_differences([0, 1, 0, 0], [0.25, 0.5, 0.5, 1.0])

    def test_walk_and_band_of_two_standard_deviations_of_the_end(self, plt):
        ax = self.curve.plot()
        (walk,) = [line for line in ax.lines if line.get_label() == "cumulative difference"]
        np.testing.assert_array_equal(walk.get_xdata(), self.curve.abscissa)
        np.testing.assert_array_equal(walk.get_ydata(), self.curve.difference)
        (band,) = ax.collections
        heights = band.get_paths()[0].vertices[:, 1]
        assert (heights.min(), heights.max()) == pytest.approx((-2 * self.curve.scale, 2 * self.curve.scale))
        # scores stand where they are reached
        ax.figure.canvas.draw()
        (top,) = ax.child_axes
        written = dict(zip(top.get_xticks(), (float(text.get_text()) for text in top.get_xticklabels()), strict=True))
        assert written == {0.25: 0.25, 0.75: 0.5, 1.0: 1.0}
        assert top.get_xlabel() == "score"

    @pytest.mark.parametrize("n", [1, 2, 1000])
    def test_any_number_of_scores(self, plt, n):
        p = (np.arange(n) + 0.5) / n
        ax = cumulative_differences(p > 0.5, p).plot()
        ax.figure.canvas.draw()
        assert 1 <= len(ax.child_axes[0].get_xticks()) <= min(n, 8)


class TestQuantiles:
    y = (3.0, 1.0, 5.0, 4.0)
    values = np.stack([np.arange(4.0), np.arange(4.0) + 2], axis=1)
    curve = reliability_curve(y, Quantiles(values, [0.25, 0.75]))

    @pytest.fixture
    def ax(self, plt):
        return self.curve.plot()

    def test_one_line_per_level(self, ax):
        for level in (0.25, 0.75):
            (line,) = [line for line in ax.lines if line.get_label() == f"level {level:g}"]
            chosen = self.curve.level == level
            np.testing.assert_array_equal(line.get_xdata(), self.curve.forecast[chosen])
            middle = (self.curve.recalibrated_low + self.curve.recalibrated_high)[chosen] / 2
            np.testing.assert_array_equal(line.get_ydata(), middle)
        (line,) = [line for line in ax.lines if line.get_label() == "calibrated"]
        np.testing.assert_array_equal(line.get_xydata(), [[0, 0], [5, 5]])
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("forecast quantile", "recalibrated quantile")

    def test_one_region_per_level(self, ax):
        assert len(ax.collections) == 2
        names = ("forecast", "recalibrated_low", "recalibrated_high")
        assert_region(ax.collections[1], *(self.curve.columns[name][self.curve.level == 0.75] for name in names))

    def test_few_labels_for_many_levels(self, plt):
        levels = np.arange(1, 20) / 20
        ax = reliability_curve(self.y, Quantiles(np.arange(4.0)[:, None] + levels, levels)).plot()
        assert len(ax.get_legend().get_texts()) == 8

    def test_infinite_forecasts_are_left_out(self, plt):
        curve = reliability_curve(self.y, Quantiles([-np.inf, 1.0, 2.0, np.inf], 0.5))
        ax = curve.plot()
        (line,) = [line for line in ax.lines if line.get_label() == "level 0.5"]
        np.testing.assert_array_equal(line.get_xdata(), [1.0, 2.0])
        assert len(plots.marks(curve.kind, curve.columns, curve.details)) == 2
        assert "forecast" in plots.describe(curve.kind, curve.columns, curve.details)

    def test_marks_and_words(self):
        marks = plots.marks(self.curve.kind, self.curve.columns, self.curve.details)
        assert len(marks) == 8
        assert marks[0].text == "level 0.25: forecast 0\nrecalibrated 1\n1 rows"
        words = plots.describe(self.curve.kind, self.curve.columns, self.curve.details)
        assert words.startswith("Recalibrated against forecast quantiles of 2 levels. The largest gap is at level")

    def test_each_level_is_thinned_alone(self):
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
