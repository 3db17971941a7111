"""The total of a job while its batches come, and how it survives the process that counts it."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, cast

from calibrant.engines.merging import Merging
from calibrant.engines.sorted_runs import SortedRuns
from calibrant.errors import SummaryError
from calibrant.summaries import Ordered, PerLabel, Several, Summary


class Running:
    """The summaries of a stream of batches, merged as they come.

    Parameters
    ----------
    spill
        Whether sorted rows that outgrow memory are kept on disk, in a temporary folder. There is no `state` then.

    Examples
    --------
    >>> from calibrant import Grid
    >>> running = Running()
    >>> for _ in range(3):
    ...     running.add(Grid.zero())
    >>> again = Running.resumed(running.state())
    >>> again.parts, again.total()
    (3, Grid(n=0))
    """

    def __init__(self, *, spill: bool = False) -> None:
        self.spill, self.parts = spill, 0
        self._total: _Total | None = None

    def add(self, part: Summary) -> None:
        """Take in the summary of the next batch."""
        if self._total is None:
            self._total = _total_of(part) if self.spill else _Merged()
        self._total.add(part)
        self.parts += 1

    def total(self) -> Summary | None:
        """Return the summary of all batches, None if there were none."""
        return None if self._total is None else self._total.total()

    def state(self) -> bytes:
        """Return all that is known, as bytes without pickle in them: whoever goes on from them gets the same bits."""
        if self._total is None:
            return Several.zero().to_bytes()
        if not isinstance(self._total, _Merged):
            raise SummaryError("rows that are kept on disk have no state to go on from")
        return Several.of({f"{many}": part for many, part in self._total.merging.stack}).to_bytes()

    @classmethod
    def resumed(cls, state: bytes) -> Running:
        """Go on from a `state`."""
        found, running = Several.from_bytes(state), cls()
        if found.names:
            merged = running._total = _Merged()
            merged.merging.stack = [(int(many), part) for many, part in zip(found.names, found.parts, strict=True)]
            running.parts = merged.merging.parts
        return running


class _Total(Protocol):
    """The total of summaries of one kind."""

    def add(self, part: Summary) -> None: ...

    def total(self) -> Summary: ...


def _total_of(part: Summary) -> _Total:
    """Return an empty total for summaries like this one."""
    if isinstance(part, Ordered):
        return _Sorted()
    if isinstance(part, (Several, PerLabel)) and part.grows:
        return _Parts(part)
    return _Merged()


class _Merged:
    """A total in memory, merged in pairs of equal size."""

    def __init__(self) -> None:
        self.merging: Merging[Summary] = Merging()

    def add(self, part: Summary) -> None:
        self.merging.add(part)

    def total(self) -> Summary:
        return cast(Summary, self.merging.total())


class _Sorted:
    """A total of sorted rows, on disk if they are many."""

    def __init__(self) -> None:
        self.runs = SortedRuns()

    def add(self, part: Summary) -> None:
        self.runs.add(cast(Ordered, part))

    def total(self) -> Summary:
        return self.runs.total()


class _Parts:
    """A total of each part of summaries that have several."""

    def __init__(self, like: Several | PerLabel) -> None:
        self.like = like
        self.totals = [_total_of(part) for part in like.parts]

    def add(self, part: Summary) -> None:
        if type(part) is not type(self.like) or _name(part) != _name(self.like):
            raise SummaryError(f"summaries of {_name(self.like)} do not merge with summaries of {_name(part)}")
        for total, summary in zip(self.totals, part.parts, strict=True):
            total.add(summary)

    def total(self) -> Summary:
        return replace(self.like, parts=tuple(total.total() for total in self.totals))


def _name(part: Summary) -> object:
    if isinstance(part, PerLabel):
        return part.notion, len(part.parts)
    return part.names if isinstance(part, Several) else type(part).__name__
