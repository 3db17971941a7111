"""Binned reliability diagram."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.plots import palette


def draw(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    """Draw observed frequency against mean prediction, its intervals, the consistency band and the counts."""
    shown = np.asarray(columns["count"]) > 0
    column = {name: np.asarray(values)[shown] for name, values in columns.items()}
    level = f"{100 * details['level']:g} %"
    width = column["upper"] - column["lower"]
    middle = (column["upper"] + column["lower"]) / 2
    ax.bar(
        middle,
        0.12 * column["weight"] / column["weight"].max(),
        width=0.96 * width,
        color=palette.COUNTS,
        label="share of rows (scaled)",
        zorder=1,
    )
    ax.bar(
        middle,
        column["consistency_high"] - column["consistency_low"],
        bottom=column["consistency_low"],
        width=0.96 * width,
        color=palette.BAND,
        alpha=0.45,
        label=f"where {level} would fall if calibrated",
        zorder=2,
    )
    ax.plot([0, 1], [0, 1], color=palette.REFERENCE, linewidth=1, linestyle="--", label="calibrated", zorder=3)
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
        markersize=4.5,
        color=palette.OBSERVED,
        elinewidth=1.2,
        capsize=2,
        label=f"observed, {level} interval",
        zorder=4,
    )
    ax.set(
        xlim=(-0.01, 1.01),
        ylim=(-0.01, 1.01),
        xlabel="predicted probability",
        ylabel="observed frequency",
        aspect="equal",
    )
    ax.legend(loc="upper left", fontsize="small", frameon=False)
