"""Results as tables: the columns of data frames, and what a notebook displays."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from importlib.util import find_spec
from numbers import Number
from typing import Any, Literal, TypeAlias

import numpy as np

Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]
BACKENDS: tuple[Backend, ...] = ("pandas", "polars")
MAX_LISTED = 6  # entries of a tuple in one cell


class Tabular:
    """A result that is a table: a notebook displays it, and `to_frame` returns a data frame."""

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Return columns of equal length."""
        return record_columns(self)

    def to_frame(self, backend: Backend | None = None) -> Any:
        """Return the columns as a data frame; limits and other pairs become one column each.

        Parameters
        ----------
        backend
            ``"pandas"``, ``"polars"`` or ``"pyarrow"``, which must be installed. By default pandas or polars, whichever
            is loaded; pandas if both are.
        """
        import narwhals as nw

        return nw.from_dict(plain_columns(self._columns()), backend=backend or _usual_backend()).to_native()

    def _repr_html_(self) -> str:
        return displayed("record", self)


def displayed(how: str, value: Any) -> str:
    """Return what a notebook shows of a value: `report`, which stands above the core, draws it as it draws pages."""
    shown: str = getattr(import_module("calibrant.report.notebook"), how)(value)
    return shown


def _usual_backend() -> Backend:
    for is_there in (sys.modules.__contains__, find_spec):
        for name in BACKENDS:
            if is_there(name):
                return name
    return BACKENDS[0]


def record_columns(record: Any) -> dict[str, list[Any]]:
    """Return the fields of a record as columns: one row, or one for each entry of its arrays.

    >>> from calibrant.core.results import Direction
    >>> record_columns(Direction(0.25, 0.0, -0.25, (0.5, 0.75), None))
    {'over': [0.25], 'under': [0.0], 'bias': [-0.25], 'over_bin': [(0.5, 0.75)], 'under_bin': [None]}
    """
    values = dict(_entries({field.name: getattr(record, field.name) for field in fields(record) if field.repr}))
    rows = next((len(value) for value in values.values() if isinstance(value, np.ndarray) and value.ndim == 1), 1)
    return {name: _column(value, rows) for name, value in values.items()}


def _entries(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield names and values, also those of mappings, records and tuples of arrays inside; no name comes twice."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            clear = {key: isinstance(key, str) and key not in values for key in value}
            inside = {key if clear[key] else _joined(name, key): part for key, part in value.items()}
        elif is_dataclass(value):
            inside = {_joined(name, field.name): getattr(value, field.name) for field in fields(value) if field.repr}
        elif isinstance(value, tuple) and any(isinstance(part, np.ndarray) for part in value):
            inside = {_joined(name, k): part for k, part in enumerate(value, start=1)}
        else:
            yield name, value
            continue
        yield from _entries(inside)


def _joined(name: str, key: Any) -> str:
    return f"{name}_{key:.4g}" if isinstance(key, float) else f"{name}_{key}"


def _column(value: Any, rows: int) -> list[Any]:
    if isinstance(value, np.ndarray) and value.shape == (rows,):
        return list(value.tolist())
    if isinstance(value, tuple) and len(value) == rows and all(isinstance(part, str) for part in value):
        return list(value)  # names of the rows
    return [_cell(value)] * rows


def _cell(value: Any) -> Any:
    """Return a number, a text, a pair of numbers or None as it is, anything else as text."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.ndim):
        return value.item()
    if value is None or isinstance(value, (Number, str)) or _is_pair(value):
        return value
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=4, threshold=MAX_LISTED, edgeitems=3)
    if isinstance(value, tuple):
        more = f", … {len(value):,} in all" if len(value) > MAX_LISTED else ""
        return f"{', '.join(map(str, value[:MAX_LISTED]))}{more}"
    return str(value)


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(part, Number) for part in value)


def plain_columns(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Return columns of one type each, as data frames need them: arrays as they are, pairs as two columns.

    >>> plain_columns({"limits": [(0, 1), None], "n": [3, 0.5], "name": ["a", 2]})
    {'limits_low': [0.0, None], 'limits_high': [1.0, None], 'n': [3.0, 0.5], 'name': ['a', '2']}
    """
    found: dict[str, Any] = {}
    for name, values in columns.items():
        given = [value for value in values if value is not None]
        if isinstance(values, np.ndarray):
            found[name] = values
        elif given and all(map(_is_pair, given)):
            for k, end in enumerate(("low", "high")):
                found[f"{name}_{end}"] = [None if pair is None else float(pair[k]) for pair in values]
        else:
            kinds = {type(value) for value in given}
            kind = float if kinds <= {int, float} else str
            found[name] = list(values) if len(kinds) < 2 else [None if v is None else kind(v) for v in values]
    return found
