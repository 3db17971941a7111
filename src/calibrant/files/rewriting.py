"""Copies of files with columns added or replaced, batch by batch; all other columns stay as they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from calibrant.errors import CalibrantError, InputError, listing, shown
from calibrant.files.csv_file import Dialect
from calibrant.files.table_file import SUFFIXES, TableFile, format_of
from calibrant.progress import row_counter
from calibrant.report.files import remove_temporary_files, temporary_file

if TYPE_CHECKING:
    import polars as pl

WRITTEN = tuple(suffix for suffix, format in SUFFIXES.items() if format != "npz")
"""The endings of files that can be written."""

FULL = {
    ENOSPC: "no space is left on the disk",
    EDQUOT: "your quota of the disk is used up",
    EFBIG: "file too large",
}
"""Errors of the system that concern the file that is written, never the one that is read."""


@dataclass(frozen=True)
class Change:
    """New columns that are made of others, row by row.

    Attributes
    ----------
    needed
        The columns that the new ones are made of.
    labels
        Those of them that are labels of rows, not numbers.
    added
        Names and types of the new columns; one that is in the file already is replaced.
    make
        From the needed columns of some rows to the new ones, by name.
    """

    needed: tuple[str, ...]
    added: Mapping[str, pl.DataType]
    make: Callable[[pl.DataFrame], Mapping[str, pl.Series]]
    labels: tuple[str, ...] = ()


def rewrite(table: TableFile, change: Change, target: Path, dialect: Dialect) -> int:
    """Write all rows with the change to another file, in their order, and return their number.

    From CSV to CSV columns are copied as texts: 007 stays 007. The target appears once it is complete. Memory does
    not grow with the number of rows, but for Arrow's streaming format and CSV that is not in UTF-8.
    """
    import polars as pl

    rows = table.as_written(texts=format_of(target) == "csv")
    schema = _checked_schema(table, rows, change, target)
    types = table.schema() if table.format == "csv" else schema
    problems: list[BaseException] = []
    written = 0
    remove_temporary_files(target)  # of a process that was killed

    with temporary_file(target) as temporary, row_counter(label=f"writing {target.name}", total=table.rows()) as count:

        def changed(frame: pl.DataFrame) -> pl.DataFrame:
            nonlocal written
            try:
                found = change.make(_typed(frame, change, types, table)) if frame.height else {}
            except BaseException as problem:  # polars would put it into words of its own
                problems.append(problem)
                raise
            new = [
                found[name].alias(name) if found else pl.Series(name, [], dtype=dtype)
                for name, dtype in change.added.items()
            ]
            written += frame.height
            count(frame.height)
            return _with_columns(frame, new)

        streamed = rows.map_batches(changed, schema={**schema, **change.added}, streamable=True)
        try:
            _sink(streamed, temporary, target, dialect)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as problem:
            if problems:
                raise problems[0] from None
            for number, words in FULL.items():  # polars has the words of the system inside its own
                if getattr(problem, "errno", None) == number or os.strerror(number) in str(problem):
                    raise CalibrantError(f"cannot write {target}: {words}") from problem
            raise table.refusal(problem) from problem
    return written


def _with_columns(frame: pl.DataFrame, new: list[pl.Series]) -> pl.DataFrame:
    """Return the frame with columns replaced or added at the end.

    `with_columns` of polars would wait for its threads, which read and write meanwhile.
    """
    import polars as pl

    columns = {column.name: column for column in (*frame.get_columns(), *new)}
    return pl.DataFrame(list(columns.values()))


def _checked_schema(table: TableFile, rows: pl.LazyFrame, change: Change, target: Path) -> dict[str, pl.DataType]:
    """Return the types of all columns; refuse columns that could not be written as they are."""
    import polars as pl

    try:
        schema = dict(rows.collect_schema())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as problem:
        raise table.refusal(problem) from problem
    twice = [name for name in schema if f"{name}_duplicated_0" in schema]  # as polars calls the second one
    if twice:
        raise InputError(f"{table.path} has two columns named {shown(twice[0])}; rename one of them")
    after = {**schema, **change.added}
    nested = [name for name, dtype in after.items() if dtype.is_nested()]
    if nested and format_of(target) == "csv":
        raise InputError(
            f"a CSV cannot contain lists, and {table.path} has columns of lists ({listing(nested, most=3)}); write "
            f"Parquet, such as -o {target.with_suffix('.parquet').name}"
        )
    return schema


def _typed(frame: pl.DataFrame, change: Change, types: Mapping[str, pl.DataType], table: TableFile) -> pl.DataFrame:
    """Return the needed columns with their types, which those of a CSV do not have yet."""
    import polars as pl

    found = []
    for name in change.needed:
        column, dtype = frame.get_column(name), types[name]
        if column.dtype == pl.String and dtype.is_numeric():
            plain = column.str.replace(",", ".", literal=True) if table.csv.decimal_comma else column
            wanted = dtype if name in change.labels else pl.Float64()
            column = _as_numbers(plain, wanted)
            lost = column.is_null() & plain.is_not_null()
            if lost.any():
                raise InputError(
                    f"column {shown(name)} of {table.path} contains numbers in its first rows and later "
                    f"{shown(plain.filter(lost)[0])}; fix it, or save the file as Parquet, where a column has one type"
                )
        elif column.dtype == pl.String and dtype == pl.Boolean:
            column = column == "true"
        elif isinstance(dtype, pl.Decimal) and name not in change.labels:
            column = column.cast(pl.Float64)
        found.append(column.alias(name))
    return pl.DataFrame(found)


def _as_numbers(texts: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return texts as numbers, null where a text is not a number; spaces are stripped only if some cannot be read."""
    found = texts.cast(dtype, strict=False)
    if found.null_count() == texts.null_count():
        return found
    return texts.str.strip_chars(" ").cast(dtype, strict=False)


def _sink(rows: pl.LazyFrame, temporary: Path, target: Path, dialect: Dialect) -> None:
    """Write rows in the format that the name of the target stands for."""
    import polars as pl

    format, ending = format_of(target), target.suffix.lower()
    if format == "parquet":
        rows.sink_parquet(temporary, engine="streaming")
    elif format == "arrow":
        rows.sink_ipc(temporary, compat_level=pl.CompatLevel.oldest(), engine="streaming")
    elif format == "ndjson":
        rows.sink_ndjson(temporary, engine="streaming")
    else:
        compression: Literal["uncompressed", "gzip", "zstd"] = (
            "gzip" if ending == ".gz" else "zstd" if ending == ".zst" else "uncompressed"
        )
        rows.sink_csv(
            temporary,
            separator="\t" if ".tsv" in target.suffixes[-2:] else dialect.delimiter or ",",
            decimal_comma=dialect.decimal_comma,
            compression=compression,
            check_extension=False,
            engine="streaming",
        )
