"""External sorting: scores that outgrow memory become sorted runs on disk, merged into one `Ordered`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, cast

from calibrant.core.dispatch import chunks
from calibrant.core.ordered import Ordered
from calibrant.core.pool import Pool
from calibrant.core.summary import Summary
from calibrant.engines.merging import Merging, merge_pools, merge_windows, piece_of
from calibrant.engines.run_files import RunFiles, RunFolder, remove_runs
from calibrant.errors import SummaryError, shown
from calibrant.inputs.arrays import is_unit
from calibrant.progress import steps

MAX_MERGED = 64  # runs on disk, or parts in memory, that are merged at once
ENTRIES_WRITTEN = 1 << 20  # entries that are written at once


class SortedRuns:
    """The total of `Ordered` summaries that together do not fit into memory.

    Parts are collected until they have `memory` entries, which are then written to a folder as one sorted run. `total`
    merges the runs, window by window. Rows and events are whole numbers: the same parts give the same bits, whatever
    `memory` is, and whether anything was written or not.

    Parameters
    ----------
    memory
        Number of entries in memory, at a peak of some 60 bytes each, 140 with weights.
    folder
        A folder that is made when it is needed and stays, for `resumed`. Without it a temporary folder is used and
        removed with this object. The rows are there twice while the last merge runs: 32 bytes for each different score,
        and 16 more if it has weights.

    Notes
    -----
    The columns of the `total` are mapped from files. Where files in use can be removed (not on Windows), they can be
    used after the folder is gone.

    Examples
    --------
    >>> from calibrant import kuiper_test, summarize
    >>> runs = SortedRuns(memory=2)
    >>> for y, p in ([0, 1, 1], [0.2, 0.6, 0.7]), ([0, 1], [0.6, 0.9]):
    ...     runs.add(summarize(kuiper_test, y, p))
    >>> total = runs.total()
    >>> total, total.score.tolist(), total.count.tolist()
    (Ordered(n=5), [0.2, 0.6, 0.7, 0.9], [1, 2, 1, 1])
    """

    def __init__(self, *, memory: int, folder: Path | None = None) -> None:
        self.memory = memory
        self._folder = RunFolder(folder)
        self._like: Ordered | None = None  # of the kind and the type of scores that all parts must have
        self._runs: list[RunFiles] = []
        self._held: RunFiles | None = None  # what was in memory at the last manifest
        self._merging: Merging[Ordered] = Merging()
        self._pending: list[Ordered] = []  # not in it yet: many small parts are merged at once
        self._entries = 0

    def add(self, part: Ordered) -> None:
        """Take in the rows of one more part; refuse one that does not merge with those so far."""
        like = _like(part)
        self._like = like if self._like is None else _like(self._like + like)
        self._pending.append(part)
        self._entries += part.score.size
        if self._entries >= self.memory:
            self._hold(self._together())
            if 2 * self._entries > self.memory:  # pooling them made little room
                self._spill()
        elif len(self._pending) >= MAX_MERGED:
            self._merging.add(_merged(self._pending))
            self._pending = []
            self._entries = sum(held.score.size for _, held in self._merging.stack)

    def total(self) -> Ordered:
        """Return the summary of all parts; more may follow."""
        if not self._runs:
            return self._together() or Ordered.zero()
        self._spill()
        while len(self._runs) > MAX_MERGED:
            self._runs.sort(key=lambda run: run.size)  # what is merged twice should be small
            self._merge(min(MAX_MERGED, len(self._runs) - MAX_MERGED + 1))
        if len(self._runs) > 1:
            self._merge(len(self._runs))
        return self._ordered(self._runs[0].mapped())

    def manifest(self) -> dict[str, Any]:
        """Return plain values from which `resumed` continues; for a folder that is kept.

        What is in memory is written too, and stays in memory. The files that a manifest names stay until `settle` says
        that it is no longer needed.
        """
        before, part = self._held, self._together()
        self._hold(part)
        self._held = self._written(part) if part is not None and part.score.size else None
        self._folder.name(self._all_runs())
        self._folder.replace([before] if before else [])
        return {
            "kind": type(self._like).__name__ if self._like is not None else None,
            "dtype": self._like.dtype if self._like is not None else "",
            "next": self._folder.next,
            "runs": [run.plain() for run in self._runs],
            "held": self._held.plain() if self._held else None,
        }

    def settle(self, manifests: Iterable[Mapping[str, Any]]) -> None:
        """Remove what none of these manifests names; they are on disk, and no others are needed."""
        self._folder.settle(_named(manifests))

    @classmethod
    def resumed(
        cls, manifest: Mapping[str, Any], *, memory: int, folder: Path, beside: Iterable[Mapping[str, Any]] = ()
    ) -> Self:
        """Continue from a `manifest`; runs in the folder that neither it nor those `beside` it name are removed."""
        found = cls(memory=memory, folder=folder)
        held, named, number = manifest["held"], _named([manifest, *beside]), manifest["next"]
        found._runs = [RunFiles.read_back(folder, run) for run in manifest["runs"]]
        found._held = RunFiles.read_back(folder, held) if held is not None else None
        if manifest["kind"] is not None:
            kind = Summary.kinds[manifest["kind"]]
            if not issubclass(kind, Ordered):
                raise SummaryError(f"sorted runs are of Ordered summaries; the manifest names {kind.__name__}")
            found._like = kind.zero()
            if found._all_runs():
                found._like = kind(*found._all_runs()[0].read(0, 1), manifest["dtype"])
            found._hold(found._ordered(found._held.read(0, found._held.size)) if found._held else kind.zero())
        if type(number) is not int or any(int(name.removeprefix("run-")) >= number for name in named):
            raise SummaryError(f"the next of the runs {sorted(named)} cannot have the number {shown(number)}")
        found._folder.next = number
        found._folder.settle(named)
        remove_runs(folder, named)
        return found

    def _all_runs(self) -> list[RunFiles]:
        return [*self._runs, *([self._held] if self._held else [])]

    def _together(self) -> Ordered | None:
        """Return all that is in memory."""
        parts = [*(held for _, held in self._merging.stack), *self._pending]
        return _merged(parts) if parts else None

    def _hold(self, part: Ordered | None) -> None:
        """Make a part, or nothing, all that is in memory."""
        self._merging, self._pending = Merging(), []
        self._entries = part.score.size if part is not None else 0
        if part is not None:
            self._merging.add(part)

    def _spill(self) -> None:
        """Write what is in memory as a run."""
        part = self._together()
        if part is not None and part.score.size:
            self._runs.append(self._written(part))
        self._hold(None)

    def _written(self, part: Ordered) -> RunFiles:
        size, entry_bytes = part.score.size, 16 if is_unit(part.weight) else 24
        pieces = (piece_of(part.pool, piece) for piece in chunks(size, ENTRIES_WRITTEN))
        return self._folder.write(pieces, needed=entry_bytes * size)

    def _merge(self, many: int) -> None:
        """Replace the first runs by one."""
        runs, others = self._runs[:many], self._runs[many:]
        windows = _windows_with_progress(runs, self.memory)
        merged = self._folder.write(windows, needed=sum(run.nbytes for run in runs))
        self._runs = [merged, *others]
        self._folder.replace(runs)

    def _ordered(self, pool: Pool) -> Ordered:
        like = cast(Ordered, self._like)
        return type(like)(*pool, like.dtype)


def _named(manifests: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the names of all runs of manifests."""
    runs = (run for manifest in manifests for run in (*manifest["runs"], manifest["held"]) if run is not None)
    return {run["name"] for run in runs}


def _like(part: Ordered) -> Ordered:
    """Return a summary of one entry at most that merges with what this one merges with."""
    return type(part)(*piece_of(part.pool, slice(0, 1)), part.dtype)


def _merged(parts: Sequence[Ordered]) -> Ordered:
    """Return the sum of parts that are known to merge."""
    filled = [part for part in parts if part.score.size] or parts[:1]
    if len(filled) == 1:
        return filled[0]
    return type(filled[0])(*merge_pools([part.pool for part in filled]), filled[0].dtype)


def _windows_with_progress(runs: Sequence[RunFiles], memory: int) -> Iterator[Pool]:
    windows, taken = merge_windows(runs, memory), 0
    for _, stop in steps(sum(run.size for run in runs), size=memory, label="merging sorted rows"):
        while taken < stop:
            pool, more = next(windows)
            taken += more
            yield pool
