"""A job on partitions: their summaries made and merged on the workers, and finished here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from calibrant.core.summary import Summary
from calibrant.dask.partitions import Partitions, dask_library, delayed_task, no_rows, refusals_name
from calibrant.engines.job import Job
from calibrant.engines.merging import Merging

FAN_IN = 8  # summaries merged by one task


def run(job: Job, partitions: Partitions) -> Any:
    """Return what a job says of all rows."""
    parts = partitions.each(job.part, "part")
    (total,) = dask_library().compute(merged(parts))
    if total is None:
        raise no_rows(len(parts))
    return job.finish(total)


def merged(parts: Sequence[Any]) -> Any:
    """Return the sum of summaries that are not computed yet, in their order, eight by eight on the workers.

    What is merged with what depends on the number of parts alone, so that the same partitions give the same bits.
    """
    span, level = 1, list(parts)
    while len(level) > 1 or span == 1:
        span *= FAN_IN
        level = [
            delayed_task(
                _Merge(k * span, min((k + 1) * span, len(parts)) - 1),
                *level[k * FAN_IN : (k + 1) * FAN_IN],
                name="merge",
            )
            for k in range(-(-len(level) // FAN_IN))
        ]
    return level[0]


@dataclass(frozen=True)
class _Merge:
    """What a worker does with the summaries of neighbouring partitions."""

    first: int
    last: int

    def __call__(self, *parts: Summary | None) -> Summary | None:
        merging: Merging[Summary] = Merging()
        with refusals_name(f"partitions {self.first} to {self.last}"):
            for part in parts:
                if part is not None:
                    merging.add(part)
            return merging.total()
