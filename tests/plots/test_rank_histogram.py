"""What a histogram of ranks draws."""

import numpy as np
import pytest

from calibrant import CdfValues, Ranks, plots
from calibrant.curves.rank_histogram import rank_histogram

RNG = np.random.default_rng(0)
ONE = rank_histogram(Ranks.of([0, 0, 0, 1, 1, 4, 2], M=4), bins=2)
THREE = rank_histogram(Ranks.of(RNG.integers(0, [10, 10, 8], (300, 3)), M=9, names=["a", "b", "c"]), bins=5)
MANY = rank_histogram(Ranks.of(RNG.integers(0, 10, (50, 40)), M=9))
LAW = rank_histogram(None, CdfValues([0.1, 0.3, 0.6, 0.61]), bins=4)
CURVES = {"one": ONE, "three": THREE, "many": MANY, "law": LAW}


def lines(ax):
    return {line.get_label().split(",")[0]: line for line in ax.lines}


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


def test_band_is_a_strip_of_steps(plt):
    corners = {(x, round(y, 12)) for x, y in band(ONE.plot()).tolist()}
    edges = [(-0.5, 1.5), (1.5, 4.5)]
    for side in (ONE.lower / ONE.expected, ONE.upper / ONE.expected):
        assert {(x, round(y, 12)) for y, ends in zip(side.tolist(), edges, strict=True) for x in ends} <= corners


def test_three_columns_are_steps(plt):
    ax = THREE.plot()
    assert not ax.containers
    for c, name in enumerate("abc"):
        line = lines(ax)[name]
        np.testing.assert_allclose(line.get_ydata(), np.repeat(THREE.counts[:, c] / 60, 2))
        np.testing.assert_array_equal(line.get_xdata(), np.repeat([-0.5, 1.5, 3.5, 5.5, 7.5, 9.5], 2)[1:-1])


def test_many_columns_are_lines(plt):
    ax = MANY.plot()
    worst = int(np.argmin(MANY.pvalue_each))
    line = lines(ax)[f"column {worst}"]
    np.testing.assert_array_equal(line.get_xdata(), (MANY.first + MANY.last) / 2)
    np.testing.assert_allclose(line.get_ydata(), MANY.counts[:, worst] / MANY.expected)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "28 others" in labels
    assert sum(label.startswith("column") for label in labels) == 12


def test_law(plt):
    ax = LAW.plot()
    assert [bar.get_x() for bar in ax.containers[0]] == [0, 0.25, 0.5, 0.75]
    assert ax.get_xlim() == (0, 1)
    assert ax.get_xlabel() == "probability integral transform"


@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES)
def test_bands_are_called_joint(plt, curve):
    assert "95 % band, joint" in [text.get_text() for text in curve.plot().get_legend().get_texts()]


class TestWords:
    def test_marks(self):
        first, second = plots.marks(ONE.kind, ONE.columns, ONE.details)
        assert (first.x, first.y) == (0.5, 5 / 2.8)
        assert first.text.startswith("ranks 0 to 1\nobserved 5 rows, expected 2.8\njoint band ")
        assert second.x == 3
        assert plots.marks(LAW.kind, LAW.columns, LAW.details)[1].text.startswith("0.25 to 0.5\n")
        single = rank_histogram(Ranks.of([0, 1, 1], M=1))
        assert plots.marks(single.kind, single.columns, single.details)[1].text.startswith("rank 1\n")

    def test_marks_of_columns_are_the_farthest(self):
        for k, mark in enumerate(plots.marks(THREE.kind, THREE.columns, THREE.details)):
            c = int(abs(THREE.counts[k] - 60).argmax())
            assert mark.y == THREE.counts[k, c] / 60
            assert f"\n{THREE.names[c]} {THREE.counts[k, c]} rows, expected 60\n" in mark.text

    def test_one(self):
        words = plots.describe(ONE.kind, ONE.columns, ONE.details)
        assert "Histogram of ranks of 7 rows in 2 bins. 0 of 2 bars lie outside the 95 % band" in words
        assert "The highest bar has 1.79 times its expected rows (ranks 0 to 1), the lowest 0.48 times" in words

    def test_several(self):
        words = plots.describe(THREE.kind, THREE.columns, THREE.details)
        counts = THREE.counts.T
        outside = ((counts < THREE.lower) | (counts > THREE.upper)).sum()
        assert outside > 0
        assert f"{outside} of 15 bars of 3 columns lie outside" in words
        assert "The highest bar of the worst, c, has" in words


def test_thinned_to_what_there_is():
    few = plots.thin(THREE.kind, THREE.columns, 100)
    np.testing.assert_array_equal(few["counts"], THREE.counts)
