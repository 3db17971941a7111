"""`calibrant samples`: from files of real and generated points to what differs."""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant.cli.columns import each_once, find_column, join_labels, matching, pairs
from calibrant.cli.conditions import judge, read_condition
from calibrant.cli.options import Request
from calibrant.cli.output import STDOUT, check_places, deliver, doing, emit, refuse_results, signed, tell
from calibrant.errors import InputError, did_you_mean, printable, shown
from calibrant.files.found import FoundFile
from calibrant.files.lazy_libraries import pl
from calibrant.files.npz_file import read_arrays, read_npy
from calibrant.files.reading import Reading
from calibrant.files.table_file import SUFFIXES, TableFile, check_file, format_of, open_table
from calibrant.files.values import Values, depth
from calibrant.files.where import Where, read_where
from calibrant.inputs.columns import NamedColumns

if TYPE_CHECKING:
    from calibrant.report.audit import Audit

    Schema = Mapping[str, pl.DataType]

MAX_NAMES_SHOWN = 30  # names that are written out in a proposal
REAL = "real"  # what the report calls the set that all others are compared with
MAX_NAMED = 12  # coordinates with which a report begins
NUMERIC_KINDS = "iuf"  # of dtypes: integers, unsigned integers, floats


def run(files: Sequence[Path], request: Request) -> bool:
    """Compare the points of files; print or write what was found, and tell whether no condition holds."""
    conditions = [read_condition(text) for text in request.fail_if]
    check_places(request, files)
    if len(files) == 1 and not request.no_real:
        raise InputError(
            f"there is nothing to compare {files[0]} with; name a file of generated points too, or add --no-real"
        )
    found = signed(compare_files(files, request), request.title)
    outcomes = judge(conditions, found.findings.to_dict())
    deliver(found, request)
    if outcomes:
        say = tell if request.json_to == STDOUT else emit
        say("\n".join(outcome.line for outcome in outcomes))
    return not any(outcome.failed for outcome in outcomes)


def compare_files(files: Sequence[Path], request: Request) -> Audit:
    """Read what the request names and compare it; the first file contains the real points, if there are any."""
    sets, columns = read_point_files(files, request)
    real, generated = (None, sets) if request.no_real else (sets[0], sets[1:])
    from calibrant.auditing.compare_points import compare

    points: Any = generated[0]
    if len(generated) > 1:
        fakes = slice(len(files) - len(generated), None)
        points = dict(
            zip(map(printable, file_names(files[fakes], request.array[fakes], endings=False)), generated, strict=True)
        )
    with doing("measuring"):
        try:
            return compare(
                real,
                points,
                columns=None if columns is None else [printable(name) for name in columns],
                names=_names(files, request, columns),
                **request.measured,
            )
        except InputError as problem:
            raise _in_the_files(problem, files, request) from problem


def _names(files: Sequence[Path], request: Request, columns: Sequence[str] | None) -> dict[str, str]:
    called = file_names(files, request.array)
    names = {} if request.no_real else {"real": called.pop(0)}
    names["generated"] = ", ".join(called)
    if columns is not None:
        short = columns if len(columns) <= MAX_NAMED else (*columns[: MAX_NAMED - 1], "...", columns[-1])
        names["coordinates"] = request.columns or join_labels(short)
    if request.where is not None:
        names["filter"] = request.where
    return {key: printable(name) for key, name in names.items()}


def _in_the_files(problem: InputError, files: Sequence[Path], request: Request) -> InputError:
    return problem.within(
        "",
        " ({real}points is {generated}{counted})",
        real="" if request.no_real else f"y is {files[0]}, ",
        generated=", ".join(map(str, files if request.no_real else files[1:])),
        counted="" if problem.row is None else "; rows are counted from 0",
    )


def file_names(files: Sequence[Path], arrays: Sequence[str] = (), *, endings: bool = True) -> list[str]:
    """Return a name for each file, as short as it can be if all are to differ, also from "real".

    Without `endings` these are left out where possible. If each file has one of the `arrays`, names may end with them.

    >>> file_names([Path("a/points.npy"), Path("b/points.npy")])
    ['a/points.npy', 'b/points.npy']
    >>> file_names([Path("run.npz"), Path("run.npz")], ["y", "points"])
    ['run.npz, y', 'run.npz, points']
    >>> file_names([Path("out/first.csv.gz"), Path("out/second.npy")], endings=False)
    ['first', 'second']
    >>> file_names([Path("out/first.csv.gz"), Path("out/real.npy")], endings=False)
    ['first.csv.gz', 'real.npy']
    """
    spellings = [[file.name for file in files], [str(file) for file in files]]
    if len(arrays) == len(files):
        spellings += [[f"{name}, {array}" for name, array in zip(names, arrays, strict=True)] for names in spellings]
    if not endings:
        spellings.insert(0, [_stem(file) for file in files])
    for names in spellings:
        if len({*names, REAL}) > len(names):
            return names
    return [f"{name} ({names[: i + 1].count(name)})" for i, name in enumerate(names)]


def _stem(file: Path) -> str:
    endings = [ending for ending in (*SUFFIXES, ".npy") if file.name.lower().endswith(ending)]
    return file.name[: len(file.name) - max(map(len, endings), default=0)] or file.name


def read_point_files(paths: Sequence[Path], request: Request) -> tuple[list[NDArray[Any]], tuple[str, ...] | None]:
    """Return the points (n, d) of each file, and the names of the coordinates if the files have them."""
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
            numbered = [f"column {k}" for k in range(len(columns))]
            tell(f"columns of {file.path} are taken in the order of --columns: {pairs(numbered, columns)}")
    return sets, columns


def _opened(paths: Sequence[Path], request: Request) -> list[TableFile | ArrayFile]:
    formats = [_array_format(path, request.format) for path in paths]
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
        refuse_results(path, request.format, "points")
        check_file(path)
        if format is None:
            files.append(open_table(path, format=request.format, dialect=request.dialect))
        else:
            files.append(ArrayFile(path, format, given.pop(0) if given and format == "npz" else None))
    return files


def _check_kinds(files: Sequence[TableFile | ArrayFile], tables: Sequence[TableFile], request: Request) -> None:
    """Refuse options that do not apply to arrays, and tables mixed with arrays unless the columns are named."""
    array = next((file.path for file in files if isinstance(file, ArrayFile)), None)
    if array is None:
        return
    if request.where is not None:
        raise InputError(f"--where keeps rows of tables, and {array} contains an array; leave it out")
    if not tables and request.columns is not None:
        raise InputError(f"--columns names columns of tables, and {array} contains an array; leave it out")
    if tables and request.columns is None:
        raise InputError(
            f"columns of {tables[0].path} have names and those of {array} have none; say which ones they are, in the "
            f"order of {array}: {proposed(list(tables[0].schema()), [])}"
        )


def _from_table(table: TableFile, columns: Sequence[str], where: Where | None, *, named: bool) -> NDArray[Any]:
    lists = len(columns) == 1 and depth(table.schema()[columns[0]]) > 0
    wanted = NamedColumns(None, columns[0]) if lists else NamedColumns(None, (), others=tuple(columns))
    rows = Reading((FoundFile(table.path),), wanted, where, table.format, table.csv).whole()
    if lists:
        points: NDArray[Any] = rows[columns[0]].to_numpy()
    else:
        rows.columns = [str(k) for k in range(rows.width)]  # polars takes some names for patterns
        points = np.ascontiguousarray(rows.to_numpy())  # sums are the same as of an array, to the bit
    infinite = ~np.isfinite(points)
    if infinite.any():
        row, column = np.unravel_index(infinite.argmax(), points.shape)
        name = columns[0] if len(columns) == 1 else columns[column]
        message = "must contain finite numbers; {row} ({counting}) is {value}. Repair or leave out such rows"
        raise Values(name, None, table.path, where).refusal(message, int(row), value=points[row, column])
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
                f"If it is not a coordinate, {remedy}; if it is, name it with --columns too"
            )


def common_columns(tables: Sequence[TableFile], text: str | None, where: Where | None) -> tuple[str, ...]:
    """Return the columns that `text` stands for in all tables, in the order of the first; without it all columns."""
    first, *others = tables
    schema = first.schema()
    for table in tables:  # different whole numbers may be names, such as years
        if _has_header_of_numbers(table) and not all(name.isdigit() for name in table.schema()):
            raise _no_header(table)
    chosen = _chosen(first, schema, text, where)
    for table in others:
        chosen_here = _chosen(table, table.schema(), text, where)
        both = [name for name in chosen if name in chosen_here]
        for lacking, having, names, there in ((table, first, chosen, chosen_here), (first, table, chosen_here, chosen)):
            missing = [name for name in names if name not in there]
            if missing:
                for file in (having, lacking):
                    if _has_header_of_numbers(file):
                        raise _no_header(file)
                hint = did_you_mean(missing[0], [name for name in there if name not in names])
                remedy = f"Name the coordinates: {proposed(both, list(schema))}" if both else "Rename the columns"
                more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
                raise InputError(
                    f"{lacking.path} has no column {shown(missing[0])}{more}, which {having.path} has. {hint or remedy}"
                )
    return chosen


def _has_header_of_numbers(table: TableFile) -> bool:
    return table.format == "csv" and all(_is_number(_plain(name)) for name in table.schema())


def _no_header(table: TableFile) -> InputError:
    names = list(table.schema())
    line = ",".join(f"x{k}" for k in range(min(len(names), 3))) + (",..." if len(names) > 3 else "")
    return InputError(
        f"the first line of {table.path} contains numbers, {shown(_plain(names[0]))} first, where the columns should "
        f"be named. If it has no header, put one above, such as {line}, or save the points with numpy.save"
    )


def _plain(name: str) -> str:
    """Return the name without what polars adds to one that is there twice."""
    return re.sub(r"_duplicated_\d+$", "", name)


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def proposed(names: Sequence[str], among: Sequence[str]) -> str:
    """Return the option that names these columns and no others of the file, ready to be typed.

    >>> proposed(["x_0", "x_1", "x_2"], ["id", "x_0", "x_1", "x_2"])
    "--columns 'x_*'"
    >>> proposed(["age", "height"], ["name", "age", "height"])
    '--columns age,height'
    """
    pattern = glob.escape(os.path.commonprefix(list(names))) + "*"  # noqa: RUF071, letter by letter is meant
    if len(names) > 2 and pattern != "*" and [name for name in among if fnmatchcase(name, pattern)] == list(names):
        return f"--columns {shlex.quote(pattern)}"
    text = shlex.quote(join_labels(names[:MAX_NAMES_SHOWN], ","))
    return f"--columns {text}" + (f" and {len(names) - MAX_NAMES_SHOWN:,} more" if len(names) > MAX_NAMES_SHOWN else "")


def _chosen(table: TableFile, schema: Schema, text: str | None, where: Where | None) -> tuple[str, ...]:
    names = list(schema)
    for column in where.columns if where else ():
        find_column(column, names, table.path, option="--where")
    if text is not None:
        return each_once(matching(text, names, table.path, option="--columns"), f"--columns {shown(text)}")
    numbers = [name for name in names if schema[name].is_numeric()]
    if numbers != names:
        other = next(name for name in names if name not in numbers)
        lists = [name for name in names if depth(schema[name]) == 1]
        coordinates = numbers or lists[:1]
        advice = f"the coordinates: {proposed(coordinates, names)}" if coordinates else "a file with columns of numbers"
        rows = table.read([other], where)
        values = Values(other, rows[other].alias("cells"), table.path, where, is_csv=table.format == "csv")
        values.check_numbers(instead=f"name {advice}")
    return tuple(find_column(name, names, table.path, option="all are coordinates") for name in names)


@dataclass(frozen=True)
class ArrayFile:
    """An NPY or NPZ file, and the name of the array in it, if given."""

    path: Path
    format: str
    name: str | None = None

    def read(self) -> NDArray[Any]:
        """Return the points; pickled objects are never loaded."""
        if self.format == "npy":
            return _checked(read_npy(self.path), f"{self.path}")
        arrays = read_arrays(self.path)
        name = _only(arrays, self.path) if self.name is None else self.name
        if name not in arrays:
            hint = did_you_mean(name, arrays) or f"It has {_listed(arrays)}"
            raise InputError(f"{self.path} has no array {shown(name)} (--array). {hint}")
        return _checked(arrays[name], f"array {shown(name)} of {self.path}")


def _array_format(path: Path, format: str | None) -> str | None:
    chosen = format or ("npy" if path.suffix.lower() == ".npy" else format_of(path))
    return chosen if chosen in ("npy", "npz") else None


def _only(arrays: Mapping[str, NDArray[Any]], path: Path) -> str:
    found = {name: array for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in NUMERIC_KINDS}
    if not found:
        raise InputError(
            f"{path} contains no array (n, d) of numbers; it has {_listed(arrays)}. Save one with numpy.savez"
        )
    if len(found) > 1:
        raise InputError(
            f"{path} has {len(found)} sets of points, {_listed(found)}. Say which: --array {next(iter(found))}"
        )
    return next(iter(found))


def _listed(arrays: Mapping[str, NDArray[Any]], most: int = 6) -> str:
    listed = ", ".join(f"{shown(name)} {array.shape}" for name, array in list(arrays.items())[:most])
    return (listed if len(arrays) <= most else f"{listed} and {len(arrays) - most:,} more") or "none at all"


def _checked(array: NDArray[Any], what: str) -> NDArray[Any]:
    if array.ndim != 2:
        remedies = {0: "Save one row for each point", 1: "For points on a line save array[:, None]"}
        remedy = remedies.get(array.ndim, "For pictures save features of them, or array.reshape(len(array), -1)")
        raise InputError(f"{what} must contain points (n, d), one row each; its shape is {array.shape}. {remedy}")
    if array.dtype.kind not in NUMERIC_KINDS:
        raise InputError(f"{what} must contain numbers; it contains values of type {array.dtype}. Save it as numbers")
    if array.size == 0:
        raise InputError(f"{what} has nothing to measure: its shape is {array.shape}")
    finite = np.isfinite(array)
    if not finite.all():
        row, column = np.unravel_index(finite.argmin(), array.shape)
        raise InputError(
            f"{what} must contain finite numbers; row {row}, column {column} (counted from 0) is {array[row, column]}, "
            f"and {array.size - finite.sum() - 1:,} more are not finite. Repair or leave out such rows"
        )
    return array
