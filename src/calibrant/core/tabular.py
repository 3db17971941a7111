"""Results as tables: the columns of data frames, and what a notebook displays."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from numbers import Number
from typing import Any, Literal, TypeAlias

import numpy as np

from calibrant.errors import shown

Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]


class Tabular:
    """A result that is a table: a notebook displays it, and `to_frame` returns a data frame."""

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Return columns of equal length: of a record one row, or one for each entry of its arrays."""
        values = dict(_entries({field.name: getattr(self, field.name) for field in fields(self) if field.repr}))  # type: ignore[arg-type]
        rows = next((len(value) for value in values.values() if isinstance(value, np.ndarray) and value.ndim == 1), 1)
        return {name: _column(value, rows) for name, value in values.items()}

    def to_frame(self, backend: Backend | None = None) -> Any:
        """Return a data frame of pandas, or of polars if only that is loaded; limits become two columns."""
        import narwhals as nw

        usual: Backend = "polars" if "polars" in sys.modules and "pandas" not in sys.modules else "pandas"
        return nw.from_dict(plain_columns(self._columns()), backend=backend or usual).to_native()

    def _repr_html_(self) -> str:
        return displayed("record", self)


def displayed(how: str, value: Any) -> str:
    """Return what a notebook shows of a value: `report`, which stands above the core, draws it as it draws pages."""
    return str(getattr(import_module("calibrant.report.notebook"), how)(value))


def _entries(values: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Yield names and values; those of records, mappings, and tuples of arrays or mappings inside bear both names."""
    for name, value in values.items():
        inside = vars(value) if is_dataclass(value) else value
        if isinstance(value, tuple) and any(isinstance(part, (np.ndarray, Mapping)) for part in value):
            inside = dict(enumerate(value, start=1))
        if isinstance(inside, Mapping):
            short = (f"{key:.4g}" if isinstance(key, float) else key for key in inside)
            yield from _entries(dict(zip((f"{name}_{key}" for key in short), inside.values(), strict=True)))
        else:
            yield name, value


def _column(value: Any, rows: int) -> list[Any]:
    """Return a value as a column; what is no number, text or pair of numbers becomes text."""
    if isinstance(value, np.ndarray) and value.shape == (rows,):
        return list(value.tolist())
    if isinstance(value, tuple) and len(value) == rows and all(isinstance(part, str) for part in value):
        return list(value)  # names of the rows
    if hasattr(value, "item") and not np.ndim(value):
        value = value.item()
    value = None if isinstance(value, tuple) and not value else value
    return [value if value is None or isinstance(value, (Number, str)) or _is_pair(value) else shown(value)] * rows


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(part, Number) for part in value)


def plain_columns(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Return columns of one type each, as data frames need them: arrays as they are, pairs as two columns.

    >>> plain_columns({"limits": [(0, 1), None], "n": [3, 0.5], "name": ["a", 2]})
    {'limits_low': [0, None], 'limits_high': [1, None], 'n': [3.0, 0.5], 'name': ['a', '2']}
    """
    found: dict[str, Any] = {}
    for name, values in columns.items():
        given = [] if isinstance(values, np.ndarray) else [value for value in values if value is not None]
        if given and all(map(_is_pair, given)):
            ends = {f"{name}_{end}": [pair and pair[k] for pair in values] for k, end in enumerate(("low", "high"))}
            found |= plain_columns(ends)
        elif len({type(value) for value in given}) > 1:
            kind = float if all(isinstance(value, Number) for value in given) else str
            found[name] = [None if value is None else kind(value) for value in values]
        else:
            found[name] = values if isinstance(values, np.ndarray) else list(values)
    return found
