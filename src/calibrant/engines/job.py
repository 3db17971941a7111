"""What every engine does with rows: a summary of each batch, one of all, and what is to be said of it."""

from __future__ import annotations

from typing import Any, Protocol

from calibrant.inputs.named_columns import Batch
from calibrant.summaries import Summary


class Job(Protocol):
    """A measurement of batches; it travels to other processes, so that everything in it can be pickled."""

    def part(self, batch: Batch) -> Summary:
        """Return the summary of a batch."""

    def finish(self, total: Summary) -> Any:
        """Return what there is to say of all rows."""
