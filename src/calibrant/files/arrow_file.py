"""Parquet and CSV by pyarrow, where polars is not installed: the same columns, the same filters, the same rows."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

from calibrant.errors import InputError, MissingExtraError
from calibrant.files.table_file import TableFile
from calibrant.files.where import COMPARISONS, Clause, Where, value_of

BATCH = 1 << 17  # rows that pyarrow decodes at once
AHEAD = 8  # such batches


def without_rows(table: TableFile) -> Any:
    """Return a table with all columns and no rows."""
    return _attempt(table, lambda: _dataset(table)).schema.empty_table()


def tables(
    table: TableFile,
    columns: Sequence[str],
    where: Where | None,
    *,
    skip: int = 0,
    constants: Mapping[str, Any] | None = None,
    labels: Sequence[str] = (),
) -> Iterator[Any]:
    """Yield these columns of the rows that `where` keeps, in their order; the first `skip` rows are left out.

    Decimal numbers become floating point numbers, but for `labels`.
    """
    import pyarrow as pa
    import pyarrow.dataset as ds

    source = _attempt(table, lambda: _dataset(table))
    _check_known(table, source.schema, (*columns, *(where.columns if where else ())))
    fixed = {name: pa.scalar(value) for name, value in (constants or {}).items() if name not in source.schema.names}
    chosen = {
        str(k): ds.scalar(fixed[name]) if name in fixed else _column(source, name, exact=name in labels)
        for k, name in enumerate(columns)
    }
    kept = None if where is None else _expression(where, source.schema, fixed)
    scanner = _attempt(
        table,
        lambda: ds.Scanner.from_dataset(
            source,
            columns=chosen,
            filter=kept,
            batch_size=BATCH,
            batch_readahead=AHEAD,
            fragment_readahead=1,
        ),
    )
    batches = _attempt(table, scanner.to_batches)
    while (batch := _attempt(table, lambda: next(batches, None))) is not None:
        left_out = min(skip, batch.num_rows)
        skip -= left_out
        if batch.num_rows > left_out:
            yield pa.Table.from_batches([batch.slice(left_out)]).rename_columns(list(columns))


def joined(parts: list[Any]) -> Any:
    """Return tables as one, each column in one piece."""
    import pyarrow as pa

    return pa.concat_tables(parts).combine_chunks()


def _column(source: Any, name: str, *, exact: bool) -> Any:
    """Return a column; decimals become floating point unless `exact`, dictionaries their values."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    kind = source.schema.field(name).type
    if pa.types.is_decimal(kind) and not exact:
        return ds.field(name).cast(pa.float64())
    return ds.field(name).cast(kind.value_type) if pa.types.is_dictionary(kind) else ds.field(name)


def _dataset(table: TableFile) -> Any:
    import pyarrow.dataset as ds
    from pyarrow import csv

    if table.format not in ("parquet", "csv", "arrow") or (table.format == "csv" and table.path.suffix == ".zst"):
        raise MissingExtraError(f"reading {table.path}", extra="cli")
    if table.format != "csv":
        format = "ipc" if table.format == "arrow" else "parquet"
        source = ds.dataset(table.path, format=format)
        return ds.dataset(table.path, format=format, schema=_without_views(source.schema))
    dialect = table.csv
    return ds.dataset(
        table.path,
        format=ds.CsvFileFormat(
            parse_options=csv.ParseOptions(delimiter=dialect.delimiter or ","),
            convert_options=csv.ConvertOptions(
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                decimal_point="," if dialect.decimal_comma else ".",
            ),
            read_options=csv.ReadOptions(encoding=dialect.encoding or "utf8"),
        ),
    )


def _check_known(table: TableFile, schema: Any, columns: Sequence[str]) -> None:
    """Refuse columns that only polars can decode: its own categories."""
    import pyarrow as pa

    for kind in (schema.field(name).type for name in columns if name in schema.names):
        if pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
            raise MissingExtraError(f"reading {table.path}", extra="cli")


def _without_views(schema: Any) -> Any:
    """Return a schema with string views, which polars writes, as strings that pyarrow can filter."""
    import pyarrow as pa

    views = [pa.types.is_string_view(field.type) for field in schema]
    return pa.schema(
        [field.with_type(pa.large_string()) if view else field for field, view in zip(schema, views, strict=True)]
    )


def _attempt(table: TableFile, use: Callable[[], Any]) -> Any:
    """Call `use`; an error names the file."""
    import pyarrow as pa

    try:
        return use()
    except (pa.ArrowException, OSError, ValueError) as problem:
        if isinstance(problem, InputError):
            raise
        raise table.refusal(problem) from problem


def _expression(where: Where, schema: Any, fixed: Mapping[str, Any]) -> Any:
    """Return the filter as a pyarrow expression."""
    return reduce(operator.and_, (_clause(clause, schema, fixed) for clause in where.clauses))


def _clause(clause: Clause, schema: Any, fixed: Mapping[str, Any]) -> Any:
    """Return one comparison, which does not hold for NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    column = ds.scalar(fixed[clause.column]) if clause.column in fixed else ds.field(clause.column)
    kind = fixed[clause.column].type if clause.column in fixed else schema.field(clause.column).type
    real = pa.types.is_floating(kind)
    if clause.op in ("null", "not null"):
        # `is_null(nan_is_null=True)` skips row groups of Parquet that have NaN but no null
        missing = column.is_null() | pc.is_nan(column) if real else column.is_null()
        if clause.op == "null":
            return missing
        return column.is_valid() & ~pc.is_nan(column) if real else column.is_valid()
    if pa.types.is_null(kind):
        return ds.scalar(False)
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    zone = kind.tz if pa.types.is_timestamp(kind) else None
    compare = COMPARISONS["=" if clause.op == "in" else clause.op]
    found = []
    for text in clause.values:
        value = value_of(text, _kind(kind), column=clause.column, option="where", zone=zone)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63:
            value = float(value)  # larger than what a column of pyarrow holds
        found.append(compare(column, pa.scalar(value, kind) if real else pa.scalar(value)))
    kept = reduce(operator.or_, found)
    return kept & ~pc.is_nan(column) if real else kept


def _kind(kind: Any) -> str:
    """Return the kind of a pyarrow type."""
    from pyarrow import types

    if types.is_boolean(kind):
        return "truth"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "numbers"
    if types.is_string(kind) or types.is_large_string(kind):
        return "texts"
    return "dates" if types.is_date(kind) else "moments" if types.is_timestamp(kind) else str(kind)
