"""How far a pass over files is, on disk, so that a run that was killed goes on where it was."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from calibrant.core import summary as codec
from calibrant.errors import CalibrantError, InputError, SummaryError, shown
from calibrant.files.found import Found
from calibrant.files.holding import Holds
from calibrant.files.reading import Position
from calibrant.files.stamp import Stamp
from calibrant.report.files import replace_bytes

FORMAT = 2
NAME = "Checkpoint"

Asked = Mapping[str, str]
"""What is measured, in words that are the same in every process."""


class Kept(NamedTuple):
    """The total of all rows of so many files and, of a checkpoint's own state, of some rows of the next one."""

    files: int
    done: int  # rows in all
    state: bytes


class Start(NamedTuple):
    """From where a run goes on."""

    position: Position
    done: int
    state: bytes
    known: Mapping[str, Holds]
    whole: Kept
    files: tuple[Stamp, ...]
    folder: str


@dataclass(frozen=True)
class Checkpoint:
    """The total of a run, and what it is the total of.

    Attributes
    ----------
    asked
        What is measured of which columns, in words.
    files
        All files so far, as they were when they were opened; the last one is being read.
    rows
        Rows that were read of the last file.
    folder
        The name of the folder beside the checkpoint in which rows are sorted: every run has one of its own.
    known
        What the columns hold.
    now, whole
        The total of all rows so far, and one of whole files: whoever repairs a file goes on from the latter.
    """

    asked: Asked
    files: tuple[Stamp, ...]
    rows: int
    folder: str
    known: Mapping[str, Holds]
    now: Kept
    whole: Kept

    def write(self, path: Path) -> None:
        """Write it down; what was there is replaced when it is on disk."""
        about = {
            "format": FORMAT,
            **{name: getattr(self, name) for name in ("asked", "files", "rows", "folder", "known")},
            **{name: getattr(self, name)[:2] for name in ("now", "whole")},
        }
        states = (_Bytes(self.now.state), _Bytes(self.whole.state))
        try:
            replace_bytes(path, codec.encode(NAME, {"about": json.dumps(about), "states": states}))
        except CalibrantError as problem:
            kept = "The one before it is still there. " if path.exists() else ""
            raise CalibrantError(
                f"the checkpoint was not kept: {problem}. {kept}Make room or name another place, and run the same again"
            ) from problem

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what `write` wrote."""
        try:
            name, values = codec.decode(path.read_bytes())
            about = json.loads(values["about"])
            if name != NAME or about.pop("format") != FORMAT:
                raise SummaryError("it was written by another calibrant")
            for key, state in zip(("now", "whole"), values["states"], strict=True):
                about[key] = Kept(about[key][0], about[key][1], state)
            if not Path(about["folder"]).name:
                raise SummaryError("it names no folder")
            about["files"] = tuple(Stamp(*stamp) for stamp in about["files"])
            about["known"] = {column: Holds(*holds) for column, holds in about["known"].items()}
            return cls(**about)
        except (OSError, KeyError, TypeError, ValueError, AttributeError) as problem:
            why = problem.strerror if isinstance(problem, OSError) else problem
            raise InputError(
                f"{path} cannot be read as a checkpoint: {why}. If it is one, delete it to start again; else name "
                "another file"
            ) from problem

    def fitting(self, path: Path, asked: Asked, files: Sequence[Found]) -> Start:
        """Return from where to go on, if the same is asked of the same files; those not yet read may have changed."""
        for name in dict.fromkeys((*asked, *self.asked)):
            then, now = self.asked.get(name, "nothing"), asked.get(name, "nothing")
            if then != now:
                raise _does_not_fit(path, f"{name} was {_short(then)}, and is {_short(now)} now")
        there = [Stamp.of(found.path) if found.path.exists() else None for found in files[: len(self.files)]]
        for number, stamp in enumerate(self.files[: self.whole.files]):
            if number >= len(there) or there[number] != stamp:
                raise _does_not_fit(path, _changed(stamp, there[number] if number < len(there) else None))
        if tuple(there) == self.files:
            position, kept, known, stamps = Position(self.now.files, self.rows), self.now, self.known, self.files
        else:
            stamps = self.files[: self.whole.files]
            read = {stamp.path for stamp in stamps}
            known = {column: holds for column, holds in self.known.items() if Stamp.path_of(holds.file) in read}
            position, kept = Position(self.whole.files), self.whole
        return Start(position, kept.done, kept.state, known, self.whole, stamps, Path(self.folder).name)


@dataclass(frozen=True)
class _Bytes:
    """Bytes that travel inside others."""

    content: bytes

    def to_bytes(self) -> bytes:
        return self.content


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


def _does_not_fit(path: Path, why: str) -> InputError:
    return InputError(
        f"the checkpoint {path} is of another run: {why}. Delete it to start again, or run again what it is of"
    )


def _changed(stamp: Stamp, there: Stamp | None) -> str:
    if there is None or there.path != stamp.path:
        instead = f", and {there.path} is in its place" if there is not None else ""
        return f"it has read {stamp.path}{instead}"
    return f"{stamp.path} has changed since it was read"


def _short(text: str) -> str:
    return text if len(text) <= 120 else shown(text)
