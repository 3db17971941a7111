"""Cumulative differences between outcomes and predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calibrant.plots import palette

MOST_TICKS = 6


def draw(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    """Draw the walk, the height one standard deviation of its end would have, and the scores along the axis."""
    A, C, scale = columns["abscissa"], columns["difference"], details["scale"]
    ax.axhline(0, color=palette.REFERENCE, linewidth=1, linestyle="--")
    ax.fill_between([0, 1], -2 * scale, 2 * scale, color=palette.BAND, alpha=0.35, linewidth=0, label="± 2 scale")
    ax.plot(A, C, color=palette.OBSERVED, linewidth=1.4, label="cumulative difference")
    ax.set(xlim=(0, 1), xlabel="share of rows, by score", ylabel="cumulative observed minus predicted")
    ax.legend(loc="best", fontsize="small", frameon=False)
    _mark_scores(ax, A, columns["score"])


def _mark_scores(ax: Any, A: Any, score: Any) -> None:
    """Write the score at a few places of a second axis."""
    last = len(A) - 1
    places = sorted({max(1, round(k * last / (MOST_TICKS - 1))) for k in range(MOST_TICKS)})
    top = ax.secondary_xaxis("top")
    top.set_xticks([A[k] for k in places], [f"{score[k]:.2g}" for k in places])
    top.set_xlabel("score")
