"""`method="auto"`: the simplest map that is shown to help by one standard error, or none.

Candidates are compared by cross-fitted gains of rows over doing nothing, on common folds. One whose mean gain exceeds
its standard error is eligible; without any, predictions stay as they are. Of the eligible ones b has the largest mean
gain, and the simplest m is taken for which mean(d_b - d_m) is at most its standard error. With no margin the map does
harm in a third of calibrated data sets, with one standard error in one of fifty, and little of a real gain is lost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from calibrant.core.kinds import KINDS
from calibrant.errors import CalibrantError, InputError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.probabilities import Binary
from calibrant.recalibrating.cross_fitting import IDENTITY, check_finite, cross_fit, scores_before, units_of, used_by
from calibrant.recalibrating.fitting import CalibrationRows, fit
from calibrant.recalibrating.folds import Dealing, Numbers
from calibrant.recalibrating.gain_limits import Units
from calibrant.recalibrating.method import FitOptions
from calibrant.recalibrating.methods import METHODS
from calibrant.recalibrating.recalibration import Candidate, Recalibration

CANDIDATES: Mapping[str, tuple[str, ...]] = {
    "binary": ("temperature", "logistic", "beta", "venn-abers"),
    "classes": ("temperature", "vector", "matrix"),
    "intervals": ("shift", "scale"),
    "sets": ("relevel",),
    "quantiles": ("shift",),
    "samples": ("location-scale",),
    "distributions": ("location-scale",),
}
"""What is compared for each kind of prediction besides doing nothing, simplest first."""

MIN_ROWS, MIN_RARER = 30, 5  # below, nothing is compared
VENN_ABERS_RARER = 100  # rows of the rarer outcome from which on Venn-Abers is compared
ROWS_PER_PARAMETER = 20  # from which on vector scaling is compared
ON_REQUEST = "name a method to fit it regardless"


class Compared(NamedTuple):
    """The cross-fitted gains of a candidate over doing nothing, of the rows that are predicted."""

    gain: FloatArray
    mean: float
    se: float


def fit_chosen(data: CalibrationRows, options: FitOptions, dealing: Dealing, rng: np.random.Generator) -> Recalibration:
    """Choose a method by these rows and fit it on all of them."""
    if data.kind not in CANDIDATES:
        names = ", ".join(name for name in METHODS[data.kind] if name != IDENTITY)
        raise InputError(f"{KINDS[data.kind].words} have no score by which auto could compare methods; pass {names}")
    few = _too_few(data)
    if few:
        return replace(_identity(data, options), warnings=(few,))
    folds = dealing.partition(rng)
    predicted = np.concatenate([fold.test for fold in folds]) if folds else np.zeros(0, np.intp)
    if not predicted.size:
        return replace(_identity(data, options), warnings=("auto has no rows to compare methods by",))
    before, units = scores_before(data, options), units_of(data, dealing, predicted)
    check_finite(before, "as predicted")
    found: dict[str, Compared] = {}
    refused: dict[str, str] = {}
    for name in _candidates(data):

        def fitted(train: CalibrationRows, rows: Numbers, name: str = name) -> Recalibration:
            return fit(train, name, used_by(name, data, options))

        judged = cross_fit(data, options, folds, fitted, before)
        if 2 * len(judged.refusals) > len(folds):
            refused[name] = str(judged.refusals[0])
            continue
        gain = judged.gain[predicted]
        with np.errstate(invalid="ignore"):  # infinite scores after a map make it not eligible
            found[name] = Compared(gain, units.mean(gain), math.sqrt(units.variance(gain)))
    return _best(data, options, found, refused, units, units.mean(before[predicted]))


def _best(
    data: CalibrationRows,
    options: FitOptions,
    found: dict[str, Compared],
    refused: dict[str, str],
    units: Units,
    score: float,
) -> Recalibration:
    """Fit the method that was chosen; one that is refused on all rows leaves the choice to the others."""
    eligible = {name: one for name, one in found.items() if one.mean > one.se}
    while eligible:
        chosen = _simplest(eligible, units)
        try:
            best = fit(data, chosen, used_by(chosen, data, options))
        except CalibrantError as problem:
            refused[chosen] = str(problem)
            del eligible[chosen]
            continue
        return replace(best, compared=_table(data, found, refused, eligible, chosen, score))
    why = "no candidate is better than doing nothing by one standard error"
    if refused and not found:
        why = f"no candidate could be fitted ({'; '.join(f'{name}: {said}' for name, said in refused.items())})"
    return replace(
        _identity(data, options),
        compared=_table(data, found, refused, eligible, IDENTITY, score),
        warnings=(f"auto leaves predictions as they are: {why}; {ON_REQUEST}",),
    )


def _identity(data: CalibrationRows, options: FitOptions) -> Recalibration:
    return fit(data, IDENTITY, used_by(IDENTITY, data, options))


def _simplest(eligible: dict[str, Compared], units: Units) -> str:
    """Return the simplest candidate that is within one standard error of the best."""
    best = max(eligible.values(), key=lambda one: one.mean)
    for name, one in eligible.items():
        behind = best.gain - one.gain
        if units.mean(behind) <= math.sqrt(units.variance(behind)):
            return name
    raise AssertionError("the best candidate is within one standard error of itself")


def _candidates(data: CalibrationRows) -> list[str]:
    """Return the names of the candidates that this number of rows allows."""
    names = []
    for name in CANDIDATES[data.kind]:
        rule = METHODS[data.kind][name]
        if data.groups is not None and "groups" not in rule.uses:
            continue
        if name == "venn-abers" and (_rarer(data) < VENN_ABERS_RARER or data.count is not None):
            continue
        if name == "vector" and data.n < ROWS_PER_PARAMETER * rule.count(data.columns):
            continue
        names.append(name)
    return names


def _rarer(data: CalibrationRows) -> int:
    """Return the number of rows of the rarer outcome of an event; all rows for other predictions."""
    if not isinstance(data.rows, Binary):
        return data.n
    events = data.rows.y == 1
    happened = round(float(np.count_nonzero(events) if data.count is None else data.count[events].sum()))
    return min(happened, data.n - happened)


def _too_few(data: CalibrationRows) -> str:
    """Say that there are too few rows to compare methods; empty if there are enough."""
    if data.n < MIN_ROWS:
        return f"auto leaves predictions as they are: it needs {MIN_ROWS} rows, got {data.n}; {ON_REQUEST}"
    if _rarer(data) < MIN_RARER:
        return (
            f"auto leaves predictions as they are: it needs {MIN_RARER} rows of the rarer outcome, got {_rarer(data)}; "
            f"{ON_REQUEST}"
        )
    return ""


def _table(
    data: CalibrationRows,
    found: dict[str, Compared],
    refused: dict[str, str],
    eligible: dict[str, Compared],
    chosen: str,
    score: float,
) -> tuple[Candidate, ...]:
    """Return a row per candidate, the identity first; NaN for candidates that could not be fitted."""
    rows = [Candidate(IDENTITY, 0, score, 0.0, 0.0, False, chosen == IDENTITY)]
    for name in _candidates(data):
        one = found.get(name)
        gain, se = (math.nan, math.nan) if one is None else (one.mean, one.se)
        number = METHODS[data.kind][name].count(data.columns)
        rows.append(Candidate(name, number, score - gain, gain, se, name in eligible, name == chosen))
    return tuple(rows)
