"""What the distribution functions of two samples draw."""

import numpy as np
import pytest

from calibrant import plots
from calibrant.audit.point_view import two_ecdfs
from calibrant.plots import palette

A, B = np.array([1.0, 2.0, 2.0, 5.0]), np.array([0.0, 2.0, 7.0])


def curve(a=A, b=B, names=("real", "generated"), axis="length"):
    return two_ecdfs(a, b, names, axis)


def test_shares_by_hand():
    found = curve()
    assert found.value.tolist() == [0, 1, 2, 5, 7]
    assert found.first.tolist() == [0, 0.25, 0.75, 1, 1]
    np.testing.assert_allclose(found.second, [1 / 3, 1 / 3, 2 / 3, 2 / 3, 1])
    assert found.n == 7


def test_steps(plt):
    found = curve()
    ax = found.plot()
    assert [line.get_label() for line in ax.lines] == ["real", "generated"]
    for line, heights in zip(ax.lines, (found.first, found.second), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), found.value)
        np.testing.assert_array_equal(line.get_ydata(), heights)
        assert line.get_drawstyle() == "steps-post"  # a share holds from its value on
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("length", "share up to here")
    assert ax.get_ylim() == (-0.02, 1.02)


def test_lines_differ_by_more_than_colour(plt):
    real, generated = curve().plot().lines
    assert (real.get_color(), generated.get_color()) == (palette.OBSERVED, palette.SECOND)
    assert (real.is_dashed(), generated.is_dashed()) == (False, True)


def test_names_that_matplotlib_would_read_otherwise(plt):
    ax = curve(names=("_hidden", "$a^$ in $"), axis="$x^$ in $").plot()
    ax.figure.canvas.draw()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["set _hidden", r"\$a^\$ in \$"]
    assert ax.get_xlabel() == r"\$x^\$ in \$"


def test_marks_lie_on_the_upper_line(plt):
    found = curve()
    marks = plots.marks("two_ecdfs", found.columns, found.details)
    assert [(mark.x, mark.y) for mark in marks] == list(
        zip(found.value, np.maximum(found.first, found.second), strict=True)
    )
    assert marks[1].text == "up to 1\nreal 25.0%\ngenerated 33.3%"


def test_description_names_the_largest_gap():
    found = curve(np.array([1.0, 2.0, 3.0]), np.array([11.0, 12.0]))
    text = plots.describe("two_ecdfs", found.columns, found.details)
    assert text == (
        "Distribution functions of real and generated. They are farthest apart at 3, up to which there are 100.0% of "
        "real and 0.0% of generated."
    )


@pytest.mark.parametrize("most", [10, 50])
def test_thinned_keeps_the_shape(plt, most):
    rng = np.random.default_rng(0)
    found = curve(rng.normal(size=400), rng.normal(1.0, 2.0, 300))
    few = plots.thin("two_ecdfs", found.columns, most)
    assert 2 <= len(few["value"]) <= most
    assert (few["value"][0], few["value"][-1]) == (found.value[0], found.value[-1])
    assert (few["first"][-1], few["second"][-1]) == (1, 1)
    assert (np.diff(few["value"]) > 0).all()
    for name in ("first", "second"):
        assert (np.diff(few[name]) >= 0).all()
        drawn = np.interp(found.value, few["value"], few[name])
        assert np.abs(drawn - found.columns[name]).max() < 4 / most
    plots.draw("two_ecdfs", few, found.details)


def test_one_value(plt):
    found = curve(np.ones(3), np.ones(5))
    assert (found.value.tolist(), found.first.tolist(), found.second.tolist()) == ([1], [1], [1])
    found.plot().figure.canvas.draw()
    assert "farthest apart at 1" in plots.describe("two_ecdfs", found.columns, found.details)
