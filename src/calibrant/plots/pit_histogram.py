"""Histogram of the probability integral transform."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.plots import palette
from calibrant.plots.mark import Mark
from calibrant.plots.style import dress, legend_inside

THINNED = ("lower", "density")


def draw(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    """Draw the share of each bin over the share it would have if calibrated."""
    lower, upper = np.asarray(columns["lower"]), np.asarray(columns["upper"])
    ax.bar(
        lower,
        columns["density"],
        width=upper - lower,
        align="edge",
        color=palette.COUNTS,
        edgecolor=palette.OBSERVED,
        linewidth=0.8,
        label="rows",
    )
    ax.axhline(1, color=palette.REFERENCE, linewidth=1.2, linestyle="--", label="calibrated")
    ax.set(xlim=(0, 1), xlabel="probability integral transform", ylabel="share of rows over expected share")
    ax.set_ylim(bottom=0, auto=True)  # axes that share it may need more room
    dress(ax)
    legend_inside(ax, "best")


def marks(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    """Return the top of each bar."""
    names = ("lower", "upper", "share", "expected", "density")
    return [
        Mark((a + b) / 2, height, f"{a:.3g} to {b:.3g}\n{share:.1%} of rows, expected {expected:.1%}")
        for a, b, share, expected, height in zip(*(np.asarray(columns[name]).tolist() for name in names), strict=True)
    ]


def describe(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """Say which bins hold most and least, and what the ends hold."""
    lower, upper, share = (np.asarray(columns[name]) for name in ("lower", "upper", "share"))
    most, least = int(share.argmax()), int(share.argmin())
    return (
        f"Histogram of the probability integral transform in {share.size} bins, each expected to hold "
        f"{columns['expected'][0]:.1%} of the rows. The fullest, from {lower[most]:.3g} to {upper[most]:.3g}, holds "
        f"{share[most]:.1%}, the emptiest, from {lower[least]:.3g} to {upper[least]:.3g}, {share[least]:.1%}; the "
        f"first holds {share[0]:.1%} and the last {share[-1]:.1%}."
    )
