"""Pictures of comparisons: reliability curves of several models on one axes, and differences with limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.core import palette
from calibrant.core.pictures import Mark, Picture
from calibrant.core.plot_style import COLOURS, diagonal, dots, dress, legend_inside, plain, shortened, square, style_of
from calibrant.core.plots import text_size
from calibrant.core.words import probability
from calibrant.probabilities.plots import axis_end

MARKERS = ("o", "s", "^", "D")
PAIR_CHARACTERS = 44  # of the names of a pair
ABOVE, BESIDE = 0.42, 0.15  # a pair's name stands above its limits; the line of no difference is beside these alone
NAME_ROOM = 1.8  # lines that a pair takes
LINE_COLUMNS = ("mean_predicted", "mean_observed", "interval_low", "interval_high", "count")


def draw_reliability_curves(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    diagonal(ax, zorder=2)
    for k, name in enumerate(details["names"]):
        x, y, low, high, _ = _line(columns, k)
        colour, dash = style_of(k)
        marker = MARKERS[(k + k // len(COLOURS)) % len(MARKERS)]
        style = {"color": colour, "linestyle": dash, "marker": marker, "label": plain(name), "zorder": 3}
        dots(ax, x, y, low, high, fmt="", markersize=4.5, linewidth=1.4, elinewidth=0.9, capsize=2, **style)
    end = axis_end(*(columns[name] for name in ("mean_predicted", "interval_high")))
    square(ax, end, "predicted probability", "observed frequency")
    dress(ax)
    legend_inside(ax, "best")


def marks_reliability_curves(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    level = f"{100 * details['level']:g} %"
    return [
        Mark(
            x,
            y,
            f"{name}: predicted {probability(x)}, observed {probability(y)}\n"
            f"{level} interval {probability(low)} to {probability(high)}\n{count:,} rows",
        )
        for k, name in enumerate(details["names"])
        for x, y, low, high, count in zip(*(column.tolist() for column in _line(columns, k)), strict=True)
    ]


def describe_reliability_curves(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    found = []
    for k, name in enumerate(details["names"]):
        x, y, *_ = _line(columns, k)
        worst = int(abs(y - x).argmax())
        at = f"predicted {probability(x[worst])}, observed {probability(y[worst])}"
        found.append(f"{name}: the largest gap is at {at}.")
    return f"Observed frequency against predicted probability of {len(found)} models. {' '.join(found)}"


def _line(columns: Mapping[str, Any], k: int) -> list[Any]:
    chosen = np.asarray(columns["model"]) == k
    return [np.asarray(columns[name])[chosen] for name in LINE_COLUMNS]


RELIABILITY_CURVES = Picture(
    draw_reliability_curves,
    marks_reliability_curves,
    describe_reliability_curves,
    thinned=("mean_predicted", "mean_observed"),
    lines="model",
)


def draw_differences(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    place, value, low, high = (np.asarray(columns[name]) for name in ("pair", "difference", "low", "high"))
    style = {"color": palette.REFERENCE, "linewidth": 1.2, "linestyle": "--", "zorder": 2}
    ax.vlines(np.zeros(len(place)), place - BESIDE, place + BESIDE, label="no difference", **style)
    if details["tolerance"] is not None:
        limits = (-details["tolerance"], details["tolerance"])
        ax.axvspan(*limits, facecolor=(palette.BAND, 0.3), label="within the tolerance", zorder=1)
    label = f"difference, {100 * details['level']:g} % limits"
    dots(ax, value, place, low, high, axis="x", elinewidth=1.4, capsize=3, label=label, zorder=3)
    ax.set(ylim=(len(details["names"]) - 0.4, -0.6), xlabel=plain(details["axis"]))
    dress(ax)
    ax.locator_params(axis="x", nbins=5)
    labels = [plain(shortened(name, PAIR_CHARACTERS)) for name in details["names"]]
    ax.set_yticks(place - ABOVE, labels, ha="left")
    # Names stand inside: long ones would leave no room for the differences.
    ax.tick_params(axis="y", length=0, pad=-6, labelsize=text_size(ax, NAME_ROOM * len(labels)))
    ax.spines["left"].set_visible(False)
    ax.grid(False)
    legend_inside(ax, "best")


def marks_differences(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    rows = zip(*(np.asarray(columns[name]).tolist() for name in ("pair", "difference", "low", "high")), strict=True)
    return [
        Mark(value, k, f"{details['names'][k]}: {value:.4g}\nlimits {low:.4g} to {high:.4g}")
        for k, value, low, high in rows
    ]


def describe_differences(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    texts = (f"{mark.text}." for mark in marks_differences(columns, details))
    return f"The {details['axis']}, with {100 * details['level']:g} % limits. {' '.join(texts)}".replace("\n", ", ")


DIFFERENCES = Picture(
    draw_differences, marks_differences, describe_differences, thinned=("pair", "difference"), scattered=True
)
