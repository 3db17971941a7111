"""The columns a person named, and the labels that the columns of class probabilities stand for."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.cli.literals import literal
from calibrant.cli.messages import listing, tell
from calibrant.cli.table_file import find_column
from calibrant.errors import InputError, shown

if TYPE_CHECKING:
    import polars as pl

WILDCARDS = "*?["


@dataclass(frozen=True)
class Columns:
    """Which column is what. `pattern` is what named the columns of `p`, if a pattern did."""

    y: str
    p: tuple[str, ...]
    pattern: str | None = None
    by: tuple[str, ...] = ()
    weights: str | None = None

    @property
    def all(self) -> list[str]:
        """Every column that is read, once."""
        return list(dict.fromkeys((self.y, *self.p, *self.by, *([self.weights] if self.weights else []))))

    @property
    def prediction(self) -> str:
        """What the user calls the prediction."""
        return self.pattern or self.p[0]


def choose(
    names: Sequence[str],
    path: Path,
    *,
    y: str,
    p: str | None,
    p_cols: str | None,
    by: Sequence[str] = (),
    weights: str | None = None,
) -> Columns:
    """Return the columns that the options name, all of which exist and none of which is two things at once."""
    chosen = Columns(
        y=find_column(y, names, path, option="--y"),
        p=(find_column(p, names, path, option="--p"),) if p is not None else _matching(str(p_cols), names, path),
        pattern=p_cols,
        by=tuple(find_column(name, names, path, option="--by") for name in dict.fromkeys(by)),
        weights=find_column(weights, names, path, option="--weights") if weights is not None else None,
    )
    option = "--p" if p is not None else f"--p-cols {shown(p_cols)}"
    for role, name in (("--y", chosen.y), ("--weights", chosen.weights)):
        if name in chosen.p:
            raise InputError(f"column {shown(name)} is named by {role} and by {option}; name a different one")
    if chosen.weights == chosen.y:
        raise InputError(f"column {shown(y)} is named by --y and by --weights; name a different one")
    return chosen


def _matching(pattern: str, names: Sequence[str], path: Path) -> tuple[str, ...]:
    found = tuple(name for name in names if fnmatchcase(name, pattern))
    if not found:
        raise InputError(f"no column of {path} is like {shown(pattern)} (--p-cols). Its columns are {listing(names)}")
    if len(found) == 1:
        raise InputError(
            f"only one column of {path} is like {shown(pattern)}: {shown(found[0])}. "
            f"If it is the probability of an event, use --p {found[0]}"
        )
    return found


def split_labels(text: str) -> list[str]:
    """Return the labels of ``a,b,c``; a label with a comma stands in double quotes.

    Examples
    --------
    >>> split_labels('cat, "dog, small",bird')
    ['cat', 'dog, small', 'bird']
    """
    return next(csv.reader([text], skipinitialspace=True), [])


def class_labels(y: pl.Series, columns: Columns, given: str | None) -> list[Any] | None:
    """Return the label of each column of class probabilities; None where labels are column numbers.

    Labels are taken from `given`, or from the names of the columns, or are column numbers, and whenever that is not
    what was typed it is said.
    """
    if given is not None:
        return [literal(text, y.dtype, column=columns.y, option="--classes") for text in split_labels(given)]
    parts = _wild_parts(columns.p, str(columns.pattern))
    labels = set(y.unique().to_list())
    try:
        classes = [literal(part, y.dtype, column=columns.y, option="--p-cols") for part in parts]
    except InputError:
        classes = []
    if classes and labels <= set(classes):
        tell(f"labels are taken from the names of the columns: {_pairs(columns.p, classes)}")
        return classes
    if y.dtype.is_numeric() and labels <= set(range(len(columns.p))):
        tell(f"labels are taken as column numbers: {_pairs(columns.p, range(len(columns.p)))}")
        return None
    known = classes or range(len(columns.p))
    strange = next(label for label in y.to_list() if label not in known)
    raise InputError(
        f"the label {shown(strange)} of column {shown(columns.y)} fits none of the columns "
        f"{listing(columns.p, most=6)}. Add --classes with one label for each column, in this order"
    )


def _wild_parts(names: Sequence[str], pattern: str) -> list[str]:
    """Return what the wildcards stand for: the names without what the pattern spells out at both ends."""
    wild = [i for i, character in enumerate(pattern) if character in WILDCARDS]
    if not wild:
        return list(names)
    head = wild[0]
    tail = len(pattern) - 1 - max(wild[-1], pattern.rfind("]"))
    return [name[head : len(name) - tail] for name in names]


def _pairs(names: Sequence[str], labels: Sequence[Any]) -> str:
    pairs = [f"{name} is {shown(label)}" for name, label in zip(names, labels, strict=True)]
    return ", ".join(pairs if len(pairs) <= 4 else [*pairs[:3], "...", pairs[-1]])
