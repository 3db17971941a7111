"""Scores in an audit, with an interval where a valid one is known, and the kernel test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from calibrant.audit.coverage_tables import MOST_LEVELS, at_level
from calibrant.audit.measurements import measure_rows
from calibrant.audit.sections import Setting
from calibrant.catalogue import Verb, find
from calibrant.errors import NotApplicableError
from calibrant.inference.interval import interval
from calibrant.inference.skce_test import in_blocks
from calibrant.inputs.judged import Judged
from calibrant.inputs.laws import Samples
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.weights import is_unit
from calibrant.results import Measurement

COMPARED = 20_000_000  # draws, over all pairs of rows

Found = tuple[tuple[Measurement, ...], tuple[str, ...]]
"""Measurements, and what did not apply."""


def of_rows(verb: Verb[Any], rows: Any, **options: Any) -> Any:
    """Return what a verb says of checked rows."""
    entry = find(verb)
    return entry.of_rows(rows, entry.completed(options))


def score(verb: Verb[Any], label: str, rows: Judged | LawRows, setting: Setting, **options: Any) -> Found:
    """Return the mean score of one level; infinite ones too, but not what the verb cannot answer."""
    try:
        return (_measured(verb, label, rows, setting, options),), ()
    except NotApplicableError as reason:
        return (), (f"{verb.__name__} does not apply: {reason}.",)


def score_levels(verb: Verb[Any], label: str, things: str, rows: Judged, setting: Setting) -> Found:
    """Return the mean score of each level, named by it; nothing if there are many, which are in a table."""
    levels = rows.prediction.levels
    if levels.size > MOST_LEVELS:
        return (), ()
    found: list[Measurement] = []
    missing: list[str] = []
    for k, level in enumerate(levels.tolist()):
        scored, reasons = score(verb, label, type(rows)(rows.y, rows.prediction.at(level), rows.w), setting)
        found += [at_level(measurement, things, levels, k) for measurement in scored]
        missing += reasons
    return tuple(found), tuple(dict.fromkeys(missing))


def _measured(
    verb: Verb[Any], label: str, rows: Judged | LawRows, setting: Setting, options: dict[str, Any]
) -> Measurement:
    prediction = rows.law if isinstance(rows, LawRows) else rows.prediction
    weights = None if is_unit(rows.w) else rows.w
    try:
        found = interval(verb, rows.y, prediction, level=setting.level, weights=weights, **options)
    except NotApplicableError:
        return Measurement(verb.__name__, label, float(np.ravel(of_rows(verb, rows, **options))[0]))
    low, high, value = (float(np.ravel(part)[0]) for part in (found.low, found.high, found.estimate))
    return Measurement(verb.__name__, label, value, interval=(low, high), method=found.method)


def kernel_test(rows: Judged | LawRows, setting: Setting, *, finite: bool = True) -> Found:
    """Return the kernel test of coverage or of laws; none for one row, for one draw, for infinite bounds."""
    if not finite:
        return (), ("skce_test does not apply: it measures distances, and some are infinite.",)
    if rows.n < 2 or (isinstance(rows, LawRows) and isinstance(rows.law, Samples) and rows.law.M < 2):
        return (), ()
    chosen = in_blocks(rows.n) if _is_slow(rows) else find("skce_test").audit_options(rows)
    found, missing = measure_rows(("skce_test",), rows, {**chosen, "resamples": setting.resamples})
    return tuple(replace(m, label="kernel calibration error (SKCE)") for m in found), missing


def _is_slow(rows: Judged | LawRows) -> bool:
    return isinstance(rows, LawRows) and isinstance(rows.law, Samples) and rows.n * rows.law.draws.size > COMPARED
