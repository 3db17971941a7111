"""What every engine does with rows: a summary of each batch, one of all, and what is to be said of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from calibrant.core.summary import Summary
from calibrant.inputs.columns import Batch


class Job(Protocol):
    """A measurement of batches; it travels to other processes, so that everything in it can be pickled."""

    def part(self, batch: Batch) -> Summary:
        """Return the summary of a batch."""

    def finish(self, total: Summary) -> Any:
        """Return what there is to say of all rows."""


@runtime_checkable
class TakesPieces(Job, Protocol):
    """A job that may take a batch in the pieces it lies in, where joining them would take longer than the job."""

    def part_of_pieces(self, pieces: Sequence[Batch]) -> Summary | None:
        """Return the summary of a batch that lies in pieces, to the bit that of `part`; None if it must be joined."""
