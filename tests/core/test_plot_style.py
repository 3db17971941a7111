"""Several lines in one picture."""

import numpy as np
import pytest

from calibrant.core import palette
from calibrant.core.plot_style import (
    COLOURS,
    DASHES,
    MAX_COLOURED_LINES,
    MAX_LINES_IN_LEGEND,
    draw_lines,
    flattened,
    legend,
    name_of,
    table,
    worst_first,
)


def details(p, names=None):
    return {"pvalue_each": p, "pvalue": p, "names": names or tuple(map(str, range(np.size(p))))}


def test_table():
    assert table([1, 2]).tolist() == [[1], [2]]
    assert table([[1, 2]]).tolist() == [[1, 2]]


def test_the_smallest_pvalue_comes_first():
    assert worst_first(details(np.array([0.5, 0.01, 0.5, 0.02]))).tolist() == [1, 3, 0, 2]
    assert worst_first(details(0.5)).tolist() == [0]


def test_names():
    assert [name_of(details(np.ones(3), ("7", "mass", "")), c) for c in range(3)] == ["column 7", "mass", "observed"]


def test_names_that_matplotlib_would_read_otherwise(plt):
    ax = plt.subplots()[1]
    draw_lines(ax, np.arange(2.0), np.zeros((2, 2)), details(np.ones(2), ("_hidden", "$a^$ in $")))
    plots_legend = ax.legend()
    ax.figure.canvas.draw()
    texts = [text.get_text() for text in plots_legend.get_texts()]
    assert texts == ["column _hidden, p = 1", r"\$a^\$ in \$, p = 1"]


def test_as_many_styles_as_lines():
    assert len(COLOURS) * len(DASHES) == MAX_COLOURED_LINES
    assert len(set(COLOURS)) == len(COLOURS)
    assert COLOURS[0] == palette.OBSERVED


@pytest.fixture
def ax(plt):
    return plt.subplots()[1]


class TestDrawn:
    X = np.arange(3.0)

    def test_a_few(self, ax):
        Y = np.arange(9.0).reshape(3, 3)
        lines = draw_lines(ax, self.X, Y, details(np.array([0.2, 0.0001, 0.05]), ("a", "b", "c")))
        assert [line.get_label() for line in lines] == ["b, p < 0.001", "c, p = 0.05", "a, p = 0.2"]
        assert [line.get_ydata().tolist() for line in lines] == [Y[:, c].tolist() for c in (1, 2, 0)]
        assert [line.get_color() for line in lines] == list(COLOURS[:3])
        assert [line.get_zorder() for line in lines] == sorted((line.get_zorder() for line in lines), reverse=True)
        assert not ax.collections

    def test_many(self, ax):
        p = np.linspace(0.01, 1, 30)[::-1]
        Y = np.arange(90.0).reshape(3, 30)
        lines = draw_lines(ax, self.X, Y, details(p))
        assert [line.get_label().split(",")[0] for line in lines] == [f"column {c}" for c in range(29, 17, -1)]
        styles = {(line.get_color(), repr(line._unscaled_dash_pattern)) for line in lines}
        assert len(styles) == MAX_COLOURED_LINES
        (others,) = ax.collections
        assert others.get_label() == "18 others"
        assert sorted(path.vertices[0, 1] for path in others.get_paths()) == list(range(18))
        np.testing.assert_array_equal(others.get_paths()[0].vertices, np.column_stack([self.X, Y[:, 17]]))
        assert max(line.get_zorder() for line in [others]) < min(line.get_zorder() for line in lines)

    def test_long_lines_of_others_are_coarse(self, ax):
        x = np.arange(1000.0)
        draw_lines(ax, x, np.tile(x[:, None], 13), details(np.ones(13)))
        (path,) = ax.collections[0].get_paths()
        assert path.vertices.shape == (50, 2)
        assert path.vertices[[0, -1]].tolist() == [[0, 0], [999, 999]]

    def test_a_legend_inside_has_room_for_a_few(self, ax):
        lines = draw_lines(ax, self.X, np.zeros((3, 20)), details(np.arange(20) / 20))
        legend(ax, "best", lines)
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert labels[:MAX_LINES_IN_LEGEND] == [
            f"column {c}, p {'< 0.001' if c == 0 else f'= {c / 20:.2g}'}" for c in range(MAX_LINES_IN_LEGEND)
        ]
        assert labels[MAX_LINES_IN_LEGEND:] == ["8 others"]


def test_columns_of_a_table():
    columns = {"t": np.arange(2), "v": np.arange(30).reshape(2, 15)}
    found = flattened(columns, details(np.arange(15)[::-1] / 15))
    assert list(found) == ["t", *(f"v, column {c}" for c in range(3, 15))]
    assert all(np.ndim(values) == 1 for values in found.values())
    assert found["v, column 14"].tolist() == [14, 29]
