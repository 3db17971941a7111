"""Reliability of quantile forecasts: the quantile that would have been right, against the forecast."""

from __future__ import annotations

import numpy as np

from calibrant.primitives.isotonic_quantile import grouped, isotonic_quantile, ranked
from calibrant.results import Curve
from calibrant.summaries.kept_quantiles import KeptQuantiles


def quantile_reliability(summary: KeptQuantiles) -> Curve:
    """Return the recalibrated quantiles of each different forecast, level by level; see `reliability_curve`."""
    outcomes = ranked(summary.y)
    tables = []
    for values, level in zip(summary.values.T, summary.levels.tolist(), strict=True):
        forecasts = grouped(values)
        low, high = (isotonic_quantile(outcomes, summary.w, forecasts, level, upper=side) for side in (False, True))
        tables.append((np.full(low.size, level), forecasts.value, low, high, forecasts.rows))
    names = ("level", "forecast", "recalibrated_low", "recalibrated_high", "count")
    return Curve(
        kind="quantile_reliability",
        columns=dict(zip(names, (np.concatenate(column) for column in zip(*tables, strict=True)), strict=True)),
        method="isotonic quantile regression, lowest and highest solution",
        n=summary.n,
        details={},
    )
