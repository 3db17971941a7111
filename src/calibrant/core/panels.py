"""Small multiples: many small pictures of one kind inside the axes of one, with shared axes and one legend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from calibrant.core import palette
from calibrant.core.plot_style import drawn_name, room_below, worst_first
from calibrant.core.words import pvalue_words

MAX_TOGETHER = 4  # coordinates in one picture: as many as there are colours
MAX_PANELS = 20
MAX_ACROSS = 4
SMALL = 0.72  # of the usual size of text, for the text of panels
PANEL_INCHES = 1.24  # height of a panel with its title
ROOM = (2.7, 2.9, 0.5, 2.0)  # left, above, right and below a panel, in sizes of its text


def in_panels(details: Mapping[str, Any]) -> bool:
    """Tell whether a curve has so many columns, or such different ones, that each has its own panel."""
    return len(details.get("names", ())) > (1 if details.get("own_units") else MAX_TOGETHER)


def shown_panels(details: Mapping[str, Any]) -> list[int]:
    return sorted(worst_first(details)[:MAX_PANELS].tolist())


def across(count: int) -> int:
    """Return how many panels stand side by side.

    >>> [across(count) for count in (1, 2, 5, 9, 12, 20)]
    [1, 2, 3, 3, 4, 4]
    """
    return min(count, 3 if count <= 9 else MAX_ACROSS)


def panel_height(count: int) -> float:
    """Return the height of a figure of so many panels with axis labels and a legend, in inches."""
    return 1.6 + PANEL_INCHES * -(-count // across(count))


class Place:
    """Where a panel lies inside its parent: a cell of a grid, less room for text that has the same size everywhere."""

    def __init__(self, parent: Any, k: int, count: int, room: tuple[float, ...]) -> None:
        self.parent = parent
        self.column, self.row, self.columns = k % across(count), k // across(count), across(count)
        self.rows = -(-count // self.columns)
        self.room = room  # inches left, above, right and below

    def __call__(self, panel: Any, renderer: Any) -> Any:
        """Return the box of the panel, in shares of the figure."""
        from matplotlib.transforms import Bbox

        outer = self.parent.get_position()
        width, height = self.parent.figure.get_size_inches()
        x0, x1, y0, y1 = outer.x0 * width, outer.x1 * width, outer.y0 * height, outer.y1 * height
        left, above, right, below = self.room
        w, h = (x1 - x0) / self.columns, (y1 - y0) / self.rows
        low, high = x0 + self.column * w + left, x0 + (self.column + 1) * w - right
        top = y1 - self.row * h - above
        bottom = y1 - (self.row + 1) * h + below
        ends = [[low / width, bottom / height], [max(high, low + 0.02) / width, max(top, bottom + 0.02) / height]]
        return Bbox(ends)


def new_panel(ax: Any, k: int, count: int, room: tuple[float, ...] = ROOM) -> Any:
    """Return panel k of `count` inside axes, which lose their own frame; `room` is in sizes of small text."""
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.patch.set_visible(False)
    ax.grid(False)
    size = SMALL * ax.xaxis.label.get_size() / 72
    panel = ax.inset_axes((0, 0, 1, 1))
    panel.set_axes_locator(Place(ax, k, count, tuple(share * size for share in room)))
    return panel


def draw_panels(
    draw: Callable[..., None], ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any], **options: Any
) -> None:
    """Draw a panel per column (T, C) of a curve, in the order of the data, with shared axes and one legend."""
    shown = shown_panels(details)
    size = SMALL * float(ax.xaxis.label.get_size())
    panels = []
    for k, c in enumerate(shown):
        panel = new_panel(ax, k, len(shown))
        draw(panel, *one_column(columns, details, c), **options)
        title = drawn_name(details, c, most=17)
        if "pvalue" in details:
            title += f"\n{pvalue_words(float(np.atleast_1d(details['pvalue'])[c]))}"
        panel.set_title(title, fontsize=size, color=palette.INK, pad=3.5, linespacing=1.05)
        panels.append(panel)
    first = panels[0]
    texts, labels = first.get_legend_handles_labels()
    for panel in panels:
        _quiet(panel, size)
    _share(panels, details, len(shown))
    total = len(details["names"])
    of_all = f"\n{len(shown)} of {total:,}: the smallest p-values" if total > MAX_PANELS else ""
    for axis, text in ((ax.xaxis, first.get_xlabel() + of_all), (ax.yaxis, first.get_ylabel())):
        axis.set_label_text(text, color=palette.INK)
    for panel in panels:
        panel.set(xlabel="", ylabel="")
    names = {drawn_name(details, c) for c in shown}  # the name of each and its p-value stand above its panel
    of_one = [label in names or label.rpartition(", p ")[0] in names for label in labels]
    named = [(text, "observed" if of else label) for text, label, of in zip(texts, labels, of_one, strict=True)]
    ax.legend(*zip(*named, strict=True), loc="upper center", **room_below(ax))


def one_column(columns: Mapping[str, Any], details: Mapping[str, Any], c: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns and details of one of the C columns of a curve."""
    C = len(details["names"])
    part = {name: np.asarray(v)[:, c] if np.ndim(v) == 2 else v for name, v in columns.items()}
    of_each = {name: v[c] for name, v in details.items() if isinstance(v, np.ndarray) and v.shape[:1] == (C,)}
    return part, {**details, **of_each, "names": (details["names"][c],)}


def _quiet(panel: Any, size: float) -> None:
    from matplotlib.ticker import MaxNLocator

    if panel.get_legend() is not None:
        panel.get_legend().remove()
    panel.tick_params(labelsize=size, length=2, pad=1.5)
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=3, steps=[1, 2, 2.5, 5, 10]))
    for line in panel.lines:
        line.set_linewidth(min(line.get_linewidth(), 1.2))
        line.set_markersize(min(line.get_markersize(), 2.2))


def _share(panels: list[Any], details: Mapping[str, Any], count: int) -> None:
    """Give all panels the same limits where their units are the same, and numbers at the outer ones only."""
    wide = across(count)
    if details.get("own_units"):
        return
    ends = np.array([[*panel.get_xlim(), *panel.get_ylim()] for panel in panels])
    low, high = ends.min(axis=0), ends.max(axis=0)
    for k, panel in enumerate(panels):
        panel.set(xlim=(low[0], high[1]), ylim=(low[2], high[3]))
        panel.tick_params(labelleft=k % wide == 0, labelbottom=k + wide >= count)
