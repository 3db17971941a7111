"""`method="auto"`: the simplest map that is shown to help by one standard error, or none.

Candidates are compared by cross-fitted gains of rows over doing nothing, on common folds. One whose mean gain exceeds
its standard error is eligible; without any, predictions stay as they are. Of the eligible ones b has the largest mean
gain, and the simplest m is taken for which mean(d_b - d_m) is at most its standard error. With no margin a map is
taken, and does harm, in a third of calibrated data sets, with one standard error in two to four of a hundred. From 600
rows on little of a real gain is lost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from calibrant.errors import CalibrantError, InputError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.kinds import KINDS
from calibrant.inputs.probabilities import Binary
from calibrant.recalibrating.cross_fitting import (
    IDENTITY_NAME,
    Dealing,
    Numbers,
    check_finite,
    cross_fit,
    scores_before,
    units_of,
    used_by,
)
from calibrant.recalibrating.fitting import CalibrationRows, fit
from calibrant.recalibrating.gain_limits import Units
from calibrant.recalibrating.method import FitOptions
from calibrant.recalibrating.methods import METHODS
from calibrant.recalibrating.recalibration import Candidate, Recalibration

MIN_ROWS, MIN_RARER = 30, 5  # below, nothing is compared
ON_REQUEST = "name a method to fit it regardless"


def fit_chosen(data: CalibrationRows, options: FitOptions, dealing: Dealing, rng: np.random.Generator) -> Recalibration:
    if all(rule.compared is None for rule in METHODS[data.kind].values()):
        names = ", ".join(name for name in METHODS[data.kind] if name != IDENTITY_NAME)
        raise InputError(f"{KINDS[data.kind].words} have no score by which auto could compare methods; pass {names}")

    def fitted(name: str, train: CalibrationRows = data, numbers: Numbers | None = None) -> Recalibration:
        return fit(train, name, used_by(name, data, options))

    few = _too_few(data)
    if few:
        return replace(fitted(IDENTITY_NAME), warnings=(few,))
    folds = dealing.partition(rng)
    predicted = np.concatenate([fold.test for fold in folds]) if folds else np.zeros(0, np.intp)
    if not predicted.size:
        return replace(fitted(IDENTITY_NAME), warnings=("auto has no rows to compare methods by",))
    before, units = scores_before(data, options), units_of(data, dealing, predicted)
    check_finite(before, "as predicted", data)
    gains: dict[str, FloatArray] = {}
    refused: dict[str, str] = {}
    for name in _candidates(data):
        found = cross_fit(data, options, folds, partial(fitted, name), before)
        if 2 * len(found.refusals) > len(folds):
            refused[name] = str(found.refusals[0])
        else:
            gains[name] = found.gain[predicted]
    compared = _table(data, gains, units, units.mean(before[predicted]))
    while eligible := [one for one in compared if one.eligible]:
        chosen = _simplest(eligible, gains, units)
        try:
            return _with_table(fitted(chosen), compared)
        except CalibrantError as problem:  # refused on all rows: the choice is left to the others
            refused[chosen] = str(problem)
            compared = [replace(one, eligible=False) if one.method == chosen else one for one in compared]
    why = "no candidate is better than doing nothing by one standard error"
    if refused and not gains:
        why = f"no candidate could be fitted ({'; '.join(f'{name}: {said}' for name, said in refused.items())})"
    said = f"auto leaves predictions as they are: {why}; {ON_REQUEST}"
    return replace(_with_table(fitted(IDENTITY_NAME), compared), warnings=(said,))


def _table(data: CalibrationRows, gains: Mapping[str, FloatArray], units: Units, score: float) -> list[Candidate]:
    """Return a row per candidate, the identity first; NaN for candidates that could not be fitted."""
    found = [Candidate(IDENTITY_NAME, 0, score, 0.0, 0.0, False, False)]
    for name in _candidates(data):
        mean = se = math.nan
        if name in gains:
            with np.errstate(invalid="ignore"):  # infinite scores after a map make it not eligible
                mean, se = units.mean(gains[name]), units.standard_error(gains[name])
        number = METHODS[data.kind][name].count(data.columns)
        found.append(Candidate(name, number, score - mean, mean, se, mean > se, False))
    return found


def _with_table(best: Recalibration, compared: Sequence[Candidate]) -> Recalibration:
    return replace(best, compared=tuple(replace(one, chosen=one.method == best.method) for one in compared))


def _simplest(eligible: Sequence[Candidate], gains: Mapping[str, FloatArray], units: Units) -> str:
    best = max(eligible, key=lambda one: one.gain)
    behind = {one.method: gains[best.method] - gains[one.method] for one in eligible}
    return next(name for name, gap in behind.items() if units.mean(gap) <= units.standard_error(gap))


def _candidates(data: CalibrationRows) -> list[str]:
    """Return the names of the methods that these rows allow to compare, simplest first."""
    return [
        name
        for name, rule in METHODS[data.kind].items()
        if rule.compared is not None
        and (data.groups is None or "groups" in rule.uses)
        and (data.count is None or not rule.counts_rows)
        and _rarer(data) >= rule.compared.rarer_outcome
        and data.n >= rule.compared.per_parameter * rule.count(data.columns)
    ]


def _rarer(data: CalibrationRows) -> int:
    """Return the number of rows of the rarer outcome of an event; all rows for other predictions."""
    if not isinstance(data.rows, Binary):
        return data.n
    events = data.rows.y == 1
    happened = round(float(np.count_nonzero(events) if data.count is None else data.count[events].sum()))
    return min(happened, data.n - happened)


def _too_few(data: CalibrationRows) -> str:
    """Say that there are too few rows to compare methods; empty if there are enough."""
    for number, least, what in ((data.n, MIN_ROWS, "rows"), (_rarer(data), MIN_RARER, "rows of the rarer outcome")):
        if number < least:
            return f"auto leaves predictions as they are: it needs {least} {what}, got {number}; {ON_REQUEST}"
    return ""
