"""What Spark's Python workers do: a partition becomes one row that holds its summary, and such rows are merged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from calibrant.engines.job import Job
from calibrant.engines.running import Running
from calibrant.errors import InputError, SummaryError
from calibrant.inputs.named_columns import NamedColumns
from calibrant.summaries import Summary

ROWS, BYTES = 1 << 20, 1 << 27  # of Arrow batches that are summarised together
MOST_BATCHES = 1 << 30  # of a partition, so that the batches of all have numbers of their own
SCHEMA = "partition long, place long, error string, words string, summary binary"


class Part(NamedTuple):
    """A row that travels: the summary of a partition or of several, or why there is none.

    `partition` is the number of the first one, and rows of one `place` are merged next. A summary that grows with its
    rows has a place of its own: the driver needs all of it anyway, and a merged one may not fit a worker.
    """

    partition: int
    place: int
    error: str | None
    words: str | None
    summary: bytes | None

    @classmethod
    def of(cls, partition: int, summary: Summary, width: int) -> Part:
        """Return a summary as a row; those of `width` partitions go to the same place."""
        place = partition if summary.grows else partition // width
        return cls(partition, place, None, None, summary.to_bytes())

    @classmethod
    def refused(cls, partition: int, problem: InputError | SummaryError, width: int) -> Part:
        """Return a refusal as a row, so that it reaches the driver in its own words."""
        return cls(partition, partition // width, type(problem).__name__, str(problem), None)

    def columns(self) -> dict[str, list[Any]]:
        """Return the row as Arrow takes it."""
        return {name: [value] for name, value in self._asdict().items()}


def folding(job: Job, columns: NamedColumns, width: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the function for mapInArrow that makes one row of a partition, none of an empty one.

    The rows of `width` partitions go to one place.
    """

    def fold(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None  # Spark runs this in a task
        partition = context.partitionId()
        try:
            total = _total(job, columns, batches, partition)
            part = None if total is None else Part.of(partition, total, width)
        except (InputError, SummaryError) as problem:
            for _ in batches:  # Spark expects that all is read
                pass
            part = Part.refused(partition, problem, width)
        if part is not None:
            yield pa.RecordBatch.from_pydict(part.columns(), schema=_schema(pa))

    return fold


def merging(width: int) -> Callable[[Any], Any]:
    """Return the function for applyInArrow that merges the rows of a place; the next place spans `width` partitions."""

    def merge(table: Any) -> Any:
        import pyarrow as pa

        return pa.Table.from_pydict(merged(read_parts(table.to_pylist()), width).columns(), schema=_schema(pa))

    return merge


def read_parts(rows: Iterable[Any]) -> list[Part]:
    """Return the parts that rows of Arrow or Spark hold, in the order of the partitions."""
    found = (Part(*(row[name] for name in Part._fields)) for row in rows)
    return sorted(found, key=lambda part: part.partition)


def merged(parts: list[Part], width: int) -> Part:
    """Return one part of several; the first refusal is all that is left of them."""
    for part in parts:
        if part.error is not None:
            return part._replace(place=part.partition // width)
    first, running = parts[0].partition, Running()
    try:
        for part in parts:
            running.add(Summary.from_bytes(bytes(part.summary or b"")))
        total = running.total()
        assert total is not None
        return Part.of(first, total, width)
    except (InputError, SummaryError) as problem:
        return Part.refused(first, type(problem)(f"partitions {first} and later: {problem}"), width)


def chunks(batches: Iterable[Any], rows: int = ROWS, size: int = BYTES) -> Iterator[tuple[int, Any]]:
    """Cut Arrow batches anew, into tables of so many rows or, if rows are large, bytes; each with its first row.

    Spark's batches are small and their size is a setting; tables of a fixed number of rows give the same bits under
    every setting.
    """
    import pyarrow as pa

    start, held, taken, weight = 0, [], 0, 0
    for batch in batches:
        rest = batch
        while rest.num_rows:
            piece, rest = rest.slice(0, rows - taken), rest.slice(rows - taken)
            held.append(piece)
            taken, weight = taken + piece.num_rows, weight + piece.nbytes
            if taken == rows or weight >= size:
                yield start, pa.Table.from_batches(held)
                start, held, taken, weight = start + taken, [], 0, 0
    if held:
        yield start, pa.Table.from_batches(held)


def _total(job: Job, columns: NamedColumns, batches: Iterator[Any], partition: int) -> Summary | None:
    running = Running()
    for number, (start, numbered) in enumerate(chunks(batches)):
        table = numbered.rename_columns(list(columns.needed))
        try:
            for name in columns.needed:
                _refuse_null(table.column(name), name)
            if not _weightless(table, columns):
                running.add(job.part(columns.batch(table, partition * MOST_BATCHES + number)))
        except (InputError, SummaryError) as problem:
            stop = start + table.num_rows - 1
            rows = f", rows {start:,} to {stop:,}" if start else ""
            raise type(problem)(f"partition {partition}{rows}: {problem}") from problem
    return running.total()


def _refuse_null(column: Any, name: str) -> None:
    import pyarrow as pa

    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy()))
        raise InputError(f"column {name!r} must not have missing values; row {row} is null. Drop such rows")
    for chunk in column.chunks:
        inner = chunk
        while pa.types.is_list(inner.type) or pa.types.is_large_list(inner.type):
            inner = inner.flatten()
            if inner.null_count:
                raise InputError(f"column {name!r} must not have missing values; an array in it holds a null")


def _weightless(table: Any, columns: NamedColumns) -> bool:
    """Tell whether all these rows have weight 0: other rows may have some."""
    if columns.weights is None:
        return False
    weights = table.column(columns.weights).to_numpy()
    return weights.dtype.kind in "iuf" and not weights.any()


def _schema(pa: Any) -> Any:
    whole, text = pa.int64(), pa.string()
    return pa.schema(zip(Part._fields, (whole, whole, text, text, pa.binary()), strict=True))
