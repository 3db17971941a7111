"""From rows to a summary that holds the wanted bins, and from that summary to their table."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from calibrant.core.bins import GRID_ORDER, BinTable, mass_ends
from calibrant.core.grid import Grid
from calibrant.core.ordered import Ordered
from calibrant.core.summary import Summary
from calibrant.errors import SummaryError
from calibrant.inputs.probabilities import Binary

ROUNDING = 1e-12  # frequencies this close are equal


def summarise_bins(rows: Binary, *, bins: Any, strategy: str) -> Grid | Ordered:
    """Return the smallest summary that holds these bins exactly."""
    return Grid.of(rows) if on_grid(bins=bins, strategy=strategy) else Ordered.of(rows)


def on_grid(*, bins: Any, strategy: Any, **_: Any) -> bool:
    """Tell whether a `Grid` holds these bins exactly: up to 100 of equal width."""
    return strategy == "width" and isinstance(bins, Integral) and bins <= GRID_ORDER


def bin_table(summary: Summary, *, bins: Any, strategy: str) -> BinTable:
    """Return the table of the bins."""
    if isinstance(summary, Grid):
        if strategy != "width" or isinstance(bins, str):
            raise SummaryError(
                "a Grid holds width bins only; make the summary with the bins= and strategy= you measure with, "
                "or pass exact=True where data come in batches"
            )
        return summary.bins(bins)
    if not isinstance(summary, Ordered):
        raise SummaryError(f"bins need a Grid or an Ordered; got {type(summary).__name__}")
    m, strategy = _resolved(summary, bins, strategy)
    return summary.bins(summary.edges(m, strategy))


def _resolved(ordered: Ordered, bins: Any, strategy: str) -> tuple[int, str]:
    if bins == "cube-root":
        root = round(ordered.n ** (1 / 3))
        return (root if root**3 >= ordered.n else root + 1), "mass"
    if bins == "sweep":
        return _sweep(ordered), "mass"
    return int(bins), strategy


def _sweep(ordered: Ordered) -> int:
    """Return the largest m for which 2, 3, .., m mass bins all have non-decreasing observed means."""
    w, e = ordered.weight_by_score, ordered.event_weight_by_score
    if (np.diff(e / w) >= -ROUNDING).all():
        return ordered.n  # the scores themselves are in order, so every pooling of neighbours is
    w, e = np.cumsum(w), np.cumsum(e)
    for m in range(2, ordered.n + 1):
        ends = mass_ends(w, m)
        means = np.diff(e[ends], prepend=0) / np.diff(w[ends], prepend=0)
        if (np.diff(means) < -ROUNDING).any():
            return m - 1
    return ordered.n
