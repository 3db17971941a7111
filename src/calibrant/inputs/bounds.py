"""Bounds and quantiles as they come in: any container, float64 columns out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError
from calibrant.inputs.laws.law import Selection
from calibrant.inputs.laws.parameters import read_numbers
from calibrant.inputs.weights import FloatArray

EXACT = 2**53  # float64 holds all whole numbers up to here


def read_bounds(values: Any, name: str) -> tuple[FloatArray, bool, float]:
    """Return columns (n, L), each contiguous, whether one column was given as 1-D, and eps of the dtype that came."""
    array = read_numbers(values, name)
    if array.ndim not in (1, 2):
        raise InputError(f"{name} must have shape (n,), or (n, L) with one column per level; got shape {array.shape}")
    if array.size == 0:
        raise InputError(f"there are no rows: {name} is empty (shape {array.shape}); at least one row is needed")
    refuse_rounded(array, name)
    eps = float(np.finfo(array.dtype).eps) if array.dtype.kind == "f" else float(np.finfo(np.float64).eps)
    with np.errstate(over="ignore"):
        columns = array.astype(np.float64, copy=True)
    columns = np.asfortranarray(columns[:, None] if array.ndim == 1 else columns)
    refuse_nan(columns, name)
    return columns, array.ndim == 1, max(eps, float(np.finfo(np.float64).eps))


def taken(columns: FloatArray, rows: Selection) -> FloatArray:
    """Return these rows of the columns, each column contiguous; a slice shares memory."""
    return columns[rows] if isinstance(rows, slice) else np.asfortranarray(columns[rows])


def refuse_rounded(values: NDArray[Any], name: str, rows: NDArray[np.intp] | None = None) -> None:
    """Raise an error that shows the first whole number that float64 cannot hold; `rows` are the caller's row numbers.

    >>> refuse_rounded(np.array([2**53, 2**53 + 1]), "y")
    Traceback (most recent call last):
    calibrant.errors.InputError: y must be numbers that float64 can hold; row 1 is 9007199254740993 and would become ...
    """
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8:
        return
    if values.size == 0 or (values.max() <= EXACT and values.min() >= -EXACT):
        return
    held = values.astype(np.float64)
    beyond = held >= float(np.iinfo(values.dtype).max)  # rounded up to a number that does not come back
    bad = np.where(beyond, 0.0, held).astype(values.dtype) != values
    if not bad.any():
        return
    place = np.unravel_index(int(np.argmax(bad)), bad.shape)
    row = int(place[0]) if rows is None else int(rows[place[0]])
    raise InputError(
        "{name} must be numbers that float64 can hold; {row}{column} is {value} and would become {rounded}. "
        "Whole numbers beyond 2**53 are rounded: subtract a common offset first",
        name=name,
        row=row,
        column=f", column {int(place[1])}" if len(place) > 1 and values.shape[1] > 1 else "",
        value=values[place],
        rounded=int(held[place]),
    )


def refuse_nan(columns: FloatArray, name: str) -> None:
    """Raise an error that shows the first missing value, if there is one."""
    if not np.isnan(columns.min()):  # a NaN is the minimum of what holds it
        return
    row, column = np.argwhere(np.isnan(columns))[0]
    raise InputError(
        "{name} must not be missing; {row}{column} is nan. Drop or repair such rows",
        name=name,
        row=int(row),
        column=f", column {int(column)}" if columns.shape[1] > 1 else "",
    )
