"""What numbers of coordinates draw."""

import warnings

import numpy as np
import pytest

from calibrant import Curve, plots

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
    assert dict(zip(ax.get_yticks(), [t.get_text() for t in ax.get_yticklabels()], strict=True)) == {
        0: "a",
        1: "b",
        2: "c",
    }


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

    def test_nothing_to_spread_out(self, plt):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            coordinates([1.0], reach=0.0, ratio=True).plot().figure.canvas.draw()


def test_nothing_to_see(plt):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        coordinates([0.0, 0.0], reach=0.0).plot().figure.canvas.draw()


def test_names_that_matplotlib_would_read_otherwise(plt):
    ax = coordinates(names=("_hidden", "$a^$ in $", "x" * 30)).plot()
    ax.figure.canvas.draw()
    assert [text.get_text() for text in ax.get_yticklabels()] == ["_hidden", r"\$a^\$ in \$", "x" * 17 + "…"]


def test_marks(plt):
    curve = coordinates(names=("a", "b", "c"))
    marks = plots.marks("coordinates", curve.columns, curve.details)
    assert [(mark.x, mark.y) for mark in marks] == list(zip(SHIFTS, [0, 1, 2], strict=True))
    assert marks[1].text == "b: 2.5\nby chance -0.3 to 0.3"


class TestDescription:
    def test_names_what_is_outside(self):
        curve = coordinates(names=("a", "b", "c"))
        text = plots.describe("coordinates", curve.columns, curve.details)
        assert text == (
            "shift of 3 coordinates with the range that chance alone gives. Outside of the range of chance: b (2.5)."
        )

    def test_of_many_names_five(self):
        curve = coordinates(np.arange(1, 9))
        text = plots.describe("coordinates", curve.columns, curve.details)
        assert text.endswith("Outside of the range of chance: c0 (1), c1 (2), c2 (3), c3 (4), c4 (5) and 3 more.")

    def test_nothing_is_outside(self):
        curve = coordinates([0.0])
        text = plots.describe("coordinates", curve.columns, curve.details)
        assert text == "shift of 1 coordinate with the range that chance alone gives. None lies outside of that range."


def test_thinned_names_stay_with_their_values(plt):
    curve = coordinates(np.arange(20.0), names=tuple(f"n{k}" for k in range(20)))
    few = plots.thin("coordinates", curve.columns, 6)
    assert 1 <= len(few["value"]) <= 6
    assert few["value"].max() == 19
    for mark, value in zip(plots.marks("coordinates", few, curve.details), few["value"], strict=True):
        assert mark.text.startswith(f"n{value:.0f}: ")
    ax = plots.draw("coordinates", few, curve.details)
    assert [text.get_text() for text in ax.get_yticklabels()] == [f"n{value:.0f}" for value in few["value"]]
