"""Pictures of a conditional map: one small picture per covariate, and a coloured table of a pair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.core import palette
from calibrant.core.panels import SMALL, new_panel
from calibrant.core.pictures import Mark, Picture
from calibrant.core.plot_style import drawn_name, drawn_text, dress, plain, shortened, table, worst_first
from calibrant.core.words import at_most_words, pvalue_words

MAX_MULTIPLES = 9
MAX_NAME_CHARACTERS = 22
MAP_ROOM = (3.2, 3.0, 0.6, 3.4)  # left, above, right and below a panel, in sizes of its text
REFERENCES = {"shift": 0.0, "spread": 1.0}


def panels_of(columns: Mapping[str, Any], details: Mapping[str, Any], c: int) -> list[tuple[str, str]]:
    """Return the covariate and the quantity of each panel: the shift, and the spread where its limits leave out 1."""
    found = []
    for name in details["covariates"]:
        found.append((name, "shift"))
        if "spread" in columns and _is_off(columns, name, "spread", c):
            found.append((name, "spread"))
    return found[:MAX_MULTIPLES]


def _is_off(columns: Mapping[str, Any], name: str, quantity: str, c: int) -> bool:
    rows = np.asarray(columns["covariate"]) == name
    low, high = (table(columns[f"{quantity}_{side}"])[rows, c] for side in ("low", "high"))
    return bool(((low > REFERENCES[quantity]) | (high < REFERENCES[quantity])).any())


def draw_conditional_map(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    c = _drawn_coordinate(details)
    panels = panels_of(columns, details, c)
    pair = details.get("pair_shift")
    count = len(panels) + (pair is not None)
    small = SMALL * float(ax.xaxis.label.get_size())
    drawn: dict[str, list[Any]] = {quantity: [] for quantity in REFERENCES}
    for k, (name, quantity) in enumerate(panels):
        panel = new_panel(ax, k, count, MAP_ROOM)
        _draw_one(panel, columns, details, name, quantity, c, small)
        of_covariate = float(details["pvalues"][details["covariates"].index(name)])
        in_words = at_most_words if of_covariate <= details["smallest possible"] else pvalue_words
        words = f"{quantity}, {in_words(of_covariate)}"
        title = f"{drawn_text(name, details, MAX_NAME_CHARACTERS)}\n{words}"
        panel.set_title(title, fontsize=small, color=palette.INK, pad=2.5, linespacing=1.05)
        drawn[quantity].append(panel)
    for same in drawn.values():
        ends = [panel.get_ylim() for panel in same]
        for panel in same:
            panel.set_ylim(min(low for low, _ in ends), max(high for _, high in ends))
    if pair is not None:
        names = tuple(drawn_text(name, details, MAX_NAME_CHARACTERS) for name in details["pair"])
        _draw_pair(new_panel(ax, len(panels), count, MAP_ROOM), np.asarray(pair), names, small)
    of_column = f" of {drawn_name(details, c)}" if len(details["names"]) > 1 else ""
    spread = "; spread: factor needed" if drawn["spread"] else ""
    ax.set_ylabel(f"shift{of_column}, sd{spread}", color=palette.INK)
    ax.set_xlabel("p-values: for all cells of this map together", color=palette.INK)


def _drawn_coordinate(details: Mapping[str, Any]) -> int:
    """Return which coordinate is drawn: that of the first region, or the one with the smallest p-value."""
    column = details["regions"][0].column if details["regions"] else ""
    return details["names"].index(column) if column else int(worst_first(details)[0])


def _draw_one(
    ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any], name: str, quantity: str, c: int, size: float
) -> None:
    from matplotlib.ticker import MaxNLocator

    rows = np.flatnonzero(np.asarray(columns["covariate"]) == name)
    left, right = (np.asarray(columns[side])[rows] for side in ("left", "right"))
    value, low, high = (table(columns[quantity + end])[rows, c] for end in ("", "_low", "_high"))
    is_category = bool(np.isnan(left).all())
    x = np.arange(rows.size, dtype=float) if is_category else (left + right) / 2
    for region in details["regions"][:1]:
        if name in region.names and not is_category:
            for a, b in region.bounds[region.names.index(name)]:
                ax.axvspan(max(a, left.min()), min(b, right.max()), color=palette.COUNTS, zorder=0, linewidth=0)
    ax.axhline(REFERENCES[quantity], color=palette.REFERENCE, linewidth=1, linestyle="--", zorder=1)
    ax.errorbar(x, value, [value - low, high - value], fmt="o", markersize=2.5, color=palette.OBSERVED, linewidth=1)
    dress(ax)
    ax.tick_params(labelsize=size, length=2, pad=1.5)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=4))
    if is_category:
        labels = [plain(shortened(str(cell), MAX_NAME_CHARACTERS)) for cell in np.asarray(columns["cell"])[rows]]
        ax.set_xticks(x, labels, rotation=30, ha="right")
    else:
        ax.xaxis.set_major_locator(MaxNLocator(nbins=3))


def _draw_pair(ax: Any, shift: Any, names: tuple[str, ...], size: float) -> None:
    from matplotlib.patches import Rectangle

    most = float(np.nanmax(np.abs(shift))) or 1.0
    for (i, j), value in np.ndenumerate(shift):
        if not np.isnan(value):
            colour = palette.SECOND if value > 0 else palette.OBSERVED
            ax.add_patch(Rectangle((i, j), 1, 1, facecolor=(colour, abs(value) / most), edgecolor="none"))
            ax.text(i + 0.5, j + 0.5, f"{value:.1f}", ha="center", va="center", fontsize=0.6 * size, color=palette.INK)
    ax.set(xlim=(0, shift.shape[0]), ylim=(0, shift.shape[1]), xticks=[], yticks=[])
    ax.set_xlabel(names[0], fontsize=size, color=palette.INK, labelpad=2)
    ax.set_ylabel(names[1], fontsize=size, color=palette.INK, labelpad=2)
    dress(ax)
    ax.grid(False)
    ax.set_title("shift, sd, in cells\nof equal mass", fontsize=size, color=palette.INK, pad=2.5, linespacing=1.05)


def describe_conditional_map(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """Say which covariates have cells whose limits do not contain 0, and the first region."""
    c = _drawn_coordinate(details)
    low, high = (table(columns[key])[:, c] for key in ("shift_low", "shift_high"))
    off = (low > 0) | (high < 0)
    names = [name for name in details["covariates"] if off[np.asarray(columns["covariate"]) == name].any()]
    cells = f"{int(off.sum())} of {off.size} cells have limits of the shift without 0"
    which = f" ({', '.join(names)})" if names else ""
    region = f" First region: {details['regions'][0].text}." if details["regions"] else ""
    return f"Shift of predictions along {len(details['covariates'])} covariates. {cells}{which}.{region}"


def marks_conditional_map(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    c = _drawn_coordinate(details)
    found = []
    for k, (name, quantity) in enumerate(panels_of(columns, details, c)):
        rows = np.flatnonzero(np.asarray(columns["covariate"]) == name)
        for place, i in enumerate(rows.tolist()):
            left, right = float(columns["left"][i]), float(columns["right"][i])
            value, low, high = (float(table(columns[quantity + end])[i, c]) for end in ("", "_low", "_high"))
            unit = " sd" if quantity == "shift" else ""
            text = f"{name} {columns['cell'][i]}: {quantity} {value:.2f}{unit} ({low:.2f} to {high:.2f})"
            found.append(Mark(place if np.isnan(left) else (left + right) / 2, value, text, k))
    return found


CONDITIONAL_MAP = Picture(
    draw_conditional_map,
    marks_conditional_map,
    describe_conditional_map,
    thinned=("rows", "shift"),
    lines="covariate",
    scattered=True,
    options=("mathtext",),
)
