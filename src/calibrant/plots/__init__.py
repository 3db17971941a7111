"""Pictures of results: plain arrays in, Matplotlib axes out, and nothing is computed.

A module per kind of curve, each with the same four names: `draw` puts the curve on axes; `marks` lists the places whose
values a reader can ask for; `describe` says in words what is seen; `THINNED` names the columns that `thin` goes by.
Where there are several lines, `LINES` names the column that tells them apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from calibrant.errors import MissingExtraError
from calibrant.plots.mark import Mark
from calibrant.plots.thin import kept

KINDS = ("reliability", "isotonic", "cumulative", "pit_histogram", "quantile_reliability", "coverage")


def draw(kind: str, columns: Mapping[str, Any], details: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw one kind of curve and return the axes."""
    if ax is not None:
        _module(kind).draw(ax, columns, details)
        return ax
    return draw_alone(kind, columns, details, new_figure(5.0, 5.4))


def new_figure(width: float, height: float) -> Any:
    """Return a new Matplotlib figure of a size in inches."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError("a plot", extra="plot") from None
    return plt.figure(figsize=(width, height), layout="constrained")


def draw_alone(kind: str, columns: Mapping[str, Any], details: Mapping[str, Any], figure: Any) -> Any:
    """Draw one kind of curve as the only content of a figure, the legend below it, and return the axes."""
    from calibrant.plots.style import legend_below

    ax = figure.subplots()
    _module(kind).draw(ax, columns, details)
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
    """Return at most `most` points of a curve, such that its picture stays the same or nearly so."""
    x, *heights = _module(kind).THINNED
    groups = _lines(columns, getattr(_module(kind), "LINES", None))
    found = []
    for rows in groups:
        line = {name: np.asarray(columns[name])[rows] for name in (x, *heights)}
        found.append(rows[kept(line, x, heights, most // len(groups))])
    places = np.concatenate(found)
    return {name: np.asarray(column)[places] for name, column in columns.items()}


def _lines(columns: Mapping[str, Any], name: str | None) -> list[Any]:
    """Return the places of each line; a column tells which points make one."""
    if name is None:
        return [np.arange(len(next(iter(columns.values()))))]
    label = np.asarray(columns[name])
    return [np.flatnonzero(label == value) for value in np.unique(label)]


def _module(kind: str) -> Any:
    return import_module(f"calibrant.plots.{kind}")
