"""What a histogram of ranks draws."""

import numpy as np
import pytest

from calibrant import CdfValues, Normal
from calibrant.core import pictures as plots
from calibrant.core.panels import MAX_PANELS
from calibrant.ranking.curves import ecdf_difference, rank_histogram
from calibrant.ranking.expected_coverage import expected_coverage
from calibrant.ranking.pit import pit_histogram
from calibrant.summaries import Ranks

RNG = np.random.default_rng(0)
ONE = rank_histogram(Ranks.of([0, 0, 0, 1, 1, 4, 2], M=4), bins=2)
THREE = rank_histogram(Ranks.of(RNG.integers(0, [10, 10, 8], (300, 3)), M=9, names=["a", "b", "c"]), bins=5)
MANY = rank_histogram(Ranks.of(RNG.integers(0, 10, (50, 40)), M=9))
DISTRIBUTION = rank_histogram(None, CdfValues([0.1, 0.3, 0.6, 0.61]), bins=4)
ECDF_RNG = np.random.default_rng(0)
ECDF_OF_ONE = ecdf_difference(Ranks.of(ECDF_RNG.integers(0, 30, (60, 2)).min(axis=1), M=29))
ECDF_OF_THREE = ecdf_difference(Ranks.of(ECDF_RNG.integers(0, [30, 30, 25], (300, 3)), M=29, names=["a", "b", "c"]))
ECDF_OF_MANY = ecdf_difference(Ranks.of(ECDF_RNG.integers(0, 10, (50, 40)), M=9))
ECDF_OF_DISTRIBUTION = ecdf_difference(ECDF_RNG.normal(size=30), Normal(np.zeros(30), 1.0))
COVERAGE_RNG = np.random.default_rng(0)
NARROW = Ranks.of(COVERAGE_RNG.choice([0, 1, 2, 10, 20, 30, 57, 58, 59], 80), M=59)
COVERAGE_OF_ONE = expected_coverage(NARROW)
FEW_LEVELS = expected_coverage(NARROW, levels=[0.9, 0.5])
SINGLE = expected_coverage(NARROW, levels=0.9)
COVERAGE_OF_THREE = expected_coverage(
    Ranks.of(COVERAGE_RNG.integers(0, [30, 30, 25], (300, 3)), M=29, names=["a", "b", "c"]), region="hpd"
)
COVERAGE_OF_MANY = expected_coverage(Ranks.of(COVERAGE_RNG.integers(0, 10, (50, 40)), M=9))
CURVE = pit_histogram(None, CdfValues([0.5, 1.0], below=[0.0, 0.0]), bins=2)


def lines(ax):
    return {line.get_label().split(",")[0]: line for line in ax.lines}


JOINT = "95 % band, joint"
LEGENDS = {
    JOINT: [ONE, THREE, MANY, DISTRIBUTION],
    "± 1 sd, pointwise": [ECDF_OF_ONE, ECDF_OF_THREE, ECDF_OF_MANY, ECDF_OF_DISTRIBUTION],
    "95 % interval, pointwise": [COVERAGE_OF_ONE, FEW_LEVELS, SINGLE, COVERAGE_OF_MANY],
    "calibrated": [COVERAGE_OF_THREE],
}


@pytest.mark.parametrize("label", LEGENDS)
def test_bands_are_called_joint_or_pointwise(plt, label):
    for curve in LEGENDS[label]:
        labels = [text.get_text() for text in curve.plot().get_legend().get_texts()]
        assert {JOINT, label} <= set(labels)
        assert ("95 % interval, pointwise" in labels) == (label == "95 % interval, pointwise")


def band(ax):
    (found,) = [shape for shape in ax.collections if shape.get_label() == "95 % band, joint"]
    return found.get_paths()[0].vertices


def test_bars(plt):
    ax = ONE.plot()
    (bars,) = ax.containers
    assert [(bar.get_x(), bar.get_width()) for bar in bars] == [(-0.5, 2), (1.5, 3)]
    np.testing.assert_allclose([bar.get_height() for bar in bars], [5 / 2.8, 2 / 4.2])
    assert bars.get_label().startswith("observed, p ")
    np.testing.assert_array_equal(lines(ax)["calibrated"].get_ydata(), [1, 1])
    assert ax.get_xlim() == (-0.5, 4.5)
    assert ax.get_ylim()[0] == 0
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("rank of the outcome among its draws", "rows over expected rows")
    ax = THREE.plot()
    assert not ax.containers
    for c, name in enumerate("abc"):
        np.testing.assert_allclose(lines(ax)[name].get_ydata(), np.repeat(THREE.counts[:, c] / 60, 2))
        np.testing.assert_array_equal(lines(ax)[name].get_xdata(), np.repeat([-0.5, 1.5, 3.5, 5.5, 7.5, 9.5], 2)[1:-1])
    ax = DISTRIBUTION.plot()
    assert [bar.get_x() for bar in ax.containers[0]] == [0, 0.25, 0.5, 0.75]
    assert (ax.get_xlim(), ax.get_xlabel()) == ((0, 1), "probability integral transform")
    assert ECDF_OF_DISTRIBUTION.plot().get_xlabel() == "probability integral transform t"
    corners = {(x, round(y, 12)) for x, y in band(ONE.plot()).tolist()}
    edges = [(-0.5, 1.5), (1.5, 4.5)]
    for side in (ONE.lower / ONE.expected, ONE.upper / ONE.expected):
        assert {(x, round(y, 12)) for y, ends in zip(side.tolist(), edges, strict=True) for x in ends} <= corners


def panels(ax):
    """Return the panels by the first line of their titles."""
    return {panel.get_title().split("\n")[0]: panel for panel in ax.child_axes}


def worst_in_order(curve):
    return [f"column {c}" for c in sorted(np.argsort(curve.pvalue_each, kind="stable")[:MAX_PANELS].tolist())]


def test_many_columns_have_a_panel_each(plt):
    ax = MANY.plot()
    found = panels(ax)
    assert list(found) == worst_in_order(MANY)
    worst = int(np.argmin(MANY.pvalue_each))
    (bars,) = found[f"column {worst}"].containers
    np.testing.assert_allclose([bar.get_height() for bar in bars], MANY.counts[:, worst] / MANY.expected)
    assert len({panel.get_ylim() for panel in found.values()}) == 1
    assert "20 of 40" in ax.get_xlabel()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["95 % band, joint", "calibrated", "observed"]
    ax = MANY.plot()
    ax.figure.canvas.draw()
    boxes = [panel.get_tightbbox() for panel in ax.child_axes]
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:k])
    assert min(box.y0 for box in boxes) > ax.get_legend().get_window_extent().y1


class TestWords:
    def test_marks(self):
        first, second = plots.marks(ONE.kind, ONE.columns, ONE.details)
        assert (first.x, first.y) == (0.5, 5 / 2.8)
        assert first.text.startswith("ranks 0 to 1\nobserved 5 rows, expected 2.8\njoint band ")
        assert second.x == 3
        cells, single = DISTRIBUTION, rank_histogram(Ranks.of([0, 1, 1], M=1))
        assert plots.marks(cells.kind, cells.columns, cells.details)[1].text.startswith("0.25 to 0.5\n")
        assert plots.marks(single.kind, single.columns, single.details)[1].text.startswith("rank 1\n")
        for k, mark in enumerate(plots.marks(THREE.kind, THREE.columns, THREE.details)):  # the farthest column
            c = int(abs(THREE.counts[k] - 60).argmax())
            assert mark.y == THREE.counts[k, c] / 60
            assert f"\n{THREE.names[c]} {THREE.counts[k, c]} rows, expected 60\n" in mark.text

    def test_descriptions(self):
        words = plots.describe(ONE.kind, ONE.columns, ONE.details)
        assert "Histogram of ranks of 7 rows in 2 bins. 0 of 2 bars lie outside the 95 % band" in words
        assert "The highest bar has 1.79 times its expected rows (ranks 0 to 1), the lowest 0.48 times" in words
        words, counts = plots.describe(THREE.kind, THREE.columns, THREE.details), THREE.counts.T
        outside = ((counts < THREE.lower) | (counts > THREE.upper)).sum()
        assert outside > 0
        assert f"{outside} of 15 bars of 3 columns lie outside" in words
        assert "The highest bar of the worst, c, has" in words


def ecdf_lines(ax):
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


@pytest.mark.parametrize(("scale", "factor"), [(None, 1), ("sqrt_n", np.sqrt(60))])
def test_one_column(plt, scale, factor):
    ax = ECDF_OF_ONE.plot(scale=scale)
    assert ECDF_OF_ONE.pvalue < 0.001
    curve = ecdf_lines(ax)["observed, p < 0.001"]
    np.testing.assert_array_equal(curve.get_xdata(), ECDF_OF_ONE.t)
    np.testing.assert_allclose(curve.get_ydata(), factor * ECDF_OF_ONE.v)
    corners = {(x, round(y, 12)) for x, y in band(ax).tolist()}
    for side in (ECDF_OF_ONE.lower, ECDF_OF_ONE.upper):
        assert {
            (t, round(y, 12)) for t, y in zip(ECDF_OF_ONE.t.tolist(), (factor * side).tolist(), strict=True)
        } <= corners
    deviations = [line for line in ax.lines if line.get_linestyle() == "--"]
    np.testing.assert_allclose(
        [line.get_ydata() for line in deviations], factor * np.array([ECDF_OF_ONE.sd, -ECDF_OF_ONE.sd])
    )
    assert ax.get_ylabel() == "share below t, minus t" + (", times √n" if scale else "")
    assert ax.get_xlabel() == "rank over number of ranks, t"


def test_colours_of_columns(plt):
    found = ecdf_lines(ECDF_OF_THREE.plot())
    for c, name in enumerate("abc"):
        (line,) = [line for label, line in found.items() if label.startswith(f"{name}, p ")]
        np.testing.assert_array_equal(line.get_ydata(), ECDF_OF_THREE.v[:, c])
    assert [label[0] for label in found if ", p " in label] == ["a", "b", "c"]
    ranks = Ranks.of(np.random.default_rng(1).integers(0, [30, 22, 30], (200, 3)), M=29, names=["a", "b", "c"])
    colours = [
        {line.get_label()[0]: line.get_color() for line in curve.plot().lines if ", p " in line.get_label()}
        for curve in (ecdf_difference(ranks), rank_histogram(ranks), expected_coverage(ranks))
    ]
    assert colours[0] == colours[1] == colours[2]
    assert list(colours[0]) == ["a", "b", "c"]


def test_many_columns(plt):
    for ax in (ECDF_OF_MANY.plot(), ECDF_OF_MANY.plot(ax=plt.subplots()[1])):
        found = panels(ax)
        assert list(found) == worst_in_order(ECDF_OF_MANY)
        for name, panel in found.items():
            (line,) = [line for line in panel.lines if line.get_label().startswith("column")]
            np.testing.assert_array_equal(line.get_ydata(), ECDF_OF_MANY.v[:, int(name.removeprefix("column "))])
            assert len(band(panel))


def test_marks_of_panels(plt, refusal):
    found = plots.marks(ECDF_OF_MANY.kind, ECDF_OF_MANY.columns, ECDF_OF_MANY.details)
    assert {mark.panel for mark in found} == set(range(MAX_PANELS))
    names = worst_in_order(ECDF_OF_MANY)
    assert all(mark.text.startswith(f"{names[mark.panel]} ") for mark in found)
    assert "scale must be one of None, 'sqrt_n'" in refusal(ECDF_OF_ONE.plot, scale="log")
    assert "no option size; its options are scale" in refusal(ECDF_OF_ONE.plot, size=3)


class TestEcdfWords:
    def test_marks(self):
        found = plots.marks(ECDF_OF_THREE.kind, ECDF_OF_THREE.columns, ECDF_OF_THREE.details)
        assert [mark.x for mark in found] == ECDF_OF_THREE.t[1:-1].tolist()
        for mark, v in zip(found, ECDF_OF_THREE.v[1:-1], strict=True):
            farthest = int(abs(v).argmax())
            assert mark.y == v[farthest]
            assert mark.text.startswith(f"{ECDF_OF_THREE.names[farthest]} {mark.y:+.4f} at t = ")
            assert "joint band" in mark.text

    def test_descriptions(self):
        one, three, calm = (
            plots.describe(curve.kind, curve.columns, curve.details)
            for curve in (ECDF_OF_ONE, ECDF_OF_THREE, ECDF_OF_DISTRIBUTION)
        )
        k = int(np.flatnonzero(ECDF_OF_ONE.t == ECDF_OF_ONE.where)[0])
        assert "The curve leaves the 95 % band, joint over all points." in one
        assert f"It departs most at t = {ECDF_OF_ONE.where:.3g}, by {ECDF_OF_ONE.v[k]:+.3f}; p < 0.001." in one
        assert "1 of 3 curves leave the 95 % band" in three
        assert "The worst, c, departs most at t = " in three
        assert "stays inside" in calm


class TestThinned:
    @pytest.mark.parametrize(
        ("verb", "x", "y"), [(ecdf_difference, "t", "v"), (expected_coverage, "level", "coverage")]
    )
    def test_extremes_stay(self, verb, x, y, plt):
        curve = verb(Ranks.of(ECDF_RNG.integers(0, 1000, (100, 3)), M=999))
        few = plots.thin(curve.kind, curve.columns, 200)
        assert 50 < len(few[x]) <= 200
        assert few[y].shape == (len(few[x]), 3)
        assert few[y].max() == curve.columns[y].max()
        if verb is ecdf_difference:
            assert few["v"].min() == curve.v.min()
            assert (few["upper"].max(), few["t"][0], few["t"][-1]) == (curve.upper.max(), 0, 1)
        plots.draw(curve.kind, few, curve.details)
        np.testing.assert_array_equal(plots.thin(THREE.kind, THREE.columns, 100)["counts"], THREE.counts)

    def test_many_lines_share_the_points(self):
        curve = ecdf_difference(Ranks.of(ECDF_RNG.integers(0, 1000, (30, 60)), M=999), points=400)
        assert len(plots.thin(curve.kind, curve.columns, 1600)["t"]) <= 100


def test_coverage_of_one_column(plt):
    ax = COVERAGE_OF_ONE.plot()
    np.testing.assert_array_equal(lines(ax)["observed"].get_xdata(), COVERAGE_OF_ONE.level)
    np.testing.assert_array_equal(lines(ax)["observed"].get_ydata(), COVERAGE_OF_ONE.coverage)
    np.testing.assert_array_equal(lines(ax)["calibrated"].get_xydata(), [[0, 0], [1, 1]])
    corners = set(map(tuple, band(ax).tolist()))
    for side in (COVERAGE_OF_ONE.lower, COVERAGE_OF_ONE.upper):
        assert set(zip(COVERAGE_OF_ONE.level.tolist(), side.tolist(), strict=True)) <= corners
    dotted = [line.get_ydata() for line in ax.lines if line.get_linestyle() == ":"]
    np.testing.assert_array_equal(dotted, [COVERAGE_OF_ONE.low, COVERAGE_OF_ONE.high])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("nominal coverage", "observed coverage")


def test_a_few_levels_in_any_order(plt):
    ax = FEW_LEVELS.plot()
    np.testing.assert_array_equal(lines(ax)["observed"].get_xdata(), FEW_LEVELS.level[::-1])
    (sticks,) = ax.containers
    ends = np.array(sticks.lines[2][0].get_segments())[:, :, 1]
    np.testing.assert_allclose(ends, np.column_stack([FEW_LEVELS.low, FEW_LEVELS.high])[::-1])
    assert sticks.get_label() == "95 % interval, pointwise"
    corners = band(SINGLE.plot())
    assert (corners[:, 1].min(), corners[:, 1].max()) == (SINGLE.lower.item(), SINGLE.upper.item())
    assert (corners[:, 0].min(), corners[:, 0].max()) == pytest.approx((0.88, 0.92))


def test_columns(plt):
    found = lines(COVERAGE_OF_THREE.plot())
    for c, name in enumerate("abc"):
        np.testing.assert_array_equal(found[name].get_ydata(), COVERAGE_OF_THREE.coverage[:, c])
    assert list(panels(COVERAGE_OF_MANY.plot())) == worst_in_order(COVERAGE_OF_MANY)


class TestWordsExpectedCoverage:
    def test_marks(self):
        for curve in (FEW_LEVELS, COVERAGE_OF_THREE):
            found = plots.marks(curve.kind, curve.columns, curve.details)
            order = np.argsort(curve.level)
            assert [mark.x for mark in found] == curve.level[order].tolist()
            coverage = curve.coverage.reshape(len(order), -1)[order]
            farthest = abs(coverage - curve.level[order][:, None]).argmax(axis=1)
            assert [mark.y for mark in found] == coverage[np.arange(len(order)), farthest].tolist()
        assert found[0].text.split("\n")[1].startswith("pointwise ")
        assert found[0].text.split("\n")[2].startswith("joint band ")

    def test_descriptions(self):
        words = plots.describe(COVERAGE_OF_ONE.kind, COVERAGE_OF_ONE.columns, COVERAGE_OF_ONE.details)
        assert "coverage of central intervals, from 80 rows. The curve leaves the 95 % band, joint over all" in words
        k = int(np.flatnonzero(COVERAGE_OF_ONE.level == COVERAGE_OF_ONE.where)[0])
        assert COVERAGE_OF_ONE.coverage[k] < COVERAGE_OF_ONE.where
        assert (
            f"nominal {COVERAGE_OF_ONE.where:.3g}, observed {COVERAGE_OF_ONE.coverage[k]:.3f}, "
            "below the diagonal; p < 0.001." in words
        )
        assert words.endswith("Below the diagonal is over-confident, above it under-confident.")
        words = plots.describe(COVERAGE_OF_THREE.kind, COVERAGE_OF_THREE.columns, COVERAGE_OF_THREE.details)
        assert "coverage of regions of highest density" in words
        assert "1 of 3 curves leave" in words
        assert "The worst, c, departs most at nominal " in words
        assert "above the diagonal" in words


def test_pits(plt):
    ax = CURVE.plot()
    bars = [(bar.get_x(), bar.get_width(), bar.get_height()) for bar in ax.containers[0]]
    assert bars == [(0.0, 0.5, 1.5), (0.5, 0.5, 0.5)]
    np.testing.assert_array_equal(lines(ax)["calibrated"].get_ydata(), [1, 1])
    (band,) = ax.collections
    assert (band.get_label(), band.get_datalim(ax.transData).extents.tolist()) == ("95 % band, joint", [0, 0, 1, 2])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("probability integral transform", "share of rows over expected share")
    assert (ax.get_xlim(), ax.get_ylim()[0]) == ((0, 1), 0)
    first, second = plots.marks(CURVE.kind, CURVE.columns, CURVE.details)
    assert (first.x, first.y, first.text) == (0.25, 1.5, "0 to 0.5\n75.0% of rows, expected 50.0%")
    assert (second.x, second.y) == (0.75, 0.5)
    words = plots.describe(CURVE.kind, CURVE.columns, CURVE.details)
    assert "in 2 bins, each expected to contain 50.0% of the rows. 0 of 2 bars lie outside the 95 % band" in words
    assert "The fullest, from 0 to 0.5, contains 75.0%" in words
