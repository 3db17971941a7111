"""Distribution functions of two samples of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.plots import palette
from calibrant.plots.mark import Mark
from calibrant.plots.style import dress, legend_inside

THINNED = ("value", "first", "second")


def draw(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    """Draw both as steps."""
    names = [name.replace("$", r"\$") for name in details["names"]]
    looks = ((palette.OBSERVED, "-"), (palette.SECOND, (0, (6, 2))))
    for column, name, (colour, dash) in zip(("first", "second"), names, looks, strict=True):
        label = f"set {name}" if name.startswith("_") else name
        ax.step(
            columns["value"], columns[column], where="post", color=colour, linestyle=dash, linewidth=1.6, label=label
        )
    ax.set(ylim=(-0.02, 1.02), xlabel=details["axis"].replace("$", r"\$"), ylabel="share up to here")
    dress(ax)
    legend_inside(ax, "lower right")


def marks(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    """Return both shares at each value, on the upper line."""
    first, second = details["names"]
    rows = zip(*(np.asarray(columns[name]).tolist() for name in ("value", "first", "second")), strict=True)
    return [Mark(x, max(a, b), f"up to {x:.3g}\n{first} {a:.1%}\n{second} {b:.1%}") for x, a, b in rows]


def describe(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """Say where the two are farthest apart."""
    value, a, b = (np.asarray(columns[name]) for name in ("value", "first", "second"))
    k = int(np.abs(a - b).argmax())
    first, second = details["names"]
    return (
        f"Distribution functions of {first} and {second}. They are farthest apart at {value[k]:.3g}, up to which there "
        f"are {a[k]:.1%} of {first} and {b[k]:.1%} of {second}."
    )
