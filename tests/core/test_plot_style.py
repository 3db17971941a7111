"""Several lines in one picture."""

import numpy as np
import pytest

from calibrant.core import palette, plot_style


def details(p, names=None):
    return {"pvalue_each": p, "pvalue": p, "names": names or tuple(map(str, range(np.size(p))))}


def test_table():
    assert plot_style.table([1, 2]).tolist() == [[1], [2]]
    assert plot_style.table([[1, 2]]).tolist() == [[1, 2]]


def test_the_smallest_pvalue_comes_first():
    assert plot_style.worst_first(details(np.array([0.5, 0.01, 0.5, 0.02]))).tolist() == [1, 3, 0, 2]
    assert plot_style.worst_first(details(0.5)).tolist() == [0]


def test_names():
    expected = ["column 7", "mass", "observed"]
    assert [plot_style.name_of(details(np.ones(3), ("7", "mass", "")), c) for c in range(3)] == expected


def test_names_that_matplotlib_would_read_otherwise(plt):
    ax = plt.subplots()[1]
    plot_style.draw_lines(ax, np.arange(2.0), np.zeros((2, 2)), details(np.ones(2), ("_hidden", "$a^$ in $")))
    plots_legend = ax.legend()
    ax.figure.canvas.draw()
    texts = [text.get_text() for text in plots_legend.get_texts()]
    assert texts == ["column _hidden, p > 0.999", r"\$a^\$ in \$, p > 0.999"]


def test_a_column_has_the_style_of_its_place():
    assert plot_style.style_of(0) == (palette.OBSERVED, "-")
    expected = len(plot_style.COLOURS) * len(plot_style.DASHES)
    assert len({plot_style.style_of(c) for c in range(len(plot_style.COLOURS) * len(plot_style.DASHES))}) == expected


def test_formulas_are_drawn_when_asked_for(plt):
    named = {**details(np.ones(3), (r"$\theta_1$", "$0", r"$\nonsense{$")), "mathtext": True}
    assert [plot_style.drawn_name(named, c) for c in range(3)] == [r"$\theta_1$", r"\$0", r"\$\nonsense{\$"]
    assert plot_style.drawn_name({**named, "mathtext": False}, 0) == r"\$\theta_1\$"


@pytest.fixture
def ax(plt):
    return plt.subplots()[1]


class TestDrawn:
    X = np.arange(3.0)

    def test_colours_and_order_follow_the_data(self, ax):
        Y = np.arange(9.0).reshape(3, 3)
        lines = plot_style.draw_lines(ax, self.X, Y, details(np.array([0.2, 0.0001, 0.05]), ("a", "b", "c")))
        assert [line.get_label() for line in lines] == ["a, p = 0.200", "b, p < 0.001", "c, p = 0.050"]
        assert [line.get_ydata().tolist() for line in lines] == Y.T.tolist()
        assert [line.get_color() for line in lines] == list(plot_style.COLOURS[:3])
        assert [line.get_zorder() for line in lines] == [4 - 2 / 3, 4, 4 - 1 / 3]

    @pytest.mark.parametrize("layout", ["constrained", None])
    def test_a_legend_lies_below_where_the_figure_makes_room_and_else_inside(self, plt, layout):
        ax = plt.figure(layout=layout).subplots()
        plot_style.draw_lines(ax, self.X, np.zeros((3, 2)), details(np.ones(2)))
        plot_style.legend(ax, "upper left")
        ax.figure.canvas.draw()
        legend_box, axes_box = ax.get_legend().get_window_extent(), ax.get_window_extent()
        assert (legend_box.y1 < axes_box.y0) if layout else (legend_box.y0 > axes_box.y0)


def test_columns_of_a_table():
    columns = {"t": np.arange(2), "v": np.arange(30).reshape(2, 15)}
    found = plot_style.flattened(columns, details(np.arange(15)[::-1] / 15), 12)
    assert list(found) == ["t", *(f"v, column {c}" for c in range(3, 15))]
    assert all(np.ndim(values) == 1 for values in found.values())
    assert found["v, column 14"].tolist() == [14, 29]


def test_a_legend_is_not_shortened_by_the_marks_of_its_escapes():
    """A label that has dollars is as long as it is drawn."""
    figure = pytest.importorskip("matplotlib.figure").Figure(layout="constrained")
    ax = figure.add_subplot()
    ax.plot([0, 1], label=plot_style.plain(r"$\theta_{0}$, p < 0.001"))
    ax.plot([0, 1], label=plot_style.plain(r"$\theta_{0}$ of the first, p < 0.001"))
    plot_style.legend(ax, "best")
    first, second = (text.get_text() for text in ax.get_legend().get_texts())
    assert first == r"\$\theta_{0}\$, p < 0.001"
    assert second == plot_style.plain(plot_style.shortened(r"$\theta_{0}$ of the first, p < 0.001"))
