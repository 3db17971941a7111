"""A job on a Spark frame: one plan, from rows to a few summaries on the driver."""

from __future__ import annotations

from typing import Any

from calibrant.core.summary import Summary
from calibrant.engines.job import Job
from calibrant.errors import CalibrantError, InputError, NotApplicableError, SummaryError
from calibrant.inputs.columns import NamedColumns
from calibrant.spark.partitions import SCHEMA, Part, folding, merged, merging, read_parts

FAN_IN = 64  # summaries that one worker merges: 23 MB of grids


def run(job: Job, columns: NamedColumns, chosen: Any) -> Any:
    """Return what a job says of all rows of a frame that has just these columns."""
    return job.finish(total(job, columns, chosen))


def total(job: Job, columns: NamedColumns, chosen: Any, fan_in: int = FAN_IN) -> Summary:
    """Return the summary of all rows of a frame that has just these columns.

    A partition becomes a summary; 64 of them one, and 64 of those one, on the workers; the rest is merged here: that
    of 100,000 partitions is 25 summaries. What is merged with what depends on the numbers of the partitions alone, and
    their order is kept. How many there are is not asked, since without the RDD API that would be a query of its own.
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
        raise _error(whole)
    return Summary.from_bytes(whole.summary)


def _collected(plan: Any) -> list[Part]:
    try:
        return read_parts(plan.collect())
    except Exception as problem:  # Spark wraps what its workers raise
        if "No module named 'calibrant'" in str(problem):
            raise CalibrantError(
                "the Python of Spark's executors has no calibrant, though that of the driver has. Install it there; on "
                "one machine, set the environment variable PYSPARK_PYTHON to sys.executable before the session is made"
            ) from problem
        raise


def _error(part: Part) -> CalibrantError:
    kinds = {kind.__name__: kind for kind in (InputError, NotApplicableError, SummaryError)}
    return kinds.get(part.error or "", InputError)(part.words or "")
