"""Two sets of points seen from one side: scatter of two directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.plots import palette
from calibrant.plots.mark import Mark
from calibrant.plots.style import dress, legend_inside

THINNED = ("first", "second")
LINES = "set"
SCATTERED = True
LOOKS = ((palette.OBSERVED, "o"), (palette.SECOND, "x"))


def draw(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    """Draw the points of both sets; those of the second are crosses, so that both are seen where they overlap."""
    for number, (colour, marker) in enumerate(LOOKS):
        here = np.asarray(columns["set"]) == number
        ax.plot(
            np.asarray(columns["first"])[here],
            np.asarray(columns["second"])[here],
            linestyle="none",
            marker=marker,
            markersize=3.2,
            markeredgewidth=0.7 if marker == "x" else 0.0,
            color=colour,
            alpha=0.55,
            label=_name(details, number),
        )
    ax.set(xlabel=_escaped(details["axes"][0]), ylabel=_escaped(details["axes"][1]))
    dress(ax)
    legend_inside(ax, "best")


def marks(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    """Return the middle of each set."""
    found = []
    for number in range(len(LOOKS)):
        here = np.asarray(columns["set"]) == number
        x, y = (float(np.asarray(columns[name])[here].mean()) for name in ("first", "second"))
        found.append(Mark(x, y, f"middle of {details['names'][number]}\n{x:.3g}, {y:.3g}"))
    return found


def describe(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """Say where the middles are and how far the points reach."""
    said = []
    for number, mark in enumerate(marks(columns, details)):
        here = np.asarray(columns["set"]) == number
        spread = [float(np.asarray(columns[name])[here].std()) for name in ("first", "second")]
        said.append(
            f"{details['names'][number]}: {np.count_nonzero(here):,} points around {mark.x:.3g} and {mark.y:.3g}, "
            f"standard deviations {spread[0]:.3g} and {spread[1]:.3g}"
        )
    return f"Scatter of {details['axes'][0]} and {details['axes'][1]}. {'; '.join(said)}."


def _name(details: Mapping[str, Any], number: int) -> str:
    name = details["names"][number]
    return _escaped(f"set {name}" if name.startswith("_") else name)


def _escaped(text: str) -> str:
    """Return text in which a dollar sign begins no formula."""
    return text.replace("$", r"\$")
