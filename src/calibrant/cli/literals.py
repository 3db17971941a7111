"""Texts typed by a person, as values of the column they are compared with."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from calibrant.errors import InputError, shown

if TYPE_CHECKING:
    import polars as pl

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
WHOLE = re.compile(r"[-+]?\d+")
TRUTH = {"true": True, "false": False, "1": True, "0": False}


def number(text: str) -> float | int | None:
    """Return the number that `text` spells, if it does."""
    if WHOLE.fullmatch(text) and abs(int(text)) < 2**63:
        return int(text)
    return float(text) if NUMBER.fullmatch(text) else None


def literal(text: str, dtype: pl.DataType, *, column: str, option: str) -> Any:
    """Return the value of type `dtype` that `text` spells."""
    kind, value = _spelled(text, dtype)
    if value is None:
        raise InputError(f"{shown(text)} ({option}) is not a value of column {shown(column)}, which holds {kind}")
    return value


def _spelled(text: str, dtype: pl.DataType) -> tuple[str, Any]:
    """Return what the column holds, in words, and the value."""
    import polars as pl

    if dtype == pl.Boolean:
        return "true and false", TRUTH.get(text.lower())
    if dtype.is_numeric():
        return "numbers", number(text)
    if isinstance(dtype, (pl.String, pl.Categorical, pl.Enum)):
        return "texts", text
    if isinstance(dtype, (pl.Date, pl.Datetime)):
        return "dates such as 2024-12-31", _moment(text, dtype)
    return f"values of type {dtype}", None


def _moment(text: str, dtype: pl.Date | pl.Datetime) -> dt.date | dt.datetime | None:
    import polars as pl

    try:
        if isinstance(dtype, pl.Date):
            return dt.date.fromisoformat(text)
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    if dtype.time_zone is None:
        return moment if moment.tzinfo is None else None
    zone = ZoneInfo(dtype.time_zone)
    return moment.replace(tzinfo=zone) if moment.tzinfo is None else moment.astimezone(zone)
