"""Columns named one by one, by a pattern, or one after another with commas between."""

from __future__ import annotations

import csv
import io
from collections.abc import Container, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from calibrant.errors import InputError, did_you_mean, listing, shown

WILDCARDS = "*?["


def find_column(name: str, columns: Sequence[str], path: Path, *, option: str) -> str:
    """Return a column of the file, or say which ones there are."""
    if name not in columns:
        hint = did_you_mean(name, columns)
        raise InputError(
            f"{path} has no column {shown(name)} ({option}). {hint}".rstrip()
            + ("" if hint else f" Its columns are {listing(columns)}")
        )
    if f"{name}_duplicated_0" in columns:
        raise InputError(f"{path} has two columns named {shown(name)} ({option}); rename one of them")
    return name


def matching(
    text: str, names: Sequence[str], path: Path, *, option: str, among: Container[str] | None = None
) -> tuple[str, ...]:
    """Return the columns that a name, a pattern, or several of them with commas between stand for.

    A pattern stands for columns `among` these, if they are given.
    """
    if text in names:
        return (find_column(text, names, path, option=option),)
    found = tuple(name for name in names if fnmatchcase(name, text) and (among is None or name in among))
    if found:
        return found
    parts = split_labels(text)
    if len(parts) > 1:
        return tuple(name for part in parts for name in matching(part, names, path, option=option, among=among))
    if any(character in text for character in WILDCARDS):
        raise InputError(f"no column of {path} is like {shown(text)} ({option}). Its columns are {listing(names)}")
    return (find_column(text, names, path, option=option),)


def each_once(names: tuple[str, ...], option: str) -> tuple[str, ...]:
    """Return the columns that an option names, none of them twice."""
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"column {shown(name)} is named twice by {option}; name it once")
    return names


def split_labels(text: str) -> list[str]:
    """Return the labels of ``a,b,c``; a label with a comma stands in double quotes.

    Examples
    --------
    >>> split_labels('cat, "dog, small",bird')
    ['cat', 'dog, small', 'bird']
    """
    return next(csv.reader([text], skipinitialspace=True), [])


def join_labels(labels: Iterable[str], between: str = ", ") -> str:
    """Return labels with commas between, as `split_labels` takes them apart.

    Examples
    --------
    >>> join_labels(["cat", "dog, small", "bird"])
    'cat, "dog, small", bird'
    """
    written = []
    for label in labels:
        text = io.StringIO()
        csv.writer(text, lineterminator="").writerow([label])
        written.append(text.getvalue())
    return between.join(written)


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
