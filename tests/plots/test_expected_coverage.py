"""What a curve of expected coverage draws."""

import numpy as np
import pytest

from calibrant import Ranks, plots
from calibrant.curves.expected_coverage import expected_coverage

RNG = np.random.default_rng(0)
NARROW = Ranks.of(RNG.choice([0, 1, 2, 10, 20, 30, 57, 58, 59], 80), M=59)
ONE = expected_coverage(NARROW)
FEW = expected_coverage(NARROW, levels=[0.9, 0.5])
SINGLE = expected_coverage(NARROW, levels=0.9)
THREE = expected_coverage(Ranks.of(RNG.integers(0, [30, 30, 25], (300, 3)), M=29, names=["a", "b", "c"]), region="hpd")
MANY = expected_coverage(Ranks.of(RNG.integers(0, 10, (50, 40)), M=9))
CURVES = {"one": ONE, "few": FEW, "single": SINGLE, "three": THREE, "many": MANY}


def lines(ax):
    return {line.get_label().split(",")[0]: line for line in ax.lines}


def band(ax):
    (found,) = [shape for shape in ax.collections if shape.get_label() == "95 % band, joint"]
    return found.get_paths()[0].vertices


def test_one_column(plt):
    ax = ONE.plot()
    np.testing.assert_array_equal(lines(ax)["observed"].get_xdata(), ONE.level)
    np.testing.assert_array_equal(lines(ax)["observed"].get_ydata(), ONE.coverage)
    np.testing.assert_array_equal(lines(ax)["calibrated"].get_xydata(), [[0, 0], [1, 1]])
    corners = set(map(tuple, band(ax).tolist()))
    for side in (ONE.lower, ONE.upper):
        assert set(zip(ONE.level.tolist(), side.tolist(), strict=True)) <= corners
    dotted = [line.get_ydata() for line in ax.lines if line.get_linestyle() == ":"]
    np.testing.assert_array_equal(dotted, [ONE.low, ONE.high])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("nominal coverage", "observed coverage")


def test_a_few_levels_in_any_order(plt):
    ax = FEW.plot()
    np.testing.assert_array_equal(lines(ax)["observed"].get_xdata(), FEW.level[::-1])
    (sticks,) = ax.containers
    ends = np.array(sticks.lines[2][0].get_segments())[:, :, 1]
    np.testing.assert_allclose(ends, np.column_stack([FEW.low, FEW.high])[::-1])
    assert sticks.get_label() == "95 % interval, pointwise"


def test_one_level_has_a_band_too(plt):
    corners = band(SINGLE.plot())
    assert (corners[:, 1].min(), corners[:, 1].max()) == (SINGLE.lower.item(), SINGLE.upper.item())
    assert (corners[:, 0].min(), corners[:, 0].max()) == pytest.approx((0.88, 0.92))


def test_columns(plt):
    found = lines(THREE.plot())
    for c, name in enumerate("abc"):
        np.testing.assert_array_equal(found[name].get_ydata(), THREE.coverage[:, c])
    labels = [text.get_text() for text in MANY.plot().get_legend().get_texts()]
    assert "28 others" in labels
    assert sum(label.startswith("column") for label in labels) == 12


@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES)
def test_bands_are_called_joint_or_pointwise(plt, curve):
    labels = [text.get_text() for text in curve.plot().get_legend().get_texts()]
    assert "95 % band, joint" in labels
    assert ("95 % interval, pointwise" in labels) == (curve.coverage.ndim == 1)


class TestWords:
    def test_marks(self):
        for curve in (FEW, THREE):
            found = plots.marks(curve.kind, curve.columns, curve.details)
            order = np.argsort(curve.level)
            assert [mark.x for mark in found] == curve.level[order].tolist()
            coverage = curve.coverage.reshape(len(order), -1)[order]
            farthest = abs(coverage - curve.level[order][:, None]).argmax(axis=1)
            assert [mark.y for mark in found] == coverage[np.arange(len(order)), farthest].tolist()
        assert found[0].text.split("\n")[1].startswith("pointwise ")
        assert found[0].text.split("\n")[2].startswith("joint band ")

    def test_one(self):
        words = plots.describe(ONE.kind, ONE.columns, ONE.details)
        assert "coverage of central intervals, from 80 rows. The curve leaves the 95 % band, joint over all" in words
        k = int(np.flatnonzero(ONE.level == ONE.where)[0])
        assert ONE.coverage[k] < ONE.where
        assert f"nominal {ONE.where:.3g}, observed {ONE.coverage[k]:.3f}, below the diagonal; p < 0.001." in words
        assert words.endswith("Below the diagonal is over-confident, above it under-confident.")

    def test_several(self):
        words = plots.describe(THREE.kind, THREE.columns, THREE.details)
        assert "coverage of regions of highest density" in words
        assert "1 of 3 curves leave" in words
        assert "The worst, c, departs most at nominal " in words
        assert "above the diagonal" in words


def test_thinned():
    curve = expected_coverage(Ranks.of(RNG.integers(0, 1000, (100, 3)), M=999))
    few = plots.thin(curve.kind, curve.columns, 100)
    assert len(few["level"]) <= 100
    assert few["coverage"].shape == few["low"].shape == (len(few["level"]), 3)
    assert few["coverage"].max() == curve.coverage.max()
