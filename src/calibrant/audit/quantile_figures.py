"""Pictures of quantiles and laws in an audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.audit.coverage import coverage_lines
from calibrant.audit.scores import of_rows
from calibrant.audit.sections import Setting
from calibrant.curves.pit_histogram import pit_histogram
from calibrant.curves.reliability_curve import reliability_curve
from calibrant.inputs.judged import QuantileRows
from calibrant.results import Curve, Figure
from calibrant.summaries.hit_table import HitTable

DRAWN_ROWS, DRAWN_POINTS, DRAWN_LEVELS = 20_000, 200, 5
FEWEST_CELLS = 5  # levels from which a histogram of the transform shows a shape


def coverage_figure(table: HitTable, setting: Setting) -> Figure:
    """Return the picture of nominal against observed levels of quantiles."""
    return Figure(
        "coverage",
        "Nominal against observed levels",
        "The share of outcomes that do not exceed each quantile. On the dashed line it is what the level says; below "
        "it quantiles are too low, above it too high. Below on the right and above on the left: too narrow. The band "
        "holds for all levels together.",
        coverage_lines(table, setting, simultaneous=True),
    )


def pit_figure(rows: Any) -> tuple[Figure, ...]:
    """Return the histogram of the probability integral transform."""
    if isinstance(rows, QuantileRows) and rows.prediction.levels.size < FEWEST_CELLS:
        return ()
    return (
        Figure(
            "pit_histogram",
            "Where outcomes fall in the prediction",
            "The share of outcomes in each tenth of their predicted law, over the share expected. Flat: calibrated. A "
            "U: too narrow. A dome: too wide. A slope: predictions too low (rising) or too high (falling).",
            of_rows(pit_histogram, rows),
        ),
    )


def reliability_figure(rows: QuantileRows, setting: Setting) -> tuple[Figure, ...]:
    """Return the picture of recalibrated quantiles, of at most so many rows, levels and points as can be seen."""
    if not np.isfinite(rows.prediction.values).all():
        return ()
    few = rows
    if rows.n > DRAWN_ROWS:
        few = rows.take(np.sort(setting.rng.choice(rows.n, DRAWN_ROWS, replace=False)))
    curve: Curve = of_rows(reliability_curve, few)
    chosen = rows.prediction.levels[spread_places(rows.prediction.levels)]
    kept = [_spread(np.flatnonzero(curve.level == level)) for level in chosen.tolist()]
    places = np.concatenate(kept)
    return (
        Figure(
            "quantile_reliability",
            "Recalibrated quantiles",
            "What each forecast quantile should have been, judged by these rows. Above the dashed line forecasts are "
            "too low, below it too high; lines wiggle by chance where forecasts are few.",
            replace(curve, columns={name: column[places] for name, column in curve.columns.items()}),
        ),
    )


def _spread(places: NDArray[np.intp]) -> NDArray[np.intp]:
    return places[np.unique(np.linspace(0, places.size - 1, DRAWN_POINTS).round().astype(np.intp))]


def spread_places(levels: Sequence[float] | NDArray[Any]) -> NDArray[np.intp]:
    """Return the places of at most five levels, the outer ones among them."""
    return np.unique(np.linspace(0, len(levels) - 1, DRAWN_LEVELS).round().astype(np.intp))
