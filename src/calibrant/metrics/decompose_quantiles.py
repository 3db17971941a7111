"""The parts of a mean quantile score."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.errors import InputError
from calibrant.inputs import check_choice
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.isotonic_quantile import Ranked, grouped, isotonic_quantile, lower_quantile, ranked
from calibrant.results.records import Decomposition, QuantileDecomposition
from calibrant.summaries.kept_quantiles import KeptQuantiles


def decompose_quantiles(summary: KeptQuantiles, *, method: str, levels: Any) -> QuantileDecomposition:
    """Split the quantile score of each level; see `decompose`."""
    check_choice("method", method, "isotonic")
    if levels is not None:
        raise InputError("levels= is for laws; Quantiles have their own. Select some with .at(level)")
    outcomes = ranked(summary.y)
    columns = zip(summary.values.T, summary.levels, strict=True)
    parts = np.array([level_parts(outcomes, q, summary.w, float(level)) for q, level in columns])
    with np.errstate(invalid="ignore"):
        wis = 2 * parts.mean(axis=0)
    found = (summary.levels, *parts.T)
    level, score, mcb, dsc, unc = (float(part[0]) if summary.single else part for part in found)
    return QuantileDecomposition(level, score, mcb, dsc, unc, Decomposition(*wis.tolist()))


def level_parts(outcomes: Ranked, q: FloatArray, w: FloatArray, level: float) -> tuple[float, float, float, float]:
    """Return score, mcb, dsc and unc of the forecasts q of one level."""
    forecasts = grouped(q)
    fit = np.empty_like(q)
    fit[forecasts.order] = np.repeat(isotonic_quantile(outcomes, w, forecasts, level), forecasts.rows)
    y = outcomes.values[outcomes.place]
    constant = np.full(1, lower_quantile(outcomes, w, level))
    score, best, unc = (_mean_score(y, f, w, level) for f in (q, fit, constant))
    return score, max(score - best, 0.0), max(unc - best, 0.0), unc


def _mean_score(y: FloatArray, q: FloatArray, w: FloatArray, level: float) -> float:
    """Return the mean of ρ(y, q) = max(τ(y - q), (1 - τ)(q - y))."""
    error = y - q
    return float((w * np.maximum(level * error, (level - 1) * error)).sum() / w.sum())
