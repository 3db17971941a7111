"""Rows in messages: where they are, how they are counted, and that there are none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from calibrant.errors import InputError, shown
from calibrant.files.where import Where


def counting(where: Where | None, option: str = "{where=}") -> str:
    """Return how rows are counted, for the template of a message."""
    return "counted from 0" + (f" among the rows that {option} keeps" if where else "")


def nothing(files: Sequence[Path], where: Where | None, weights: str | None = None) -> InputError:
    """Return the error of files without rows, or of which a filter keeps none, or none has a weight."""
    what = f"{files[0]} has" if len(files) == 1 else f"the {len(files):,} files, from {files[0]} on, have"
    why = "{where=text} keeps none of the rows" if where else "there are no rows"
    heavy = "" if weights is None else f", or all of them have the weight 0 in {shown(weights)}"
    text = None if where is None else where.text
    return InputError("{what} nothing to measure: " + why + "{heavy}", what=what, text=text, heavy=heavy)
