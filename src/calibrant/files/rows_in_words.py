"""Rows in messages: where they are, how they are counted, and that there are none."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from calibrant.errors import InputError, shown
from calibrant.files.where import Where

ROW = re.compile(r"\brow (\d+)\b")


def placed(words: str, place: Callable[[int], str]) -> str:
    """Return words of the library about rows of an array, each with its place in the files.

    >>> placed("row 7 is 1.5", lambda row: f"row {row + 100} of b.csv")
    'row 107 of b.csv is 1.5'
    """
    return ROW.sub(lambda row: place(int(row[1])), words)


def counting(where: Where | None) -> str:
    """Say how rows are counted in a message."""
    return "counted from 0" + (" among the rows that --where keeps" if where else "")


def nothing(files: Sequence[Path], where: Where | None, weights: str | None = None) -> InputError:
    """Return the error of files without rows, or of which a filter keeps none, or none has a weight."""
    what = f"{files[0]} has" if len(files) == 1 else f"the {len(files):,} files, from {files[0]} on, have"
    why = f"--where {shown(where.text)} keeps none of the rows" if where else "there are no rows"
    heavy = "" if weights is None else f", or all of them have the weight 0 in {shown(weights)}"
    return InputError(f"{what} nothing to measure: {why}{heavy}")
