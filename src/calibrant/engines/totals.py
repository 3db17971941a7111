"""The running total of a job: summaries merged as they come, sorted rows on disk, and a state to resume from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, cast

from calibrant.core import summary as codec
from calibrant.core.ordered import Ordered
from calibrant.core.several import PerLabel, Several
from calibrant.core.summary import Summary
from calibrant.engines.merging import Merging
from calibrant.engines.run_files import remove_runs
from calibrant.engines.sorted_runs import MEMORY, NOTHING, SortedRuns
from calibrant.errors import CalibrantError, SummaryError, shown

Plain = Mapping[str, Any]
"""A total as plain values; summaries are named by their place in a list beside it."""


@dataclass(frozen=True)
class Place:
    """Where sorted rows go: a temporary folder, or one that is kept so that a run can resume.

    They take one `share`-th of the memory for sorted rows.
    """

    folder: Path | None = None
    share: int = 1

    def inside(self, number: int, many: int) -> Place:
        """Return the place for one of many parts that grow."""
        return Place(None if self.folder is None else self.folder / str(number), self.share * max(1, many))

    def runs(self, manifest: Mapping[str, Any] = NOTHING, beside: Sequence[Mapping[str, Any]] = ()) -> SortedRuns:
        """Return sorted runs at this place, resumed from a manifest if there is one."""
        memory = max(1, MEMORY // self.share)
        if self.folder is None:
            return SortedRuns(memory=memory)
        return SortedRuns.resumed(self.folder, manifest, memory=memory, beside=beside)


class Total(Protocol):
    """The total of summaries of one kind."""

    def add(self, part: Summary) -> None:
        """Take in the next part."""

    def total(self) -> Summary:
        """Return the summary of all parts."""

    def plain(self, summaries: list[Summary]) -> Plain:
        """Return plain values from which `resumed` makes this total again; summaries are put into a list."""

    def settle(self, plain: Sequence[Plain]) -> None:
        """Forget whatever is needed to resume from anywhere but here."""

    def remove(self) -> None:
        """Leave nothing on disk."""


def total_of(part: Summary, place: Place | None) -> Total:
    """Return an empty total for summaries like this one; rows go to a place on disk, if there is one."""
    if place is not None and isinstance(part, Ordered):
        return Sorted(place.runs())
    if place is not None and isinstance(part, (Several, PerLabel)) and part.grows:
        many = sum(inner.grows for inner in part.parts)
        return Parts(part, [total_of(inner, place.inside(k, many)) for k, inner in enumerate(part.parts)])
    return Merged()


def resumed(plain: Plain, summaries: Sequence[Summary], place: Place, beside: Sequence[Plain] = ()) -> Total:
    """Return a total from what `plain` returned; files that totals `beside` it name stay too."""
    if "sorted" in plain:
        return Sorted(place.runs(plain["sorted"], [other["sorted"] for other in beside if "sorted" in other]))
    if "parts" in plain:
        many = sum("merged" not in inner for inner in plain["parts"])
        totals = [
            resumed(
                inner, summaries, place.inside(k, many), [other["parts"][k] for other in beside if "parts" in other]
            )
            for k, inner in enumerate(plain["parts"])
        ]
        like = summaries[plain["like"]]
        if not isinstance(like, (Several, PerLabel)) or len(like.parts) != len(totals):
            raise SummaryError(f"{len(totals)} totals are not those of {like!r}")
        return Parts(like, totals)
    merged = Merged()
    for many, where in plain["merged"]:
        if type(many) is not int or many < 1 or type(where) is not int or not 0 <= where < len(summaries):
            raise SummaryError(f"a total is merged of summaries by their place; got {shown((many, where))}")
        merged.merging.stack.append((many, summaries[where]))
    return merged


class Merged:
    """A total in memory, merged in pairs of equal size."""

    def __init__(self) -> None:
        self.merging: Merging[Summary] = Merging()

    def add(self, part: Summary) -> None:
        """Take in the next part."""
        self.merging.add(part)

    def total(self) -> Summary:
        """Return the summary of all parts."""
        return cast(Summary, self.merging.total())

    def plain(self, summaries: list[Summary]) -> Plain:
        """Return the stack of what is merged."""
        start = len(summaries)
        summaries.extend(part for _, part in self.merging.stack)
        return {"merged": [(many, start + k) for k, (many, _) in enumerate(self.merging.stack)]}

    def settle(self, plain: Sequence[Plain]) -> None:
        """Nothing is on disk."""

    def remove(self) -> None:
        """Nothing is on disk."""


class Sorted:
    """A total of sorted rows, on disk if they are many."""

    def __init__(self, runs: SortedRuns) -> None:
        self.runs = runs

    def add(self, part: Summary) -> None:
        """Take in the next part."""
        self.runs.add(cast(Ordered, part))

    def total(self) -> Summary:
        """Return the summary of all parts."""
        return self.runs.total()

    def plain(self, summaries: list[Summary]) -> Plain:
        """Return the manifest of the runs."""
        return {"sorted": self.runs.manifest()}

    def settle(self, plain: Sequence[Plain]) -> None:
        """Remove runs that nothing of this names."""
        self.runs.settle([total["sorted"] for total in plain if "sorted" in total])

    def remove(self) -> None:
        """Remove the runs."""
        self.runs.remove()


class Parts:
    """A total of each part of summaries that have several."""

    def __init__(self, like: Several | PerLabel, totals: Sequence[Total]) -> None:
        self.like, self.totals = replace(like, parts=tuple(type(part).zero() for part in like.parts)), totals

    def add(self, part: Summary) -> None:
        """Take in the next part."""
        if type(part) is not type(self.like) or _name(part) != _name(self.like):
            raise SummaryError(f"summaries of {_name(self.like)} do not merge with summaries of {_name(part)}")
        for total, summary in zip(self.totals, part.parts, strict=True):
            total.add(summary)

    def total(self) -> Summary:
        """Return the summary of all parts."""
        return replace(self.like, parts=tuple(total.total() for total in self.totals))

    def plain(self, summaries: list[Summary]) -> Plain:
        """Return what each part is."""
        summaries.append(self.like)
        return {"like": len(summaries) - 1, "parts": [total.plain(summaries) for total in self.totals]}

    def settle(self, plain: Sequence[Plain]) -> None:
        """Let each part forget."""
        for k, inner in enumerate(self.totals):
            inner.settle([total["parts"][k] for total in plain if "parts" in total])

    def remove(self) -> None:
        """Let each part leave nothing."""
        for total in self.totals:
            total.remove()


def _name(part: Summary) -> object:
    if isinstance(part, PerLabel):
        return part.notion, len(part.parts)
    return part.names if isinstance(part, Several) else type(part).__name__


NAME = "Running"


class Running:
    """The summaries of a stream of batches, merged as they come.

    Parameters
    ----------
    spill
        Whether sorted rows that outgrow memory are kept on disk, in a temporary folder. There is no `state` then.
    folder
        A folder for them instead, which is made when it is needed and stays until `remove`: a `state` names its files.

    Examples
    --------
    >>> from calibrant.summaries import Grid
    >>> running = Running()
    >>> for _ in range(3):
    ...     running.add(Grid.zero())
    >>> again = Running.resumed(running.state())
    >>> again.parts, again.total()
    (3, Grid(n=0))
    """

    def __init__(self, *, spill: bool = False, folder: Path | None = None) -> None:
        self.parts, self.folder = 0, folder
        self._place = Place(folder) if spill or folder is not None else None
        self._total: Total | None = None

    def add(self, part: Summary) -> None:
        """Take in the summary of the next batch."""
        if self._total is None:
            self._total = total_of(part, self._place)
        self._total.add(part)
        self.parts += 1

    def total(self) -> Summary | None:
        """Return the summary of all batches, None if there were none."""
        return None if self._total is None else self._total.total()

    def state(self) -> bytes:
        """Return the whole state as bytes, without pickle; a run resumed from it gives the same bits.

        Files that it names stay until `settle`.
        """
        if self._place is not None and self.folder is None and self._total is not None:
            raise SummaryError("rows that are kept in a temporary folder have no state to resume from")
        summaries: list[Summary] = []
        plain = self._total.plain(summaries) if self._total is not None else None
        about = json.dumps({"parts": self.parts, "total": plain})
        return codec.encode(NAME, {"about": about, "summaries": tuple(summaries)})

    def settle(self, states: Sequence[bytes]) -> None:
        """Forget what is needed to resume from any states but these, which are on disk."""
        if self._total is not None and self.folder is not None:
            self._total.settle(_plain_totals(states))

    @classmethod
    def resumed(cls, state: bytes, *, folder: Path | None = None, beside: Sequence[bytes] = ()) -> Running:
        """Resume from a `state`; of the files in the folder, those that it or states `beside` it name stay."""
        running = cls(folder=folder)
        try:
            about, summaries = _decoded(state)
            running.parts = about["parts"]
            if type(running.parts) is not int or running.parts < 0:
                raise SummaryError(f"a state must count its parts by a whole number; got {shown(running.parts)}")
            if about["total"] is not None:
                found = [Summary.from_bytes(summary) for summary in summaries]
                running._total = resumed(about["total"], found, Place(folder), _plain_totals(beside))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as problem:
            if isinstance(problem, CalibrantError):
                raise
            raise SummaryError(f"this is not the state of a run: {problem}") from problem
        return running

    def remove(self) -> None:
        """Leave nothing on disk."""
        if self._total is not None and self.folder is not None:
            self._total.remove()
            remove_runs(self.folder)


def _plain_totals(states: Sequence[bytes]) -> list[Plain]:
    totals = (_decoded(state)[0]["total"] for state in states)
    return [total for total in totals if total is not None]


def _decoded(state: bytes) -> tuple[dict[str, Any], tuple[bytes, ...]]:
    name, values = codec.decode(state)
    if name != NAME:
        raise SummaryError(f"these are the bytes of a {name}; expected the state of a run")
    return json.loads(values["about"]), values["summaries"]
