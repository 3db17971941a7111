"""Copies of files with columns added or replaced, batch by batch; all other columns stay as they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path
from typing import Any

from calibrant.errors import CalibrantError, InputError, MissingExtraError, listing, shown
from calibrant.files.csv_file import Dialect
from calibrant.files.lazy_libraries import pa, pl
from calibrant.files.table_file import SUFFIXES, TableFile, format_of, is_arrow_stream, sunk_batches
from calibrant.progress import row_counter
from calibrant.writing import sigterm_as_exit, sole_writer, temporary_file

WRITTEN = tuple(suffix for suffix, format in SUFFIXES.items() if format != "npz")
"""The endings of files that can be written."""

BATCH = 1 << 17  # rows, which are also those of a row group
FULL = {ENOSPC: "no space is left on the disk", EDQUOT: "your quota of the disk is used up", EFBIG: "file too large"}
"""Errors of the system that concern the file that is written, never the one that is read."""


@dataclass(frozen=True)
class Change:
    """New columns that are made of others, row by row."""

    needed: tuple[str, ...]  # the columns that the new ones are made of
    added: Mapping[str, pl.DataType]  # the new ones and their types; one that is in the file already is replaced
    make: Callable[[pl.DataFrame], Mapping[str, pl.Series]]  # from the needed columns of some rows to the new ones
    labels: tuple[str, ...] = ()  # those of the needed that are labels of rows, not numbers


def rewrite(table: TableFile, change: Change, target: Path, dialect: Dialect) -> int:
    """Write all rows with the change to another file, in their order, and return their number.

    From CSV to CSV columns are copied as texts: 007 stays 007. Between Parquet and Arrow they keep their types, and
    the file its metadata. The target appears once it is complete. Memory does not grow with the number of rows, but for
    CSV that is not in UTF-8.
    """
    try:
        refusals = (pa.ArrowException, pl.exceptions.PolarsError, pl.exceptions.PanicException)
    except ImportError:
        raise MissingExtraError("writing files", extra="cli") from None
    with sigterm_as_exit(), sole_writer(target, what="the output"):
        try:
            return _rewritten(table, change, target, dialect, refusals)
        except (*refusals, OSError) as problem:
            for number, words in FULL.items():
                if getattr(problem, "errno", None) == number or os.strerror(number) in str(problem):
                    raise CalibrantError(f"cannot write {target}: {words}") from problem
            raise table.refusal(problem) from problem


def _rewritten(
    table: TableFile, change: Change, target: Path, dialect: Dialect, refusals: tuple[type[BaseException], ...]
) -> int:
    schema, batches = _arrow_rows(table) if table.format in ("parquet", "arrow") else _text_rows(table, target)
    after = _changed_schema(table, schema, change, target)
    types = table.schema() if table.format == "csv" else {}
    written = 0
    with (
        closing(batches),
        temporary_file(target) as temporary,
        row_counter(label=f"writing {target.name}", total=table.rows()) as count,
        _writer(temporary, target, after, dialect) as write,
    ):
        for rows in batches:
            found = change.make(_typed(_frame(rows.select(change.needed)), change, types, table))
            changed = _with_columns(rows, found, after)
            try:
                write(changed)
            except refusals as problem:
                first_line = str(problem).splitlines()[0].rstrip(".")
                raise InputError(f"cannot write {target}: {first_line}. Parquet takes most types") from problem
            written += rows.num_rows
            count(rows.num_rows)
    return written


def _arrow_rows(table: TableFile) -> tuple[Any, Generator[Any, None, None]]:
    from pyarrow.parquet import ParquetFile

    if table.format == "parquet":
        parquet = ParquetFile(table.path)
        return parquet.schema_arrow, _tables(parquet.iter_batches(batch_size=BATCH))
    source = pa.memory_map(str(table.path))
    if is_arrow_stream(table.path):
        stream = pa.ipc.open_stream(source)
        return stream.schema, _tables(stream)
    file = pa.ipc.open_file(source)
    return file.schema, _tables(map(file.get_batch, range(file.num_record_batches)))


def _tables(batches: Iterable[Any]) -> Generator[Any, None, None]:
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH):
            yield pa.Table.from_batches([batch.slice(start, BATCH)])


def _text_rows(table: TableFile, target: Path) -> tuple[Any, Generator[Any, None, None]]:
    """Return the schema of a CSV or NDJSON, and its rows; those of a CSV as texts if they become a CSV again."""
    oldest = pl.CompatLevel.oldest()
    rows = table.as_written(texts=format_of(target) == "csv")
    empty = pl.DataFrame(schema=rows.collect_schema()).to_arrow(compat_level=oldest)
    return empty.schema, (frame.to_arrow(compat_level=oldest) for frame in sunk_batches(rows, BATCH))


def _changed_schema(table: TableFile, schema: Any, change: Change, target: Path) -> Any:
    """Return the schema of the copy; refuse columns that could not be written as they are."""
    names = schema.names  # polars calls the second one x_duplicated_0
    twice = [name for name in names if names.count(name) > 1 or f"{name}_duplicated_0" in names]
    if twice:
        raise InputError(f"{table.path} has two columns named {shown(twice[0])}; rename one of them")
    for field in pl.DataFrame(schema=change.added).to_arrow(compat_level=pl.CompatLevel.oldest()).schema:
        place = schema.get_field_index(field.name)
        schema = schema.append(field) if place < 0 else schema.set(place, field)
    nested = [field.name for field in schema if pa.types.is_nested(field.type)]
    if nested and format_of(target) == "csv":
        raise InputError(
            f"a CSV cannot contain lists, and {table.path} has columns of lists ({listing(nested, most=3)}); write "
            f"Parquet, such as -o {target.with_suffix('.parquet').name}"
        )
    return schema


def _with_columns(rows: Any, found: Mapping[str, pl.Series], schema: Any) -> Any:
    new = {name: column.to_arrow() for name, column in found.items()}
    columns = [
        pa.chunked_array([new[field.name].cast(field.type)]) if field.name in new else rows.column(field.name)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _frame(rows: Any) -> pl.DataFrame:
    frame = pl.DataFrame(rows)
    frame.columns = rows.column_names
    return frame


def _typed(frame: pl.DataFrame, change: Change, types: Mapping[str, pl.DataType], table: TableFile) -> pl.DataFrame:
    found = []
    for name in change.needed:
        column = frame.get_column(name)
        dtype = types.get(name, column.dtype)
        if column.dtype == pl.String and dtype.is_numeric():
            plain = column.str.replace(",", ".", literal=True) if table.csv.decimal_comma else column
            wanted = dtype if name in change.labels else pl.Float64()
            column = plain.cast(wanted, strict=False)
            if column.null_count() > plain.null_count():  # spaces are stripped only if some cannot be read
                column = plain.str.strip_chars(" ").cast(wanted, strict=False)
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


@contextmanager
def _writer(temporary: Path, target: Path, schema: Any, dialect: Dialect) -> Iterator[Callable[[Any], object]]:
    from pyarrow.parquet import ParquetWriter

    format, ending = format_of(target), target.suffix.lower()
    if format == "parquet":
        with ParquetWriter(temporary, schema, compression="zstd") as parquet:
            yield parquet.write_table
    elif format == "arrow":
        with pa.ipc.new_file(str(temporary), schema) as arrow:
            yield arrow.write_table
    elif format == "ndjson":
        with temporary.open("wb") as lines:
            yield lambda rows: _frame(rows).write_ndjson(lines)
    else:
        packing = {".gz": "gzip", ".zst": "zstd"}.get(ending)
        form: dict[str, Any] = {
            "separator": "\t" if ".tsv" in target.suffixes[-2:] else dialect.delimiter or ",",
            "decimal_comma": dialect.decimal_comma,
        }
        with pa.CompressedOutputStream(str(temporary), packing) if packing else temporary.open("wb") as text:
            _frame(schema.empty_table()).write_csv(text, **form)
            yield lambda rows: _frame(rows).write_csv(text, include_header=False, **form)
