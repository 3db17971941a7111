"""Which rows are meant: ``column op value [and ...]``, handed to polars and never evaluated as code.

======================  ===============================================================================
``column``              a word, or anything in quotes: ``age``, ``"days since"``
``op``                  ``=`` (or ``==``), ``!=``, ``<``, ``<=``, ``>``, ``>=``, ``in``, ``is null``, ``is not null``
``value``               a word, a number, or anything in quotes; after ``in`` a list: ``in (north, "far east")``
======================  ===============================================================================

NaN is a missing value: ``is null`` finds it, and no comparison holds for a missing value, ``!=`` included.
"""

from __future__ import annotations

import datetime as dt
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from calibrant.errors import InputError, shown
from calibrant.files.lazy_libraries import pl
from calibrant.inputs.labels import time_zone as zone_named

COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
WORD = re.compile(r"[^\s'\"`=!<>(),]++")
NAME = rf"""(?:'(?:[^']|'')*+'|"(?:[^"]|"")*+"|`[^`]+`|{WORD.pattern})"""
CLAUSE = re.compile(
    rf"""\s*(?P<column>{NAME})\s*(?:
        (?P<op>==|!=|<=|>=|=|<|>)\s*(?P<value>{NAME})
      | in\s*\(\s*(?P<values>{NAME}(?:\s*,\s*{NAME})*)\s*\)
      | is\s+(?P<null>(?:not\s+)?null)\b
    )\s*""",
    re.VERBOSE | re.IGNORECASE,
)
AND = re.compile(r"and(?=[\s'\"`])", re.IGNORECASE)
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
WHOLE = re.compile(r"[-+]?\d+")
TRUTH = {"true": True, "false": False, "1": True, "0": False}
TYPE_WORDS = {
    "truth": "true and false",
    "numbers": "numbers",
    "texts": "texts",
    "dates": "dates such as 2024-12-31",
    "moments": "dates such as 2024-12-31",
}
"""What columns contain, in words."""

T = TypeVar("T")


@dataclass(frozen=True)
class Clause:
    """One comparison: a column, an operator (also ``in``, ``null``, ``not null``) and its values as typed."""

    column: str
    op: str
    values: tuple[str, ...]

    def expression(self, schema: Mapping[str, pl.DataType], plain: Mapping[str, str]) -> pl.Expr:
        """Return the comparison, for a column with its type in `schema` and its plain name in `plain`."""
        dtype, column = schema[self.column], pl.col(plain[self.column])
        if self.op in ("null", "not null"):
            missing = column.is_null() | (column.is_nan() if dtype.is_float() else False)
            return missing if self.op == "null" else ~missing
        if isinstance(dtype, pl.Null):
            return pl.lit(False)
        if isinstance(dtype, (pl.Categorical, pl.Enum)):
            column = column.cast(pl.String)
        if isinstance(dtype, pl.Datetime) and dtype.time_zone:
            column = column.cast(pl.Datetime(dtype.time_unit, "UTC"))  # polars knows no zones such as +05:30
        compare = COMPARISONS["=" if self.op == "in" else self.op]
        values = [literal(text, dtype, column=self.column, option="where") for text in self.values]
        kept = pl.any_horizontal([compare(column, value) for value in values])
        return kept & column.is_not_nan() if dtype.is_float() else kept


@dataclass(frozen=True)
class Where:
    """A filter: all its clauses hold; `text` is what was typed of it."""

    text: str
    clauses: tuple[Clause, ...]
    predicted: bool = False  # whether the last clause, which nobody typed, leaves out rows without a prediction

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(clause.column for clause in self.clauses))

    @property
    def kept(self) -> str:
        """The rows that are kept, for the template of a message."""
        typed = "the rows that {where=} keeps" if self.text else "the rows"
        return f"{typed}{' and' * bool(self.text)} that have a prediction" if self.predicted else typed

    def expression(self, schema: Mapping[str, pl.DataType], plain: Mapping[str, str]) -> pl.Expr:
        return pl.all_horizontal([clause.expression(schema, plain) for clause in self.clauses])


def read_where(text: str) -> Where:
    """Read a filter.

    >>> read_where("age >= 65 and region in (north, 'far east')").clauses
    (Clause(column='age', op='>=', values=('65',)), Clause(column='region', op='in', values=('north', 'far east')))
    """
    clauses: list[Clause] = []
    rest = text
    while True:
        found = CLAUSE.match(rest)
        if found is None:
            raise _refusal(text, rest)
        clauses.append(_clause(found))
        rest = rest[found.end() :]
        if not rest:
            return Where(text, tuple(clauses))
        joined = AND.match(rest)
        if joined is None:
            raise _refusal(text, rest)
        rest = rest[joined.end() :]


def _clause(found: re.Match[str]) -> Clause:
    column = _unquoted(found["column"])
    if found["null"]:
        return Clause(column, " ".join(found["null"].lower().split()), ())
    if found["op"]:
        return Clause(column, found["op"], (_unquoted(found["value"]),))
    return Clause(column, "in", tuple(map(_unquoted, re.findall(NAME, found["values"]))))


def _unquoted(name: str) -> str:
    quote = name[0]
    return name[1:-1].replace(quote * 2, quote) if quote in "'\"" else name.strip("`")


def _refusal(text: str, rest: str) -> InputError:
    is_or = rest.lower().startswith(("or", "|"))
    one_of = "For one of several values write: column in (a, b)"
    advice = one_of if is_or else "Write it like: age >= 65 and region in (north, west)"
    message = "{where=text} is not a filter: it cannot be read from {rest} on. " + advice
    return InputError(message, text=text, rest=shown(rest.strip()), option="where")


def quoted(column: str) -> str:
    if WORD.fullmatch(column) and column.lower() not in ("and", "in", "is"):
        return column
    return '"' + column.replace('"', '""') + '"'


def number(text: str) -> float | int | None:
    if WHOLE.fullmatch(text) and abs(int(text)) < 2**127:  # the range of a column
        return int(text)
    return float(text) if NUMBER.fullmatch(text) else None


def date(text: str) -> dt.date | None:
    """Return the day that `text` stands for, such as 2024-12-31, or None."""
    return _parsed(dt.date.fromisoformat, text) if len(text) == len("2024-12-31") else None


def literal(text: str, dtype: pl.DataType, *, column: str, option: str) -> Any:
    kind = _kind(dtype)
    value = _spelled(text, kind, dtype)
    if value is None:
        raise InputError(
            "{value} ({option}) is not a value of column {column}, which contains {words}",
            value=text,
            option=option,
            column=shown(column),
            words=TYPE_WORDS.get(kind, f"values of type {kind}"),
        )
    return value


def _kind(dtype: pl.DataType) -> str:
    """Return one of `TYPE_WORDS`, or the type."""
    if dtype == pl.Boolean:
        return "truth"
    if dtype.is_numeric():
        return "numbers"
    if isinstance(dtype, (pl.String, pl.Categorical, pl.Enum)):
        return "texts"
    return "dates" if isinstance(dtype, pl.Date) else "moments" if isinstance(dtype, pl.Datetime) else str(dtype)


def _spelled(text: str, kind: str, dtype: Any) -> Any:
    if kind == "truth":
        return TRUTH.get(text.lower())
    if kind == "numbers":
        return number(text)
    if kind == "texts":
        return text
    if kind == "dates":
        return _parsed(dt.date.fromisoformat, text)
    return _moment(text, dtype.time_zone) if kind == "moments" else None


def _moment(text: str, time_zone: str | None) -> dt.datetime | None:
    moment = _parsed(dt.datetime.fromisoformat, text)
    if moment is None or time_zone is None:
        return moment if moment is None or moment.tzinfo is None else None
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone_named(time_zone))).astimezone(dt.UTC)


def _parsed(parse: Callable[[str], T], text: str) -> T | None:
    try:
        return parse(text)
    except ValueError:
        return None
