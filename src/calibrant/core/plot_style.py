"""The style that all figures share: axes, grid, lines and legends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.core import palette

LABEL_CHARACTERS = 24  # of a label in a legend of two columns
MAX_LINES_IN_LEGEND = 4  # inside of axes, and lines that a histogram has room for
MAX_COLOURED_LINES = 12  # as many as there are pairs of a colour and a dash
COARSE_POINTS = 50  # of each line without colour
COLOURS = (palette.OBSERVED, palette.SECOND, palette.THIRD, palette.FOURTH)
DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (1.5, 1.5)))
BAND = {"facecolor": (palette.BAND, 0.45), "edgecolor": palette.EDGE, "linewidth": 0.7}


def dress(ax: Any) -> None:
    """Draw unobtrusive axes: no box, a light grid behind the data, labels in dark grey."""
    for side, spine in ax.spines.items():
        spine.set(visible=side in {"left", "bottom"}, color=palette.EDGE, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.grid(True, color=palette.GRID, linewidth=0.7)
    ax.tick_params(color=palette.EDGE, labelcolor=palette.INK, length=3)
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set_color(palette.INK)
        axis.set_major_formatter("{x:g}")


def plain(text: object) -> str:
    r"""Return text that Matplotlib draws as it is: a dollar sign begins no formula.

    >>> plain("$0-$100")
    '\\$0-\\$100'
    """
    return str(text).replace("$", r"\$")


def legend_inside(ax: Any, loc: str) -> None:
    """Put the legend inside the axes, which may be the caller's."""
    ax.legend(loc=loc, fontsize="small", frameon=False, labelcolor=palette.INK)


def shortened(label: str, most: int = LABEL_CHARACTERS) -> str:
    """Return a label that fits into a legend of two columns; the part after the last comma is kept.

    >>> shortened("the reproduction number, p < 0.001")
    'the reproduc…, p < 0.001'
    """
    if len(label) <= most:
        return label
    name, comma, end = label.rpartition(", ")
    if not name or len(end) > most // 2:
        return label[: most - 1] + "…"
    return name[: most - 1 - len(comma + end)] + "…" + comma + end


def legend_below(ax: Any) -> None:
    """Move the legend below the axes, where it covers nothing. For figures that contain only these axes."""
    from matplotlib.transforms import ScaledTranslation

    handles, labels = ax.get_legend_handles_labels()
    size = ax.xaxis.label.get_size()
    room = ScaledTranslation(0, -(2.4 * size + 14) / 72, ax.figure.dpi_scale_trans)
    ax.legend(
        handles,
        [shortened(label) for label in labels],
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + room,
        ncols=2,
        borderaxespad=0,
        columnspacing=1.3,
        handlelength=1.5,
        fontsize=0.92 * size,
        frameon=False,
        labelcolor=palette.INK,
    )


def table(values: Any) -> Any:
    """Return a column (T,) or (T, C) as (T, C)."""
    found = np.asarray(values)
    return found[:, None] if found.ndim == 1 else found


def worst_first(details: Mapping[str, Any]) -> Any:
    """Return the order of the columns, the smallest p-value first; as they come if they have none."""
    if "pvalue_each" not in details:
        return np.arange(len(details["names"]))
    return np.argsort(np.atleast_1d(details["pvalue_each"]), kind="stable")


def name_of(details: Mapping[str, Any], c: int) -> str:
    """Return the name of a column; "column" stands before numbers, and before "_", which would hide it in a legend."""
    name = details["names"][c]
    return f"column {name}" if name.isdigit() or name.startswith("_") else name or "observed"


def draw_lines(ax: Any, x: Any, Y: Any, details: Mapping[str, Any], *, marker: str | None = None) -> list[Any]:
    """Draw Y (T, C) against x and return the coloured lines, those of the smallest p-values."""
    from matplotlib.collections import LineCollection

    order = worst_first(details)
    shown, others = order[:MAX_COLOURED_LINES], order[MAX_COLOURED_LINES:]
    found = []
    for k, c in enumerate(shown.tolist()):
        found += ax.plot(
            x,
            Y[:, c],
            color=COLOURS[k % len(COLOURS)],
            linestyle=DASHES[k // len(COLOURS)],
            linewidth=1.6,
            marker=marker,
            markersize=4.5,
            zorder=4 - k / MAX_COLOURED_LINES,  # the worst on top
            label=label_of(details, c),
        )
    if others.size:
        places = np.unique(np.linspace(0, x.size - 1, min(x.size, COARSE_POINTS)).round().astype(int))
        paths = [np.column_stack([x, Y[:, c]])[places] for c in others.tolist()]
        label = f"{others.size:,} others"
        ax.add_collection(LineCollection(paths, colors=palette.EDGE, linewidths=0.5, alpha=0.4, zorder=2, label=label))
    return found


def label_of(details: Mapping[str, Any], c: int) -> str:
    """Return the entry of a column in a legend."""
    return f"{plain(name_of(details, c))}, {pvalue_label(np.atleast_1d(details['pvalue'])[c])}"


def legend(ax: Any, loc: str, lines: list[Any]) -> None:
    """Put a legend of the few worst lines inside the axes."""
    handles, labels = ax.get_legend_handles_labels()
    room = [k for k, handle in enumerate(handles) if handle not in lines[MAX_LINES_IN_LEGEND:]]
    chosen = [handles[k] for k in room], [labels[k] for k in room]
    ax.legend(*chosen, loc=loc, fontsize="small", frameon=False, labelcolor=palette.INK)


def pvalue_label(pvalue: float) -> str:
    """Write a p-value for a legend.

    >>> pvalue_label(0.0848), pvalue_label(2e-7)
    ('p = 0.085', 'p < 0.001')
    """
    return "p < 0.001" if pvalue < 0.001 else f"p = {pvalue:.2g}"


def departures(leaves: Any, band: str, details: Mapping[str, Any]) -> str:
    """Say how many curves leave the band, and begin a sentence on the worst curve."""
    if leaves.size == 1:
        return f"The curve {'leaves' if leaves[0] else 'stays inside'} {band}. It departs most"
    worst = name_of(details, int(worst_first(details)[0]))
    return f"{int(leaves.sum()):,} of {leaves.size:,} curves leave {band}. The worst, {worst}, departs most"


def flattened(columns: Mapping[str, Any], details: Mapping[str, Any]) -> dict[str, Any]:
    """Return columns (T,) for a table; columns (T, C) are split, and only those of the smallest p-values are kept."""
    found: dict[str, Any] = {}
    for name, values in columns.items():
        if np.ndim(values) == 1:
            found[name] = values
            continue
        for c in sorted(worst_first(details)[:MAX_COLOURED_LINES].tolist()):
            found[f"{name}, {name_of(details, c)}"] = np.asarray(values)[:, c]
    return found
