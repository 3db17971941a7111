"""Pictures of results: plain arrays in, Matplotlib axes out, and nothing is computed.

A `Picture` says how a kind of curve is drawn; each subject has those of its curves in its module `plots`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.plot_style import FEW
from calibrant.errors import InputError, MissingExtraError


class Mark(NamedTuple):
    """Where it is, in the units of the axes, and its values in words."""

    x: float
    y: float
    text: str


def kept(columns: Mapping[str, Any], x: str, heights: Sequence[str], most: int) -> NDArray[np.intp]:
    """Return the places of at most `most` points, in their order, between which nothing visible is lost.

    The range of `x` is cut into stretches of equal width, and of each stretch the first and the last point stay, and
    the lowest and the highest of every column of `heights` (Jugel et al. 2014, "M4"): drawn at one pixel per stretch, a
    line through them covers the pixels that the whole line covers. The extremes of the whole always stay.

    >>> line = {"x": np.arange(1000), "y": np.where(np.arange(1000) == 617, 5.0, 0.0)}
    >>> places = kept(line, "x", ["y"], most=40)
    >>> len(places) <= 40, 617 in places
    (True, True)
    """
    position = np.asarray(columns[x], dtype=np.float64)
    if len(position) <= most:
        return np.arange(len(position))
    fewest = max(1, most // (2 + 2 * len(heights)))  # stretches that fit whatever the line does
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


KINDS = {
    "reliability": "probabilities",
    "isotonic": "probabilities",
    "cumulative": "probabilities",
    "quantile_reliability": "probabilities",
    "coverage": "regions",
    "pit_histogram": "ranking",
    "rank_histogram": "ranking",
    "ecdf_difference": "ranking",
    "expected_coverage": "ranking",
    "cloud": "points",
    "two_ecdfs": "points",
    "coordinates": "points",
}
"""The kinds of picture, and the subject whose module `plots` draws them."""
MOST_IN_A_ROW = 4  # pictures side by side
FEWEST_POINTS = 150  # of each of many lines


@dataclass(frozen=True)
class Picture:
    """How one kind of curve is drawn.

    Attributes
    ----------
    draw
        Puts the curve on axes.
    marks
        Lists the places whose values a reader can ask for.
    describe
        Says in words what is seen.
    thinned
        The columns that `thin` goes by, the abscissa first.
    lines
        The column that tells several lines apart, if they are not the columns of an array (T, C).
    scattered
        Whether points are drawn and not lines.
    options
        What else `draw` takes.
    """

    draw: Callable[..., None]
    marks: Callable[[Mapping[str, Any], Mapping[str, Any]], list[Mark]]
    describe: Callable[[Mapping[str, Any], Mapping[str, Any]], str]
    thinned: tuple[str, ...]
    lines: str | None = None
    scattered: bool = False
    options: tuple[str, ...] = ()


def draw(kind: str, columns: Mapping[str, Any], details: Mapping[str, Any], ax: Any = None, **options: Any) -> Any:
    """Draw one kind of curve and return the axes."""
    known = picture(kind).options
    for name in options:
        if name not in known:
            listed = f"its options are {', '.join(known)}" if known else "it has none"
            raise InputError(f"a picture of a {kind} curve has no option {name}; {listed}")
    if ax is not None:
        picture(kind).draw(ax, columns, details, **options)
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
    from calibrant.core.plot_style import legend_below

    ax = figure.subplots()
    picture(kind).draw(ax, columns, details, **options)
    legend_below(ax)
    return ax


def marks(kind: str, columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    """Return the places of the drawn curve and their values in words, one for each point."""
    return picture(kind).marks(columns, details)


def describe(kind: str, columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """Say in words what the picture shows, for those who do not see it."""
    return picture(kind).describe(columns, details)


def thin(kind: str, columns: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Return at most `most` points of a curve, such that its picture stays the same or nearly so.

    Of several columns (T, C) the lowest and the highest at each point count, and many of them share the points.
    """
    x, *heights = picture(kind).thinned
    groups = _lines(columns, picture(kind).lines)
    line = {x: np.asarray(columns[x]), **_extents(columns, heights)}
    C = max(np.shape(columns[name])[1] if np.ndim(columns[name]) == 2 else 1 for name in heights)
    each = most // len(groups) if C == 1 else min(most, max(FEWEST_POINTS, 4 * most // C))
    found = []
    for rows in groups:
        if picture(kind).scattered:
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


def picture(kind: str) -> Picture:
    """Return how a kind of curve is drawn."""
    found: Picture = getattr(import_module(f"calibrant.{KINDS[kind]}.plots"), kind.upper())
    return found
