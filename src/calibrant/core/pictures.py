"""Plots of results: plain arrays in, Matplotlib axes out, and nothing is computed.

A `Picture` says how a kind of curve is drawn; the module `plots` of each subject has the pictures of its curves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.panels import MAX_TOGETHER, draw_panels, in_panels, one_column, panel_height, shown_panels
from calibrant.core.plot_style import legend_below
from calibrant.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DRAWN_BY = {
    kind: subject
    for subject, kinds in {
        "probabilities": "reliability isotonic cumulative quantile_reliability",
        "regions": "coverage",
        "ranking": "pit_histogram rank_histogram ecdf_difference expected_coverage recovery z_score_contraction",
        "conditional": "conditional_map",
        "points": "cloud two_ecdfs coordinates vendi_profile precision_recall",
        "recalibrating": "recalibration_map recalibration_levels",
        "auditing": "reliability_curves differences",
        "core": "groups",
    }.items()
    for kind in kinds.split()
}
"""The kinds of picture, and the subject whose module `plots` draws them."""
MAX_PICTURES_IN_A_ROW = 4
USUAL_HEIGHT = 5.4  # of a picture, in inches
MIN_POINTS_PER_LINE = 150  # where a picture has several lines
POINTS_PER_PANEL = 100  # of small multiples


class Mark(NamedTuple):
    """A point of a curve, in the units of the axes, and its values in words."""

    x: float
    y: float
    text: str
    panel: int = -1  # the number of its panel; -1: the axes themselves


def kept(columns: Mapping[str, Any], x: str, heights: Sequence[str], most: int) -> NDArray[np.intp]:
    """Return the indices of at most `most` points, in their order, whose line looks the same as that of all points.

    The range of `x` is cut into stretches of equal width. Each keeps its first and its last point, and the lowest and
    the highest point of every column of `heights` (Jugel et al. 2014, "M4"): drawn at one pixel per stretch, a line
    through them covers the same pixels as the whole line. The extremes of the whole line are always kept.

    >>> line = {"x": np.arange(1000), "y": np.where(np.arange(1000) == 617, 5.0, 0.0)}
    >>> places = kept(line, "x", ["y"], most=40)
    >>> len(places) <= 40, 617 in places
    (True, True)
    """
    position = np.asarray(columns[x], dtype=np.float64)
    if len(position) <= most:
        return np.arange(len(position))
    fewest = max(1, most // (2 + 2 * len(heights)))  # with so many stretches any line has at most `most` points
    stretches = max(fewest, most // 2)
    while True:
        found = _extremes(columns, position, heights, stretches)
        if len(found) <= most or stretches == fewest:
            return found
        stretches = max(fewest, int(0.95 * stretches * most / len(found)))


def _extremes(
    columns: Mapping[str, Any], position: NDArray[np.float64], heights: Sequence[str], stretches: int
) -> NDArray[np.intp]:
    inner = np.linspace(position[0], position[-1], stretches + 1)[1:-1]
    ends = [0, *np.searchsorted(position, inner, side="right").tolist(), len(position)]
    found: set[int] = set()
    for start, stop in pairwise(ends):
        if start < stop:
            found |= {start, stop - 1}
            for name in heights:
                part = np.asarray(columns[name][start:stop], dtype=np.float64)
                found |= {
                    start + int(np.where(np.isnan(part), np.inf, part).argmin()),
                    start + int(np.where(np.isnan(part), -np.inf, part).argmax()),
                }
    return np.array(sorted(found))


@dataclass(frozen=True)
class Picture:
    """How one kind of curve is drawn."""

    draw: Callable[..., None]  # draws the curve on axes
    marks: Callable[[Mapping[str, Any], Mapping[str, Any]], list[Mark]]  # points whose values are shown on hovering
    describe: Callable[[Mapping[str, Any], Mapping[str, Any]], str]  # the picture in words, for who cannot see it
    thinned: tuple[str, ...]  # the columns that `thin` uses, the abscissa first
    lines: str | None = None  # the column that separates several lines, unless these are the columns of an array (T, C)
    scattered: bool = False  # whether points are drawn instead of lines
    options: tuple[str, ...] = ()  # the names of further options of `draw`
    multiples: bool = False  # whether each of many columns (T, C) has a panel; their names may be formulas

    def draw_on(self, ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any], **options: Any) -> None:
        if options.pop("mathtext", False):
            details = {**details, "mathtext": True}
        if self.multiples and in_panels(details):
            draw_panels(self.draw, ax, columns, details, **options)
        else:
            self.draw(ax, columns, details, **options)


def draw(
    kind: str, columns: Mapping[str, Any], details: Mapping[str, Any], ax: Axes | None = None, **options: Any
) -> Axes:
    """Draw a curve on axes, new ones if None, and return them."""
    known = (*picture(kind).options, *(["mathtext"] if picture(kind).multiples else []))
    for name in options:
        if name not in known:
            listed = f"its options are {', '.join(known)}" if known else "it has none"
            raise InputError(f"a picture of a {kind} curve has no option {name}; {listed}")
    if ax is not None:
        picture(kind).draw_on(ax, columns, details, **options)
        return ax
    height = height_of(kind, details)
    width = 5.0 if height == USUAL_HEIGHT else 7.0
    return draw_alone(kind, columns, details, new_figure(width, height * width / 5.0), **options)


def height_of(kind: str, details: Mapping[str, Any], usual: float = USUAL_HEIGHT) -> float:
    """Return the height of a picture in inches: the usual one, or what its panels need."""
    if not (picture(kind).multiples and in_panels(details)):
        return usual
    return max(usual, panel_height(len(shown_panels(details))))


def new_figure(width: float, height: float) -> Figure:
    """Return a new Matplotlib figure; width and height are in inches."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError("a plot", extra="plot") from None
    figure: Figure = plt.figure(figsize=(width, height), layout="constrained")
    return figure


def new_grid(heights: Sequence[float], per_part: int | None = None) -> tuple[Figure, list[Axes]]:
    """Return a new figure and axes for pictures of these heights in inches; each row is as high as its highest.

    If they do not fit into one row and each part of them has `per_part` pictures, every part has its own row.
    """
    count = len(heights)
    width = min(count, MAX_PICTURES_IN_A_ROW)
    if count > width and per_part is not None and 1 < per_part <= MAX_PICTURES_IN_A_ROW:
        width = per_part
    rows = [max(heights[start : start + width]) for start in range(0, count, width)]
    canvas = new_figure(5.0 * width, sum(rows))
    places = canvas.subplots(len(rows), width, squeeze=False, height_ratios=rows).ravel().tolist()
    for ax in places[count:]:
        ax.remove()
    return canvas, places[:count]


def draw_alone(
    kind: str, columns: Mapping[str, Any], details: Mapping[str, Any], figure: Figure, **options: Any
) -> Axes:
    """Draw a curve as the only content of a figure, with the legend below it, and return the axes."""
    ax = figure.subplots()
    picture(kind).draw_on(ax, columns, details, **options)
    legend_below(ax)
    return ax


def marks(kind: str, columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    """Return the points of a curve with their values in words; of small multiples those of each panel."""
    drawn = picture(kind)
    if not (drawn.multiples and in_panels(details)):
        return drawn.marks(columns, details)
    return [
        mark._replace(panel=k)
        for k, c in enumerate(shown_panels(details))
        for mark in drawn.marks(*one_column(columns, details, c))
    ]


def describe(kind: str, columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    return picture(kind).describe(columns, details)


def thin(kind: str, columns: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Return at most `most` points of a curve, chosen such that its picture hardly changes.

    Several columns (T, C) keep the same points, chosen by the lowest and the highest column at each point.
    """
    drawn = picture(kind)
    x, *heights = drawn.thinned
    label = np.asarray(columns[drawn.lines]) if drawn.lines else np.zeros(len(next(iter(columns.values()))))
    groups = [np.flatnonzero(label == value) for value in np.unique(label)]  # the points of each line
    line = {**_extents(columns, [x]), **_extents(columns, heights)}
    C = max(np.shape(columns[name])[1] if np.ndim(columns[name]) == 2 else 1 for name in heights)
    each = most // len(groups) if C == 1 else min(most, max(MIN_POINTS_PER_LINE, 4 * most // C))
    if C > MAX_TOGETHER:
        each = min(each, POINTS_PER_PANEL)
    found = []
    for rows in groups:
        if drawn.scattered:
            found.append(_some(rows, line, each))
            continue
        part = {name: column[rows] for name, column in line.items()}
        found.append(rows[kept(part, x, [name for name in part if name != x], each)])
    places = np.concatenate(found)
    return {name: np.asarray(column)[places] for name, column in columns.items()}


def _some(rows: Any, columns: Mapping[str, Any], most: int) -> Any:
    """Return at most `most` of these rows at even distances, with the extremes of all columns if there is room."""
    ends = {int(pick(column[rows])) for column in columns.values() for pick in (np.argmin, np.argmax)}
    ends = ends if len(ends) < most else set()
    even = np.arange(0, len(rows), max(1, -(-len(rows) // max(1, most - len(ends)))))
    return rows[sorted(ends.union(even.tolist()))]


def _extents(columns: Mapping[str, Any], heights: list[str]) -> dict[str, Any]:
    """Return columns (T,) as they are, and the lowest and the highest of columns (T, C) at each point."""
    found: dict[str, Any] = {}
    for name in heights:
        values = np.asarray(columns[name])
        found |= {name: values} if values.ndim == 1 else {f"{name} least": values.min(1), f"{name} most": values.max(1)}
    return found


def picture(kind: str) -> Picture:
    found: Picture = getattr(import_module(f"calibrant.{DRAWN_BY[kind]}.plots"), kind.upper())
    return found
