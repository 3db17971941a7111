"""The columns a person named, and the labels that columns of class probabilities or sets stand for."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.cli.literals import literal
from calibrant.cli.messages import listing, tell
from calibrant.cli.options import Request
from calibrant.cli.table_file import find_column
from calibrant.errors import InputError, shown

if TYPE_CHECKING:
    import polars as pl

WILDCARDS = "*?["


@dataclass(frozen=True)
class Columns:
    """Which column is what.

    `p` are the columns of the prediction, of intervals all lower bounds and then all upper bounds. `pattern` is what
    named them, if several were named at once.
    """

    y: str
    p: tuple[str, ...]
    pattern: str | None = None
    by: tuple[str, ...] = ()
    weights: str | None = None
    kind: str = "binary"

    @property
    def all(self) -> list[str]:
        """Every column that is read, once."""
        return list(dict.fromkeys((self.y, *self.p, *self.by, *([self.weights] if self.weights else []))))

    @property
    def prediction(self) -> str:
        """What the user calls the prediction."""
        if self.kind != "intervals":
            return self.pattern or self.p[0]
        half = len(self.p) // 2
        return ", ".join(f"{low} to {high}" for low, high in zip(self.p[:half], self.p[half:], strict=True))


def choose(names: Sequence[str], path: Path, request: Request, kind: str) -> Columns:
    """Return the columns that the options name, all of which exist and none of which is two things at once."""
    named = _named(names, path, request, kind)
    chosen = Columns(
        y=find_column(str(request.y), names, path, option="--y"),
        p=tuple(name for _, found in named for name in found),
        pattern=request.p_cols or request.set_cols or request.quantile_cols,
        by=tuple(find_column(name, names, path, option="--by") for name in dict.fromkeys(request.by)),
        weights=find_column(request.weights, names, path, option="--weights") if request.weights is not None else None,
        kind=kind,
    )
    roles = [("--y", (chosen.y,)), ("--weights", (chosen.weights,) if chosen.weights else ()), *named]
    for place, (role, own) in enumerate(roles):
        for other, others in roles[place + 1 :]:
            for name in own:
                if name in others:
                    raise InputError(f"column {shown(name)} is named by {role} and by {other}; name a different one")
    return chosen


def _named(names: Sequence[str], path: Path, request: Request, kind: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the columns of the prediction, with the options that name them."""
    if kind == "binary":
        return [("--p", (find_column(str(request.p), names, path, option="--p"),))]
    if kind == "intervals":
        lower, upper = (
            tuple(name for text in texts for name in _matching(text, names, path, option=option))
            for option, texts in (("--lower", request.lower), ("--upper", request.upper))
        )
        if len(lower) != len(upper):
            raise InputError(
                f"--lower and --upper must name columns in pairs; got {len(lower)} ({listing(lower, most=6)}) and "
                f"{len(upper)} ({listing(upper, most=6)})"
            )
        return [("--lower", lower), ("--upper", upper)]
    option, text = {
        "classes": ("--p-cols", request.p_cols),
        "sets": ("--set-cols", request.set_cols),
        "quantiles": ("--quantile-cols", request.quantile_cols),
    }[kind]
    found = _matching(str(text), names, path, option=option)
    for name in found:
        if found.count(name) > 1:
            raise InputError(f"column {shown(name)} is named twice by {option} {shown(text)}; name it once")
    if len(found) == 1 and kind != "quantiles":
        remedy = (
            f"If it is the probability of an event, use --p {found[0]}"
            if kind == "classes"
            else "Name one for each class"
        )
        raise InputError(f"only one column of {path} is like {shown(text)}: {shown(found[0])}. {remedy}")
    return [(f"{option} {shown(text)}", found)]


def _matching(text: str, names: Sequence[str], path: Path, *, option: str) -> tuple[str, ...]:
    """Return the columns that a name, a pattern, or several of them with commas between stand for."""
    if text in names:
        return (find_column(text, names, path, option=option),)
    found = tuple(name for name in names if fnmatchcase(name, text))
    if found:
        return found
    parts = split_labels(text)
    if len(parts) > 1:
        return tuple(name for part in parts for name in _matching(part, names, path, option=option))
    if any(character in text for character in WILDCARDS):
        raise InputError(f"no column of {path} is like {shown(text)} ({option}). Its columns are {listing(names)}")
    return (find_column(text, names, path, option=option),)


def split_labels(text: str) -> list[str]:
    """Return the labels of ``a,b,c``; a label with a comma stands in double quotes.

    Examples
    --------
    >>> split_labels('cat, "dog, small",bird')
    ['cat', 'dog, small', 'bird']
    """
    return next(csv.reader([text], skipinitialspace=True), [])


def class_labels(y: pl.Series, columns: Columns, given: str | None) -> list[Any] | None:
    """Return the label of each column of class probabilities or sets; None where labels are column numbers.

    Labels are taken from `given`, or from the names of the columns, or are column numbers, and whenever that is not
    what was typed it is said.
    """
    if given is not None:
        return [literal(text, y.dtype, column=columns.y, option="--classes") for text in split_labels(given)]
    parts = wild_parts(columns.p, str(columns.pattern))
    labels = set(y.unique().to_list())
    try:
        classes = [literal(part, y.dtype, column=columns.y, option="--p-cols") for part in parts]
    except InputError:
        classes = []
    if classes and labels <= set(classes):
        tell(f"labels are taken from the names of the columns: {pairs(columns.p, classes)}")
        return classes
    if y.dtype.is_numeric() and labels <= set(range(len(columns.p))):
        tell(f"labels are taken as column numbers: {pairs(columns.p, range(len(columns.p)))}")
        return None
    known = classes or range(len(columns.p))
    strange = next(label for label in y.to_list() if label not in known)
    raise InputError(
        f"the label {shown(strange)} of column {shown(columns.y)} fits none of the columns "
        f"{listing(columns.p, most=6)}. Add --classes with one label for each column, in this order"
    )


def wild_parts(names: Sequence[str], pattern: str) -> list[str]:
    """Return what the wildcards stand for: the names without what the pattern spells out at both ends."""
    wild = [i for i, character in enumerate(pattern) if character in WILDCARDS]
    if not wild or not all(fnmatchcase(name, pattern) for name in names):
        return list(names)
    head = wild[0]
    tail = len(pattern) - 1 - max(wild[-1], pattern.rfind("]"))
    return [name[head : len(name) - tail] for name in names]


def pairs(names: Sequence[str], labels: Sequence[Any]) -> str:
    """Say which column stands for which label."""
    said = [f"{name} is {shown(label)}" for name, label in zip(names, labels, strict=True)]
    return ", ".join(said if len(said) <= 4 else [*said[:3], "...", said[-1]])
