"""Pictures of a conditional map: one small picture per covariate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core import palette
from calibrant.core.formulas import readable
from calibrant.core.panels import SMALL, new_panel
from calibrant.core.pictures import Mark, Picture
from calibrant.core.plot_style import drawn_text, dress, plain, shortened

MAX_MULTIPLES = 9
MAX_NAME_CHARACTERS = 22
MAP_ROOM = (3.2, 3.0, 0.6, 3.4)  # left, above, right and below a panel, in sizes of its text


def _drawn_column(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """Return which column is drawn: that of the first region if it has cells, or that furthest from 0 by its limits."""
    of_regions = [str(details["columns"][region.column]) for region in details["regions"][:1]]
    if of_regions and of_regions[0] in columns["column"]:
        return of_regions[0]
    beyond = np.maximum(columns["low"], -np.asarray(columns["high"]))
    return str(columns["column"][int(np.argmax(beyond))])


def _rows(columns: Mapping[str, Any], details: Mapping[str, Any], name: str) -> NDArray[np.intp]:
    column = _drawn_column(columns, details)
    return np.flatnonzero((np.asarray(columns["covariate"]) == name) & (np.asarray(columns["column"]) == column))


def _scale(details: Mapping[str, Any]) -> tuple[float, str]:
    return (100.0, "percentage points") if details["unit"] == "share" else (1.0, "predictive sd or log of the factor")


def draw_conditional_map(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    panels = details["covariates"][:MAX_MULTIPLES]
    small = SMALL * float(ax.xaxis.label.get_size())
    drawn = []
    for k, name in enumerate(panels):
        panel = new_panel(ax, k, len(panels), MAP_ROOM)
        _draw_one(panel, columns, details, name, small)
        panel.set_title(drawn_text(name, details, MAX_NAME_CHARACTERS), fontsize=small, color=palette.INK, pad=2.5)
        drawn.append(panel)
    ends = [panel.get_ylim() for panel in drawn]
    for panel in drawn:
        panel.set_ylim(min(low for low, _ in ends), max(high for _, high in ends))
    column = plain(shortened(readable(_drawn_column(columns, details)), 2 * MAX_NAME_CHARACTERS))
    ax.set_ylabel(f"{column}: observed less predicted, {_scale(details)[1]}", color=palette.INK)
    ax.set_xlabel("limits: for all cells together", color=palette.INK)


def _draw_one(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any], name: str, size: float) -> None:
    from matplotlib.ticker import MaxNLocator

    rows = _rows(columns, details, name)
    left, right = (np.asarray(columns[side])[rows] for side in ("left", "right"))
    value, low, high = (_scale(details)[0] * np.asarray(columns[key])[rows] for key in ("difference", "low", "high"))
    is_category = bool(np.isnan(left).all())
    x = np.arange(rows.size, dtype=float) if is_category else left / 2 + right / 2
    for region in details["regions"][:1]:
        if rows.size and name in region.names and not is_category:
            for a, b in region.bounds[region.names.index(name)]:
                ax.axvspan(max(a, left.min()), min(b, right.max()), color=palette.COUNTS, zorder=0, linewidth=0)
    ax.axhline(0.0, color=palette.REFERENCE, linewidth=1, linestyle="--", zorder=1)
    ax.errorbar(x, value, [value - low, high - value], fmt="o", markersize=2.5, color=palette.OBSERVED, linewidth=1)
    dress(ax)
    ax.tick_params(labelsize=size, length=2, pad=1.5)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=4))
    if is_category:
        labels = [plain(shortened(str(cell), MAX_NAME_CHARACTERS)) for cell in np.asarray(columns["cell"])[rows]]
        ax.set_xticks(x, labels, rotation=30, ha="right")
    else:
        ax.xaxis.set_major_locator(MaxNLocator(nbins=3))


def describe_conditional_map(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """Say which covariates have cells whose limits do not contain 0, and the first region."""
    rows = np.concatenate([_rows(columns, details, name) for name in details["covariates"]])
    off = (np.asarray(columns["low"])[rows] > 0) | (np.asarray(columns["high"])[rows] < 0)
    names = list(dict.fromkeys(np.asarray(columns["covariate"])[rows][off].tolist()))
    cells = f"{int(off.sum())} of {off.size} cells have limits of the difference without 0"
    which = f" ({', '.join(names)})" if names else ""
    region = f" First region: {details['regions'][0].text}." if details["regions"] else ""
    return f"Observed less predicted along {len(details['covariates'])} covariates. {cells}{which}.{region}"


def marks_conditional_map(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    scale, found = _scale(details)[0], []
    for k, name in enumerate(details["covariates"][:MAX_MULTIPLES]):
        for place, i in enumerate(_rows(columns, details, name).tolist()):
            left, right = float(columns["left"][i]), float(columns["right"][i])
            value, low, high = (scale * float(columns[key][i]) for key in ("difference", "low", "high"))
            text = f"{name} {columns['cell'][i]}: {value:.2g} ({low:.2g} to {high:.2g})"
            found.append(Mark(place if np.isnan(left) else left / 2 + right / 2, value, text, k))
    return found


CONDITIONAL_MAP = Picture(
    draw_conditional_map,
    marks_conditional_map,
    describe_conditional_map,
    thinned=("rows", "difference"),
    lines="covariate",
    scattered=True,
    options=("mathtext",),
)
