"""A sorted run of entries on disk: one file per column, no larger than its values need."""

from __future__ import annotations

import math
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from io import BufferedWriter
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import chunks
from calibrant.core.pool import Pool
from calibrant.errors import CalibrantError, InputError, SummaryError, shown
from calibrant.inputs.arrays import unit_weights

WHOLE = ("<i1", "<i2", "<i4", "<i8")
REAL = ("<f8",)
SINGLE = ("<f4", "<f8")

COPIED = 1 << 20  # values at a time


@dataclass(frozen=True)
class Column:
    """A column on disk: `size` values of a type, or one value that all of them have."""

    size: int
    dtype: str
    constant: float | None = None

    @property
    def nbytes(self) -> int:
        """Bytes on disk."""
        return 0 if self.constant is not None else self.size * np.dtype(self.dtype).itemsize

    def read(self, path: Path, start: int, stop: int) -> NDArray[Any]:
        """Return some of the values."""
        if self.constant is not None:
            return self._repeated(stop - start)
        kind = np.dtype(self.dtype)
        return np.fromfile(path, kind, stop - start, offset=start * kind.itemsize)

    def mapped(self, path: Path) -> NDArray[Any]:
        """Return the values as they lie on disk, read-only."""
        if self.constant is not None:
            return self._repeated(self.size)
        return np.memmap(path, self.dtype, mode="r", shape=(self.size,))

    def plain(self) -> dict[str, Any]:
        """Return the fields as plain values, which `Column(**values)` reads back."""
        return asdict(self)

    def _repeated(self, size: int) -> NDArray[Any]:
        """Return an array of the one value, in the memory of one."""
        return np.broadcast_to(np.dtype(self.dtype).type(self.constant), (size,))


class ColumnFile:
    """A column that is written piece by piece; its file is made when a value differs from the first one.

    Values are written in the first of `types` that holds all of them so far; what was written in a narrower type is
    written again. A type must hold the squares of whole numbers too, so that two of them can be multiplied without a
    thought of their type. NumPy sums them in 64 bits.
    """

    def __init__(self, path: Path, types: tuple[str, ...]) -> None:
        self.path, self.types = path, types
        self.size = 0
        self._constant: Any = None
        self._rung = 0
        self._stream: BufferedWriter | None = None

    def append(self, values: NDArray[Any]) -> None:
        """Write some more values."""
        if not values.size:
            return
        if self._stream is None:
            if self._stays_constant(values):
                self.size += values.size
                return
            self._begin()
        self._widen(values)
        for part in chunks(values.size, COPIED):
            self._write(values[part])
        self.size += values.size

    def finish(self, *, durable: bool = False) -> Column:
        """Close the file, and return what is in it; `durable` waits until the disk has it."""
        if self._stream is None:
            return Column(self.size, self.types[-1], self._constant.item() if self.size else 0)
        self._stream.flush()
        if durable:
            os.fsync(self._stream.fileno())
        self._stream.close()
        return Column(self.size, self.types[self._rung])

    def discard(self) -> None:
        """Close and remove the file, whatever state it is in."""
        if self._stream is not None:
            with suppress(OSError):  # the disk may be full
                self._stream.close()
        for path in (self.path, self._former):
            path.unlink(missing_ok=True)

    @property
    def _former(self) -> Path:
        return self.path.with_name(self.path.name + ".narrow")

    def _stays_constant(self, values: NDArray[Any]) -> bool:
        first = self._constant if self.size else values[0]
        if values[0] != first or not (values.strides == (0,) or (values == first).all()):
            return False
        self._constant = first
        return True

    def _begin(self) -> None:
        """Make the file, and write the value that all had so far."""
        if self.size:
            self._widen(np.array([self._constant]))
        self._stream = self.path.open("wb")
        for part in chunks(self.size, COPIED):
            self._write(np.full(part.stop - part.start, self._constant))

    def _widen(self, values: NDArray[Any]) -> None:
        """Choose the first type that holds these values, and convert what was written."""
        former, last = self._rung, len(self.types) - 1
        while self._rung < last and not _suits(self.types[self._rung], values):
            self._rung += 1
        if self._rung == former or self._stream is None:
            return
        self._stream.close()
        self.path.replace(self._former)
        self._stream = self.path.open("wb")
        for part in self._read_again(self.types[former]):
            self._write(part)
        self._former.unlink()

    def _read_again(self, dtype: str) -> Iterator[NDArray[Any]]:
        written = Column(self.size, dtype)
        for part in chunks(self.size, COPIED):
            yield written.read(self._former, part.start, part.stop)

    def _write(self, values: NDArray[Any]) -> None:
        assert self._stream is not None
        self._stream.write(np.ascontiguousarray(values, self.types[self._rung]).data)


def _suits(dtype: str, values: NDArray[Any]) -> bool:
    """Tell whether a type holds these values exactly, and the squares of whole numbers."""
    kind = np.dtype(dtype)
    if kind.kind == "i":
        return max(int(values.max()), -int(values.min())) ** 2 <= np.iinfo(kind).max
    with np.errstate(over="ignore"):
        return bool((values.astype(kind) == values).all())


COLUMNS = Pool._fields
RUN_NAME = re.compile(r"run-\d{6,}")


@dataclass(frozen=True)
class RunFiles:
    """Entries in the order of (score, weight), in the files `stem`.score, `stem`.weight, ... of a folder.

    A column all of whose values are equal, such as weights of 1 or single rows, has no file. Scores that had 32 bits or
    less are written as such, unless `is_wide`.
    """

    stem: Path
    columns: Mapping[str, Column]

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.columns["score"].size

    @property
    def nbytes(self) -> int:
        """Bytes on disk."""
        return sum(column.nbytes for column in self.columns.values())

    @property
    def is_wide(self) -> bool:
        """Whether the scores are written in the 64 bits in which verbs read them."""
        return self.columns["score"].dtype == REAL[-1]

    def read(self, start: int, stop: int) -> Pool:
        """Return the entries from `start` to `stop`."""
        score, *others = (column.read(path, start, stop) for path, column in self._files())
        return _pool(score.astype(np.float64, copy=False), *others)

    def mapped(self) -> Pool:
        """Return all entries as they lie on disk, read-only."""
        return _pool(*(column.mapped(path) for path, column in self._files()))

    def remove(self) -> None:
        """Remove the files; one that is mapped into memory stays readable there."""
        for path, _ in self._files():
            path.unlink(missing_ok=True)

    def plain(self) -> dict[str, Any]:
        """Return plain values from which `read_back` finds the run again."""
        return {"name": self.stem.name, "columns": {name: column.plain() for name, column in self.columns.items()}}

    @classmethod
    def read_back(cls, folder: Path, plain: Mapping[str, Any]) -> Self:
        """Find the files of a run again, and refuse names and numbers that do not fit the files."""
        if not isinstance(plain["name"], str) or not RUN_NAME.fullmatch(plain["name"]):
            raise SummaryError(f"a run of sorted rows is called run-000000 and so on; got {shown(plain['name'])}")
        found = cls(folder / plain["name"], {name: Column(**plain["columns"][name]) for name in COLUMNS})
        found._check()
        for path, column in found._files():
            if not column.nbytes:
                continue
            there = path.stat().st_size if path.is_file() else None
            if there != column.nbytes:
                seen = "is missing" if there is None else f"has {there:,} bytes"
                raise SummaryError(
                    f"the file {path} {seen}; expected {column.nbytes:,} bytes of sorted rows. "
                    "It was changed after it was written: start again without it"
                )
        return found

    def _check(self) -> None:
        """Refuse columns that no run has: entries differ in score or weight, so one of these columns has a file."""
        for name, column in self.columns.items():
            if type(column.size) is not int or column.size < 0 or column.size != self.size:
                raise SummaryError(f"the columns of a run must have one size; got {shown(column.size)} for {name}")
            if column.dtype not in ((*WHOLE, *REAL) if name in ("rows", "events") else SINGLE):
                raise SummaryError(f"column {name} of a run cannot be of type {shown(column.dtype)}")
            if column.constant is not None and not _is_finite(column.constant):
                raise SummaryError(f"column {name} of a run must be a finite number; got {shown(column.constant)}")
        if self.size > 1 and all(self.columns[name].constant is not None for name in ("score", "weight")):
            raise SummaryError(f"a run of {self.size} entries must have different scores or weights")

    def _files(self) -> list[tuple[Path, Column]]:
        return [(path_of(self.stem, name), self.columns[name]) for name in COLUMNS]


def write_run(stem: Path, pools: Iterable[Pool], *, dtype: str, wide: bool, durable: bool) -> RunFiles:
    """Write sorted entries piece by piece; if that fails, no file is left."""
    scores = REAL if wide or np.dtype(dtype).itemsize > 4 else SINGLE
    types = dict(zip(COLUMNS, (scores, REAL, WHOLE, WHOLE), strict=True))
    files = {name: ColumnFile(path_of(stem, name), types[name]) for name in COLUMNS}
    try:
        for pool in pools:
            for file, values in zip(files.values(), pool, strict=True):
                file.append(values)
        return RunFiles(stem, {name: file.finish(durable=durable) for name, file in files.items()})
    except BaseException:
        for file in files.values():
            file.discard()
        raise


def path_of(stem: Path, column: str) -> Path:
    """Return the file of a column."""
    return stem.with_name(f"{stem.name}.{column}")


def _pool(score: Any, weight: Any, rows: Any, events: Any) -> Pool:
    """Return the columns, weights of 1 in the form that verbs recognise."""
    unit = weight.strides == (0,) and weight.size and weight[0] == 1
    return Pool(score, unit_weights(weight.size) if unit else weight, rows, events)


class RunFolder:
    """Where runs are written and removed.

    A temporary folder is made at the first run and removed by `close`, at the latest when Python ends. In a folder that
    is kept, runs stay while a manifest on disk may name them: until `settle`.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, *, keep: bool) -> None:
        self.keep = keep
        self.closed = False
        self.next = 0
        self._given = _writable(folder, keep=keep)
        self._made = self._given if keep else None
        self._removal: weakref.finalize[[Path], RunFolder] | None = None
        self._named: set[str] = set()  # runs of manifests that a run may resume from
        self._replaced: list[RunFiles] = []

    @property
    def path(self) -> Path:
        """The folder; a temporary one is made when it is first asked for."""
        if self._made is None:
            self._made = Path(tempfile.mkdtemp(prefix="calibrant-", dir=self._given))
            self._removal = weakref.finalize(self, _remove, self._made)
        return self._made

    def write(self, pools: Iterable[Pool], *, needed: int, dtype: str, wide: bool, is_copy: bool = False) -> RunFiles:
        """Write a run that takes about `needed` bytes, or say why it cannot be written.

        Then the rows are lost and the folder is closed, unless this `is_copy` of rows that stay in memory.
        """
        with self._reporting(needed, is_copy):
            stem = self.path / f"run-{self.next:06d}"
            self.next += 1
            return write_run(stem, pools, dtype=dtype, wide=wide, durable=self.keep)

    def replace(self, runs: Sequence[RunFiles]) -> None:
        """Remove runs that are no longer needed, as soon as no manifest names them."""
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
        """Keep the runs that a new manifest names."""
        self._named |= {run.stem.name for run in runs}

    def settle(self, names: Iterable[str]) -> None:
        """Keep only these runs, which the manifests on disk name."""
        self._named = set(names)
        self.replace([])

    def resume(self, names: Iterable[str], number: int) -> None:
        """Keep the runs that manifests name, and remove all others."""
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
            remove_runs(self.path)
        self.close()

    def _remedy(self) -> str:
        if self._given:
            return "Make room there"
        return "Make room there, or name a folder with more by the environment variable TMPDIR"

    @contextmanager
    def _reporting(self, needed: int, is_copy: bool) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            folder = self._made or self._given or "a temporary folder"
            reason = problem.strerror or str(problem)
            with suppress(OSError):
                reason += f" ({shutil.disk_usage(folder).free:,} bytes are free)"
            if not is_copy:
                self.close()
            raise CalibrantError(
                f"cannot write sorted rows to {folder}: {reason[:1].lower()}{reason[1:]}; up to {needed:,} bytes were "
                f"needed. {self._remedy()}"
            ) from problem


def _writable(folder: str | os.PathLike[str] | None, *, keep: bool) -> Path | None:
    """Return the folder, made if it is to be kept; refuse one that cannot be written to before any work is done."""
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
        raise InputError(f"you do not have permission to write to the folder {path}; name another one (folder=)")
    return path


def remove_runs(folder: Path) -> None:
    """Remove the runs of a folder and of those in it, and the folders if nothing else is in them."""
    for path in (*sorted(folder.rglob("*/"), reverse=True), folder):
        _clear(path, set())
        with suppress(OSError):  # it holds other files, or is gone
            path.rmdir()


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _clear(folder: Path, named: set[str]) -> None:
    """Remove the files of runs that are not named, incomplete ones too."""
    for column in COLUMNS:
        for path in folder.glob(path_of(Path("run-*"), column).name + "*"):
            if path.name.split(".")[0] not in named:
                path.unlink(missing_ok=True)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
