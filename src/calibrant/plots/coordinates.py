"""One number per coordinate, beside the range that chance alone would give it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.plots import palette
from calibrant.plots.mark import Mark
from calibrant.plots.style import dress, legend_inside, shortened

THINNED = ("place", "value")
LONGEST = 18  # letters of a name
RATIOS = (
    (0.01, 0.1, 1, 10, 100),
    (0.25, 0.5, 1, 2, 4),
    (0.5, 0.7, 1, 1.4, 2),
    (0.8, 0.9, 1, 1.1, 1.25),
    (0.9, 0.95, 1, 1.05, 1.1),
    (0.96, 0.98, 1, 1.02, 1.04),
)  # that have ticks, coarse ones first


def draw(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    """Draw a dot per coordinate, the first at the top, on the bar of its range."""
    place, value, low, high = (np.asarray(columns[name]) for name in ("place", "value", "low", "high"))
    level = f"{100 * details['level']:g} %"
    ax.barh(
        place,
        high - low,
        left=low,
        height=0.6,
        color=(palette.BAND, 0.45),
        edgecolor=palette.EDGE,
        linewidth=0.7,
        label=f"{level} by chance, joint",
    )
    ax.axvline(details["reference"], color=palette.REFERENCE, linewidth=1.2, linestyle="--", label="no difference")
    ax.plot(value, place, "o", color=palette.OBSERVED, markersize=5, label="observed")
    names = [shortened(name, LONGEST).replace("$", r"\$") for name in details["names"]]
    limits = _limits(np.concatenate([value, low, high, [details["reference"]]]), details["logarithmic"])
    if details["logarithmic"]:
        ax.set_xscale("log")
    ax.set(xlim=limits, ylim=(place.max() + 0.6, place.min() - 0.6), xlabel=details["axis"])
    dress(ax)
    ax.set_yticks(place, [names[int(k)] for k in place])
    if details["logarithmic"]:
        ax.minorticks_off()
        ax.set_xticks(_ticks(limits))
    legend_inside(ax, "best")


def _ticks(limits: tuple[float, float]) -> list[float]:
    """Return ratios with few digits between the limits, the coarsest that are three or more."""
    for ratios in RATIOS:
        found = [tick for tick in ratios if limits[0] <= tick <= limits[1]]
        if len(found) > 2:
            break
    return found


def _limits(values: Any, logarithmic: bool) -> tuple[float, float]:
    """Return ends of the axis with some room beside the outermost values."""
    found = np.log(values) if logarithmic else values
    room = 0.08 * (found.max() - found.min()) or 1.0
    ends = found.min() - room, found.max() + room
    low, high = np.exp(ends) if logarithmic else ends
    return float(low), float(high)


def marks(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    """Return each dot."""
    rows = zip(*(np.asarray(columns[name]).tolist() for name in ("place", "value", "low", "high")), strict=True)
    return [
        Mark(value, place, f"{details['names'][int(place)]}: {value:.3g}\nby chance {low:.3g} to {high:.3g}")
        for place, value, low, high in rows
    ]


def describe(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """Say which coordinates lie outside of their range."""
    place, value, low, high = (np.asarray(columns[name]) for name in ("place", "value", "low", "high"))
    outside = np.flatnonzero((value < low) | (value > high))
    named = ", ".join(f"{details['names'][int(place[k])]} ({value[k]:.3g})" for k in outside[:5])
    more = f" and {outside.size - 5} more" if outside.size > 5 else ""
    found = f"Outside of the range of chance: {named}{more}." if outside.size else "None lies outside of that range."
    many = f"{place.size:,} coordinate{'s' if place.size > 1 else ''}"
    return f"{details['axis']} of {many} with the range that chance alone gives. {found}"
