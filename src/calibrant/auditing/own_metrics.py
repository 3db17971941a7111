"""Metrics that the user of an audit names, beside its own measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from calibrant.auditing.interval import interval_of_mean
from calibrant.auditing.measurements import collected
from calibrant.core.catalogue import Entry, Shown, find
from calibrant.core.findings import KindFindings, Section, Setting
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.kinds import KINDS


def with_metrics(
    found: KindFindings, metrics: Sequence[Callable[..., Any] | str], rows: Any, setting: Setting
) -> KindFindings:
    """Return the findings with the values of these metrics, and their limits where rows do not depend on each other."""
    if isinstance(metrics, str) or not isinstance(metrics, Sequence) or not metrics:
        raise InputError(
            "metrics must be a list of verbs or of their names; got {value}", option="metrics", value=metrics
        )
    entries = [_shown(find(metric), rows.kind) for metric in metrics]
    lines, missing = collected(entries, lambda entry: _number(entry, entry.of_rows(rows, entry.usual)))
    limits = {} if setting.clusters is not None else {entry.name: _limits(entry, rows, setting) for entry in entries}
    section = Section(
        "metrics",
        "Metrics that were asked for",
        "What else was measured?",
        tuple(replace(line, interval=limits.get(line.name)) for line in lines),
    )
    return replace(found, sections=(*found.sections, section), caveats=(*found.caveats, *missing))


def _shown(entry: Entry[Any, Any], kind: str) -> Entry[Any, Any]:
    if kind not in entry.predictions or entry.kind == "curve":
        words = KINDS[kind].words
        raise InputError(f"metrics are numbers that judge {words}; {entry.name} does not give one", option="metrics")
    return entry if entry.audit else replace(entry, audit={"": Shown(entry.name.replace("_", " "))})


def _number(entry: Entry[Any, Any], result: Any) -> Any:
    if isinstance(result, np.ndarray):
        raise NotApplicableError("it gives a number for each level or coordinate of these predictions")
    return result


def _limits(entry: Entry[Any, Any], rows: Any, setting: Setting) -> tuple[Any, Any] | None:
    with suppress(NotApplicableError):
        if entry.limits is not None:
            return entry.limits(entry.summarise(rows, entry.usual), entry.usual).at(setting.level, "both")
        if entry.row_scores is not None and entry.outcome:
            found = interval_of_mean(entry, rows, entry.usual, setting.level)
            return found.low, found.high
    return None
