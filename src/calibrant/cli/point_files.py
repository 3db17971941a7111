"""Files of points, as arrays with the same coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.cli.array_file import ArrayFile, array_format
from calibrant.cli.cells import cells, matrix
from calibrant.cli.list_columns import COORDINATES, array_of, check_lists, depth
from calibrant.cli.messages import doing, tell
from calibrant.cli.patterns import pairs
from calibrant.cli.point_columns import common_columns, proposed
from calibrant.cli.point_options import PointRequest
from calibrant.cli.predictions import check_numbers, check_present, check_rows
from calibrant.cli.results_file import holds_results
from calibrant.errors import InputError, shown
from calibrant.files.rows_in_words import counting
from calibrant.files.table_file import TableFile, check_file, open_table
from calibrant.files.where import Where, read_where


def read_point_files(paths: Sequence[Path], request: PointRequest) -> tuple[list[NDArray[Any]], tuple[str, ...] | None]:
    """Return the points (n, d) of each file, and the names of the coordinates, where the files tell them."""
    where = read_where(request.where) if request.where is not None else None
    files = _opened(paths, request)
    tables = [file for file in files if isinstance(file, TableFile)]
    _check_kinds(files, tables, request)
    columns = common_columns(tables, request.columns, where) if tables else None
    sets = []
    for file in files:
        with doing(f"reading {file.path}"):
            if isinstance(file, TableFile):
                sets.append(_from_table(file, columns or (), where, named=request.columns is not None))
            else:
                sets.append(file.read())
        if sets[-1].shape[1] != sets[0].shape[1]:
            raise InputError(
                f"all files must have the same number of coordinates; {files[0].path} has {sets[0].shape[1]:,} and "
                f"{file.path} has {sets[-1].shape[1]:,}"
            )
    if columns is None or len(columns) != sets[0].shape[1]:  # arrays, or a column of lists: coordinates have no names
        return sets, None
    for file in files:
        if isinstance(file, ArrayFile):
            tell(f"columns of {file.path} are taken in the order of --columns: {pairs(_numbered(columns), columns)}")
    return sets, columns


def _numbered(columns: Sequence[str]) -> list[str]:
    return [f"column {k}" for k in range(len(columns))]


def _opened(paths: Sequence[Path], request: PointRequest) -> list[TableFile | ArrayFile]:
    """Look at every file before the first is read."""
    formats = [array_format(path, request.format) for path in paths]
    archives = formats.count("npz")
    if request.array and not archives:
        raise InputError("--array names an array of an NPZ file, and there is none; leave it out")
    if len(request.array) not in (0, 1, archives):
        raise InputError(
            f"--array names arrays of NPZ files, of which there are {archives}; give it once, or once for each of them"
        )
    given = list(request.array) * archives if len(request.array) == 1 else list(request.array)
    files: list[TableFile | ArrayFile] = []
    for path, format in zip(paths, formats, strict=True):
        if holds_results(path) and request.format is None:
            raise InputError(
                f"{path} seems to hold results, not points; use calibrant check or calibrant compare. "
                "If it holds one JSON object per row, add --format ndjson"
            )
        check_file(path)
        if format is None:
            files.append(open_table(path, format=request.format, dialect=request.dialect))
        else:
            files.append(ArrayFile(path, format, given.pop(0) if given and format == "npz" else None))
    return files


def _check_kinds(files: Sequence[TableFile | ArrayFile], tables: Sequence[TableFile], request: PointRequest) -> None:
    """Refuse options that arrays cannot obey, and columns with names beside columns without, unless these are told."""
    array = next((file.path for file in files if isinstance(file, ArrayFile)), None)
    if array is None:
        return
    if request.where is not None:
        raise InputError(f"--where keeps rows of tables, and {array} holds an array; leave it out")
    if not tables and request.columns is not None:
        raise InputError(f"--columns names columns of tables, and {array} holds an array; leave it out")
    if tables and request.columns is None:
        raise InputError(
            f"columns of {tables[0].path} have names and those of {array} have none; say which ones they are, in the "
            f"order of {array}: {proposed(list(tables[0].schema()), [])}"
        )


def _from_table(table: TableFile, columns: Sequence[str], where: Where | None, *, named: bool) -> NDArray[Any]:
    """Return the columns side by side, or the lists of the one column that is named."""
    rows = table.read(columns, where)
    check_rows(rows, table, where)
    if len(columns) == 1 and depth(rows.get_column(columns[0]).dtype):
        lists = cells(rows, columns[0])
        check_lists(lists, columns[0], table, where, COORDINATES)
        points = array_of(lists)
    else:
        for name in columns:
            check_present(cells(rows, name), name, table, where)
            check_numbers(cells(rows, name), name, table, where)
        points = np.ascontiguousarray(matrix(rows, columns).to_numpy())  # sums are the same as of an array, to the bit
    infinite = ~np.isfinite(points)
    if infinite.any():
        row, column = np.unravel_index(infinite.argmax(), points.shape)
        name = columns[0] if len(columns) == 1 else columns[column]
        raise InputError(
            f"column {shown(name)} of {table.path} must hold finite numbers; row {row} "
            f"({counting(where, '--where')}) is {points[row, column]}. Repair or leave out such rows"
        )
    if not named:
        _refuse_row_numbers(points, columns, table)
    return points


def _refuse_row_numbers(points: NDArray[Any], columns: Sequence[str], table: TableFile) -> None:
    """Refuse a column that only counts the rows, such as an index that was saved with them."""
    n = len(points)
    for name, values in zip(columns, points.T, strict=True):
        if n > 2 and values[0] in (0, 1) and np.array_equal(values, np.arange(n) + values[0]):
            others = [other for other in columns if other != name]
            remedy = f"name the coordinates: {proposed(others, columns)}" if others else "name another file"
            raise InputError(
                f"column {shown(name)} of {table.path} counts the rows, from {values[0]:g} to {values[-1]:g}. "
                f"If it is no coordinate, {remedy}; if it is one, name it with --columns too"
            )
