"""`calibrant audit`: from a file of predictions to a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.cli.candidates import refuse_unnamed
from calibrant.cli.cells import cells
from calibrant.cli.columns import Columns, choose, class_labels
from calibrant.cli.deliver import check_places, deliver
from calibrant.cli.kinds import kind_named
from calibrant.cli.levels import nominal_levels
from calibrant.cli.list_columns import COORDINATES, DRAWS, check_lists, depth
from calibrant.cli.messages import doing, printable
from calibrant.cli.options import Request
from calibrant.cli.patterns import find_column, join_labels
from calibrant.cli.predictions import (
    check_members,
    check_numbers,
    check_present,
    check_rows,
    coordinates_of,
    numbers_or_labels,
    outcome_of,
    prediction_of,
)
from calibrant.cli.results_file import holds_results
from calibrant.cli.streaming import stream, streams
from calibrant.cli.tables import Tables
from calibrant.errors import InputError, shown
from calibrant.files.literals import literal
from calibrant.files.rows_in_words import counting, nothing
from calibrant.files.table_file import TableFile
from calibrant.files.where import Where, read_where

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from calibrant.report.audit import Audit

LOOK = 10_000  # rows that tell which labels there are


def run(files: Sequence[Path], request: Request, *, output: Path | None, json_to: str | None) -> None:
    """Audit files; print or write what was found."""
    check_places(output, json_to, files)
    deliver(audit_files(files, request, output=output), output, json_to)


def audit_files(files: Sequence[Path], request: Request, *, output: Path | None = None) -> Audit:
    """Read what the request names and audit it; a checkpoint is kept beside `output`."""
    for file in files:
        if holds_results(file) and request.format is None:
            raise InputError(
                f"{file} seems to hold results, not predictions; use calibrant check or calibrant compare. "
                "If it holds one JSON object per row, add --format ndjson"
            )
    where = read_where(request.where) if request.where is not None else None
    kind = kind_named(request)
    with doing(f"reading {files[0]}"):
        tables = Tables.named(files, request)
        columns = _columns(tables, request, where, kind)
        levels = nominal_levels(columns, request, tables.first)
        many = streams(tables, request, columns, where)
        rows = _first_outcomes(tables, columns, where) if many else _read(tables, columns, where)
    labels = _labels(rows, columns, request)
    if many:
        names = _names(tables, request, columns, [])
        return stream(tables, request, columns, where, labels=labels, names=names, output=output)
    from calibrant.auditing.audit import audit

    with doing("measuring"):
        try:
            prediction = prediction_of(rows, columns, levels, request.crossed)
            y = outcome_of(rows, columns.y, prediction)
            arrays = _taken(rows, columns)
            return audit(
                y,
                prediction,
                groups={name: arrays[name] for name in columns.by} or None,
                weights=arrays[columns.weights] if columns.weights else None,
                calibration_size=request.calibration_size,
                names=_names(tables, request, columns, coordinates_of(columns.y, y)),
                **request.measured,
                **labels,
                **_known(arrays, columns, y),
            )
        except InputError as problem:
            raise _in_the_file(problem, tables, columns, where) from problem


def _columns(tables: Tables, request: Request, where: Where | None, kind: str | None) -> Columns:
    table, names = tables.first, tables.names
    if request.y is None or kind is None:
        raise refuse_unnamed(table, request, kind)
    for column in where.columns if where else ():
        find_column(column, names, table.path, option="--where")
    return choose(names, table.path, request, kind, table.list_schema() if kind == "samples" else None)


def _read(tables: Tables, columns: Columns, where: Where | None) -> pl.DataFrame:
    return tables.read(columns.all, columns.p, where, lambda rows, table: _check_rows(rows, table, columns, where))


def _first_outcomes(tables: Tables, columns: Columns, where: Where | None) -> pl.DataFrame:
    """Return outcomes that tell which labels there are."""
    frames = tables.frames(columns.y[:1], where, size=LOOK)
    first = next((frame for frame in frames if frame.height), None)
    if first is None:
        raise nothing(tables.paths, where)
    return first.head(LOOK)


def _check_rows(rows: pl.DataFrame, table: TableFile, columns: Columns, where: Where | None) -> None:
    """Refuse what only the file can explain: no rows, cells without a value, numbers written as text."""
    check_rows(rows, table, where)
    for name in columns.checked:
        column = cells(rows, name)
        check_present(column, name, table, where)
        lists = columns.kind == "samples" and name in (*columns.y, *columns.p) and depth(column.dtype) > 0
        if lists or name == columns.log_density:
            check_lists(column, name, table, where, COORDINATES if name in columns.y else DRAWS)
        elif columns.kind == "sets" and name in columns.p:
            check_members(column, name, table, where)
        elif name not in columns.y or columns.kind in ("intervals", "quantiles", "samples"):
            check_numbers(column, name, table, where)


def _taken(rows: pl.DataFrame, columns: Columns) -> dict[str, Any]:
    """Return what else is known of the rows as arrays, leaving the frame empty: columns are not kept twice."""
    single = [name for name in (columns.weights, columns.log_density_y) if name is not None]
    wanted = dict.fromkeys((*columns.by, *columns.covariates, *single))
    arrays = {name: numbers_or_labels(rows.drop_in_place(name).alias("cells")) for name in wanted}
    for name in rows.columns:
        rows.drop_in_place(name)
    return arrays


def _labels(rows: pl.DataFrame, columns: Columns, request: Request) -> dict[str, Any]:
    """Return the labels as values of the outcome column, under the names that `audit` gives them."""
    y, found = cells(rows, columns.y[0]), {}
    if request.pos_label is not None:
        found["pos_label"] = literal(request.pos_label, y.dtype, column=columns.y[0], option="pos_label")
    if request.classes is not None or columns.kind in ("classes", "sets"):
        found["classes"] = class_labels(y, columns, request.classes)
    return found


def _known(arrays: Mapping[str, Any], columns: Columns, y: NDArray[Any]) -> dict[str, Any]:
    """Return what else is told of draws, under the names that `audit` gives it."""
    found: dict[str, Any] = {"columns": [printable(name) for name in coordinates_of(columns.y, y)] or None}
    if columns.covariates:
        found["covariates"] = np.column_stack([arrays[name] for name in columns.covariates])
    if columns.log_density_y is not None:
        found["log_density_y"] = arrays[columns.log_density_y]
    return found


def _names(tables: Tables, request: Request, columns: Columns, coordinates: Sequence[str]) -> dict[str, str]:
    names = {"source": tables.called, "outcome": columns.outcome, "prediction": columns.prediction}
    extra = {
        "coordinates": join_labels(coordinates) or None,
        "covariates": request.covariates,
        "weights": request.weights,
        "filter": request.where,
        "groups": ", ".join(columns.by) or None,
    }
    return {key: printable(value) for key, value in (names | extra).items() if value is not None}


def _in_the_file(problem: InputError, tables: Tables, columns: Columns, where: Where | None) -> InputError:
    """Say what the words of the library mean in the file."""
    counted = "" if problem.row is None else f"; rows are {counting(where)}"
    return problem.within(
        "",
        " (in {tables}, y is column {y}, prediction is {prediction}" + counted + ")",
        place=None if problem.row is None else tables.place(problem.row),
        tables=str(tables),
        y=shown(columns.outcome),
        prediction=shown(columns.prediction),
    )
