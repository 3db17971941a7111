"""The pictures of maps: new against old probabilities, and shifts and scales by level or group."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.core import palette
from calibrant.core.pictures import Mark, Picture
from calibrant.core.plot_style import BAND, dress, legend, name_of, plain, shortened, style_of, table

MAX_NAMED_PLACES = 20  # groups whose names are written; of more, every second, third, ... one is named
UNCHANGED = {"color": palette.REFERENCE, "linewidth": 1.2, "linestyle": "--", "label": "unchanged"}


def draw_map(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    ax.plot([0, 1], [0, 1], **UNCHANGED)
    if "lower" in columns:
        ax.fill_between(columns["before"], columns["lower"], columns["upper"], **BAND, label="from p₀ to p₁")
    _draw_lines(ax, columns["before"], table(columns["after"]), details, linewidth=1.6)
    if details["turn"]:
        ax.plot(*([value] for value in details["turn"]), "o", color=palette.SECOND, markersize=6, label="turns here")
    span = (-0.02, 1.02)
    ax.set(xlim=span, ylim=span, xlabel=details["axis"], ylabel="recalibrated probability", aspect="equal")
    dress(ax)
    legend(ax, "upper left")


def _draw_lines(ax: Any, x: Any, values: Any, details: Mapping[str, Any], **style: Any) -> None:
    for c in range(values.shape[1]):
        colour, dash = style_of(c)
        ax.plot(x, values[:, c], color=colour, linestyle=dash, label=plain(name_of(details, c)), **style)


def marks_map(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    before, after = columns["before"], table(columns["after"])
    return [
        Mark(x, y, f"{name_of(details, c)}\n{x:.3f} becomes {y:.3f}")
        for c in range(after.shape[1])
        for x, y in zip(np.asarray(before).tolist(), after[:, c].tolist(), strict=True)
    ]


def describe_map(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    before, after = np.asarray(columns["before"]), table(columns["after"])
    said = []
    for c in range(after.shape[1]):
        places = sorted({int(np.abs(before - x).argmin()) for x in (0.1, 0.5, 0.9)})
        points = ", ".join(f"{before[i]:.2f} becomes {after[i, c]:.2f}" for i in places)
        said.append(f"{name_of(details, c)}: {points}.")
    if details["turn"]:
        said.append(f"The map turns at {details['turn'][0]:.3f} and is not monotone.")
    return " ".join(["Recalibrated against original values.", *said])


def draw_levels(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    value = table(columns["value"])
    if details["ticks"]:
        _draw_places(ax, columns["place"], value[:, 0], details)
    else:
        _draw_level_lines(ax, columns["place"], value, details)
    legend(ax, "best")


def _draw_places(ax: Any, place: Any, value: Any, details: Mapping[str, Any]) -> None:
    """Draw a dot for each group or end, the first one on top."""
    every = -(-len(place) // MAX_NAMED_PLACES)
    ax.axvline(details["reference"], **UNCHANGED)
    ax.plot(value, place, "o", color=palette.OBSERVED, markersize=5, label=plain(name_of(details, 0)))
    dress(ax)
    ax.set_yticks(place[::every], [plain(shortened(name)) for name in details["ticks"][::every]])
    ax.margins(y=0.15)
    ax.invert_yaxis()
    ax.set(xlabel=details["axis"], ylabel=details["places"])


def _draw_level_lines(ax: Any, level: Any, value: Any, details: Mapping[str, Any]) -> None:
    if math.isnan(details["reference"]):
        ax.plot(level, level, **UNCHANGED)
    else:
        ax.axhline(details["reference"], **UNCHANGED)
    _draw_lines(ax, level, value, details, marker="o", markersize=5)
    dress(ax)
    ax.set(xlabel=details["places"], ylabel=details["axis"])


def marks_levels(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    value, place = table(columns["value"]), np.asarray(columns["place"])
    points = [(i, c, place[i].item(), value[i, c].item()) for c in range(value.shape[1]) for i in range(place.size)]
    return [
        Mark(*((y, x) if details["ticks"] else (x, y)), f"{_name(details, i, c)}\n{details['axis']} {y:.4g}")
        for i, c, x, y in points
        if not math.isnan(y)
    ]


def _name(details: Mapping[str, Any], i: int, c: int) -> str:
    return str(details["ticks"][i]) if details["ticks"] else name_of(details, c)


def describe_levels(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """Say the smallest and the largest value, and how many are infinite."""
    value = table(columns["value"])
    infinite = int(np.isnan(value).sum())
    where = "groups" if details["ticks"] else "levels"
    text = f"The {details['axis']} of {value.shape[0]} {where}: {np.nanmin(value):.4g} to {np.nanmax(value):.4g}."
    return text + (f" {infinite} of them are infinite and not drawn." if infinite else "")


RECALIBRATION_MAP = Picture(draw_map, marks_map, describe_map, thinned=("before", "after"))
RECALIBRATION_LEVELS = Picture(draw_levels, marks_levels, describe_levels, thinned=("place", "value"))
