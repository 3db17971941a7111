"""Whether files belong merged_types: the types of their columns, and whether a file changed since it was opened."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from calibrant.errors import InputError, shown

PRECISIONS = {
    "16": "numbers of 16 bits",
    "32": "numbers of 32 bits",
    "64": "numbers of 64 bits",
    "truth": "true and false",
    "days": "days",
    "moments": "moments",
}
"""Precisions, in words."""


class ColumnType(NamedTuple):
    """What a column holds, in which precision, one of `PRECISIONS` or none; `file` is where it was seen first."""

    what: str
    precision: str
    file: str


def column_types(frame: Any, columns: Iterable[str], file: Path) -> dict[str, ColumnType]:
    """Return what columns of a frame hold; nothing of a column without values."""
    import narwhals as nw

    schema = nw.from_native(frame).schema
    found = {name: _holds(schema[name], str(file)) for name in columns}
    return {name: holds for name, holds in found.items() if holds is not None}


def merged_types(
    before: Mapping[str, ColumnType], now: Mapping[str, ColumnType], scores: Iterable[str], labels: Iterable[str] = ()
) -> dict[str, ColumnType]:
    """Return what is known of the columns after one more file; refuse one that holds something else than before.

    Whole numbers of any size, fractions and truth values are all numbers. Of `scores` the precision counts, because
    bin edges are compared in it, and of `labels` too, because the same label would be two.
    """
    for name, holds in now.items():
        former = before.get(name, holds)
        if former.what != holds.what:
            raise InputError(
                f"column {shown(name)} of {holds.file} holds {holds.what}, but {former.what} in {former.file}; "
                "save all files with the same types"
            )
        if name in scores and _bits(former) != _bits(holds):
            raise InputError(
                f"column {shown(name)} of {holds.file} holds numbers of {_bits(holds)} bits, but of "
                f"{_bits(former)} bits in {former.file}: they would not fall into the same bins. "
                "Save all files with the same precision"
            )
        if name in labels and former.precision != holds.precision:
            raise InputError(
                f"column {shown(name)} of {holds.file} holds {PRECISIONS[holds.precision]}, but "
                f"{PRECISIONS[former.precision]} in {former.file}: they would not fall into the same groups. "
                "Save all files with the same types"
            )
    return {**now, **before}


def _bits(holds: ColumnType) -> str:
    return "64" if holds.precision == "truth" else holds.precision


def _holds(dtype: Any, file: str) -> ColumnType | None:
    import narwhals as nw

    if dtype == nw.Boolean:
        return ColumnType("numbers", "truth", file)
    if dtype.is_numeric():
        narrow = {"Float16": "16", "Float32": "32"}
        return ColumnType("numbers", narrow.get(type(dtype).__name__, "64"), file)
    if isinstance(dtype, (nw.String, nw.Categorical, nw.Enum)):
        return ColumnType("texts", "", file)
    if isinstance(dtype, (nw.Date, nw.Datetime)):
        return ColumnType("dates", "days" if isinstance(dtype, nw.Date) else "moments", file)
    if isinstance(dtype, (nw.List, nw.Array)):
        inner = _holds(dtype.inner, file)
        return None if inner is None else ColumnType(f"lists of {inner.what}", inner.precision, file)
    return None if isinstance(dtype, nw.Unknown) else ColumnType(f"values of type {dtype}", "", file)


class FileStamp(NamedTuple):
    """A file as it was when it was read."""

    path: str
    size: int
    changed: int

    @classmethod
    def of(cls, path: Path) -> Self:
        """Look at a file."""
        about = path.stat()
        return cls(cls.path_of(path), about.st_size, about.st_mtime_ns)

    @staticmethod
    def path_of(path: str | Path) -> str:
        """Return the whole path, links not followed."""
        return os.path.abspath(path)  # noqa: PTH100
