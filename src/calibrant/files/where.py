"""Which rows are meant: ``column op value [and ...]``, handed to polars or pyarrow and never evaluated as code.

======================  ===============================================================================
``column``              a word, or anything in quotes: ``age``, ``"days since"``
``op``                  ``=`` (or ``==``), ``!=``, ``<``, ``<=``, ``>``, ``>=``, ``in``, ``is null``, ``is not null``
``value``               a word, a number, or anything in quotes; after ``in`` a list: ``in (north, "far east")``
======================  ===============================================================================

``is null`` finds NaN too. Otherwise NaN is greater than all numbers, and no comparison holds for a missing value.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calibrant.errors import InputError, shown
from calibrant.files.literals import literal

if TYPE_CHECKING:
    import polars as pl

COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
WORD = re.compile(r"[^\s'\"`=!<>(),]+")
TOKEN = re.compile(
    r"""\s*(?:
        '(?P<single>(?:[^']|'')*)' | "(?P<double>(?:[^"]|"")*)" | `(?P<back>[^`]+)`
      | (?P<sign>==|!=|<=|>=|=|<|>|\(|\)|,)
      | (?P<word>[^\s'"`=!<>(),]+)
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Clause:
    """One comparison: a column, an operator (also ``in``, ``null``, ``not null``) and its values as typed."""

    column: str
    op: str
    values: tuple[str, ...]

    def expression(self, schema: Mapping[str, pl.DataType], plain: Mapping[str, str]) -> pl.Expr:
        """Return the comparison, for a column that has its type in `schema` and goes by its name in `plain`."""
        import polars as pl

        dtype, column = schema[self.column], pl.col(plain[self.column])
        if self.op in ("null", "not null"):
            missing = column.is_null() | (column.is_nan() if dtype.is_float() else False)
            return missing if self.op == "null" else ~missing
        if isinstance(dtype, pl.Null):
            return pl.lit(False)
        if isinstance(dtype, (pl.Categorical, pl.Enum)):
            column = column.cast(pl.String)
        compare = COMPARISONS["=" if self.op == "in" else self.op]
        values = [literal(text, dtype, column=self.column, option="where") for text in self.values]
        return pl.any_horizontal([compare(column, value) for value in values])


@dataclass(frozen=True)
class Where:
    """A filter: all its clauses hold."""

    text: str
    clauses: tuple[Clause, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it looks at."""
        return tuple(dict.fromkeys(clause.column for clause in self.clauses))

    def expression(self, schema: Mapping[str, pl.DataType], plain: Mapping[str, str]) -> pl.Expr:
        """Return the filter, for columns with these types and plain names."""
        import polars as pl

        return pl.all_horizontal([clause.expression(schema, plain) for clause in self.clauses])


def read_where(text: str) -> Where:
    """Read a filter.

    Examples
    --------
    >>> read_where("age >= 65 and region in (north, 'far east')").clauses
    (Clause(column='age', op='>=', values=('65',)), Clause(column='region', op='in', values=('north', 'far east')))
    """
    reader = _Reader(text)
    clauses = [reader.clause()]
    while not reader.at_end:
        reader.keyword("and")
        clauses.append(reader.clause())
    return Where(text, tuple(clauses))


def quoted(column: str) -> str:
    """Return the column as it is written in a filter."""
    if WORD.fullmatch(column) and column.lower() not in ("and", "in", "is"):
        return column
    return '"' + column.replace('"', '""') + '"'


class _Reader:
    """The rest of a text, token by token; a token is (kind, text)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while text[at:].strip():
            found = TOKEN.match(text, at)
            if found is None:
                raise self.refusal(f"{shown(text[at:].strip())} cannot be read; is a quotation mark missing?")
            kind = str(found.lastgroup)
            self.tokens.append((kind, _unquoted(kind, found[kind])))
            at = found.end()
        self.tokens.reverse()

    @property
    def at_end(self) -> bool:
        return not self.tokens

    def clause(self) -> Clause:
        column = self.name("a column")
        kind, op = self.take("an operator")
        if kind == "sign" and op in COMPARISONS:
            return Clause(column, op, (self.name("a value"),))
        if kind == "word" and op.lower() == "in":
            return Clause(column, "in", self.values())
        if kind == "word" and op.lower() == "is":
            negated = [(kind, word.lower()) for kind, word in self.tokens[-1:]] == [("word", "not")]
            if negated:
                self.tokens.pop()
            self.keyword("null")
            return Clause(column, "not null" if negated else "null", ())
        raise self.refusal(
            f"expected one of {' '.join(COMPARISONS)} in, is null after {shown(column)}; got {shown(op)}"
        )

    def values(self) -> tuple[str, ...]:
        if self.take("a list such as (a, b)") != ("sign", "("):
            raise self.refusal("expected a list such as (a, b) after in")
        values = [self.name("a value")]
        while (token := self.take("a closing parenthesis")) == ("sign", ","):
            values.append(self.name("a value"))
        if token != ("sign", ")"):
            raise self.refusal(f"expected a comma or a closing parenthesis; got {shown(token[1])}")
        return tuple(values)

    def name(self, what: str) -> str:
        kind, text = self.take(what)
        if kind == "sign":
            raise self.refusal(f"expected {what}; got {shown(text)}")
        return text

    def keyword(self, word: str) -> None:
        kind, text = self.take(word)
        if kind != "word" or text.lower() != word:
            hint = ". For one of several values write: column in (a, b)" if text.lower() in ("or", "|", "||") else ""
            raise self.refusal(f"expected {shown(word)}; got {shown(text)}{hint}")

    def take(self, what: str) -> tuple[str, str]:
        if self.at_end:
            raise self.refusal(f"expected {what}, but it ends there")
        return self.tokens.pop()

    def refusal(self, problem: str) -> InputError:
        return InputError(
            "{where=text} is not a filter: {problem}. Write it like: age >= 65 and region in (north, west)",
            text=self.text,
            problem=problem,
            option="where",
        )


def _unquoted(kind: str, text: str) -> str:
    quote = {"single": "'", "double": '"'}.get(kind)
    return text.replace(quote * 2, quote) if quote else text
