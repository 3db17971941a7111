"""The running total of a job: summaries merged as they come, sorted rows on disk, and a state to resume from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from calibrant.core import summary as codec
from calibrant.core.ordered import Ordered
from calibrant.core.several import PerLabel, Several
from calibrant.core.summary import Summary
from calibrant.engines.merging import Merging
from calibrant.engines.run_files import remove_runs
from calibrant.engines.sorted_runs import SortedRuns
from calibrant.errors import CalibrantError, SummaryError, shown

MEMORY = 1 << 22  # entries of sorted rows in memory
NAME = "Running"


def split(part: Summary) -> tuple[Summary, list[Ordered]]:
    """Return a summary with no rows in place of its sorted ones, and the sorted rows.

    >>> rows = Ordered.zero()
    >>> split(Several.of({"a": rows}))[1] == [rows]
    True
    """
    if isinstance(part, Ordered):
        return type(part).zero(), [part]
    if not isinstance(part, (Several, PerLabel)):
        return part, []
    inner = [split(each) for each in part.parts]
    return replace(part, parts=tuple(rest for rest, _ in inner)), [rows for _, several in inner for rows in several]


def joined(rest: Summary, rows: Iterator[Ordered]) -> Summary:
    """Return the summary that `split` took apart into these."""
    if isinstance(rest, Ordered):
        return next(rows)
    if not isinstance(rest, (Several, PerLabel)):
        return rest
    return replace(rest, parts=tuple(joined(each, rows) for each in rest.parts))


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
        self.folder = folder
        self._spills = spill or folder is not None
        self._merging: Merging[Summary] = Merging()
        self._sorted: list[SortedRuns] = []  # one for each `Ordered` in a part

    @property
    def parts(self) -> int:
        """Number of parts so far."""
        return self._merging.parts

    def add(self, part: Summary) -> None:
        """Take in the summary of the next batch."""
        rest, rows = split(part) if self._spills else (part, [])
        if not self.parts:
            self._sorted = [SortedRuns(**self._place(k, len(rows))) for k in range(len(rows))]
        self._merging.add(rest)
        if len(rows) != len(self._sorted):
            raise SummaryError(f"summaries with {len(self._sorted)} and {len(rows)} sorted parts do not merge")
        for runs, each in zip(self._sorted, rows, strict=True):
            runs.add(each)

    def total(self) -> Summary | None:
        """Return the summary of all batches, None if there were none."""
        rest = self._merging.total()
        return joined(rest, (runs.total() for runs in self._sorted)) if rest is not None and self._sorted else rest

    def state(self) -> bytes:
        """Return the whole state as bytes, without pickle; a run resumed from it gives the same bits.

        Files that it names stay until `settle`.
        """
        merged = [many for many, _ in self._merging.stack]
        about = json.dumps({"merged": merged, "sorted": [runs.manifest() for runs in self._sorted]})
        return codec.encode(NAME, {"about": about, "summaries": tuple(part for _, part in self._merging.stack)})

    def settle(self, states: Sequence[bytes]) -> None:
        """Forget what is needed to resume from any states but these, which are on disk."""
        manifests = [_decoded(state)[0]["sorted"] for state in states]
        for k, runs in enumerate(self._sorted):
            runs.settle([each[k] for each in manifests if each])

    @classmethod
    def resumed(cls, state: bytes, *, folder: Path | None = None, beside: Sequence[bytes] = ()) -> Running:
        """Resume from a `state`; of the files in the folder, those that it or states `beside` it name stay."""
        running = cls(folder=folder)
        try:
            about, encoded = _decoded(state)
            summaries, manifests = [Summary.from_bytes(each) for each in encoded], about["sorted"]
            others = [each for each in (_decoded(other)[0]["sorted"] for other in beside) if each]
            if any(type(many) is not int or many < 1 for many in about["merged"]):
                raise SummaryError(f"summaries are merged of at least one part; got {shown(about['merged'])}")
            if any(len(split(summary)[1]) != len(manifests) for summary in summaries) or (manifests and not summaries):
                raise SummaryError(f"{len(manifests)} totals of sorted rows do not fit the summaries beside them")
            running._merging.stack = list(zip(about["merged"], summaries, strict=True))
            for k, manifest in enumerate(manifests):
                place = running._place(k, len(manifests))
                running._sorted.append(SortedRuns.resumed(manifest, **place, beside=[each[k] for each in others]))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as problem:
            if isinstance(problem, CalibrantError):
                raise
            raise SummaryError(f"this is not the state of a run: {problem}") from problem
        return running

    def remove(self) -> None:
        """Leave nothing on disk."""
        if self.folder is not None:
            remove_runs(self.folder)

    def _place(self, number: int, many: int) -> dict[str, Any]:
        """Return where the sorted rows of one of many parts go, which share the memory."""
        return {
            "memory": max(1, MEMORY // many),
            "folder": None if self.folder is None else self.folder / str(number),
        }


def _decoded(state: bytes) -> tuple[Mapping[str, Any], tuple[bytes, ...]]:
    name, values = codec.decode(state)
    if name != NAME:
        raise SummaryError(f"these are the bytes of a {name}; expected the state of a run")
    return json.loads(values["about"]), values["summaries"]
