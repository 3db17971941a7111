"""The state of a pass over files on disk, from which a run that was interrupted or killed resumes."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

import numpy as np

from calibrant.core import summary as codec
from calibrant.errors import InputError, SummaryError, shown
from calibrant.files.found import FileStamp, FoundFile
from calibrant.files.reading import Position
from calibrant.files.values import ColumnType
from calibrant.report.files import replace_bytes

FORMAT = 3
NAME = "Checkpoint"
ROWS_FOLDER = re.compile(r"[^/\\\0]+\.[0-9a-f]{8}\.rows")  # beside the checkpoint, for rows that are sorted on disk

RunDescription = Mapping[str, str]
"""What is measured, in words that are the same in every process."""


class Kept(NamedTuple):
    """A total: of all rows of the first `files` files and, for the latest total, of some rows of the next one."""

    files: int
    done: int  # rows in all
    state: bytes

    def to_bytes(self) -> bytes:
        """Return the state, which is nested in the bytes of the checkpoint."""
        return self.state


@dataclass(frozen=True)
class Checkpoint:
    """The totals of a run, and what was asked of which files."""

    asked: RunDescription
    files: tuple[FileStamp, ...]  # as they were when they were opened; the last one is being read
    rows: int  # of the last file that were read
    folder: str  # beside the checkpoint, in which rows are sorted; every run has its own
    known: Mapping[str, ColumnType]
    now: Kept  # the total of all rows so far
    whole: Kept  # a total of whole files, from which a run resumes after the last one was repaired

    def write(self, path: Path) -> None:
        """Write the checkpoint; an earlier one is replaced when the new one is on disk."""
        about = {
            "format": FORMAT,
            **{name: getattr(self, name) for name in ("asked", "files", "rows", "folder", "known")},
            **{name: getattr(self, name)[:2] for name in ("now", "whole")},
        }
        replace_bytes(path, codec.encode(NAME, {"about": json.dumps(about), "states": (self.now, self.whole)}))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what `write` wrote; every name and number in it is checked before anything is done with it."""
        refuse_special_file(path)
        try:
            name, values = codec.decode(path.read_bytes())
            about = json.loads(values["about"])
            if name != NAME or about.pop("format") != FORMAT:
                raise SummaryError("it was written by another calibrant")
            for key, state in zip(("now", "whole"), values["states"], strict=True):
                about[key] = Kept(about[key][0], about[key][1], state)
            about["files"] = tuple(FileStamp(*stamp) for stamp in about["files"])
            about["known"] = {column: ColumnType(*kind) for column, kind in about["known"].items()}
            found = cls(**about)
            found._check()
            return found
        except (OSError, KeyError, TypeError, ValueError, AttributeError) as problem:
            why = problem.strerror if isinstance(problem, OSError) else problem
            raise InputError(
                f"{path} cannot be read as a checkpoint: {why}. If it is one, delete it to start again; else name "
                "another file"
            ) from problem

    def _check(self) -> None:
        """Refuse names and numbers that no run has written."""
        now, whole = self.now, self.whole
        numbers = (self.rows, now.files, now.done, whole.files, whole.done)
        if any(type(number) is not int or number < 0 for number in numbers):
            raise SummaryError(f"its counts of files and rows must be whole numbers, 0 or more; got {shown(numbers)}")
        if now.files + 1 != len(self.files) or whole.files > now.files:
            raise SummaryError(f"it names {len(self.files)} files, and totals of {now.files} and {whole.files} of them")
        if whole.done > now.done or self.rows > now.done:
            raise SummaryError(f"it has {now.done} rows in all, {whole.done} of whole files, {self.rows} of the last")
        if not isinstance(self.folder, str) or not ROWS_FOLDER.fullmatch(self.folder):
            raise SummaryError(f"it names the folder {shown(self.folder)}, which is not a folder of sorted rows")
        if not all(isinstance(text, str) for text in (*self.asked, *self.asked.values())):
            raise SummaryError("what it was asked for is not text")

    @property
    def position(self) -> Position:
        """Where the run resumes."""
        return Position(self.now.files, self.rows)

    def fitting(self, path: Path, asked: RunDescription, files: Sequence[FoundFile]) -> Checkpoint:
        """Return the checkpoint to resume from, if the same is asked of the same files.

        Files that were not read may have changed. If the one that was being read has, the total of whole files counts.
        """
        for name in dict.fromkeys((*asked, *self.asked)):
            then, now = self.asked.get(name, "nothing"), asked.get(name, "nothing")
            if then != now:
                raise _does_not_fit(path, f"{name} was {_short(then)}, and is {_short(now)} now")
        there = [FileStamp.of(found.path) if found.path.exists() else None for found in files[: len(self.files)]]
        stamps = self.files[: self.whole.files]
        for number, stamp in enumerate(stamps):
            if number >= len(there) or there[number] != stamp:
                raise _does_not_fit(path, _changed(stamp, there[number] if number < len(there) else None))
        if tuple(there) == self.files:
            return self
        read = {stamp.path for stamp in stamps}
        known = {column: holds for column, holds in self.known.items() if FileStamp.path_of(holds.file) in read}
        return replace(self, files=stamps, rows=0, known=known, now=self.whole)


def described(value: Any) -> str:
    """Return an option as text that is the same in every process.

    >>> described({"bins": 15, "rng": np.random.default_rng(0)})[:40]
    "{bins: 15, rng: Generator {'bit_generato"
    """
    if isinstance(value, np.random.Generator):
        return f"Generator {value.bit_generator.state}"
    if isinstance(value, np.ndarray):
        return f"array {described(value.tolist())}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {described(entry)}" for name, entry in value.items()) + "}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return f"{type(value).__name__} {described(fields)}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(described, value)) + "]"
    if callable(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__name__)}"
    return repr(value)


def refuse_special_file(path: Path) -> None:
    """Refuse a folder, a pipe or a device, which would be read for ever or cannot be replaced."""
    if path.exists() and not path.is_file():
        raise InputError(f"the checkpoint {path} is not a regular file; name another file")


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Hold the lock of a checkpoint, which the operating system releases with the process; refuse a second run.

    Systems without `fcntl` (Windows), and file systems without locks, have none.
    """
    lock = path.with_name(f"{path.name}.lock")
    stream = _locked_file(lock, path)
    try:
        yield
    finally:
        if stream is not None:
            with suppress(OSError):
                lock.unlink()
            stream.close()


def _locked_file(lock: Path, path: Path) -> IO[bytes] | None:
    try:
        import fcntl
    except ImportError:
        return None
    while True:
        try:
            stream = lock.open("ab")
        except OSError as problem:
            raise InputError(f"cannot write beside the checkpoint {path}: {problem.strerror}; name another") from None
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if lock.exists() and os.path.samestat(os.fstat(stream.fileno()), lock.stat()):
                return stream
            stream.close()  # the run before this one has just removed it
        except OSError as problem:
            stream.close()
            if problem.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise InputError(
                    f"another run is using the checkpoint {path}; wait until it ends, or name another checkpoint"
                ) from None
            return None


def _does_not_fit(path: Path, why: str) -> InputError:
    return InputError(
        f"the checkpoint {path} belongs to another run: {why}. Delete it to start again, or repeat that run"
    )


def _changed(stamp: FileStamp, there: FileStamp | None) -> str:
    if there is None or there.path != stamp.path:
        instead = f", and {there.path} is in its place" if there is not None else ""
        return f"it has read {stamp.path}{instead}"
    return f"{stamp.path} has changed since it was read"


def _short(text: str) -> str:
    return text if len(text) <= 120 else shown(text)
