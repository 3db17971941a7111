"""A sorted run of entries on disk: one file per column, none for a column of equal values."""

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
from calibrant.errors import CalibrantError, SummaryError, shown
from calibrant.inputs.arrays import unit_weights

VALUES_COPIED = 1 << 20  # values that are converted and written at once


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

    def _repeated(self, size: int) -> NDArray[Any]:
        """Return an array of the one value, in the memory of one."""
        return np.broadcast_to(np.dtype(self.dtype).type(self.constant), (size,))


class ColumnFile:
    """A column that is written piece by piece; its file is made when a value differs from the first one."""

    def __init__(self, path: Path, dtype: str) -> None:
        self.path, self.dtype = path, dtype
        self.size = 0
        self._constant: Any = None
        self._stream: BufferedWriter | None = None

    def append(self, values: NDArray[Any]) -> None:
        """Write some more values."""
        if not values.size:
            return
        if self._stream is None and self._stays_constant(values):
            self._constant = values[0]
        else:
            if self._stream is None:
                self._stream = self.path.open("wb")
                self._write(np.broadcast_to(self._constant, (self.size,)))
            self._write(values)
        self.size += values.size

    def finish(self, *, durable: bool = False) -> Column:
        """Close the file, and return what is in it; `durable` waits until the disk has it."""
        if self._stream is None:
            return Column(self.size, self.dtype, self._constant.item() if self.size else 0)
        self._stream.flush()
        if durable:
            os.fsync(self._stream.fileno())
        self._stream.close()
        return Column(self.size, self.dtype)

    def discard(self) -> None:
        """Close and remove the file, whatever state it is in."""
        if self._stream is not None:
            with suppress(OSError):  # the disk may be full
                self._stream.close()
        self.path.unlink(missing_ok=True)

    def _stays_constant(self, values: NDArray[Any]) -> bool:
        first = self._constant if self.size else values[0]
        return values[0] == first and (values.strides == (0,) or bool((values == first).all()))

    def _write(self, values: NDArray[Any]) -> None:
        assert self._stream is not None
        for part in chunks(values.size, VALUES_COPIED):
            self._stream.write(np.ascontiguousarray(values[part], self.dtype).data)


COLUMNS = dict(zip(Pool._fields, ("<f8", "<f8", "<i8", "<i8"), strict=True))  # and the types of their values
RUN_NAME = re.compile(r"run-\d{6,}")


@dataclass(frozen=True)
class RunFiles:
    """Entries in the order of (score, weight), in the files `stem`.score, `stem`.weight, ... of a folder.

    A column all of whose values are equal, such as weights of 1 or single rows, has no file.
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

    def read(self, start: int, stop: int) -> Pool:
        """Return the entries from `start` to `stop`."""
        return _pool(*(column.read(path, start, stop) for path, column in self._files()))

    def mapped(self) -> Pool:
        """Return all entries as they lie on disk, read-only."""
        return _pool(*(column.mapped(path) for path, column in self._files()))

    def remove(self) -> None:
        """Remove the files; one that is mapped into memory stays readable there."""
        for path, _ in self._files():
            path.unlink(missing_ok=True)

    def plain(self) -> dict[str, Any]:
        """Return plain values from which `read_back` finds the run again."""
        return {"name": self.stem.name, "columns": {name: asdict(column) for name, column in self.columns.items()}}

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
            size = path.stat().st_size if path.is_file() else None
            if size != column.nbytes:
                problem = "is missing" if size is None else f"has {size:,} bytes"
                raise SummaryError(
                    f"the file {path} {problem}; expected {column.nbytes:,} bytes of sorted rows. "
                    "It was changed after it was written: start again without it"
                )
        return found

    def _check(self) -> None:
        """Refuse columns that no run has: entries differ in score or weight, so one of these columns has a file."""
        for name, column in self.columns.items():
            if type(column.size) is not int or column.size < 0 or column.size != self.size:
                raise SummaryError(f"the columns of a run must have one size; got {shown(column.size)} for {name}")
            if column.dtype != COLUMNS[name]:
                raise SummaryError(f"column {name} of a run cannot be of type {shown(column.dtype)}")
            if column.constant is not None and not _is_finite(column.constant):
                raise SummaryError(f"column {name} of a run must be a finite number; got {shown(column.constant)}")
        if self.size > 1 and all(self.columns[name].constant is not None for name in ("score", "weight")):
            raise SummaryError(f"a run of {self.size} entries must have different scores or weights")

    def _files(self) -> list[tuple[Path, Column]]:
        return [(_path_of(self.stem, name), self.columns[name]) for name in COLUMNS]


def _path_of(stem: Path, column: str) -> Path:
    return stem.with_name(f"{stem.name}.{column}")


def _pool(score: Any, weight: Any, rows: Any, events: Any) -> Pool:
    """Return the columns, weights of 1 in the form that verbs recognise."""
    unit = weight.strides == (0,) and weight.size and weight[0] == 1
    return Pool(score, unit_weights(weight.size) if unit else weight, rows, events)


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


class RunFolder:
    """Where runs are written and removed; the folder is made when the first run is written.

    A temporary folder is removed with this object. In a folder that is `kept`, runs stay while a manifest on disk may
    name them: until `settle`.
    """

    def __init__(self, kept: Path | None) -> None:
        self.kept = kept
        self.next = 0
        self._temporary: Path | None = None
        self._removal: weakref.finalize[..., RunFolder] | None = None
        self._named: set[str] = set()  # runs of manifests that a run may resume from
        self._replaced: list[RunFiles] = []

    def write(self, pools: Iterable[Pool], *, needed: int) -> RunFiles:
        """Write sorted entries that take about `needed` bytes, or say why not; then no file of them is left."""
        files: dict[str, ColumnFile] = {}
        with self._reporting(needed):
            stem = self._made() / f"run-{self.next:06d}"
            self.next += 1
            try:
                for name, dtype in COLUMNS.items():
                    files[name] = ColumnFile(_path_of(stem, name), dtype)
                for pool in pools:
                    for file, values in zip(files.values(), pool, strict=True):
                        file.append(values)
                durable = self.kept is not None
                return RunFiles(stem, {name: file.finish(durable=durable) for name, file in files.items()})
            except BaseException:
                for file in files.values():
                    file.discard()
                raise

    def replace(self, runs: Sequence[RunFiles]) -> None:
        """Remove runs that are no longer needed, as soon as no manifest names them."""
        self._replaced.extend(runs)
        for run in self._replaced:
            if run.stem.name not in self._named:
                with suppress(OSError):  # mapped, on a system that then keeps it
                    run.remove()
        self._replaced = [run for run in self._replaced if run.stem.name in self._named]

    def name(self, runs: Sequence[RunFiles]) -> None:
        """Keep the runs that a new manifest names."""
        self._named |= {run.stem.name for run in runs}

    def settle(self, names: Iterable[str]) -> None:
        """Keep only these runs, which the manifests on disk name."""
        self._named = set(names)
        self.replace([])

    def _made(self) -> Path:
        if self.kept is not None:
            self.kept.mkdir(parents=True, exist_ok=True)
            return self.kept
        if self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="calibrant-"))
            self._removal = weakref.finalize(self, shutil.rmtree, self._temporary, ignore_errors=True)
        return self._temporary

    @contextmanager
    def _reporting(self, needed: int) -> Iterator[None]:
        """Say what could not be written; a temporary folder is removed at once, so that its room is free again."""
        try:
            yield
        except OSError as problem:
            folder = self.kept or self._temporary or "a temporary folder"
            reason = problem.strerror or str(problem)
            with suppress(OSError):
                reason += f" ({shutil.disk_usage(folder).free:,} bytes are free)"
            if self._removal is not None:
                self._removal()
            elsewhere = "" if self.kept else ", or name a folder with more by the environment variable TMPDIR"
            raise CalibrantError(
                f"cannot write sorted rows to {folder}: {reason[:1].lower()}{reason[1:]}; up to {needed:,} bytes were "
                f"needed. Make room there{elsewhere}"
            ) from problem


def remove_runs(folder: Path, named: Iterable[str] = ()) -> None:
    """Remove the runs of a folder and of those in it that are not named, and then the folders that are empty."""
    for place in (*sorted(folder.rglob("*/"), reverse=True), folder):
        for column in COLUMNS:
            for path in place.glob(f"run-*.{column}"):
                if path.name.split(".")[0] not in named:
                    path.unlink(missing_ok=True)
        with suppress(OSError):  # it contains other files, or does not exist
            place.rmdir()
