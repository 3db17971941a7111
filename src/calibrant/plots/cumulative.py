"""Cumulative differences between outcomes and predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.plots import palette
from calibrant.plots.mark import Mark
from calibrant.plots.style import dress, legend_inside

THINNED = ("abscissa", "difference")
TICKS = 6


def draw(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    """Draw the walk, the height one standard deviation of its end would have, and the scores along the axis."""
    A, C, scale = columns["abscissa"], columns["difference"], details["scale"]
    ax.fill_between(
        [0, 1],
        -2 * scale,
        2 * scale,
        facecolor=(palette.BAND, 0.45),
        edgecolor=palette.EDGE,
        linewidth=0.7,
        label="± 2 scale",
    )
    ax.axhline(0, color=palette.REFERENCE, linewidth=1.2, linestyle="--")
    ax.plot(A, C, color=palette.OBSERVED, linewidth=1.6, label="cumulative difference")
    ax.set(xlim=(0, 1), xlabel="share of rows, by score", ylabel="cumulative observed minus predicted")
    dress(ax)
    legend_inside(ax, "best")
    _mark_scores(ax, A, columns["score"])


def marks(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    """Return each point of the walk but the first, which has no score."""
    A, C, score = (np.asarray(columns[name])[1:].tolist() for name in ("abscissa", "difference", "score"))
    return [
        Mark(a, c, f"{a:.1%} of rows, score up to {s:.3g}\ncumulative difference {c:.4g}")
        for a, c, s in zip(A, C, score, strict=True)
    ]


def describe(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """Say how far the walk goes, and where."""
    C, score = np.asarray(columns["difference"]), np.asarray(columns["score"])
    low, high = int(C.argmin()), int(C.argmax())
    return (
        "Cumulative observed minus predicted, rows in the order of their score. "
        f"It is highest with {C[high]:.4g}{_at(score[high])}, lowest with {C[low]:.4g}{_at(score[low])}, "
        f"and ends at {C[-1]:.4g}; twice the scale is {2 * details['scale']:.4g}."
    )


def _at(score: float) -> str:
    return " at the start" if np.isnan(score) else f" at score {score:.3g}"


def _mark_scores(ax: Any, A: Any, score: Any) -> None:
    """Write the score at a few shares of rows, on a second axis."""
    last = len(A) - 1
    places = sorted({min(max(1, int(np.searchsorted(A, k / (TICKS - 1)))), last) for k in range(TICKS)})
    top = ax.secondary_xaxis("top")
    top.set_xticks([A[k] for k in places], _written([score[k] for k in places]))
    top.set_xlabel("score", color=palette.INK, labelpad=6)
    top.spines["top"].set(color=palette.EDGE, linewidth=0.8)
    top.tick_params(color=palette.EDGE, labelcolor=palette.INK, length=3)


def _written(scores: list[float]) -> list[str]:
    """Write scores with as few decimals, from two to four, as tell them apart."""
    for decimals in (2, 3):
        texts = [f"{score:.{decimals}f}" for score in scores]
        if len(set(texts)) == len(texts):
            return texts
    return [f"{score:.4f}" for score in scores]
