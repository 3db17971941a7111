"""The state of a pass over files on disk, from which a run that was interrupted or killed resumes."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from calibrant.core import summary as codec
from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError, shown
from calibrant.files.found import FoundFile, stamp_of
from calibrant.files.reading import START, Position
from calibrant.files.values import ColumnType
from calibrant.writing import replace_bytes

FORMAT = 5
NAME = "Checkpoint"

RunDescription = Mapping[str, str]
"""What is measured, in words that are the same in every process."""


class Total(NamedTuple):
    """The total of all rows up to a position."""

    position: Position = START
    done: int = 0  # rows in all
    stack: tuple[tuple[int, Summary], ...] = ()  # summaries that wait to be merged, and of how many parts each is
    known: Mapping[str, ColumnType] = {}  # what the columns were seen to contain up to there


@dataclass(frozen=True)
class Checkpoint:
    """The totals of a run, and what was asked of which files; the files are named by digests only."""

    asked: RunDescription
    stamps: tuple[str | None, ...]  # of the files as they were when they were opened; the last one is being read
    now: Total  # of all rows so far
    whole: Total  # of whole files, from which a run resumes after the last one was repaired

    def write(self, path: Path, files: Sequence[FoundFile]) -> None:
        """Write the checkpoint; an earlier one is replaced when the new one is on disk."""
        numbers = {str(found.path): number for number, found in enumerate(files)}
        totals = []
        for total in (self.now, self.whole):
            merged = [many for many, _ in total.stack]
            known = {name: (held.what, held.precision, numbers[held.file]) for name, held in total.known.items()}
            totals.append({"position": total.position, "done": total.done, "merged": merged, "known": known})
        about = json.dumps({"format": FORMAT, "asked": self.asked, "stamps": self.stamps, "totals": totals})
        summaries = tuple(summary.to_bytes() for total in (self.now, self.whole) for _, summary in total.stack)
        values = {"about": about, "digest": _digest(about, summaries), "summaries": summaries}
        replace_bytes(path, codec.encode(NAME, values))

    @classmethod
    def read(cls, path: Path, files: Sequence[FoundFile]) -> Self:
        """Read what `write` wrote; what was changed since is refused."""
        paths = dict(enumerate(str(found.path) for found in files))
        try:
            name, values = codec.decode(path.read_bytes())
            if name != NAME:
                raise SummaryError(f"it is a {name}")
            if values["digest"] != _digest(values["about"], values["summaries"]):
                raise SummaryError("its totals do not belong to its position and its description")
            about = json.loads(values["about"])
            if about["format"] != FORMAT:
                raise SummaryError("it was written by another calibrant")
            summaries = iter([Summary.from_bytes(each) for each in values["summaries"]])
            now, whole = (
                Total(
                    Position(*total["position"]),
                    total["done"],
                    tuple((many, next(summaries)) for many in total["merged"]),
                    {
                        column: ColumnType(what, precision, paths.get(number, "an earlier file"))
                        for column, (what, precision, number) in total["known"].items()
                    },
                )
                for total in about["totals"]
            )
            return cls(about["asked"], tuple(about["stamps"]), now, whole)
        except (OSError, KeyError, TypeError, ValueError, AttributeError) as problem:
            why = problem.strerror if isinstance(problem, OSError) else problem
            raise InputError(
                f"{path} cannot be read as a checkpoint: {why}. Delete it if it is one, else name another file"
            ) from problem

    def fitting(self, path: Path, asked: RunDescription, files: Sequence[FoundFile]) -> Checkpoint:
        """Return the checkpoint to resume from, if the same is asked of the same files.

        Files that were not read may have changed. If the one that was being read has, the total of whole files counts.
        """
        for name in dict.fromkeys((*asked, *self.asked)):
            then, now = self.asked.get(name, "nothing"), asked.get(name, "nothing")
            if then != now:
                raise _does_not_fit(path, f"{name} was {_short(then)}, and is {_short(now)} now")
        whole = self.whole.position.file
        if len(files) < whole:
            raise _does_not_fit(path, f"it has read {whole:,} files, and there are {len(files):,} now")
        there = tuple(stamp_of(each.path) for each in files[: len(self.stamps)])
        for number in range(whole):
            if there[number] != self.stamps[number]:
                place = f"file {number + 1:,} of the run, {files[number].path},"
                raise _does_not_fit(path, f"{place} is another one or has changed since it was read")
        return self if there == self.stamps else replace(self, stamps=self.stamps[:whole], now=self.whole)


def _digest(about: str, summaries: Sequence[bytes]) -> str:
    return sha256(b"".join([about.encode(), *summaries])).hexdigest()


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
        f"the checkpoint {path} belongs to another run: {why}. Delete it to start again, or repeat that run"
    )


def _short(text: str) -> str:
    return text if len(text) <= 120 else shown(text)
