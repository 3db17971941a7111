"""External sorting: more different scores than memory holds become sorted runs on disk, merged into one `Ordered`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, cast

from calibrant.core.dispatch import chunks
from calibrant.core.ordered import Ordered
from calibrant.core.pool import Pool
from calibrant.core.summary import Summary
from calibrant.engines.merging import Merging, merge_pools, merge_windows, piece_of
from calibrant.engines.run_files import RunFiles, RunFolder
from calibrant.errors import CalibrantError, InputError, SummaryError, shown
from calibrant.inputs.arrays import is_unit
from calibrant.inputs.options import check_count
from calibrant.progress import steps

MEMORY = 1 << 22  # entries
FAN = 64  # runs on disk, or parts in memory, that are merged at once
PIECE = 1 << 20  # entries that are written at once
FORMAT = 1
NOTHING: Mapping[str, Any] = {"format": FORMAT, "kind": None, "dtype": "", "next": 0, "runs": [], "held": None}
"""The manifest of runs that are yet to come."""


class SortedRuns:
    """The total of `Ordered` summaries that together do not fit into memory; a context manager.

    Parts are collected until they have `memory` entries, which are then written to a folder as one sorted run. `total`
    merges the runs, window by window. Rows and events are whole numbers: the same parts give the same bits, whatever
    `memory` is, and whether anything was written or not.

    Parameters
    ----------
    folder
        Where a temporary folder is made when it is needed, the system's place for such folders if not given. It is
        removed at the end, also after an error or an interrupt. The rows are there twice while the last merge runs: 18
        bytes for each different score of 64 bits, and 16 more if it has weights.
    memory
        Number of entries in memory, at a peak of some 60 bytes each, 140 with weights.
    keep
        Use `folder` itself, made if it is not there, and leave the runs in it, for `resumed`.

    Notes
    -----
    The columns of the `total` are mapped from files. Where files in use can be removed (not on Windows) it can be
    used after the end.

    Examples
    --------
    >>> from calibrant import kuiper_test, summarize
    >>> batches = ([0, 1, 1], [0.2, 0.6, 0.7]), ([0, 1], [0.6, 0.9])
    >>> with SortedRuns(memory=2) as runs:
    ...     for y, p in batches:
    ...         runs.add(summarize(kuiper_test, y, p))
    ...     total = runs.total()
    ...     total, total.score.tolist(), total.count.tolist()
    (Ordered(n=5), [0.2, 0.6, 0.7, 0.9], [1, 2, 1, 1])
    """

    def __init__(
        self, folder: str | os.PathLike[str] | None = None, *, memory: int = MEMORY, keep: bool = False
    ) -> None:
        self.memory = check_count("memory", memory)
        self._folder = RunFolder(folder, keep=keep)
        self._like: Ordered | None = None  # of the kind and the type of scores that all parts must have
        self._runs: list[RunFiles] = []
        self._held: RunFiles | None = None  # what was in memory at the last manifest
        self._merging: Merging[Ordered] = Merging()
        self._pending: list[Ordered] = []  # not in it yet: many small parts are merged at once
        self._entries = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def spilled(self) -> int:
        """Bytes on disk, 0 if everything is in memory."""
        return sum(run.nbytes for run in self._runs)

    def close(self) -> None:
        """Forget everything, and remove a temporary folder."""
        self._hold(None)
        self._runs = []
        self._folder.close()

    def remove(self) -> None:
        """Forget everything, and remove the runs of a folder that is kept too."""
        self._folder.remove()
        self.close()

    def add(self, part: Ordered) -> None:
        """Take in the rows of one more part."""
        self._check_open()
        self._check(part)
        self._pending.append(part)
        self._entries += part.score.size
        if self._entries >= self.memory:
            self._hold(self._together())
            if 2 * self._entries > self.memory:  # pooling them made little room
                self._spill()
        elif len(self._pending) >= FAN:
            self._merging.add(_merged(self._pending))
            self._pending = []
            self._entries = sum(held.score.size for _, held in self._merging.stack)

    def total(self) -> Ordered:
        """Return the summary of all parts; more may follow."""
        self._check_open()
        if not self._runs:
            return self._together() or Ordered.zero()
        self._spill()
        while len(self._runs) > FAN:
            self._runs.sort(key=lambda run: run.size)  # what is merged twice should be small
            self._merge(min(FAN, len(self._runs) - FAN + 1), wide=False)
        if len(self._runs) > 1 or not self._runs[0].is_wide:
            self._merge(len(self._runs), wide=True)
        return self._ordered(self._runs[0].mapped())

    def manifest(self) -> dict[str, Any]:
        """Return plain values from which `resumed` continues; for a folder that is kept.

        What is in memory is written too, and stays in memory. The files that a manifest names stay until `settle` says
        that it is no longer needed.
        """
        self._check_open()
        if not self._folder.keep:
            raise InputError("the folder of these runs is temporary; name one, with keep=True, to resume later")
        before, part = self._held, self._together()
        self._hold(part)
        self._held = self._written(part, is_copy=True) if part is not None and part.score.size else None
        self._folder.name(self._all_runs())
        self._folder.replace([before] if before else [])
        return {
            "format": FORMAT,
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
        cls,
        folder: str | os.PathLike[str],
        manifest: Mapping[str, Any],
        *,
        memory: int = MEMORY,
        beside: Iterable[Mapping[str, Any]] = (),
    ) -> Self:
        """Continue from a `manifest` with the runs that were kept in a folder.

        Runs that neither it nor the manifests `beside` it name are removed.
        """
        found = cls(folder, memory=memory, keep=True)
        try:
            found._read_back(manifest, beside)
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            if isinstance(problem, CalibrantError):
                raise
            raise SummaryError(f"this is not a manifest of sorted runs: {shown(manifest)}") from problem
        return found

    def _read_back(self, manifest: Mapping[str, Any], beside: Iterable[Mapping[str, Any]]) -> None:
        if manifest["format"] != FORMAT:
            raise SummaryError(
                f"the manifest has format {shown(manifest['format'])}; this calibrant reads {FORMAT}. "
                "Continue with the calibrant that wrote it, or start again"
            )
        path, held = self._folder.path, manifest["held"]
        self._runs = [RunFiles.read_back(path, run) for run in manifest["runs"]]
        self._held = RunFiles.read_back(path, held) if held is not None else None
        if manifest["kind"] is not None:
            kind = Summary.kinds[manifest["kind"]]
            if not issubclass(kind, Ordered):
                raise SummaryError(f"sorted runs are of Ordered summaries; the manifest names {kind.__name__}")
            self._like = _like(kind.zero())
            if self._all_runs():
                self._like = kind(*self._all_runs()[0].read(0, 1), manifest["dtype"])
            self._hold(self._ordered(self._held.read(0, self._held.size)) if self._held else kind.zero())
        named, number = _named([manifest, *beside]), manifest["next"]
        if type(number) is not int or any(int(name.removeprefix("run-")) >= number for name in named):
            raise SummaryError(f"the next of the runs {sorted(named)} cannot have the number {shown(number)}")
        self._folder.resume(named, number)

    def _check_open(self) -> None:
        if self._folder.closed:
            raise InputError("these sorted runs are closed and their rows are gone; add the parts to new ones")

    def _check(self, part: Ordered) -> None:
        """Refuse a part that does not merge with those so far, with the error of their sum."""
        if not isinstance(part, Ordered):
            raise SummaryError(f"sorted runs are of Ordered summaries; got {type(part).__name__}")
        if part.count.dtype.kind not in "iu" or part.events.dtype.kind not in "iu":
            raise SummaryError(
                "sorted runs hold rows, with whole numbers of events; these entries have fractions of events, as a "
                "summary that was pooled into bins has. Add the rows themselves"
            )
        like = _like(part)
        if self._like is not None:
            like = _like(self._like + like)
        self._like = like

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

    def _written(self, part: Ordered, *, is_copy: bool = False) -> RunFiles:
        size, each = part.score.size, 9 if is_unit(part.weight) else 17
        pieces = (piece_of(part.pool, piece) for piece in chunks(size, PIECE))
        return self._folder.write(pieces, needed=each * size, dtype=part.dtype, wide=False, is_copy=is_copy)

    def _merge(self, many: int, *, wide: bool) -> None:
        """Replace the first runs by one."""
        runs, others = self._runs[:many], self._runs[many:]
        needed = sum(run.nbytes - run.columns["score"].nbytes + 8 * run.size for run in runs)
        merged = self._folder.write(
            _reported(runs, self.memory), needed=needed, dtype=cast(Ordered, self._like).dtype, wide=wide
        )
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


def _reported(runs: Sequence[RunFiles], memory: int) -> Iterator[Pool]:
    """Merge runs, showing progress."""
    windows, taken = merge_windows(runs, memory), 0
    for _, stop in steps(sum(run.size for run in runs), size=memory, label="merging sorted rows"):
        while taken < stop:
            pool, more = next(windows)
            taken += more
            yield pool
