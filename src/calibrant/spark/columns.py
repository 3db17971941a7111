"""The columns of a Spark frame that a measurement needs, in types that Arrow carries."""

from __future__ import annotations

from typing import Any

from calibrant.errors import InputError, MissingExtraError, shown
from calibrant.inputs.columns import NamedColumns

EXPECTED = "expected numbers, booleans, text, or arrays of numbers"


def selected(frame: Any, columns: NamedColumns) -> Any:
    """Return the frame with these columns alone, decimals as float64; other types are refused by name."""
    try:
        import pyarrow  # noqa: F401  # mapInArrow needs it
        from pyspark.sql import DataFrame
    except ImportError:
        raise MissingExtraError("measuring a Spark frame", extra="spark") from None
    if not isinstance(frame, DataFrame):
        remedy = ". Call .to_spark() on it" if hasattr(frame, "to_spark") else ""
        raise InputError(f"frame must be a pyspark.sql.DataFrame; got {shown(type(frame))}{remedy}")
    if frame.isStreaming:
        raise InputError("frame is a stream, which has no end; measure the table that it is written to")
    names = list(frame.columns)
    columns.check(names, "the frame")
    _refuse_twice(names, columns)
    types = {field.name: field.dataType for field in frame.schema.fields}
    return frame.select([_readable(frame[quoted(name)], types[name], name) for name in columns.needed])


def quoted(name: str) -> str:
    """Return a name as Spark's expressions take it, dots and all.

    >>> quoted("score.v2")
    '`score.v2`'
    """
    return "`" + name.replace("`", "``") + "`"


def _refuse_twice(names: list[str], columns: NamedColumns) -> None:
    """Refuse columns that Spark cannot tell apart: by default "Y" and "y" are one name to it."""
    lower = [name.lower() for name in names]
    for name in columns.needed:
        if names.count(name) > 1:
            raise InputError(f"the frame has {names.count(name)} columns {name!r}; rename all but one of them")
        if lower.count(name.lower()) > 1:
            others = [other for other in names if other.lower() == name.lower()]
            raise InputError(f"the frame has the columns {others}, which are one name to Spark; rename them")


def _readable(column: Any, kind: Any, name: str) -> Any:
    """Return the column with decimals as float64; refuse what is neither number, boolean nor text."""
    from pyspark.sql import types

    depth, inner = 0, kind
    while isinstance(inner, types.ArrayType):
        depth, inner = depth + 1, inner.elementType
    legal = types.NumericType if depth else (types.NumericType, types.BooleanType, types.StringType)
    if not isinstance(inner, legal):
        raise InputError(f"column {name!r} is of Spark's type {kind.simpleString()}; {EXPECTED}. {_remedy(inner)}")
    if not isinstance(inner, types.DecimalType):
        return column
    return column.cast("array<" * depth + "double" + ">" * depth).alias(name)


def _remedy(kind: Any) -> str:
    name = kind.simpleString()
    if name.startswith("vector"):
        return "Turn it into an array with pyspark.ml.functions.vector_to_array"
    if name.startswith(("timestamp", "date", "interval", "time")):
        return "Points in time are no outcomes; cast them to text to group by them"
    return "Select or cast what is meant"
