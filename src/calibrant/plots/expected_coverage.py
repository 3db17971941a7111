"""Coverage of the regions that draws define, against their nominal level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.plots import palette
from calibrant.plots.lines import BAND, departures, draw_lines, legend, name_of, said, table, worst_first
from calibrant.plots.mark import Mark
from calibrant.plots.style import dress

THINNED = ("level", "coverage", "lower", "upper")
FEW = 25  # levels that are drawn as dots
REGIONS = {"central": "central intervals", "hpd": "regions of highest density"}


def draw(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    """Draw a line per column, the diagonal, the joint band and, of one column, its pointwise intervals."""
    column = _sorted(columns)
    level, coverage = column["level"], column["coverage"]
    confidence = f"{100 * details['confidence']:g} %"
    ax.plot([0, 1], [0, 1], color=palette.REFERENCE, linewidth=1.2, linestyle="--", zorder=2.5, label="calibrated")
    edges = level if level.size > 1 else level + np.array([-0.02, 0.02])  # one level has a band too
    wide = [np.broadcast_to(column[name], edges.shape) for name in ("lower", "upper")]
    ax.fill_between(edges, *wide, label=f"{confidence} band, joint", **BAND)
    lines = draw_lines(ax, level, coverage, details, marker="o" if level.size <= FEW else None)
    if coverage.shape[1] == 1:
        _draw_intervals(ax, column, f"{confidence} interval, pointwise")
    ax.set(
        xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="nominal coverage", ylabel="observed coverage", aspect="equal"
    )
    dress(ax)
    legend(ax, "upper left", lines)


def marks(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    """Return at each level the coverage that is farthest from it."""
    column = _sorted(columns)
    level, coverage = column["level"], column["coverage"]
    farthest = abs(coverage - level[:, None]).argmax(axis=1)
    return [
        Mark(
            float(level[k]),
            float(coverage[k, c]),
            f"nominal {level[k]:.4g}, {name_of(details, c)} {coverage[k, c]:.3f}\n"
            f"pointwise {column['low'][k, c]:.3f} to {column['high'][k, c]:.3f}\n"
            f"joint band {column['lower'][k]:.3f} to {column['upper'][k]:.3f}",
        )
        for k, c in enumerate(farthest.tolist())
    ]


def describe(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """Say how many curves leave the band, on which side the worst is, and what that means."""
    column = _sorted(columns)
    level, coverage = column["level"], column["coverage"]
    leaves = ((coverage < column["lower"][:, None]) | (coverage > column["upper"][:, None])).any(axis=0)
    worst = int(worst_first(details)[0])
    where = int(abs(level - np.atleast_1d(details["where"])[worst]).argmin())
    band = f"the {100 * details['confidence']:g} % band, joint over all levels"
    side = "below" if coverage[where, worst] < level[where] else "above"
    return (
        f"Observed against nominal coverage of {REGIONS[details['region']]}, from {details['n']:,} rows. "
        f"{departures(leaves, band, details)} at nominal {level[where]:.3g}, observed {coverage[where, worst]:.3f}, "
        f"{side} the diagonal; {said(np.atleast_1d(details['pvalue'])[worst])}. Below the diagonal is over-confident, "
        "above it under-confident."
    )


def _draw_intervals(ax: Any, column: Mapping[str, Any], label: str) -> None:
    level, coverage, low, high = column["level"], *(column[name][:, 0] for name in ("coverage", "low", "high"))
    if level.size <= FEW:
        reach = np.stack([coverage - low, high - coverage])
        ax.errorbar(
            level, coverage, yerr=reach, fmt="none", ecolor=palette.OBSERVED, elinewidth=1, capsize=2.5, label=label
        )
        return
    for edge, said_once in ((low, label), (high, None)):
        ax.plot(level, edge, color=palette.OBSERVED, linewidth=0.8, linestyle=":", label=said_once)


def _sorted(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns by ascending level, those of curves as (T, C)."""
    order = np.argsort(columns["level"], kind="stable")
    found = {name: np.asarray(values)[order] for name, values in columns.items()}
    return found | {name: table(found[name]) for name in ("coverage", "low", "high")}
