"""Isotonic (CORP) reliability diagram."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.plots import palette
from calibrant.plots.mark import Mark
from calibrant.plots.style import dress, legend_inside

THINNED = ("p", "fitted", "consistency_low", "consistency_high")


def draw(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    """Draw the isotonic fit against the score, and the region where it would lie if calibrated."""
    ax.fill_between(
        columns["p"],
        columns["consistency_low"],
        columns["consistency_high"],
        facecolor=(palette.BAND, 0.45),
        edgecolor=palette.EDGE,
        linewidth=0.7,
        label=f"{100 * details['level']:g} % band if calibrated",
    )
    ax.plot([0, 1], [0, 1], color=palette.REFERENCE, linewidth=1.2, linestyle="--", label="calibrated")
    ax.plot(columns["p"], columns["fitted"], color=palette.OBSERVED, linewidth=2, label="isotonic fit")
    ax.set(
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
        xlabel="predicted probability",
        ylabel="recalibrated probability",
        aspect="equal",
    )
    dress(ax)
    legend_inside(ax, "upper left")


def marks(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    """Return the fit at each score."""
    names = ("p", "fitted", "consistency_low", "consistency_high")
    return [
        Mark(p, fitted, f"predicted {p:.3f}, recalibrated {fitted:.3f}\nif calibrated {low:.3f} to {high:.3f}")
        for p, fitted, low, high in zip(*(np.asarray(columns[name]).tolist() for name in names), strict=True)
    ]


def describe(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """Say where the fit departs most from the score."""
    p, fitted = np.asarray(columns["p"]), np.asarray(columns["fitted"])
    worst = int(abs(fitted - p).argmax())
    return (
        f"Recalibrated against predicted probability, for predictions from {p[0]:.3f} to {p[-1]:.3f}. "
        f"The largest gap is at predicted {p[worst]:.3f}, recalibrated {fitted[worst]:.3f}; calibrated predictions "
        f"would give {columns['consistency_low'][worst]:.3f} to {columns['consistency_high'][worst]:.3f} there."
    )
