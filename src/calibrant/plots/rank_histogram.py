"""Histogram of ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.plots import palette
from calibrant.plots.lines import BAND, FEW, draw_lines, label_of, legend, name_of, said, table, worst_first
from calibrant.plots.mark import Mark
from calibrant.plots.style import dress

THINNED = ("first", "counts")


def draw(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    """Draw counts over expected counts and the joint band: bars, steps of a few columns, or lines of many."""
    left, right = _edges(columns, details)
    expected = np.asarray(columns["expected"])
    heights = table(columns["counts"]) / expected[:, None]
    C = heights.shape[1]
    if C == 1:
        ax.bar(
            left,
            heights[:, 0],
            width=right - left,
            align="edge",
            color=palette.COUNTS,
            edgecolor=palette.OBSERVED,
            linewidth=0.8,
            label=label_of(details, 0),
        )
    x = np.column_stack([left, right]).ravel()
    lower, upper = (np.repeat(np.asarray(columns[name]) / expected, 2) for name in ("lower", "upper"))
    ax.fill_between(x, lower, upper, zorder=2, label=f"{100 * details['level']:g} % band, joint", **BAND)
    ax.axhline(1, color=palette.REFERENCE, linewidth=1.2, linestyle="--", zorder=2.5, label="calibrated")
    lines: list[Any] = []
    if C > FEW:  # whose steps would hide each other
        lines = draw_lines(ax, (left + right) / 2, heights, details)
    elif C > 1:
        lines = draw_lines(ax, x, np.repeat(heights, 2, axis=0), details)
    ax.set(
        xlim=(left[0], right[-1]),
        xlabel="probability integral transform" if details["cells"] else "rank of the outcome among its draws",
        ylabel="rows over expected rows",
    )
    ax.set_ylim(bottom=0, auto=True)  # axes that share it may need more room
    dress(ax)
    legend(ax, "best", lines)


def marks(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    """Return the top of each bar; of several columns the one farthest from its expected height."""
    left, right = _edges(columns, details)
    counts, expected = table(columns["counts"]), np.asarray(columns["expected"])
    farthest = abs(counts - expected[:, None]).argmax(axis=1)
    return [
        Mark(
            float(left[k] + right[k]) / 2,
            float(counts[k, c] / expected[k]),
            f"{_bin(columns, details, k)}\n{name_of(details, c)} {counts[k, c]:,} rows, expected {expected[k]:.4g}\n"
            f"joint band {columns['lower'][k]:,} to {columns['upper'][k]:,}",
        )
        for k, c in enumerate(farthest.tolist())
    ]


def describe(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """Say how many bars leave the band, and which are the highest and the lowest of the worst column."""
    counts = table(columns["counts"])
    heights = counts / table(columns["expected"])
    outside = (counts < table(columns["lower"])) | (counts > table(columns["upper"]))
    worst = int(worst_first(details)[0])
    most, least = int(heights[:, worst].argmax()), int(heights[:, worst].argmin())
    band = f"the {100 * details['level']:g} % band, joint over all bars"
    of_columns = "" if counts.shape[1] == 1 else f" of {counts.shape[1]:,} columns"
    of_worst = "" if counts.shape[1] == 1 else f"of the worst, {name_of(details, worst)}, "
    return (
        f"Histogram of ranks of {details['n']:,} rows in {len(counts)} bins. {int(outside.sum()):,} of "
        f"{outside.size:,} bars{of_columns} lie outside {band}. The highest bar {of_worst}has "
        f"{heights[most, worst]:.2f} times its expected rows ({_bin(columns, details, most)}), the lowest "
        f"{heights[least, worst]:.2f} times ({_bin(columns, details, least)}); "
        f"chi-square {said(np.atleast_1d(details['pvalue'])[worst])}."
    )


def _edges(columns: Mapping[str, Any], details: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return where bars begin and end: half a rank around ranks, shares of cells."""
    first, last = np.asarray(columns["first"]), np.asarray(columns["last"])
    if details["cells"]:
        m = details["M"] + 1
        return first / m, (last + 1) / m
    return first - 0.5, last + 0.5


def _bin(columns: Mapping[str, Any], details: Mapping[str, Any], k: int) -> str:
    first, last = int(columns["first"][k]), int(columns["last"][k])
    if details["cells"]:
        m = details["M"] + 1
        return f"{first / m:.4g} to {(last + 1) / m:.4g}"
    return f"rank {first}" if first == last else f"ranks {first} to {last}"
