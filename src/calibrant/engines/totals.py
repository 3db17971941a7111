"""Totals of summaries of one kind: merged in memory, or sorted on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, cast

from calibrant.core.ordered import Ordered
from calibrant.core.several import PerLabel, Several
from calibrant.core.summary import Summary
from calibrant.engines.merging import Merging
from calibrant.engines.sorted_runs import MEMORY, NOTHING, SortedRuns
from calibrant.errors import SummaryError

Plain = Mapping[str, Any]
"""What a total is, as plain values; summaries are named by their place in a list beside it."""


@dataclass(frozen=True)
class Place:
    """Where sorted rows go: a temporary folder or, where one is to go on from them later, one that is kept.

    A `share` of the memory that all of them may take is for those that go here.
    """

    folder: Path | None = None
    share: int = 1

    def inside(self, number: int, many: int) -> Place:
        """Return a place of its own for one of many parts that grow."""
        return Place(None if self.folder is None else self.folder / str(number), self.share * max(1, many))

    def runs(self, manifest: Mapping[str, Any] = NOTHING, beside: Sequence[Mapping[str, Any]] = ()) -> SortedRuns:
        """Return sorted runs at this place, going on from a manifest if there is one."""
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
        """Return what `resumed` makes this of again; summaries are put into a list."""

    def settle(self, plain: Sequence[Plain]) -> None:
        """Forget whatever is needed to go on from anywhere but here."""

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
        return Parts(cast(Several | PerLabel, summaries[plain["like"]]), totals)
    merged = Merged()
    merged.merging.stack = [(int(many), summaries[where]) for many, where in plain["merged"]]
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
