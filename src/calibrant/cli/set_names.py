"""What files, and the sets of points in them, are called: as short as tells them apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from calibrant.files.table_file import SUFFIXES

REAL = "real"  # what the report calls the set that all others are compared with


def set_names(files: Sequence[Path], arrays: Sequence[str] = ()) -> list[str]:
    """Return a name for the set of each file, none of them "real".

    Examples
    --------
    >>> set_names([Path("out/first.csv.gz"), Path("out/second.npy")])
    ['first', 'second']
    >>> set_names([Path("out/first.csv.gz"), Path("out/real.npy")])
    ['first.csv.gz', 'real.npy']
    """
    return _distinct([[_stem(file) for file in files], *_spellings(files, arrays)])


def file_names(files: Sequence[Path], arrays: Sequence[str] = ()) -> list[str]:
    """Return a name for each file.

    Examples
    --------
    >>> file_names([Path("a/points.npy"), Path("b/points.npy")])
    ['a/points.npy', 'b/points.npy']
    >>> file_names([Path("run.npz"), Path("run.npz")], ["y", "points"])
    ['run.npz, y', 'run.npz, points']
    """
    return _distinct(_spellings(files, arrays))


def _spellings(files: Sequence[Path], arrays: Sequence[str]) -> list[list[str]]:
    """Return the names of the files, their paths, and if they have one each their arrays, from short to long."""
    found = [[file.name for file in files], [str(file) for file in files]]
    if len(arrays) == len(files):
        found += [[f"{name}, {array}" for name, array in zip(names, arrays, strict=True)] for names in found]
    return found


def _distinct(spellings: Sequence[list[str]]) -> list[str]:
    """Return the first spelling in which all names differ; where there is none, the last, with numbers."""
    for names in spellings:
        if len({*names, REAL}) > len(names):
            return names
    last = spellings[-1]
    return [f"{name} ({last[: i + 1].count(name)})" for i, name in enumerate(last)]


def _stem(file: Path) -> str:
    """Return the name without the ending that tells the format."""
    endings = [ending for ending in (*SUFFIXES, ".npy") if file.name.lower().endswith(ending)]
    return file.name[: len(file.name) - max(map(len, endings), default=0)] or file.name
