"""Bounds and quantiles as they come in: any container, float64 columns out."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.errors import InputError
from calibrant.inputs.laws.law import Selection
from calibrant.inputs.laws.parameters import read_numbers
from calibrant.inputs.weights import FloatArray


def read_bounds(values: Any, name: str) -> tuple[FloatArray, bool, float]:
    """Return columns (n, L), each contiguous, whether one column was given as 1-D, and eps of the dtype that came."""
    array = read_numbers(values, name)
    if array.ndim not in (1, 2):
        raise InputError(f"{name} must have shape (n,), or (n, L) with one column per level; got shape {array.shape}")
    if array.size == 0:
        raise InputError(f"there are no rows: {name} is empty (shape {array.shape}); at least one row is needed")
    eps = float(np.finfo(array.dtype).eps) if array.dtype.kind == "f" else float(np.finfo(np.float64).eps)
    with np.errstate(over="ignore"):
        columns = array.astype(np.float64, copy=True)
    columns = np.asfortranarray(columns[:, None] if array.ndim == 1 else columns)
    refuse_nan(columns, name)
    return columns, array.ndim == 1, max(eps, float(np.finfo(np.float64).eps))


def taken(columns: FloatArray, rows: Selection) -> FloatArray:
    """Return these rows of the columns, each column contiguous; a slice shares memory."""
    return columns[rows] if isinstance(rows, slice) else np.asfortranarray(columns[rows])


def refuse_nan(columns: FloatArray, name: str) -> None:
    """Raise an error that shows the first missing value, if there is one."""
    if not np.isnan(columns.min()):  # a NaN is the minimum of what holds it
        return
    row, column = np.argwhere(np.isnan(columns))[0]
    where = f"row {int(row)}" + (f", column {int(column)}" if columns.shape[1] > 1 else "")
    raise InputError(f"{name} must not be missing; {where} is nan. Drop or repair such rows")
