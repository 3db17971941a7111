"""Pictures of results: plain arrays in, Matplotlib axes out, and nothing is computed.

A module per kind of curve, each with the same four names: `draw` puts the curve on axes; `marks` lists the places whose
values a reader can ask for; `describe` says in words what is seen; `THINNED` names the columns that `thin` goes by.
Where there are several lines, `LINES` names the column that tells them apart, or they are the columns of an array
(T, C). `SCATTERED` says that points are drawn, not lines. `OPTIONS` names what else `draw` takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from calibrant.errors import InputError, MissingExtraError
from calibrant.plots.lines import FEW
from calibrant.plots.mark import Mark
from calibrant.plots.thin import kept

KINDS = (
    "reliability",
    "isotonic",
    "cumulative",
    "pit_histogram",
    "quantile_reliability",
    "coverage",
    "rank_histogram",
    "ecdf_difference",
    "expected_coverage",
    "cloud",
    "two_ecdfs",
    "coordinates",
)
MOST_IN_A_ROW = 4  # pictures side by side
FEWEST_POINTS = 150  # of each of many lines


def draw(kind: str, columns: Mapping[str, Any], details: Mapping[str, Any], ax: Any = None, **options: Any) -> Any:
    """Draw one kind of curve and return the axes."""
    known = getattr(_module(kind), "OPTIONS", ())
    for name in options:
        if name not in known:
            listed = f"its options are {', '.join(known)}" if known else "it has none"
            raise InputError(f"a picture of a {kind} curve has no option {name}; {listed}")
    if ax is not None:
        _module(kind).draw(ax, columns, details, **options)
        return ax
    many = len(details.get("names", ())) > FEW  # whose names need room below
    return draw_alone(kind, columns, details, new_figure(5.0, 7.0 if many else 5.4), **options)


def new_figure(width: float, height: float) -> Any:
    """Return a new Matplotlib figure of a size in inches."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError("a plot", extra="plot") from None
    return plt.figure(figsize=(width, height), layout="constrained")


def new_grid(count: int, of_a_part: int | None = None) -> tuple[Any, list[Any]]:
    """Return a new figure and axes for so many pictures, row by row.

    If they do not fit into one row, and each part of them has `of_a_part` pictures, a part has its own row.
    """
    width = min(count, MOST_IN_A_ROW)
    if count > width and of_a_part is not None and 1 < of_a_part <= MOST_IN_A_ROW:
        width = of_a_part
    height = -(-count // width)
    canvas = new_figure(5.0 * width, 5.4 * height)
    places = canvas.subplots(height, width, squeeze=False).ravel().tolist()
    for ax in places[count:]:
        ax.remove()
    return canvas, places[:count]


def draw_alone(kind: str, columns: Mapping[str, Any], details: Mapping[str, Any], figure: Any, **options: Any) -> Any:
    """Draw one kind of curve as the only content of a figure, the legend below it, and return the axes."""
    from calibrant.plots.style import legend_below

    ax = figure.subplots()
    _module(kind).draw(ax, columns, details, **options)
    legend_below(ax)
    return ax


def marks(kind: str, columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    """Return the places of the drawn curve and their values in words, one for each point."""
    found: list[Mark] = _module(kind).marks(columns, details)
    return found


def describe(kind: str, columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """Say in words what the picture shows, for those who do not see it."""
    words: str = _module(kind).describe(columns, details)
    return words


def thin(kind: str, columns: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Return at most `most` points of a curve, such that its picture stays the same or nearly so.

    Of several columns (T, C) the lowest and the highest at each point count, and many of them share the points.
    """
    x, *heights = _module(kind).THINNED
    groups = _lines(columns, getattr(_module(kind), "LINES", None))
    line = {x: np.asarray(columns[x]), **_extents(columns, heights)}
    C = max(np.shape(columns[name])[1] if np.ndim(columns[name]) == 2 else 1 for name in heights)
    each = most // len(groups) if C == 1 else min(most, max(FEWEST_POINTS, 4 * most // C))
    found = []
    for rows in groups:
        if getattr(_module(kind), "SCATTERED", False):
            found.append(_some(rows, line, each))
            continue
        part = {name: column[rows] for name, column in line.items()}
        found.append(rows[kept(part, x, [name for name in part if name != x], each)])
    places = np.concatenate(found)
    return {name: np.asarray(column)[places] for name, column in columns.items()}


def _some(rows: Any, columns: Mapping[str, Any], most: int) -> Any:
    """Return at most `most` of these rows at even distances; where there is room, the extremes of all columns too."""
    ends = {int(pick(column[rows])) for column in columns.values() for pick in (np.argmin, np.argmax)}
    ends = ends if len(ends) < most else set()
    even = np.arange(0, len(rows), max(1, -(-len(rows) // max(1, most - len(ends)))))
    return rows[sorted(ends.union(even.tolist()))]


def _extents(columns: Mapping[str, Any], heights: list[str]) -> dict[str, Any]:
    """Return columns (T,) as they are, and of those (T, C) the lowest and the highest at each point."""
    found: dict[str, Any] = {}
    for name in heights:
        values = np.asarray(columns[name])
        found |= {name: values} if values.ndim == 1 else {f"{name} least": values.min(1), f"{name} most": values.max(1)}
    return found


def _lines(columns: Mapping[str, Any], name: str | None) -> list[Any]:
    """Return the places of each line; a column tells which points make one."""
    if name is None:
        return [np.arange(len(next(iter(columns.values()))))]
    label = np.asarray(columns[name])
    return [np.flatnonzero(label == value) for value in np.unique(label)]


def _module(kind: str) -> Any:
    return import_module(f"calibrant.plots.{kind}")
