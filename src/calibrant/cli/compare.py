"""`calibrant compare`: two results side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from calibrant.cli.output import emit, measurements, read_results, tell
from calibrant.core.words import number, pvalue

# Other kinds are shown by their names.
KINDS = {"binary": "probabilities of an event", "classes": "class probabilities", "points": "sets of points"}
LABEL_WIDTH = 44  # leaves room for three numbers on 80 columns


def run(first: Path, second: Path) -> None:
    """Print every measurement of two results and its difference."""
    a, b = read_results(first), read_results(second)
    for remark in _differences(a, b):
        tell(remark)
    emit(f"A  {first}: {a['verdict']['headline']}\nB  {second}: {b['verdict']['headline']}\n")
    emit(_table(a, b))


def _differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """Say what makes two results hard to compare."""
    remarks = []
    if a["kind"] != b["kind"]:
        kinds = (KINDS.get(kind, kind) for kind in (a["kind"], b["kind"]))
        remarks.append(f"A is about {' and B about '.join(kinds)}: equal names mean different things")
    if a["n"] != b["n"]:
        remarks.append(f"A has {a['n']:,} rows and B {b['n']:,}: with fewer rows an error looks larger by chance alone")
    if a["level"] != b["level"]:
        remarks.append(f"A was made with level {a['level']:g} and B with {b['level']:g}")
    if a.get("version") != b.get("version"):
        remarks.append(f"A was made by calibrant {a.get('version')} and B by {b.get('version')}")
    return remarks


def _table(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    left, right = ({m["name"]: m for m in measurements(results)} for results in (a, b))
    rows: list[tuple[str, ...]] = [("measurement", "A", "B", "B - A")]
    for name in dict.fromkeys((*left, *right)):
        pair = left.get(name), right.get(name)
        *lines, label = textwrap.wrap(next(m["label"] for m in pair if m), LABEL_WIDTH, break_on_hyphens=False) or [
            name
        ]
        rows += [(line, "", "", "") for line in lines]
        rows.append((label, *_cells(*pair)))
        pvalues = [_value(m, "pvalue") for m in pair]
        if any(value is not None for value in pvalues):
            rows.append(("  p-value", *(pvalue(value) for value in pvalues), ""))
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    lines = []
    for label, *cells in rows:
        aligned = (f"{cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True))
        lines.append("  ".join((f"{label:<{widths[0]}}", *aligned)).rstrip())
    return "\n".join(lines)


def _cells(a: Mapping[str, Any] | None, b: Mapping[str, Any] | None) -> tuple[str, str, str]:
    x, y = (_value(m, "value") for m in (a, b))
    difference = None if x is None or y is None else y - x
    sign = "+" if difference is not None and difference > 0 else ""
    return number(x), number(y), sign + number(difference)


def _value(measurement: Mapping[str, Any] | None, field: str) -> float | None:
    found = None if measurement is None else measurement.get(field)
    return None if found is None else float(found)
