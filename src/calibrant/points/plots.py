"""Pictures of sets of points: scatter, coordinates, distribution functions, diversity, precision against recall."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from calibrant.core import palette
from calibrant.core.pictures import Mark, Picture
from calibrant.core.plot_style import (
    COLOURS,
    DASHES,
    MAX_COLOURED_LINES,
    dress,
    legend_inside,
    name_of,
    plain,
    shortened,
)

MARKERS = ((palette.OBSERVED, "o"), (palette.SECOND, "x"))


def _rows(columns: Mapping[str, Any], *names: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(np.asarray(columns[name]).tolist() for name in names), strict=True)


def draw_cloud(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    for number, (colour, marker) in enumerate(MARKERS):
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
    ax.set(xlabel=plain(details["axes"][0]), ylabel=plain(details["axes"][1]))
    dress(ax)
    legend_inside(ax, "best")


def marks_cloud(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    found = []
    for number in range(len(MARKERS)):
        here = np.asarray(columns["set"]) == number
        x, y = (float(np.asarray(columns[name])[here].mean()) for name in ("first", "second"))
        found.append(Mark(x, y, f"middle of {details['names'][number]}\n{x:.3g}, {y:.3g}"))
    return found


def describe_cloud(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    sets = []
    for number, mark in enumerate(marks_cloud(columns, details)):
        here = np.asarray(columns["set"]) == number
        spread = [float(np.asarray(columns[name])[here].std()) for name in ("first", "second")]
        sets.append(
            f"{details['names'][number]}: {np.count_nonzero(here):,} points around {mark.x:.3g} and {mark.y:.3g}, "
            f"standard deviations {spread[0]:.3g} and {spread[1]:.3g}"
        )
    return f"Scatter of {details['axes'][0]} and {details['axes'][1]}. {'; '.join(sets)}."


def _name(details: Mapping[str, Any], number: int) -> str:
    name = details["names"][number]
    return plain(f"set {name}" if name.startswith("_") else name)


CLOUD = Picture(draw_cloud, marks_cloud, describe_cloud, thinned=("first", "second"), lines="set", scattered=True)


MAX_NAME_LETTERS = 18
RATIOS = (
    (0.01, 0.1, 1, 10, 100),
    (0.25, 0.5, 1, 2, 4),
    (0.5, 0.7, 1, 1.4, 2),
    (0.8, 0.9, 1, 1.1, 1.25),
    (0.9, 0.95, 1, 1.05, 1.1),
    (0.96, 0.98, 1, 1.02, 1.04),
)  # of ticks, the coarsest first


def draw_coordinates(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    place, value, low, high = (np.asarray(columns[name]) for name in ("place", "value", "low", "high"))
    level = f"{100 * details['level']:g} %"
    style = {"height": 0.6, "color": (palette.BAND, 0.45), "edgecolor": palette.EDGE, "linewidth": 0.7}
    ax.barh(place, high - low, left=low, label=f"{level} by chance, joint", **style)
    ax.axvline(details["reference"], color=palette.REFERENCE, linewidth=1.2, linestyle="--", label="no difference")
    ax.plot(value, place, "o", color=palette.OBSERVED, markersize=5, label="observed")
    names = [plain(shortened(name, MAX_NAME_LETTERS)) for name in details["names"]]
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
    """Return ratios with few digits between the limits: the coarsest list with three or more."""
    for ratios in RATIOS:
        found = [tick for tick in ratios if limits[0] <= tick <= limits[1]]
        if len(found) > 2:
            break
    return found


def _limits(values: Any, logarithmic: bool) -> tuple[float, float]:
    found = np.log(values) if logarithmic else values
    room = 0.08 * (found.max() - found.min()) or 1.0
    ends = found.min() - room, found.max() + room
    low, high = np.exp(ends) if logarithmic else ends
    return float(low), float(high)


def marks_coordinates(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    return [
        Mark(value, place, f"{details['names'][int(place)]}: {value:.3g}\nby chance {low:.3g} to {high:.3g}")
        for place, value, low, high in _rows(columns, "place", "value", "low", "high")
    ]


def describe_coordinates(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    place, value, low, high = (np.asarray(columns[name]) for name in ("place", "value", "low", "high"))
    outside = np.flatnonzero((value < low) | (value > high))
    named = ", ".join(f"{details['names'][int(place[k])]} ({value[k]:.3g})" for k in outside[:5])
    more = f" and {outside.size - 5} more" if outside.size > 5 else ""
    found = f"Outside of the range of chance: {named}{more}." if outside.size else "None lies outside of that range."
    many = f"{place.size:,} coordinate{'s' if place.size > 1 else ''}"
    return f"{details['axis']} of {many} with the range that chance alone gives. {found}"


COORDINATES = Picture(draw_coordinates, marks_coordinates, describe_coordinates, thinned=("place", "value"))


def draw_two_ecdfs(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    lines = (("first", palette.OBSERVED, "-"), ("second", palette.SECOND, (0, (6, 2))))
    for number, (column, colour, dash) in enumerate(lines):
        style = {"where": "post", "color": colour, "linestyle": dash, "linewidth": 1.6}
        ax.step(columns["value"], columns[column], label=_name(details, number), **style)
    ax.set(ylim=(-0.02, 1.02), xlabel=plain(details["axis"]), ylabel="share up to here")
    dress(ax)
    legend_inside(ax, "lower right")


def marks_two_ecdfs(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    first, second = details["names"]
    rows = _rows(columns, "value", "first", "second")
    return [Mark(x, max(a, b), f"up to {x:.3g}\n{first} {a:.1%}\n{second} {b:.1%}") for x, a, b in rows]


def describe_two_ecdfs(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    value, a, b = (np.asarray(columns[name]) for name in ("value", "first", "second"))
    k = int(np.abs(a - b).argmax())
    first, second = details["names"]
    return (
        f"Distribution functions of {first} and {second}. They are farthest apart at {value[k]:.3g}, up to which there "
        f"are {a[k]:.1%} of {first} and {b[k]:.1%} of {second}."
    )


TWO_ECDFS = Picture(draw_two_ecdfs, marks_two_ecdfs, describe_two_ecdfs, thinned=("value", "first", "second"))


def draw_vendi_profile(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    bandwidth, score = (np.asarray(columns[name]) for name in ("bandwidth", "score"))
    for c in range(score.shape[1]):
        coloured = c < MAX_COLOURED_LINES
        ax.plot(
            bandwidth,
            score[:, c],
            color=COLOURS[c % len(COLOURS)] if coloured else palette.EDGE,
            linestyle=DASHES[c // len(COLOURS)] if coloured else "-",
            linewidth=1.6 if coloured else 0.5,
            marker="o",
            markersize=4,
            label=plain(name_of(details, c)) if coloured else "_",
        )
    n = details["points"]
    ax.axhline(n, color=palette.REFERENCE, linewidth=1.2, linestyle="--", label=f"{n:,} different points")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set(xlabel="length scale", ylabel="effective number of different points")
    dress(ax)
    ax.minorticks_off()
    ax.set_xticks(bandwidth[:: max(1, -(-len(bandwidth) // 4))], minor=False)
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:.2g}")
    ax.set_yticks(_decades(min(1.0, float(score.min())), float(max(n, score.max()))))
    legend_inside(ax, "lower left")


def _decades(low: float, high: float) -> list[float]:
    """Return 1, 10, 100 and so on within two numbers, and their threefolds if there are few."""
    found = [10.0**k for k in range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)]
    within = [tick for tick in sorted([*found, *(3 * tick for tick in found)]) if low <= tick <= high * 1.001]
    return within if len(within) <= 6 else [tick for tick in within if tick in found]


def marks_vendi_profile(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    found = []
    for b, values in reversed(list(_rows(columns, "bandwidth", "score"))):
        lines = [f"length scale {b:.3g}", *(f"{name_of(details, c)} {v:.3g}" for c, v in enumerate(values))]
        found.append(Mark(b, max(values), "\n".join(lines)))
    return found


def describe_vendi_profile(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    bandwidth, score = (np.asarray(columns[name]) for name in ("bandwidth", "score"))
    sets = "; ".join(
        f"{name_of(details, c)} {score[0, c]:.3g} and {score[-1, c]:.3g}"
        for c in range(min(score.shape[1], MAX_COLOURED_LINES))
    )
    return (
        f"Effective numbers of different points among {details['points']:,}, at the length scales {bandwidth[0]:.3g} "
        f"and {bandwidth[-1]:.3g}: {sets}."
    )


VENDI_PROFILE = Picture(draw_vendi_profile, marks_vendi_profile, describe_vendi_profile, thinned=("bandwidth", "score"))


def draw_precision_recall(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    reference = {"color": palette.REFERENCE, "linewidth": 1.2, "linestyle": "--", "label": "one distribution"}
    ax.plot(columns["expected_recall"], columns["expected_precision"], **reference)
    ax.plot(columns["recall"], columns["precision"], color=palette.OBSERVED, linewidth=1.8, label="observed")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="recall", ylabel="precision")
    ax.set_aspect("equal")
    dress(ax)
    legend_inside(ax, "lower left")


def marks_precision_recall(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    rows = _rows(columns, "recall", "precision")
    return [Mark(r, a, f"recall {r:.1%}\nprecision {a:.1%}") for r, a in rows]


def describe_precision_recall(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    recall, precision = (np.asarray(columns[name]) for name in ("recall", "precision"))
    return (
        f"Precision against recall from {details['clusters']} clusters. Recall reaches {recall.max():.1%}, precision "
        f"{precision.max():.1%}; both sets have {details['overlap']:.1%} in common."
    )


PRECISION_RECALL = Picture(
    draw_precision_recall,
    marks_precision_recall,
    describe_precision_recall,
    thinned=("recall", "precision", "expected_precision"),
)
