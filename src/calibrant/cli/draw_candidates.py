"""Columns that could be draws: lists of numbers, and numbered columns whose names say it."""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from calibrant.cli.cells import cells
from calibrant.cli.list_columns import lengths

if TYPE_CHECKING:
    import polars as pl

# Without such a word numbered columns may as well be what a prediction was made from.
NUMBERED = re.compile(r"(?P<stem>(?:.*[_.\- ])?(?:draws?|samples?|members?|ens|ensemble|mbr|particles?)[_.\- ]?)\d+")


@dataclass(frozen=True)
class Candidate:
    """A column or several, what they look like, the options that name them, and what they would predict."""

    name: str
    looks: str
    options: tuple[str, ...]
    kind: str = ""


def draws_in(rows: pl.DataFrame, others: Sequence[Candidate]) -> list[Candidate]:
    """Return the lists of numbers, the longest first, and numbered columns; none that are another candidate's."""
    taken = [word for candidate in others for word in candidate.options]
    found: list[tuple[tuple[int, ...], Candidate]] = []
    for name in rows.columns:
        sizes = lengths(cells(rows, name))
        if sizes and min(sizes) > 0 and sizes[0] > 1 and not any(is_part(word, name) for word in taken):
            found.append((sizes, Candidate(name, _looks(sizes), ("--draws", name), "samples")))
    lists = [candidate for _, candidate in sorted(found, key=lambda pair: (-len(pair[0]), -pair[0][0]))]
    return [*lists, *_numbered(rows, [candidate.name for candidate in lists])]


def vectors_like(draws: str, rows: pl.DataFrame) -> list[Candidate]:
    """Return the lists of as many numbers as the draws have coordinates."""
    sizes = lengths(cells(rows, draws))
    found = [name for name in rows.columns if len(sizes) == 2 and lengths(cells(rows, name)) == sizes[1:]]
    return [Candidate(name, _looks(sizes[1:]), ("--y", name)) for name in found]


def is_part(name: str, whole: str) -> bool:
    """Tell whether a column, or a pattern of columns, is a column of the array `whole` of an NPZ file."""
    return re.fullmatch(re.escape(whole) + r"_(\d+|\*)", name) is not None


def _numbered(rows: pl.DataFrame, lists: Sequence[str]) -> list[Candidate]:
    groups: dict[str, list[str]] = {}
    for name in rows.columns:
        match = NUMBERED.fullmatch(name)
        if match and cells(rows, name).dtype.is_numeric() and not any(is_part(name, whole) for whole in lists):
            groups.setdefault(match["stem"], []).append(name)
    found = []
    for stem, names in groups.items():
        pattern = glob.escape(stem) + "*"
        if len(names) > 1 and [name for name in rows.columns if fnmatchcase(name, pattern)] == names:
            found.append(Candidate(pattern, f"{len(names)} numbered columns", ("--draw-cols", pattern), "samples"))
    return found


def _looks(sizes: tuple[int, ...]) -> str:
    return f"{sizes[0]:,} numbers per row" if len(sizes) == 1 else f"{sizes[0]:,} vectors of {sizes[1]:,} per row"
