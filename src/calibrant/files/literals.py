"""Texts typed by a person, as values of the column they are compared with."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar
from zoneinfo import ZoneInfo

from calibrant.errors import InputError, shown

if TYPE_CHECKING:
    import polars as pl

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
WHOLE = re.compile(r"[-+]?\d+")
TRUTH = {"true": True, "false": False, "1": True, "0": False}
KINDS = {
    "truth": "true and false",
    "numbers": "numbers",
    "texts": "texts",
    "dates": "dates such as 2024-12-31",
    "moments": "dates such as 2024-12-31",
}
"""What columns hold, in words."""

T = TypeVar("T")


def number(text: str) -> float | int | None:
    """Return the number that `text` spells, if it does."""
    if WHOLE.fullmatch(text) and abs(int(text)) < 2**63:
        return int(text)
    return float(text) if NUMBER.fullmatch(text) else None


def date(text: str) -> dt.date | None:
    """Return the day that `text` spells, as 2024-12-31, if it does."""
    return _parsed(dt.date.fromisoformat, text) if len(text) == len("2024-12-31") else None


def literal(text: str, dtype: pl.DataType, *, column: str, option: str) -> Any:
    """Return the value of type `dtype` that `text` spells."""
    import polars as pl

    if isinstance(dtype, pl.Datetime):
        return value_of(text, "moments", column=column, option=option, zone=dtype.time_zone)
    return value_of(text, _kind(dtype), column=column, option=option)


def value_of(text: str, kind: str, *, column: str, option: str, zone: str | None = None) -> Any:
    """Return the value that `text` spells, in a column that holds values of a kind: one of `KINDS`, or any word."""
    words = KINDS.get(kind, f"values of type {kind}")
    value = _spelled(text, kind, zone)
    if value is None:
        raise InputError(
            "{value} ({option}) is not a value of column {column}, which holds {words}",
            value=text,
            option=option,
            column=shown(column),
            words=words,
        )
    return value


def _kind(dtype: pl.DataType) -> str:
    import polars as pl

    if dtype == pl.Boolean:
        return "truth"
    if dtype.is_numeric():
        return "numbers"
    if isinstance(dtype, (pl.String, pl.Categorical, pl.Enum)):
        return "texts"
    return "dates" if isinstance(dtype, pl.Date) else str(dtype)


def _spelled(text: str, kind: str, zone: str | None) -> Any:
    if kind == "truth":
        return TRUTH.get(text.lower())
    if kind == "numbers":
        return number(text)
    if kind == "texts":
        return text
    if kind == "dates":
        return _parsed(dt.date.fromisoformat, text)
    return _moment(text, zone) if kind == "moments" else None


def _moment(text: str, time_zone: str | None) -> dt.datetime | None:
    moment = _parsed(dt.datetime.fromisoformat, text)
    if moment is None or time_zone is None:
        return moment if moment is None or moment.tzinfo is None else None
    zone = ZoneInfo(time_zone)
    return moment.replace(tzinfo=zone) if moment.tzinfo is None else moment.astimezone(zone)


def _parsed(parse: Callable[[str], T], text: str) -> T | None:
    try:
        return parse(text)
    except ValueError:
        return None
