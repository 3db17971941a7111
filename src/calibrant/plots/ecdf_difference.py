"""Empirical distribution function of ranks less what it would be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.errors import refuse_choice
from calibrant.plots import palette
from calibrant.plots.lines import BAND, departures, draw_lines, legend, name_of, said, table, worst_first
from calibrant.plots.mark import Mark
from calibrant.plots.style import dress

THINNED = ("t", "v", "lower", "upper")
OPTIONS = ("scale",)
FEW = 25  # points that are drawn as dots


def draw(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any], *, scale: str | None = None) -> None:
    """Draw a line per column, the joint band and the pointwise standard deviation; all times √n on that scale."""
    if scale not in (None, "sqrt_n"):
        raise refuse_choice("scale", scale, (None, "sqrt_n"))
    factor = 1.0 if scale is None else np.sqrt(details["n"])
    t, sd, lower, upper = (factor ** (name != "t") * columns[name] for name in ("t", "sd", "lower", "upper"))
    v = factor * table(columns["v"])
    ax.axhline(0, color=palette.REFERENCE, linewidth=1.2, zorder=2.5, label="calibrated")
    for sign, label in ((1, "± 1 sd, pointwise"), (-1, None)):
        ax.plot(t, sign * sd, color=palette.REFERENCE, linewidth=0.9, linestyle="--", zorder=2.5, label=label)
    ax.fill_between(t, lower, upper, label=f"{100 * details['level']:g} % band, joint", **BAND)
    lines = draw_lines(ax, t, v, details, marker="o" if t.size <= FEW else None)
    of_law = "probability integral transform t" if details["cells"] else "rank over number of ranks, t"
    ax.set(
        xlim=(0, 1),
        xlabel=of_law,
        ylabel="share below t, minus t" + ("" if scale is None else ", times √n"),
    )
    dress(ax)
    legend(ax, "best", lines)


def marks(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    """Return at each inner point the curve that is farthest from 0."""
    t, lower, upper = (np.asarray(columns[name]) for name in ("t", "lower", "upper"))
    v = table(columns["v"])
    farthest = abs(v).argmax(axis=1)
    return [
        Mark(
            float(t[k]),
            float(v[k, c]),
            f"{name_of(details, c)} {v[k, c]:+.4f} at t = {t[k]:.4g}\njoint band {lower[k]:+.4f} to {upper[k]:+.4f}",
        )
        for k, c in enumerate(farthest.tolist())
        if 0 < t[k] < 1
    ]


def describe(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """Say how many curves leave the band, and where the worst is."""
    t, v = np.asarray(columns["t"]), table(columns["v"])
    leaves = ((v < table(columns["lower"])) | (v > table(columns["upper"]))).any(axis=0)
    worst = int(worst_first(details)[0])
    where = int(abs(t - np.atleast_1d(details["where"])[worst]).argmin())
    band = f"the {100 * details['level']:g} % band, joint over all points"
    return (
        f"Share of ranks below t minus t, from {details['n']:,} rows. {departures(leaves, band, details)} at "
        f"t = {t[where]:.3g}, by {v[where, worst]:+.3f}; {said(np.atleast_1d(details['pvalue'])[worst])}."
    )
