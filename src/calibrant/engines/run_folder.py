"""The folder in which sorted runs lie: temporary, or kept so that one can go on later."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from calibrant.core.pool import Pool
from calibrant.engines.run_files import COLUMNS, RunFiles, path_of, write_run
from calibrant.errors import CalibrantError, InputError


class RunFolder:
    """Where runs are written and removed.

    A temporary folder is made at the first run and removed by `close`, at the latest when Python ends. In a folder that
    is kept, runs stay as long as somebody may go on from a manifest that names them: until `settle`.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, *, keep: bool) -> None:
        self.keep = keep
        self.closed = False
        self.next = 0
        self._given = _writable(folder, keep=keep)
        self._made = self._given if keep else None
        self._removal: weakref.finalize[[Path], RunFolder] | None = None
        self._named: set[str] = set()  # runs of manifests that somebody may go on from
        self._replaced: list[RunFiles] = []

    @property
    def path(self) -> Path:
        """The folder; a temporary one is made now if there is none yet."""
        if self._made is None:
            self._made = Path(tempfile.mkdtemp(prefix="calibrant-", dir=self._given))
            self._removal = weakref.finalize(self, _remove, self._made)
        return self._made

    def write(self, pools: Iterable[Pool], *, needed: int, dtype: str, wide: bool) -> RunFiles:
        """Write a run that takes about `needed` bytes, or tell what is the matter with the folder."""
        with self._wary(needed):
            stem = self.path / f"run-{self.next:06d}"
            self.next += 1
            return write_run(stem, pools, dtype=dtype, wide=wide, durable=self.keep)

    def replace(self, runs: Sequence[RunFiles]) -> None:
        """Remove runs that are no longer needed, now or when no manifest names them any more."""
        self._replaced.extend(runs)
        kept = []
        for run in self._replaced:
            if run.stem.name in self._named:
                kept.append(run)
                continue
            with suppress(OSError):  # mapped, on a system that then keeps it
                run.remove()
        self._replaced = kept

    def name(self, runs: Sequence[RunFiles]) -> None:
        """Take note of the runs that a new manifest names."""
        self._named |= {run.stem.name for run in runs}

    def settle(self, names: Iterable[str]) -> None:
        """Take note that the manifests one may go on from name these runs alone."""
        self._named = set(names)
        self.replace([])

    def resume(self, names: Iterable[str], number: int) -> None:
        """Take note of the runs that manifests named, and remove all others."""
        self.settle(names)
        self.next = number
        _clear(self.path, self._named)

    def close(self) -> None:
        """Remove a temporary folder; nothing can be written afterwards."""
        self.closed = True
        if self._removal is not None:
            self._removal()

    def remove(self) -> None:
        """Remove the runs of a folder that is kept too, and the folder if nothing else is in it."""
        if self.keep:
            _clear(self.path, set())
            with suppress(OSError):
                self.path.rmdir()
        self.close()

    def _remedy(self) -> str:
        if self._given:
            return "Make room there"
        return "Make room there, or name a folder with more by the environment variable TMPDIR"

    @contextmanager
    def _wary(self, needed: int) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            folder = self._made or self._given or "a temporary folder"
            reason = problem.strerror or str(problem)
            with suppress(OSError):
                reason += f" ({shutil.disk_usage(folder).free:,} bytes are free)"
            self.close()
            raise CalibrantError(
                f"cannot write sorted rows to {folder}: {reason[:1].lower()}{reason[1:]}; up to {needed:,} bytes were "
                f"needed. {self._remedy()}"
            ) from problem


def _writable(folder: str | os.PathLike[str] | None, *, keep: bool) -> Path | None:
    """Return the folder, made if it is to be kept; refuse one that cannot be written to before there is any work."""
    if folder is None:
        if keep:
            raise InputError("keep=True needs a folder to keep the sorted rows in; name it with folder=")
        return None
    path = Path(folder)
    if keep:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise InputError(f"cannot make the folder {path}: {problem.strerror}; name another one (folder=)") from None
    if not path.is_dir():
        raise InputError(f"there is no folder {path} to write sorted rows to; make it first, or name another (folder=)")
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError(f"you may not write to the folder {path}; name another one (folder=)")
    return path


def _clear(folder: Path, named: set[str]) -> None:
    """Remove the files of runs that are not named, whole or not."""
    for column in COLUMNS:
        for path in folder.glob(path_of(Path("run-*"), column).name + "*"):
            if path.name.split(".")[0] not in named:
                path.unlink(missing_ok=True)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
