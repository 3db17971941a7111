"""The columns of a prediction, checked for what only the file can explain, as what the library takes."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant.cli.cells import cells, matrix
from calibrant.cli.columns import Columns
from calibrant.cli.list_columns import array_of, depth
from calibrant.errors import InputError, listing, shown
from calibrant.files.rows_in_words import counting, nothing
from calibrant.files.table_file import TableFile
from calibrant.files.where import Where, quoted
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.samples import Samples
from calibrant.inputs.sets import Sets

if TYPE_CHECKING:
    import polars as pl


def prediction_of(rows: pl.DataFrame, columns: Columns, levels: Sequence[float], crossed: Any) -> Any:
    """Return the prediction: an array of probabilities, intervals, sets, quantiles or samples."""
    if columns.kind == "binary":
        return cells(rows, columns.p[0]).to_numpy()
    if columns.kind == "samples":
        log_density = array_of(cells(rows, columns.log_density)) if columns.log_density is not None else None
        return Samples(_draws_of(rows, columns.p), log_density)
    values = matrix(rows, columns.p).to_numpy()
    if columns.kind == "intervals":
        L = len(levels)
        lower, upper = values[:, :L], values[:, L:]
        if L == 1:
            return Intervals(lower[:, 0], upper[:, 0], levels[0], crossed=crossed or "raise")
        return Intervals(lower, upper, levels, crossed=crossed or "raise")
    if columns.kind == "sets":
        return Sets(values.astype(bool), levels[0])
    if columns.kind == "quantiles":
        order = np.argsort(levels)  # each column comes with its level, so that their order is of no consequence
        return Quantiles(values[:, order], np.array(levels)[order], crossed=crossed or "raise")
    return values


def _draws_of(rows: pl.DataFrame, names: Sequence[str]) -> NDArray[Any]:
    """Return draws of shape (n, M) from columns of numbers or a list, or (n, M, D) from lists of lists or several."""
    columns = [cells(rows, name) for name in names]
    if not depth(columns[0].dtype):
        return matrix(rows, names).to_numpy()
    arrays = [array_of(column) for column in columns]
    if len(arrays) == 1:
        return arrays[0]
    sizes = {name: array.shape[1] for name, array in zip(names, arrays, strict=True)}
    for name, size in sizes.items():
        if size != sizes[names[0]]:
            raise InputError(
                f"all coordinates must have the same number of draws; {shown(names[0])} has {sizes[names[0]]:,} and "
                f"{shown(name)} {size:,}"
            )
    return np.stack(arrays, axis=2)


def outcome_of(rows: pl.DataFrame, names: Sequence[str], prediction: Any) -> NDArray[Any]:
    """Return the outcome: one number or label per row, or (n, D) where a vector was predicted."""
    columns = [cells(rows, name) for name in names]
    if len(columns) > 1 or depth(columns[0].dtype):
        y = array_of(columns[0]) if depth(columns[0].dtype) else matrix(rows, names).to_numpy()
    else:
        y = numbers_or_labels(columns[0])
    if not isinstance(prediction, Samples) or y.shape[1:] == prediction.shape:
        return y
    if prediction.shape == (1,) and y.ndim == 1:
        return y[:, None]
    raise InputError(
        f"the number of coordinates must be that of the draws, {prediction.shape[0]}; --y has {(*y.shape[1:], 1)[0]} "
        f"({listing(names, most=6)}). Name the columns of all coordinates, such as --y a,b"
    )


def coordinates_of(names: Sequence[str], y: NDArray[Any]) -> list[str]:
    """Return what the coordinates of a vector are called; nothing where the outcome is a number or a label."""
    if y.ndim == 1:
        return []
    return list(names) if len(names) == y.shape[1] else [f"{names[0]}_{k}" for k in range(y.shape[1])]


def numbers_or_labels(column: pl.Series) -> NDArray[Any]:
    """Return a column as an array, of small integers where they will do: 70 MB less for ten million outcomes."""
    return (column.shrink_dtype() if column.dtype.is_integer() else column).to_numpy()


def check_rows(rows: pl.DataFrame, table: TableFile, where: Where | None) -> None:
    """Refuse a file without rows."""
    if rows.is_empty():
        raise nothing([table.path], where)


def check_present(column: pl.Series, name: str, table: TableFile, where: Where | None) -> None:
    """Refuse a column in which a value is missing."""
    missing = column.is_null() | (column.is_nan() if column.dtype.is_float() else False)
    if missing.any():
        raise InputError(
            f"column {shown(name)} of {table.path} has no value in {missing.sum():,} of {len(column):,} rows, "
            f"the first of them row {missing.arg_max()} ({counting(where, '--where')}). "
            f"Repair them, or leave them out with --where {shlex.quote(f'{quoted(name)} is not null')}"
        )


def check_numbers(
    column: pl.Series, name: str, table: TableFile, where: Where | None, *, instead: str = "name another column"
) -> None:
    """Refuse a column that holds no numbers."""
    import polars as pl

    if column.dtype.is_numeric():
        return
    place = f"column {shown(name)} of {table.path} must hold numbers"
    otherwise = f"{instead[:1].upper()}{instead[1:]}"
    if not isinstance(column.dtype, (pl.String, pl.Categorical, pl.Enum)) or column.null_count() == len(column):
        raise InputError(f"{place}; it holds values of type {column.dtype}. {otherwise}")
    text = column.cast(pl.String)
    strange = text.is_not_null() & text.cast(pl.Float64, strict=False).is_null()
    row = int((strange if strange.any() else text.is_not_null()).arg_max() or 0)
    remedy = "" if strange.all() else "Leave such cells empty" if strange.any() else "Save it as numbers"
    if text.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False).is_not_null().all():
        remedy = "Add --decimal-comma" if table.format == "csv" and strange.any() else remedy
    raise InputError(
        f"{place}; row {row} ({counting(where, '--where')}) is the text {shown(text[row])}. "
        + (f"{remedy}, or {instead}" if remedy else otherwise)
    )


def check_members(column: pl.Series, name: str, table: TableFile, where: Where | None) -> None:
    """Refuse a column that does not say whether a label is in the set."""
    import polars as pl

    if column.dtype == pl.Boolean:
        return
    strange = ~((column == 0) | (column == 1)) if column.dtype.is_numeric() else None
    if strange is not None and not strange.any():
        return
    row = int(0 if strange is None else strange.arg_max() or 0)
    probability = column.dtype.is_float() and column.min() >= 0 and column.max() <= 1  # type: ignore[operator]
    remedy = "Probabilities are no sets: name them with --p-cols" if probability else "Name another column"
    raise InputError(
        f"column {shown(name)} of {table.path} must say whether a class is in the set, true or false or 1 or 0; "
        f"row {row} ({counting(where, '--where')}) is {shown(column[row])}. {remedy}"
    )
