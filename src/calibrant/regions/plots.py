"""The picture of coverage: observed against nominal level, or one line of dots for each group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.core import palette
from calibrant.core.pictures import Mark, Picture
from calibrant.core.plot_style import BAND, diagonal, dots, dress, legend_inside, plain, square

MARKERS = "osD^vP*X"


def draw_coverage(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    column = _filled(columns)
    level = f"{100 * details['level']:g} %"
    if _in_groups(column):
        _draw_groups(ax, column, level)
    else:
        _draw_levels(ax, column, level)


def marks_coverage(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    column = _filled(columns)
    level = f"{100 * details['level']:g} %"
    names = ("nominal", "group", "count", "coverage", "lower", "upper")
    groups = _in_groups(column)
    x, y = (column["coverage"], _places(column)) if groups else (column["nominal"], column["coverage"])
    return [
        Mark(
            a,
            b,
            (f"{group}\n" if groups else "")
            + (f"nominal {nominal:.3g}, " if not np.isnan(nominal) else "")
            + f"observed {coverage:.3f}\n{level} interval {low:.3f} to {high:.3f}\n{n:,} rows",
        )
        for a, b, nominal, group, n, coverage, low, high in zip(
            x.tolist(), y.tolist(), *(column[name].tolist() for name in names), strict=True
        )
    ]


def describe_coverage(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    column = _filled(columns)
    nominal, coverage = column["nominal"], column["coverage"]
    what = "groups and levels" if _in_groups(column) else "levels"
    if np.isnan(nominal).all():
        least = int(coverage.argmin())
        return f"Coverage of {len(coverage)} {what}; the lowest is {coverage[least]:.3f} ({column['group'][least]})."
    outside = int(np.sum((nominal < column["lower"]) | (nominal > column["upper"])))
    worst = int(abs(coverage - nominal).argmax())
    where = f" in {column['group'][worst]}" if _in_groups(column) else ""
    return (
        f"Observed against nominal coverage for {len(coverage)} {what}; {outside} of them have their level outside the "
        f"{100 * details['level']:g} % interval. "
        f"The largest gap is at nominal {nominal[worst]:.3g}, observed {coverage[worst]:.3f}{where}."
    )


def _draw_levels(ax: Any, column: Mapping[str, Any], level: str) -> None:
    diagonal(ax)
    order = np.argsort(column["nominal"])
    nominal, coverage, low, high = (column[name][order] for name in ("nominal", "coverage", "lower", "upper"))
    if len(nominal) > 1:
        ax.fill_between(nominal, low, high, label=f"{level} interval", **BAND)
        ax.plot(nominal, coverage, "o-", markersize=5, color=palette.OBSERVED, linewidth=1.6, label="observed")
    else:
        dots(ax, nominal, coverage, low, high, label=f"observed, {level} interval")
    square(ax, 1.0, "nominal coverage", "observed coverage")
    dress(ax)
    legend_inside(ax, "upper left")


def _draw_groups(ax: Any, column: Mapping[str, Any], level: str) -> None:
    place = _places(column)
    levels = np.unique(column["nominal"])  # NaN counts as one
    for k, nominal in enumerate(levels.tolist()):
        here = np.isnan(column["nominal"]) if np.isnan(nominal) else column["nominal"] == nominal
        coverage, low, high = (column[name][here] for name in ("coverage", "lower", "upper"))
        label = f"observed, {level} interval" if len(levels) == 1 else f"at {nominal:.3g}, {level} interval"
        if not np.isnan(nominal):
            reference = "nominal" if k == 0 else None
            ax.axvline(nominal, color=palette.REFERENCE, linewidth=1.2, linestyle="--", label=reference)
        dots(ax, coverage, place[here], low, high, axis="x", label=label, fmt=MARKERS[k % len(MARKERS)])
    dress(ax)
    whole, first = np.unique(np.rint(place), return_index=True)
    ax.set_yticks(whole, [plain(column["group"][i]) for i in first])
    ax.set(xlim=(-0.02, 1.02), ylim=(len(whole) - 0.5, -0.5), xlabel="observed coverage", ylabel="group")
    legend_inside(ax, "best")


def _in_groups(column: Mapping[str, Any]) -> bool:
    return len(np.unique(column["group"].astype(str))) > 1


def _places(column: Mapping[str, Any]) -> Any:
    """Return the position of each line: groups in the order of the lines, levels of one group side by side."""
    groups = list(dict.fromkeys(column["group"].tolist()))
    levels = np.unique(column["nominal"]).tolist()
    step = 0.5 / max(1, len(levels))
    within = np.searchsorted(levels, column["nominal"]) if len(levels) > 1 else np.zeros(len(column["nominal"]))
    place = np.array([groups.index(group) for group in column["group"].tolist()])
    return place + step * (within - (len(levels) - 1) / 2)


def _filled(columns: Mapping[str, Any]) -> dict[str, Any]:
    shown = np.asarray(columns["count"]) > 0
    return {name: np.asarray(values)[shown] for name, values in columns.items()}


COVERAGE = Picture(draw_coverage, marks_coverage, describe_coverage, thinned=("nominal", "coverage", "lower", "upper"))
