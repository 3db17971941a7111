"""Labels of rows, one per row: which group or series it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError
from calibrant.inputs.containers import as_array, is_missing
from calibrant.inputs.label_forms import moment_texts, plain_decimal

Label = str | int | float | bool


class RowLabels(NamedTuple):
    """The number of each row's label, and the labels in ascending order."""

    code: NDArray[np.intp]  # (n,)
    values: tuple[Label, ...]


def read_row_labels(labels: Any, n: int, *, name: str = "groups", keep: NDArray[np.bool_] | None = None) -> RowLabels:
    """Return labels of any hashable kind as numbers 0, 1, ... in the order of the labels, never of the rows.

    `n` counts the rows that are left and `keep` marks them among the caller's. Texts, numbers and booleans stay what
    they are, other labels become texts; a missing label is refused with its row.

    >>> read_row_labels(["b", "a", "b"], 3)
    RowLabels(code=array([1, 0, 1]), values=('a', 'b'))
    """
    column = _column(labels, name)
    expected = n if keep is None else keep.size
    if column.ndim != 1 or column.size != expected:
        raise InputError(f"{name} must have one label per row: expected {expected} rows, got shape {column.shape}")
    rows = np.arange(expected) if keep is None else np.flatnonzero(keep)
    column = column[rows]
    _refuse_missing(column, rows, name)
    if column.dtype.kind in "OmMV":
        return _of_objects(column, rows, name)
    values, code = np.unique(column + 0.0 if column.dtype.kind == "f" else column, return_inverse=True)  # -0.0 is 0.0
    return RowLabels(code.astype(np.intp), tuple(values.tolist()))


def _column(labels: Any, name: str) -> NDArray[Any]:
    if isinstance(labels, (list, tuple)):  # tuples are labels too, not rows of a matrix
        column = np.empty(len(labels), dtype=object)
        column[:] = labels
        return column
    return as_array(labels, name=name)


def _refuse_missing(column: NDArray[Any], rows: NDArray[np.intp], name: str) -> None:
    if column.dtype.kind == "O":
        missing = np.array([is_missing(label) or _is_not_a_time(label) for label in column.tolist()], dtype=bool)
    elif column.dtype.kind in "fmM":
        missing = column != column  # noqa: PLR0124  # NaN and NaT differ from themselves
    else:
        return
    if missing.any():
        place = int(np.argmax(missing))
        raise InputError(
            "{name} must not be missing; {row} is {value}. Give such rows a label of their own, or drop them",
            name=name,
            row=int(rows[place]),
            value=column[place],
        )


def _is_not_a_time(label: Any) -> bool:
    return isinstance(label, np.datetime64 | np.timedelta64) and bool(np.isnat(label))


def _of_objects(column: NDArray[Any], rows: NDArray[np.intp], name: str) -> RowLabels:
    labels = moment_texts(column) if column.dtype.kind in "mM" else list(map(plain_decimal, column.tolist()))
    number: dict[Any, int] = {}
    code = np.empty(len(labels), dtype=np.intp)
    for i, label in enumerate(labels):
        try:
            code[i] = number.setdefault(label, len(number))
        except TypeError:
            raise InputError(
                "{name} must be labels that can be told apart, such as texts or numbers; {row} is {value}",
                name=name,
                row=int(rows[i]),
                value=label,
            ) from None
    values = _plain(list(number))
    order = label_order(values)
    place = np.empty(len(values), dtype=np.intp)
    place[order] = np.arange(len(values))
    return RowLabels(place[code], tuple(values[k] for k in order))


def label_order(labels: Sequence[Label]) -> list[int]:
    """Return the places of labels in ascending order; kinds that do not compare stand one after the other."""
    try:
        return sorted(range(len(labels)), key=labels.__getitem__)
    except TypeError:
        return sorted(range(len(labels)), key=lambda k: (type(labels[k]).__name__, str(labels[k])))


def _plain(labels: list[Any]) -> list[Label]:
    """Return labels that a file can hold: what is no text and no number becomes a text, different ones different."""
    items = [label.item() if isinstance(label, np.generic) else label for label in labels]
    texts = [item if isinstance(item, Label) else str(item) for item in items]
    if len(set(texts)) == len(texts):
        return texts
    return [item if isinstance(item, Label) else f"{type(item).__name__} {item!r}" for item in items]
