"""The picture of groups."""

from itertools import pairwise

import numpy as np
import pytest

from calibrant.core.findings import Table
from calibrant.core.pictures import describe, marks, thin
from calibrant.core.plots import MAX_GROUPS_DRAWN, groups_figure, with_names


def errors(names, error, half, detectable=0.1):
    k = len(names)
    columns = {
        "group": tuple(names),
        "n": (100,) * k,
        "rms_error": tuple(error),
        "limits": tuple((max(0.0, e - half), e + half) for e in error),
        "minimum_detectable": (detectable,) * k,
    }
    return Table("groups", "Groups", columns)


COVERAGES = Table(
    "groups",
    "Groups",
    {
        "group": ("a = 1", "a = 1", "a = 2", "a = 2"),
        "nominal": (0.9, 0.5, 0.9, 0.5),
        "n": (100, 100, 50, 50),
        "coverage": (0.8, 0.52, 0.88, 0.5),
        "interval": ((0.7, 0.87), (0.42, 0.62), (0.75, 0.96), (0.35, 0.65)),
        "pvalue": (0.001, 0.7, 0.6, 1.0),
    },
)


def drawn(table, **options):
    return groups_figure(table, level=0.95, **options).curve


def test_errors_are_in_percentage_points():
    curve = groups_figure(errors(["g = a", "g = b"], [0.12, 0.01], 0.05), level=0.9).curve
    assert curve.name.tolist() == ["g = a", "g = b"]
    assert (curve.estimate, curve.low) == (pytest.approx([12, 1]), pytest.approx([7, 0]))
    assert curve.high == pytest.approx([17, 6])
    assert curve.reference.tolist() == [0, 0]
    assert (curve.detectable, curve.level, curve.n) == (pytest.approx([10, 10]), 0.9, 200)


def test_the_level_of_the_worst_line_is_drawn():
    curve = drawn(COVERAGES)
    assert curve.estimate == pytest.approx([80, 88])
    assert curve.reference.tolist() == [90, 90]
    assert np.isnan(curve.detectable).all()
    columns = {name: column[::2] for name, column in COVERAGES.columns.items() if name != "nominal"}
    table = Table("groups", "Groups", columns)
    assert drawn(table, nominal=0.9).reference.tolist() == [90, 90]  # beside the table
    assert np.isnan(drawn(table).reference).all()


def test_the_worst_of_many_are_drawn(plt):
    figure = groups_figure(errors([f"g = {k}" for k in range(200)], np.linspace(0.3, 0, 200), 0.1), level=0.95)
    assert figure.curve.name.tolist() == [f"g = {k}" for k in range(MAX_GROUPS_DRAWN)]
    assert figure.reading.endswith("The 30 worst of 200 groups are shown.")
    ax = figure.curve.plot()
    ax.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    tops = sorted((box.y0, box.y1) for box in boxes)
    assert all(lower[1] <= upper[0] + 1 for lower, upper in pairwise(tops))


@pytest.mark.parametrize(
    ("names", "labels", "column"),
    [
        (["price = $5-$10", f"price = {'x' * 300}"], [r"\$5-\$10", "x" * 19 + "…"], "price"),
        *((names, names, "group") for names in (["a = 1", "b = 1"], ["a = 1, b = 1", "a = 1, b = 2"], ["1", "2"])),
    ],
    ids=["of one column", "of two", "crossed", "without"],
)
def test_names_are_drawn_as_they_are(plt, names, labels, column):
    ax = drawn(errors(names, [0.1, 0.0], 0.05)).plot()
    ax.figure.canvas.draw()
    assert [label.get_text() for label in ax.get_yticklabels()] == labels
    assert ax.get_ylabel() == column


def test_groups_without_limits(plt):
    table = errors(["a", "b"], [0.1, 0.0], 0.05)
    columns = {**table.columns, "limits": (None, (0.0, 0.05))}
    columns["minimum_detectable"] = (None, 0.1)
    curve = groups_figure(Table("groups", "Groups", columns), level=0.95).curve
    curve.plot().figure.canvas.draw()
    assert np.isnan(curve.low[0])


def test_crosses_are_the_groups_that_the_verdict_names(plt):
    """A line that reaches the value of calibration carries no cross: it begins at the cross, without a lower limit."""
    figure = with_names(groups_figure(errors(["a", "b", "c"], [0.12, 0.04, 0.0], 0.05), level=0.95), ["bad", "bad", ""])
    calm, named = figure.curve.plot().containers[-2:]
    assert (named.get_label(), named[0].get_marker()) == ("named by the verdict", "X")
    assert named[0].get_xdata() == pytest.approx([12, 4])
    assert calm[0].get_xdata() == pytest.approx([0])
    ((first, _), (second, _)), ((third, _),) = (bars[2][0].get_segments() for bars in (named, calm))
    assert [point[0] for point in (first, second, third)] == pytest.approx([7, 4, 0])
    assert figure.curve.low.tolist() == pytest.approx([7, 0, 0])
    words = describe("groups", figure.curve.columns, figure.curve.details)
    assert "the verdict names 2 of them" in words


def test_in_words():
    curve = groups_figure(errors(["a", "b"], [0.12, 0.0], 0.05), level=0.95).curve
    words = describe("groups", curve.columns, curve.details)
    axis = "Root mean square error, percentage points of 2 groups with limits"
    assert words.startswith(f"{axis}; the verdict names none of them. The first is a with 12")
    found = marks("groups", thin("groups", curve.columns, 100), curve.details)
    assert [(mark.x, mark.y) for mark in found] == [(pytest.approx(12), 0), (0, 1)]
    assert "95 % limits 7.0 to 17.0" in found[0].text
