"""What a scatter of two sets draws."""

import numpy as np
import pytest

from calibrant import Curve, plots
from calibrant.plots import palette

RNG = np.random.default_rng(0)
FIRST, SECOND = RNG.normal(size=(30, 2)), RNG.normal([3.0, -1.0], 0.5, size=(50, 2))


def cloud(first=FIRST, second=SECOND, names=("real", "generated"), axes=("height", "weight")):
    both = np.concatenate([first, second])
    columns = {"first": both[:, 0], "second": both[:, 1], "set": np.repeat([0.0, 1.0], [len(first), len(second)])}
    return Curve("cloud", columns, "80 points", len(both), {"names": names, "axes": axes})


def test_points_of_both_sets(plt):
    ax = cloud().plot()
    real, generated = ax.lines
    np.testing.assert_array_equal(real.get_xydata(), FIRST)
    np.testing.assert_array_equal(generated.get_xydata(), SECOND)
    assert [line.get_label() for line in ax.lines] == ["real", "generated"]
    assert [line.get_linestyle() for line in ax.lines] == ["None", "None"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("height", "weight")


def test_sets_differ_by_more_than_colour(plt):
    real, generated = cloud().plot().lines
    assert (real.get_marker(), generated.get_marker()) == ("o", "x")
    assert (real.get_color(), generated.get_color()) == (palette.OBSERVED, palette.SECOND)


def test_names_that_matplotlib_would_read_otherwise(plt):
    ax = cloud(names=("_hidden", "$a^$ in $"), axes=("$x", "y$_")).plot()
    ax.figure.canvas.draw()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["set _hidden", r"\$a^\$ in \$"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == (r"\$x", r"y\$_")


def test_marks_are_the_middles(plt):
    curve = cloud()
    marks = plots.marks("cloud", curve.columns, curve.details)
    assert len(marks) == 2
    for mark, points, name in zip(marks, (FIRST, SECOND), ("real", "generated"), strict=True):
        assert (mark.x, mark.y) == pytest.approx(tuple(points.mean(axis=0)))
        assert mark.text.startswith(f"middle of {name}\n{mark.x:.3g}, {mark.y:.3g}")


def test_description():
    curve = cloud()
    text = plots.describe("cloud", curve.columns, curve.details)
    assert text.startswith("Scatter of height and weight. real: 30 points around ")
    assert f"generated: 50 points around {SECOND[:, 0].mean():.3g} and {SECOND[:, 1].mean():.3g}" in text
    assert text.endswith(f"{SECOND[:, 0].std():.3g} and {SECOND[:, 1].std():.3g}.")


@pytest.mark.parametrize("most", [2, 7, 40, 80, 500])
def test_thinned_evenly(plt, most):
    """Both sets stay, each is part of what it was, and no point is drawn in another set."""
    curve = cloud()
    few = plots.thin("cloud", curve.columns, most)
    assert len(few["set"]) <= most
    assert set(few["set"]) == {0.0, 1.0}
    for number, points in enumerate((FIRST, SECOND)):
        here = np.column_stack([few["first"], few["second"]])[few["set"] == number]
        assert set(map(tuple, here.tolist())) <= set(map(tuple, points.tolist()))
    plots.draw("cloud", few, curve.details)
    if most >= 2 * len(SECOND):
        np.testing.assert_array_equal(few["first"], curve.first)


@pytest.mark.parametrize("value", [0.0, 1e9, -1e-9])
def test_constant_points(plt, value):
    curve = cloud(np.full((5, 2), value), np.full((4, 2), value))
    curve.plot().figure.canvas.draw()
    assert "nan" not in plots.describe("cloud", curve.columns, curve.details)
