"""The style that all figures share: axes, grid, lines and legends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.core import palette
from calibrant.core.words import pvalue_words

LABEL_CHARACTERS = 24  # of a label in a legend of two columns
LABEL_PAD = 8  # points between the numbers of the vertical axis and its label
MAX_COLOURED_LINES = 12  # as many as there are pairs of a colour and a dash
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
    ax.yaxis.labelpad = LABEL_PAD


def diagonal(ax: Any, zorder: float | None = None) -> None:
    """Draw the line on which predictions are calibrated."""
    style = {"color": palette.REFERENCE, "linewidth": 1.2, "linestyle": "--", "zorder": zorder}
    ax.plot([0, 1], [0, 1], label="calibrated", **style)


def dots(ax: Any, x: Any, y: Any, low: Any, high: Any, *, axis: str = "y", **style: Any) -> None:
    """Draw dots with limits of their value on an axis."""
    value = y if axis == "y" else x
    reach = {f"{axis}err": np.stack([value - low, high - value])}
    usual = {"fmt": "o", "markersize": 5, "color": palette.OBSERVED, "elinewidth": 1.3, "capsize": 2.5}
    ax.errorbar(x, y, **reach, **{**usual, **style})


def square(ax: Any, end: float, xlabel: str, ylabel: str, bottom: float = -0.02) -> None:
    """Give both axes the range from 0 to `end`, with a little room."""
    ax.set(xlim=(-0.02 * end, 1.02 * end), ylim=(bottom * end, 1.02 * end), aspect="equal")
    ax.set(xlabel=xlabel, ylabel=ylabel)


def plain(text: object) -> str:
    r"""Return text that Matplotlib draws as it is: a dollar sign begins no formula.

    >>> plain("$0-$100")
    '\\$0-\\$100'
    """
    return str(text).replace("$", r"\$")


def legend_inside(ax: Any, loc: str) -> None:
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
    """Move the legend below the axes, where it covers nothing, if the figure makes room for it."""
    handles, labels = ax.get_legend_handles_labels()
    if not handles:  # small multiples, which have their legend
        return
    shown = [label if is_formula(label) else plain(shortened(label.replace(r"\$", "$"))) for label in labels]
    ax.legend(handles, shown, loc="upper center", **room_below(ax))


def room_below(ax: Any) -> dict[str, Any]:
    """Return the options of a legend of two columns below the axes and their label."""
    from matplotlib.transforms import ScaledTranslation

    size = ax.xaxis.label.get_size()
    lines = 1 + ax.get_xlabel().count("\n")
    room = ScaledTranslation(0, -((1.2 + 1.2 * lines) * size + 14) / 72, ax.figure.dpi_scale_trans)
    return {
        "bbox_to_anchor": (0.5, 0.0),
        "bbox_transform": ax.transAxes + room,
        "ncols": 2,
        "borderaxespad": 0,
        "columnspacing": 1.3,
        "handlelength": 1.5,
        "fontsize": 0.92 * size,
        "frameon": False,
        "labelcolor": palette.INK,
    }


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
    """Draw Y (T, C) against x and return the lines; a column has the colour of its place in the data."""
    worst = worst_first(details).tolist()
    found = []
    for c in range(Y.shape[1]):
        colour, dash = style_of(c)
        found += ax.plot(
            x,
            Y[:, c],
            color=colour,
            linestyle=dash,
            linewidth=1.6,
            marker=marker,
            markersize=4.5,
            zorder=4 - worst.index(c) / len(worst),  # the worst on top
            label=label_of(details, c),
        )
    return found


def style_of(c: int) -> tuple[str, Any]:
    return COLOURS[c % len(COLOURS)], DASHES[c // len(COLOURS) % len(DASHES)]


def drawn_name(details: Mapping[str, Any], c: int, most: int | None = None) -> str:
    r"""Return the name of a column as Matplotlib draws it: as it was written, or as a formula if that was asked for.

    >>> drawn_name({"names": ("$0-$100",)}, 0), drawn_name({"names": (r"$\theta_1$",), "mathtext": True}, 0)
    ('\\$0-\\$100', '$\\theta_1$')
    """
    return drawn_text(name_of(details, c), details, most)


def drawn_text(name: str, details: Mapping[str, Any], most: int | None = None) -> str:
    """Return a name as Matplotlib draws it; one that is not a formula has at most so many characters."""
    if details.get("mathtext") and is_formula(name):
        return name
    return plain(name if most is None else shortened(name, most))


def is_formula(text: str) -> bool:
    r"""Tell whether Matplotlib draws the text as a formula: it has pairs of ``$`` that are not escaped.

    >>> is_formula(r"$\theta_1$"), is_formula(r"\$0-\$100")
    (True, False)
    """
    marks = text.replace(r"\$", "").count("$")
    if marks < 2 or marks % 2:
        return False
    from matplotlib.mathtext import MathTextParser

    try:
        MathTextParser("path").parse(text)
    except ValueError:
        return False
    return True


def label_of(details: Mapping[str, Any], c: int) -> str:
    name = drawn_name(details, c)
    return f"{name}, {pvalue_words(np.atleast_1d(details['pvalue'])[c])}" if "pvalue" in details else name


def legend(ax: Any, loc: str) -> None:
    """Put a legend below axes whose figure makes room for it, else inside, where it covers least."""
    if ax.figure.get_layout_engine() is None or not ax.get_legend_handles_labels()[0]:
        legend_inside(ax, loc)
    else:
        legend_below(ax)


def departures(leaves: Any, band: str, details: Mapping[str, Any]) -> str:
    """Say how many curves leave the band, and begin a sentence on the worst curve."""
    if leaves.size == 1:
        return f"The curve {'leaves' if leaves[0] else 'stays inside'} {band}. It departs most"
    worst = name_of(details, int(worst_first(details)[0]))
    return f"{int(leaves.sum()):,} of {leaves.size:,} curves leave {band}. The worst, {worst}, departs most"


def flattened(columns: Mapping[str, Any], details: Mapping[str, Any], most: int | None = None) -> dict[str, Any]:
    """Return columns (T,) for a table; of columns (T, C) at most so many, those of the smallest p-values, are kept."""
    found: dict[str, Any] = {}
    for name, values in columns.items():
        if np.ndim(values) == 1:
            found[name] = values
            continue
        for c in sorted(worst_first(details)[:most].tolist()):
            found[f"{name}, {name_of(details, c)}"] = np.asarray(values)[:, c]
    return found
