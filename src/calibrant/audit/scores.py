"""Scores in an audit, with an interval where a valid one is known, and the kernel test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from calibrant.audit.measurements import measure_rows
from calibrant.audit.sections import Setting
from calibrant.catalogue import find
from calibrant.errors import NotApplicableError
from calibrant.inference.interval import interval
from calibrant.inputs.judged import Judged
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.weights import is_unit
from calibrant.results import Measurement

Found = tuple[tuple[Measurement, ...], tuple[str, ...]]
"""Measurements, and what did not apply."""


def of_rows(name: str, rows: Any, **options: Any) -> Any:
    """Return what a verb says of checked rows."""
    entry = find(name)
    return entry.of_rows(rows, entry.completed(options))


def score(name: str, label: str, rows: Judged | LawRows, setting: Setting, **options: Any) -> Found:
    """Return the mean score of one level; infinite ones too, but not what the verb cannot answer."""
    try:
        return (_measured(name, label, rows, setting, options),), ()
    except NotApplicableError as reason:
        return (), (f"{name} does not apply: {reason}.",)


def _measured(name: str, label: str, rows: Judged | LawRows, setting: Setting, options: dict[str, Any]) -> Measurement:
    prediction = rows.law if isinstance(rows, LawRows) else rows.prediction
    weights = None if is_unit(rows.w) else rows.w
    try:
        found = interval(name, rows.y, prediction, level=setting.level, weights=weights, **options)
    except NotApplicableError:
        return Measurement(name, label, float(np.ravel(of_rows(name, rows, **options))[0]))
    low, high, value = (float(np.ravel(part)[0]) for part in (found.low, found.high, found.estimate))
    return Measurement(name, label, value, interval=(low, high), method=found.method)


def kernel_test(rows: Judged | LawRows, *, finite: bool = True) -> Found:
    """Return the kernel test of coverage or of laws, given the prediction; none of one row or of infinite bounds."""
    if rows.n < 2 or not finite:
        return (), (() if finite else ("skce_test does not apply: it measures distances, and some are infinite.",))
    found, missing = measure_rows(("skce_test",), rows)  # type: ignore[arg-type]  # every kind has this test
    return tuple(replace(m, label="kernel calibration error (SKCE)") for m in found), missing
