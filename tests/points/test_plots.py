"""What a scatter of two sets draws."""

import numpy as np
import pytest

from calibrant.core import pictures as plots
from calibrant.points.sections import two_ecdfs
from calibrant.results import Curve

RNG = np.random.default_rng(0)
FIRST, SECOND = RNG.normal(size=(30, 2)), RNG.normal([3.0, -1.0], 0.5, size=(50, 2))


def cloud(first=FIRST, second=SECOND, names=("real", "generated"), axes=("height", "weight")):
    both = np.concatenate([first, second])
    columns = {"first": both[:, 0], "second": both[:, 1], "set": np.repeat([0.0, 1.0], [len(first), len(second)])}
    return Curve("cloud", columns, "80 points", len(both), {"names": names, "axes": axes})


def test_points_of_both_sets(plt):
    ax = cloud().plot()
    for line, points, name in zip(ax.lines, (FIRST, SECOND), ("real", "generated"), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), points)
        assert (line.get_label(), line.get_linestyle()) == (name, "None")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("height", "weight")


HOSTILE = ("_hidden", "$a^$ in $")  # Matplotlib would hide the one and read the other as a formula


def test_names_that_matplotlib_would_read_otherwise(plt):
    pictures = (cloud(names=HOSTILE, axes=("$x", "y$_")), curve(names=HOSTILE, axis="$x"))
    for ax in (each.plot() for each in pictures):
        ax.figure.canvas.draw()
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["set _hidden", r"\$a^\$ in \$"]
        assert (ax.get_xlabel(), ax.get_ylabel()) in ((r"\$x", r"y\$_"), (r"\$x", "share up to here"))
    ax = coordinates(names=(*HOSTILE, "x" * 30)).plot()
    ax.figure.canvas.draw()
    assert [text.get_text() for text in ax.get_yticklabels()] == ["_hidden", r"\$a^\$ in \$", "x" * 17 + "…"]


def test_middles_in_marks_and_words(plt):
    curve = cloud()
    marks = plots.marks("cloud", curve.columns, curve.details)
    for mark, points, name in zip(marks, (FIRST, SECOND), ("real", "generated"), strict=True):
        assert (mark.x, mark.y) == pytest.approx(tuple(points.mean(axis=0)))
        assert mark.text.startswith(f"middle of {name}\n{mark.x:.3g}, {mark.y:.3g}")
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


SHIFTS = [-0.1, 2.5, 0.0]


def coordinates(value=SHIFTS, reach=0.3, names=None, *, ratio=False, level=0.95):
    value = np.asarray(value, dtype=float)
    place = np.arange(value.size, dtype=float)
    low, high = (np.exp(-reach), np.exp(reach)) if ratio else (-reach, reach)
    columns = {"place": place, "value": value, "low": np.full(value.size, low), "high": np.full(value.size, high)}
    details = {
        "names": names or tuple(f"c{k}" for k in range(value.size)),
        "axis": "ratio of standard deviations" if ratio else "shift",
        "reference": 1.0 if ratio else 0.0,
        "logarithmic": ratio,
        "level": level,
    }
    return Curve("coordinates", columns, "divisions", 100, details)


def test_dots_bars_and_the_line(plt):
    curve = coordinates()
    ax = curve.plot()
    (dots,) = [line for line in ax.lines if line.get_label() == "observed"]
    np.testing.assert_array_equal(dots.get_xydata(), np.column_stack([SHIFTS, [0, 1, 2]]))
    (line,) = [line for line in ax.lines if line.get_label() == "no difference"]
    assert set(line.get_xdata()) == {0.0}
    (bars,) = ax.containers
    assert bars.get_label() == "95 % by chance, joint"
    for bar, place in zip(bars, [0, 1, 2], strict=True):
        assert (bar.get_x(), bar.get_x() + bar.get_width()) == pytest.approx((-0.3, 0.3))
        assert bar.get_y() + bar.get_height() / 2 == pytest.approx(place)
    assert ax.get_xlabel() == "shift"


def test_the_first_is_on_top_and_has_its_name(plt):
    ax = coordinates(names=("a", "b", "c")).plot()
    assert ax.get_ylim() == (2.6, -0.6)
    names = [t.get_text() for t in ax.get_yticklabels()]
    assert dict(zip(ax.get_yticks(), names, strict=True)) == {0: "a", 1: "b", 2: "c"}


def test_everything_is_inside_the_axes(plt):
    for curve in (coordinates(), coordinates([0.001, 30.0], ratio=True), coordinates([5.0]), coordinates([-5.0])):
        low, high = curve.plot().get_xlim()
        for name in ("value", "low", "high"):
            assert low < curve.columns[name].min()
            assert curve.columns[name].max() < high
        assert low < curve.reference < high


class TestRatios:
    def test_axis(self, plt):
        ax = coordinates([0.5, 1.0, 3.0], ratio=True).plot()
        assert ax.get_xscale() == "log"
        low, high = ax.get_xlim()
        assert all(low <= tick <= high for tick in ax.get_xticks())
        ax.figure.canvas.draw()
        assert [text.get_text() for text in ax.get_xticklabels()] == ["0.5", "1", "2"]
        near = coordinates([0.97, 1.0, 1.03], ratio=True).plot()
        near.figure.canvas.draw()
        assert len(near.get_xticklabels()) > 2

    @pytest.mark.parametrize("value", [[1.0], [1.001, 0.999], [1e-4, 1e4]])
    def test_any_range_has_a_tick(self, plt, value):
        ax = coordinates(value, reach=0.01, ratio=True).plot()
        ax.figure.canvas.draw()
        low, high = ax.get_xlim()
        assert any(low <= tick <= high for tick in ax.get_xticks())


def test_marks(plt):
    curve = coordinates(names=("a", "b", "c"))
    marks = plots.marks("coordinates", curve.columns, curve.details)
    assert [(mark.x, mark.y) for mark in marks] == list(zip(SHIFTS, [0, 1, 2], strict=True))
    assert marks[1].text == "b: 2.5\nby chance -0.3 to 0.3"


@pytest.mark.parametrize(
    ("value", "names", "words"),
    [
        (SHIFTS, ("a", "b", "c"), "3 coordinates with {range} Outside of the range of chance: b (2.5)."),
        (
            np.arange(1, 9),
            None,
            "8 coordinates with {range} "
            "Outside of the range of chance: c0 (1), c1 (2), c2 (3), c3 (4), c4 (5) and 3 more.",
        ),
        ([0.0], None, "1 coordinate with {range} None lies outside of that range."),
    ],
)
def test_description_names_what_is_outside(value, names, words):
    curve = coordinates(value, names=names)
    text = plots.describe("coordinates", curve.columns, curve.details)
    assert text == "shift of " + words.format(range="the range that chance alone gives.")


def test_thinned_names_stay_with_their_values(plt):
    curve = coordinates(np.arange(20.0), names=tuple(f"n{k}" for k in range(20)))
    few = plots.thin("coordinates", curve.columns, 6)
    assert 1 <= len(few["value"]) <= 6
    assert few["value"].max() == 19
    for mark, value in zip(plots.marks("coordinates", few, curve.details), few["value"], strict=True):
        assert mark.text.startswith(f"n{value:.0f}: ")
    ax = plots.draw("coordinates", few, curve.details)
    assert [text.get_text() for text in ax.get_yticklabels()] == [f"n{value:.0f}" for value in few["value"]]


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


def test_marks_lie_on_the_upper_line(plt):
    found = curve()
    marks = plots.marks("two_ecdfs", found.columns, found.details)
    expected = list(zip(found.value, np.maximum(found.first, found.second), strict=True))
    assert [(mark.x, mark.y) for mark in marks] == expected
    assert marks[1].text == "up to 1\nreal 25.0%\ngenerated 33.3%"


def test_description_names_the_largest_gap():
    found = curve(np.array([1.0, 2.0, 3.0]), np.array([11.0, 12.0]))
    text = plots.describe("two_ecdfs", found.columns, found.details)
    assert text == (
        "Distribution functions of real and generated. They are farthest apart at 3, up to which there are 100.0% of "
        "real and 0.0% of generated."
    )


@pytest.mark.parametrize("most", [10, 50])
def test_thinned_keeps_the_shape(plt, most, rng):
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
