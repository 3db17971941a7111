"""Binned reliability diagram."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.plots import palette
from calibrant.plots.mark import Mark
from calibrant.plots.style import dress, legend_inside

THINNED = ("lower", "mean_observed", "weight")
SAID = (
    "mean_predicted",
    "mean_observed",
    "interval_low",
    "interval_high",
    "consistency_low",
    "consistency_high",
    "count",
)
STRIP = -0.15  # the shares of rows stand in a strip of their own, under the frequency 0


def draw(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    """Draw observed frequency against mean prediction, its intervals, the consistency band and the counts."""
    column = _filled(columns)
    level = f"{100 * details['level']:g} %"
    width = column["upper"] - column["lower"]
    middle = (column["upper"] + column["lower"]) / 2
    ax.bar(
        middle,
        0.12 * column["weight"] / column["weight"].max(),
        bottom=STRIP,
        width=0.9 * width,
        color=palette.COUNTS,
        edgecolor=palette.OBSERVED,
        linewidth=0.5,
        label="share of rows (scaled)",
        zorder=1,
    )
    ax.bar(
        middle,
        column["consistency_high"] - column["consistency_low"],
        bottom=column["consistency_low"],
        width=0.9 * width,
        facecolor=(palette.BAND, 0.45),
        edgecolor=palette.EDGE,
        linewidth=0.7,
        label=f"{level} band if calibrated",
        zorder=2,
    )
    ax.plot([0, 1], [0, 1], color=palette.REFERENCE, linewidth=1.2, linestyle="--", label="calibrated", zorder=3)
    ax.errorbar(
        column["mean_predicted"],
        column["mean_observed"],
        yerr=np.stack(
            [
                column["mean_observed"] - column["interval_low"],
                column["interval_high"] - column["mean_observed"],
            ]
        ),
        fmt="o",
        markersize=5,
        color=palette.OBSERVED,
        elinewidth=1.3,
        capsize=2.5,
        label=f"observed, {level} interval",
        zorder=4,
    )
    ax.set(
        xlim=(-0.02, 1.02),
        ylim=(STRIP - 0.01, 1.02),
        yticks=np.linspace(0, 1, 6),
        xlabel="predicted probability",
        ylabel="observed frequency",
        aspect="equal",
    )
    dress(ax)
    ax.spines["left"].set_bounds(0, 1)
    legend_inside(ax, "upper left")


def marks(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    """Return the point of each bin that holds rows."""
    column = _filled(columns)
    level = f"{100 * details['level']:g} %"
    return [
        Mark(
            x,
            y,
            f"predicted {x:.3f}, observed {y:.3f}\n{level} interval {low:.3f} to {high:.3f}\n"
            f"if calibrated {band_low:.3f} to {band_high:.3f}\n{count:,} rows",
        )
        for x, y, low, high, band_low, band_high, count in zip(*(column[name].tolist() for name in SAID), strict=True)
    ]


def describe(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """Say how many bins are off, and which is the most."""
    column = _filled(columns)
    x, y = column["mean_predicted"], column["mean_observed"]
    outside = int(np.sum(column["outside"]))
    worst = int(abs(y - x).argmax())
    return (
        f"Observed frequency against predicted probability in {len(x)} bins with rows; {outside} of them lie outside "
        f"the {100 * details['level']:g} % band of calibrated predictions. "
        f"The largest gap is at predicted {x[worst]:.3f}, observed {y[worst]:.3f}."
    )


def _filled(columns: Mapping[str, Any]) -> dict[str, Any]:
    shown = np.asarray(columns["count"]) > 0
    return {name: np.asarray(values)[shown] for name, values in columns.items()}
