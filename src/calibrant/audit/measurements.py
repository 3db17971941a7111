"""The table of an audit: what the catalogue says is to be shown, measured on one set of sorted rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from calibrant.audit.pairs import Pairs
from calibrant.audit.sections import Setting
from calibrant.catalogue import ENTRIES, AnyRows, Entry
from calibrant.errors import NotApplicableError
from calibrant.inference.redrawn_metrics import Redrawn, redrawn_metrics
from calibrant.results import Measurement, TestResult
from calibrant.summaries import Ordered

FIRST = (
    "ece",
    "direction",
    "kuiper_test",
    "kolmogorov_smirnov_test",
    "spiegelhalter_test",
    "skce_test",
    "mmce",
    "brier_score",
    "decompose",
    "log_score",
)  # then what else the catalogue shows, in its own order


def measure(pairs: Pairs, setting: Setting) -> tuple[tuple[Measurement, ...], tuple[str, ...]]:
    """Return the measurements of one probability per row, and what did not apply: one sort, one set of redraws."""
    entries = _entries("binary")
    redrawn, how = redrawn_metrics(
        pairs.ordered,
        [_growing(entry) for entry in entries if Ordered in entry.reads and entry.redrawn is None],
        {entry.name: entry.redrawn for entry in entries if entry.redrawn is not None},
        width_bins=ENTRIES["ece"].options["bins"],
        resamples=setting.resamples,
        rng=setting.rng,
    )
    found, missing = collected(entries, pairs.result, redrawn, how)
    return tuple(_with_rounding(line, pairs) for line in found), missing


def measure_rows(
    names: tuple[str, ...], rows: AnyRows, options: Mapping[str, Any] | None = None
) -> tuple[tuple[Measurement, ...], tuple[str, ...]]:
    """Return the measurements of these verbs on the rows themselves, and what did not apply."""
    return collected(
        [ENTRIES[name] for name in names],
        lambda entry: entry.of_rows(rows, entry.completed(entry.audit_options(rows) if options is None else options)),
    )


def collected(
    entries: list[Entry],
    result: Callable[[Entry], Any],
    redrawn: Mapping[str, Redrawn] | None = None,
    how: str = "",
) -> tuple[tuple[Measurement, ...], tuple[str, ...]]:
    """Return what these verbs find, and in words which do not apply."""
    found: list[Measurement] = []
    missing = []
    for entry in entries:
        try:
            found += _measured(entry, result(entry), redrawn or {}, how)
        except NotApplicableError as reason:
            missing.append(f"{entry.name} does not apply: {reason}.")
    return tuple(found), tuple(missing)


def _entries(prediction: str) -> list[Entry]:
    shown = [entry for entry in ENTRIES.values() if entry.audit and prediction in entry.predictions]
    return sorted(shown, key=lambda entry: FIRST.index(entry.name) if entry.name in FIRST else len(FIRST))


def _growing(entry: Entry) -> Callable[[Ordered], dict[str, float]]:
    """Return the fields that grow with miscalibration, as a function of sorted rows."""
    fields = [name for name, shown in entry.audit.items() if shown.grows]

    def values(summary: Ordered) -> dict[str, float]:
        if not fields:
            return {}
        result = entry.finish(summary, **entry.options)
        return {_key(entry, name): float(_field(result, name)) for name in fields}

    return values


def _with_rounding(line: Measurement, pairs: Pairs) -> Measurement:
    """Show beside a measurement of cells by how much it may differ from that of the rows."""
    verb, _, field = line.name.partition(".")
    bounds = pairs.rounding(ENTRIES[verb])
    bound = bounds.get(field or "estimate", 0.0) if isinstance(bounds, Mapping) else bounds
    if not bound:
        return line
    words = f"rows counted in cells: off by at most {bound:.2g}"
    method = line.method if "on a grid" in line.method else f"{line.method}; {words}" if line.method else words
    return replace(line, method=method, details={**line.details, "rounding": bound})


def _measured(entry: Entry, result: Any, redrawn: Mapping[str, Redrawn], how: str) -> list[Measurement]:
    if isinstance(result, TestResult):
        details = {"statistic": result.statistic, **_numbers(result)}
        shown = entry.audit[""]
        return [
            Measurement(
                entry.name, shown.label, result.estimate, pvalue=result.pvalue, method=result.method, details=details
            )
        ]
    found = []
    for name, shown in entry.audit.items():
        null = redrawn.get(_key(entry, name))
        found.append(
            Measurement(
                _key(entry, name),
                shown.label,
                float(_field(result, name)),
                expected=null.expected if null else None,
                pvalue=null.pvalue if null else None,
                method=how if null else "",
            )
        )
    return found


def _numbers(result: TestResult) -> dict[str, float]:
    return {name: float(value) for name, value in result.details.items() if isinstance(value, (int, float))}


def _key(entry: Entry, name: str) -> str:
    return f"{entry.name}.{name}" if name else entry.name


def _field(result: Any, name: str) -> Any:
    return getattr(result, name) if name else result
