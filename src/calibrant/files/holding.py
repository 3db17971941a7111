"""What the columns of a table hold, so that files which do not belong together are not read as if they did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

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


class Holds(NamedTuple):
    """What a column holds, in which precision, one of `PRECISIONS` or none; `file` is where it was seen first."""

    what: str
    precision: str
    file: str


def holding(frame: Any, columns: Iterable[str], file: Path) -> dict[str, Holds]:
    """Return what columns of a frame hold; nothing of a column without values."""
    import narwhals as nw

    schema = nw.from_native(frame).schema
    found = {name: _holds(schema[name], str(file)) for name in columns}
    return {name: holds for name, holds in found.items() if holds is not None}


def together(
    before: Mapping[str, Holds], now: Mapping[str, Holds], scores: Iterable[str], labels: Iterable[str] = ()
) -> dict[str, Holds]:
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


def _bits(holds: Holds) -> str:
    return "64" if holds.precision == "truth" else holds.precision


def _holds(dtype: Any, file: str) -> Holds | None:
    import narwhals as nw

    if dtype == nw.Boolean:
        return Holds("numbers", "truth", file)
    if dtype.is_numeric():
        narrow = {"Float16": "16", "Float32": "32"}
        return Holds("numbers", narrow.get(type(dtype).__name__, "64"), file)
    if isinstance(dtype, (nw.String, nw.Categorical, nw.Enum)):
        return Holds("texts", "", file)
    if isinstance(dtype, (nw.Date, nw.Datetime)):
        return Holds("dates", "days" if isinstance(dtype, nw.Date) else "moments", file)
    if isinstance(dtype, (nw.List, nw.Array)):
        inner = _holds(dtype.inner, file)
        return None if inner is None else Holds(f"lists of {inner.what}", inner.precision, file)
    return None if isinstance(dtype, nw.Unknown) else Holds(f"values of type {dtype}", "", file)
