"""Reliability diagram of quantile forecasts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from calibrant.plots import palette
from calibrant.plots.mark import Mark
from calibrant.plots.style import dress, legend_inside

THINNED = ("forecast", "recalibrated_low", "recalibrated_high")
LINES = "level"
NAMES = ("forecast", "recalibrated_low", "recalibrated_high")
FAINTEST = 0.35
MOST_LABELS = 7


def draw(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    """Draw for each level the recalibrated quantiles against the forecast, darker for higher levels."""
    levels = list(_by_level(columns))
    ends = _finite(np.concatenate([np.asarray(columns[name], dtype=float) for name in NAMES]))
    if ends.size:
        line = [ends.min(), ends.max()]
        ax.plot(line, line, color=palette.REFERENCE, linewidth=1.2, linestyle="--", label="calibrated")
    labelled = set(np.linspace(0, len(levels) - 1, min(len(levels), MOST_LABELS)).round().astype(int).tolist())
    for k, (level, forecast, low, high) in enumerate(levels):
        alpha = 1.0 if len(levels) == 1 else FAINTEST + (1 - FAINTEST) * k / (len(levels) - 1)
        ax.fill_between(forecast, low, high, facecolor=(palette.OBSERVED, 0.2 * alpha), linewidth=0)
        ax.plot(
            forecast,
            (low + high) / 2,
            color=palette.OBSERVED,
            alpha=alpha,
            linewidth=1.6,
            marker="o" if forecast.size == 1 else None,
            label=f"level {level:g}" if k in labelled else None,
        )
    ax.set(xlabel="forecast quantile", ylabel="recalibrated quantile")
    dress(ax)
    legend_inside(ax, "upper left")


def marks(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    """Return each different forecast of each level."""
    names = ("level", *NAMES, "count")
    return [
        Mark(
            q,
            (low + high) / 2,
            f"level {level:g}: forecast {q:.4g}\nrecalibrated {_range(low, high)}\n{count:,} rows",
        )
        for level, q, low, high, count in zip(*(np.asarray(columns[name]).tolist() for name in names), strict=True)
        if np.isfinite(q)
    ]


def describe(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """Say for how many levels there is a curve, and where the recalibrated quantile is farthest from the forecast."""
    level, q, low, high = (np.asarray(columns[name], dtype=float) for name in ("level", *NAMES))
    gap = np.where(np.isfinite(q), np.maximum(np.maximum(low - q, q - high), 0.0), -1.0)
    worst = int(gap.argmax())
    return (
        f"Recalibrated against forecast quantiles of {np.unique(level).size} levels. The largest gap is at level "
        f"{level[worst]:g}, forecast {q[worst]:.4g}, recalibrated {_range(low[worst], high[worst])}."
    )


def _by_level(columns: Mapping[str, Any]) -> Iterator[tuple[float, Any, Any, Any]]:
    """Yield the finite forecasts of each level and their recalibrated values."""
    levels = np.asarray(columns["level"])
    for level in np.unique(levels):
        q, low, high = (np.asarray(columns[name], dtype=float)[levels == level] for name in NAMES)
        shown = np.isfinite(q)
        yield float(level), q[shown], low[shown], high[shown]


def _finite(values: Any) -> Any:
    return values[np.isfinite(values)]


def _range(low: float, high: float) -> str:
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
