"""`calibrant compare`: predictions of the same rows, or two results side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.cli.audit import clusters_of, outcome_labels, report_names, scan_of
from calibrant.cli.columns import each_once
from calibrant.cli.options import Request
from calibrant.cli.output import (
    check_places,
    deliver,
    doing,
    emit,
    measurements,
    read_results,
    refuse_results,
    signed,
    tell,
)
from calibrant.core.words import number, pvalue
from calibrant.errors import InputError, printable

if TYPE_CHECKING:
    from calibrant.report.comparison import Comparison

# Other kinds are shown by their names.
KINDS = {"binary": "probabilities of an event", "classes": "class probabilities", "points": "sets of points"}
DEFAULT_METRICS = ("ece", "brier_score")
METRICS_OF_SERIES = ("brier_score",)  # ece is for independent rows
LABEL_WIDTH = 44  # leaves room for three numbers on 80 columns


def run(files: Sequence[Path], request: Request) -> None:
    if request.models:
        check_places(request, files)
        deliver(signed(_predictions(files, request), request.title), request)
        return
    if len(files) != 2 or request.given:
        raise InputError(
            f"expected two results, or one file with --y and --p twice; got {len(files)} "
            f"file{'s' if len(files) > 1 else ''} and {', '.join(request.given) or 'no options'}"
        )
    _results(*files)


def _predictions(files: Sequence[Path], request: Request) -> Comparison:
    from calibrant.auditing.compare_predictions import compare_predictions

    if len(request.models) < 2 or request.y is None:
        raise InputError("a comparison of predictions needs --y and two --p or more: --y label --p old --p new")
    for file in files:
        refuse_results(file, request.format, "predictions")
    by = () if request.time is None else (request.time,)
    asked = {column: replace(request, p=column, models=(), by=by) for column in each_once(request.models, "--p")}
    scans = {column: scan_of(files, one) for column, one in asked.items()}
    with doing(f"reading {files[0]}"):
        _, columns, scan = scans[request.models[0]]
        every = replace(scan.columns, prediction=tuple(found.p[0] for _, found, _ in scans.values()))
        rows = replace(scan, columns=every).reading().whole()
    batches = {printable(column): each.columns.batch(rows) for column, (*_, each) in scans.items()}
    first = next(iter(batches.values()))
    with doing("comparing"):
        return compare_predictions(
            first.y,
            {column: batch.prediction for column, batch in batches.items()},
            metric=request.metric or (DEFAULT_METRICS if request.time is None else METRICS_OF_SERIES),
            level=request.measured["level"],
            tolerance=request.difference,
            time=(first.groups or {})[columns.by[0]] if columns.by else None,
            clusters=clusters_of(rows, first, columns),
            weights=first.weights,
            names=report_names(files, request, prediction=", ".join(request.models)),
            **outcome_labels(rows[columns.y[0]], columns, asked[request.models[0]]),
        )


def _results(first: Path, second: Path) -> None:
    a, b = read_results(first), read_results(second)
    for remark in _differences(a, b):
        tell(remark)
    emit(f"A  {first}: {a['verdict']['headline']}\nB  {second}: {b['verdict']['headline']}\n")
    emit(_table(a, b))


def _differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
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
        text = next(m["label"] for m in pair if m)
        *lines, label = textwrap.wrap(text, LABEL_WIDTH, break_on_hyphens=False) or [name]
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
