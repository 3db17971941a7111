"""A job on a Spark frame: partitions become summaries on the workers, which are merged there and on the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from calibrant.core.dispatch import expecting, on_one_thread
from calibrant.core.summary import Summary
from calibrant.engines.jobs import Job, Result_co
from calibrant.engines.merging import Merging
from calibrant.errors import CalibrantError, InputError, NotApplicableError, SummaryError
from calibrant.files.reading import recut
from calibrant.inputs.columns import NamedColumns

FAN_IN = 64  # summaries that one worker merges: 23 MB of grids


def run(job: Job[Result_co], columns: NamedColumns, chosen: Any) -> Result_co:
    """Return the result of a job for all rows of a frame that has just these columns."""
    return job.finish(total(job, columns, chosen))


def total(job: Job[Any], columns: NamedColumns, chosen: Any, fan_in: int = FAN_IN) -> Summary:
    """Return the summary of all rows of a frame that has just these columns.

    A partition becomes a summary; 64 of them one, and 64 of those one, on the workers; the rest is merged here: that
    of 100,000 partitions is 25 summaries. What is merged with what depends on the numbers of the partitions alone, and
    their order is kept. Their number is not asked for: without the RDD API that would be another query.
    """
    numbered = chosen.toDF(*(f"column_{k}" for k in range(len(columns.needed))))  # mapInArrow chokes on dots in names
    plan = numbered.mapInArrow(folding(job, columns, fan_in), SCHEMA)
    for width in (fan_in**2, fan_in**3):
        plan = plan.groupBy("place").applyInArrow(merging(width), SCHEMA)
    parts = _collected(plan)
    if not parts:
        why = "" if columns.weights is None else f", or all weights in {columns.weights!r} are 0"
        raise InputError(f"there are no rows: the frame is empty{why}; at least one row is needed")
    whole = merged(parts, fan_in)
    if whole.summary is None:
        kinds = {kind.__name__: kind for kind in (InputError, NotApplicableError, SummaryError)}
        raise kinds.get(whole.error or "", InputError)(whole.words or "")
    return Summary.from_bytes(whole.summary)


def _collected(plan: Any) -> list[SentPart]:
    try:
        return read_parts(plan.collect())
    except Exception as problem:  # Spark wraps what its workers raise
        if "No module named 'calibrant'" in str(problem):
            raise CalibrantError(
                "the Python of Spark's executors has no calibrant, although that of the driver does. Install it there; "
                "on one machine, set the variable PYSPARK_PYTHON to sys.executable before making the session"
            ) from problem
        raise


TABLE_ROWS, TABLE_BYTES = 1 << 20, 1 << 27  # of Arrow batches that are summarised together
MAX_BATCHES = 1 << 30  # of a partition; batches of all partitions have different numbers
SCHEMA = "partition long, place long, error string, words string, summary binary"


class SentPart(NamedTuple):
    """A row that is sent: the summary of one partition or several, or the error that prevented it.

    `partition` is the number of the first one, and rows of one `place` are merged next. A summary that grows with its
    rows is not merged on a worker: the driver needs all of it anyway, and a merged one may not fit a worker.
    """

    partition: int
    place: int
    error: str | None
    words: str | None
    summary: bytes | None

    @classmethod
    def of(cls, partition: int, summary: Summary, width: int) -> SentPart:
        """Return a summary as a row; those of `width` partitions go to the same place."""
        place = partition if summary.grows else partition // width
        return cls(partition, place, None, None, summary.to_bytes())

    @classmethod
    def refused(cls, partition: int, problem: InputError | SummaryError, width: int) -> SentPart:
        """Return an error as a row, so that it reaches the driver unchanged."""
        return cls(partition, partition // width, type(problem).__name__, str(problem), None)

    def columns(self) -> dict[str, list[Any]]:
        return {name: [value] for name, value in self._asdict().items()}


def folding(job: Job[Any], columns: NamedColumns, width: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
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
            part = None if total is None else SentPart.of(partition, total, width)
        except (InputError, SummaryError) as problem:
            for _ in batches:  # Spark expects that all is read
                pass
            part = SentPart.refused(partition, problem, width)
        if part is not None:
            yield pa.RecordBatch.from_pydict(part.columns(), schema=_schema(pa))

    return fold


def merging(width: int) -> Callable[[Any], Any]:
    """Return the function for applyInArrow that merges the rows of a place; the next place spans `width` partitions."""

    def merge(table: Any) -> Any:
        import pyarrow as pa

        return pa.Table.from_pydict(merged(read_parts(table.to_pylist()), width).columns(), schema=_schema(pa))

    return merge


def read_parts(rows: Iterable[Any]) -> list[SentPart]:
    """Return the parts that rows of Arrow or Spark hold, in the order of the partitions."""
    found = (SentPart(*(row[name] for name in SentPart._fields)) for row in rows)
    return sorted(found, key=lambda part: part.partition)


def merged(parts: list[SentPart], width: int) -> SentPart:
    """Return one part of several; if there are errors, the first one."""
    for part in parts:
        if part.error is not None:
            return part._replace(place=part.partition // width)
    first, merging = parts[0].partition, Merging[Summary]()
    try:
        for part in parts:
            merging.add(Summary.from_bytes(bytes(part.summary or b"")))
        total = merging.total()
        assert total is not None
        return SentPart.of(first, total, width)
    except (InputError, SummaryError) as problem:
        return SentPart.refused(first, problem.within("partitions {first} and later: ", first=first), width)


def tables(batches: Iterable[Any], rows: int = TABLE_ROWS, size: int = TABLE_BYTES) -> Iterator[tuple[int, Any]]:
    """Cut Arrow batches anew, into tables of as many rows each; with the number of the first row.

    If `rows` rows as wide as the first one are more than `size` bytes, tables have fewer. Spark's batches are small and
    their size is a setting; cuts that do not depend on it give the same bits under every setting.
    """
    import pyarrow as pa

    filled = (batch for batch in batches if batch.num_rows)
    first = next(filled, None)
    if first is None:
        return
    start, height = 0, max(1, min(rows, size // _width(first)))
    for table in recut(chain([first], filled), height, pa.Table.from_batches):
        yield start, table
        start += table.num_rows


def _width(batch: Any) -> int:
    """Return the bytes of the first row, copied: a slice shares the null bits of other rows."""
    row: int = type(batch).from_pylist(batch.slice(0, 1).to_pylist(), schema=batch.schema).nbytes
    return max(1, row)


def _total(job: Job[Any], columns: NamedColumns, batches: Iterator[Any], partition: int) -> Summary | None:
    merging = Merging[Summary]()
    for number, (start, numbered) in enumerate(tables(batches)):
        table, stop = numbered.rename_columns(list(columns.needed)), start + numbered.num_rows
        try:
            for name in columns.checked:
                _refuse_null(table.column(name), name)
            batch = columns.batch(table, partition * MAX_BATCHES + number)
            if not batch.weightless:
                with on_one_thread(), expecting(stop):  # how many rows follow is not known
                    merging.add(job.part(batch))
        except (InputError, SummaryError) as problem:
            row = None if problem.row is None else start + problem.row
            raise problem.within("partition {partition}: ", row=row, partition=partition) from problem
    return merging.total()


def _refuse_null(column: Any, name: str) -> None:
    import pyarrow as pa

    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy()))
        raise InputError(
            "column {name} must not have missing values; {row} is null. Drop such rows", name=repr(name), row=row
        )
    for chunk in column.chunks:
        inner = chunk
        while pa.types.is_list(inner.type) or pa.types.is_large_list(inner.type):
            inner = inner.flatten()
            if inner.null_count:
                raise InputError(f"column {name!r} must not have missing values; an array in it contains a null")


def _schema(pa: Any) -> Any:
    whole, text = pa.int64(), pa.string()
    return pa.schema(zip(SentPart._fields, (whole, whole, text, text, pa.binary()), strict=True))
