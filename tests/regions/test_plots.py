"""What a coverage curve draws."""

import numpy as np
import pytest

from calibrant import Intervals, Sets
from calibrant.core import pictures as plots
from calibrant.regions.coverage_curve import coverage_curve

RNG = np.random.default_rng(0)
Y = RNG.normal(size=60)
HALF = np.broadcast_to([0.7, 1.3, 2.0], (60, 3))
PREDICTION = Intervals(-HALF, HALF, [0.5, 0.8, 0.95])
LEVELS = coverage_curve(Y, PREDICTION)
GROUPS = coverage_curve(Y, PREDICTION.at(0.8), groups=np.arange(60) % 3)
BOTH = coverage_curve(Y, PREDICTION, groups=np.arange(60) % 3)
SIZES = coverage_curve([0, 3], Sets([[True, False, False, False], [True, True, True, False]]), groups="size")


def test_levels(plt):
    ax = LEVELS.plot()
    (line,) = [line for line in ax.lines if line.get_label() == "observed"]
    np.testing.assert_array_equal(line.get_xdata(), LEVELS.nominal)
    np.testing.assert_array_equal(line.get_ydata(), LEVELS.coverage)
    (diagonal,) = [line for line in ax.lines if line.get_label() == "calibrated"]
    np.testing.assert_array_equal(diagonal.get_xydata(), [[0, 0], [1, 1]])
    (band,) = ax.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (LEVELS.lower.min(), LEVELS.upper.max())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("nominal coverage", "observed coverage")


def test_levels_in_any_order(plt):
    back = Intervals(-HALF[:, ::-1], HALF[:, ::-1], [0.95, 0.8, 0.5])
    (line,) = [line for line in coverage_curve(Y, back).plot().lines if line.get_label() == "observed"]
    np.testing.assert_array_equal(line.get_xdata(), LEVELS.nominal)


def ends(container):
    """Return the ends of horizontal or vertical sticks."""
    (sticks,) = container.lines[2]
    return np.array(sticks.get_segments())


def test_one_level(plt):
    curve = coverage_curve(Y, PREDICTION.at(0.8))
    ax = curve.plot()
    (dots,) = ax.containers
    np.testing.assert_array_equal(dots.lines[0].get_xydata(), [[0.8, curve.coverage.item()]])
    np.testing.assert_allclose(ends(dots)[0, :, 1], [curve.lower.item(), curve.upper.item()])
    assert dots.get_label() == "observed, 95 % interval"


def test_groups(plt):
    ax = GROUPS.plot()
    (dots,) = ax.containers
    np.testing.assert_array_equal(dots.lines[0].get_xdata(), GROUPS.coverage)
    np.testing.assert_array_equal(dots.lines[0].get_ydata(), [0, 1, 2])
    np.testing.assert_allclose(ends(dots)[:, :, 0], np.stack([GROUPS.lower, GROUPS.upper], axis=1))
    assert [text.get_text() for text in ax.get_yticklabels()] == ["0", "1", "2"]
    (nominal,) = [line for line in ax.lines if line.get_label() == "nominal"]
    assert nominal.get_xdata()[0] == 0.8
    assert ax.get_ylim() == (2.5, -0.5)  # the first group on top


def test_dollar_signs_are_no_formulas(plt, tmp_path):
    names = np.array(["$0-$100", "$$", "up to $5"])
    ax = coverage_curve(Y, PREDICTION.at(0.8), groups=names[np.arange(60) % 3]).plot()
    ax.figure.savefig(tmp_path / "groups.svg", metadata={"Date": None})
    assert {text.get_text() for text in ax.get_yticklabels()} == {r"\$0-\$100", r"\$\$", r"up to \$5"}
    with plt.rc_context({"svg.fonttype": "none"}):
        ax.figure.savefig(tmp_path / "groups.svg", metadata={"Date": None})
    drawn = (tmp_path / "groups.svg").read_text()
    assert all(f">{name}<" in drawn for name in names)


def test_groups_at_several_levels(plt):
    ax = BOTH.plot()
    assert len(ax.containers) == 3
    for dots, level in zip(ax.containers, [0.5, 0.8, 0.95], strict=True):
        here = BOTH.nominal == level
        np.testing.assert_array_equal(dots.lines[0].get_xdata(), BOTH.coverage[here])
        np.testing.assert_array_equal(np.rint(dots.lines[0].get_ydata()), [0, 1, 2])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(labels) == len(set(labels)) == 4


def test_groups_without_rows_are_left_out(plt):
    ax = SIZES.plot()
    assert [text.get_text() for text in ax.get_yticklabels()] == ["1", "3"]
    assert not [line for line in ax.lines if line.get_label() == "nominal"]


@pytest.mark.parametrize("curve", [LEVELS, GROUPS, BOTH, SIZES], ids=["levels", "groups", "both", "sizes"])
class TestWords:
    def test_marks(self, plt, curve):
        ax = curve.plot()
        drawn = plots.marks("coverage", curve.columns, curve.details)
        filled = curve.count > 0
        assert len(drawn) == filled.sum()
        (x0, x1), (y0, y1) = sorted(ax.get_xlim()), sorted(ax.get_ylim())
        for mark, n, share in zip(drawn, curve.count[filled], curve.coverage[filled], strict=True):
            assert f"observed {share:.3f}" in mark.text
            assert mark.text.endswith(f"{n:,} rows")
            assert "nan" not in mark.text
            assert x0 <= mark.x <= x1
            assert y0 <= mark.y <= y1

    def test_description(self, curve):
        text = plots.describe("coverage", curve.columns, curve.details)
        assert "nan" not in text
        assert text.endswith(".")

    def test_thinned(self, plt, curve):
        few = plots.thin("coverage", curve.columns, 100)
        assert {name: column.tolist() for name, column in few.items() if name == "group"} == {
            "group": curve.group.tolist()
        }


def test_description_names_the_largest_gap():
    text = plots.describe("coverage", LEVELS.columns, LEVELS.details)
    worst = int(np.abs(LEVELS.coverage - LEVELS.nominal).argmax())
    assert "3 levels; 0 of them" in text
    assert f"nominal {LEVELS.nominal[worst]:.3g}, observed {LEVELS.coverage[worst]:.3f}" in text


def test_many_groups_stay_drawable(plt):
    curve = coverage_curve(np.tile(Y, 50), PREDICTION.at(0.8).take(np.tile(np.arange(60), 50)), groups=np.arange(3000))
    few = plots.thin("coverage", curve.columns, 50)
    assert 1 <= len(few["coverage"]) <= 50
    assert few["coverage"].min() == curve.coverage.min()
    plots.draw("coverage", few, curve.details)
