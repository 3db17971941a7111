"""Isotonic (CORP) reliability diagram."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calibrant.plots import palette


def draw(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    """Draw the isotonic fit against the score, and the region where it would lie if calibrated."""
    level = f"{100 * details['level']:g} %"
    ax.fill_between(
        columns["p"],
        columns["consistency_low"],
        columns["consistency_high"],
        color=palette.BAND,
        alpha=0.45,
        linewidth=0,
        label=f"where {level} would fall if calibrated",
    )
    ax.plot([0, 1], [0, 1], color=palette.REFERENCE, linewidth=1, linestyle="--", label="calibrated")
    ax.plot(columns["p"], columns["fitted"], color=palette.OBSERVED, linewidth=1.8, label="isotonic fit")
    ax.set(
        xlim=(-0.01, 1.01),
        ylim=(-0.01, 1.01),
        xlabel="predicted probability",
        ylabel="recalibrated probability",
        aspect="equal",
    )
    ax.legend(loc="upper left", fontsize="small", frameon=False)
