"""Pictures of a conditional map: one small picture per covariate, and a coloured table of a pair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.core import palette
from calibrant.core.pictures import Mark, Picture
from calibrant.core.plot_style import dress, plain, table, worst_first
from calibrant.core.words import pvalue_words

MAX_MULTIPLES = 9
ACROSS = 3
MARGIN = 0.3  # of a small picture, for labels
MAX_NAME = 22


def draw_conditional_map(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    """Draw the shift along each covariate, clearest first, with its limits; regions are shaded."""
    c = int(worst_first(details)[0])
    covariates = details["covariates"][:MAX_MULTIPLES]
    pair = details.get("pair_shift")
    count = len(covariates) + (pair is not None)
    across = min(ACROSS, count)
    down = -(-count // across)
    ax.set_axis_off()
    for k, name in enumerate(covariates):
        small = ax.inset_axes(_place(k, across, down))
        _draw_one(small, columns, details, name, c)
        small.set_title(f"{plain(_short(name))}, {pvalue_words(float(details['pvalues'][k]))}", fontsize="small")
        if k % across == 0:
            small.set_ylabel("shift, sd", fontsize="small")
    if pair is not None:
        _draw_pair(ax.inset_axes(_place(len(covariates), across, down)), np.asarray(pair), details["pair"])


def _place(k: int, across: int, down: int) -> tuple[float, float, float, float]:
    width, height = 1 / across, 1 / down
    left, low = (k % across) * width, 1 - (k // across + 1) * height
    return left + 0.1 * width, low + MARGIN / 2 * height, (1 - MARGIN / 2) * width * 0.9, (1 - MARGIN) * height


def _short(name: str) -> str:
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"


def _draw_one(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any], name: str, c: int) -> None:
    rows = np.flatnonzero(np.asarray(columns["covariate"]) == name)
    left, right = (np.asarray(columns[side])[rows] for side in ("left", "right"))
    shift, low, high = (table(columns[key])[rows, c] for key in ("shift", "shift_low", "shift_high"))
    is_category = bool(np.isnan(left).all())
    x = np.arange(rows.size, dtype=float) if is_category else (left + right) / 2
    for region in details["regions"][:1]:
        if name in region.names and not is_category:
            for a, b in region.bounds[region.names.index(name)]:
                ax.axvspan(max(a, left.min()), min(b, right.max()), color=palette.COUNTS, zorder=0, linewidth=0)
    ax.axhline(0, color=palette.REFERENCE, linewidth=1, linestyle="--", zorder=1)
    ax.errorbar(x, shift, [shift - low, high - shift], fmt="o", markersize=3, color=palette.OBSERVED, linewidth=1)
    dress(ax)
    ax.tick_params(labelsize="small")
    if is_category:
        labels = [plain(_short(str(cell))) for cell in np.asarray(columns["cell"])[rows]]
        ax.set_xticks(x, labels, rotation=30, ha="right")


def _draw_pair(ax: Any, shift: Any, names: tuple[str, str]) -> None:
    """Draw the shift in the cells of two covariates as a coloured table."""
    from matplotlib.patches import Rectangle

    most = float(np.nanmax(np.abs(shift))) or 1.0
    for (i, j), value in np.ndenumerate(shift):
        if not np.isnan(value):
            colour = palette.SECOND if value > 0 else palette.OBSERVED
            ax.add_patch(Rectangle((i, j), 1, 1, facecolor=(colour, abs(value) / most), edgecolor="none"))
            ax.text(i + 0.5, j + 0.5, f"{value:.1f}", ha="center", va="center", fontsize=5, color=palette.INK)
    ax.set(xlim=(0, shift.shape[0]), ylim=(0, shift.shape[1]), xticks=[], yticks=[])
    ax.set_xlabel(plain(_short(names[0])), fontsize="small")
    ax.set_ylabel(plain(_short(names[1])), fontsize="small")
    dress(ax)
    ax.grid(False)
    ax.set_title("shift, sd, in cells of equal mass", fontsize="small")


def describe_conditional_map(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """Say which covariates have cells whose limits do not contain 0, and the first region."""
    c = int(worst_first(details)[0])
    low, high = (table(columns[key])[:, c] for key in ("shift_low", "shift_high"))
    off = (low > 0) | (high < 0)
    names = [name for name in details["covariates"] if off[np.asarray(columns["covariate"]) == name].any()]
    cells = f"{int(off.sum())} of {off.size} cells have limits of the shift without 0"
    which = f" ({', '.join(names)})" if names else ""
    region = f" First region: {details['regions'][0].text}." if details["regions"] else ""
    return f"Shift of predictions along {len(details['covariates'])} covariates. {cells}{which}.{region}"


def marks_conditional_map(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    """Return a mark for each column of small pictures: the clearest cell of each covariate in it."""
    c = int(worst_first(details)[0])
    covariates = details["covariates"][:MAX_MULTIPLES]
    across = min(ACROSS, len(covariates) + ("pair_shift" in details))
    found = []
    for k in range(min(across, len(covariates))):
        texts = [_clearest(columns, name, c) for name in covariates[k::across]]
        found.append(Mark((k + 0.5) / across, 0.5, "\n".join(texts)))
    return found


def _clearest(columns: Mapping[str, Any], name: str, c: int) -> str:
    """Return the cell of a covariate whose shift is the largest, in words."""
    rows = np.flatnonzero(np.asarray(columns["covariate"]) == name)
    if not rows.size:
        return f"{name}: too few rows in each cell"
    shift, low, high = (table(columns[key])[rows, c] for key in ("shift", "shift_low", "shift_high"))
    k = int(np.abs(shift).argmax())
    return f"{name} {columns['cell'][rows[k]]}: shift {shift[k]:.2f} sd ({low[k]:.2f} to {high[k]:.2f})"


CONDITIONAL_MAP = Picture(
    draw_conditional_map,
    marks_conditional_map,
    describe_conditional_map,
    thinned=("rows", "shift"),
    lines="covariate",
    scattered=True,
)
