"""What predictions were made from: one value, vector or array per row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError
from calibrant.inputs.containers import as_array
from calibrant.inputs.laws.parameters import read_numbers, refuse_where
from calibrant.inputs.weights import FloatArray


def read_covariates(covariates: Any, n: int, keep: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Return the covariates of the n rows that stayed at the boundary, read-only and otherwise as they came.

    `keep` marks which of the caller's rows these are.
    """
    array = as_array(covariates, name="covariates")
    _check_rows(array, n, keep)
    found: NDArray[Any] = array.view() if keep is None else array[keep]
    found.flags.writeable = False
    return found


def covariate_columns(covariates: Any, n: int, keep: NDArray[np.bool_] | None) -> FloatArray:
    """Return covariates as finite numbers (n, q).

    >>> covariate_columns([1, 2, 3], 2, np.array([True, False, True]))
    array([[1.],
           [3.]])
    """
    array = read_numbers(covariates, "covariates")
    _check_rows(array, n, keep)
    if array.ndim > 2 or array.size == 0:
        raise InputError(f"covariates must have shape (n,) or (n, q), numbers for each row; got shape {array.shape}")
    with np.errstate(over="ignore"):
        columns = array.reshape(len(array), -1).astype(np.float64)
    bad = ~np.isfinite(columns) if keep is None else ~np.isfinite(columns) & keep[:, None]
    refuse_where(bad, columns, "covariates must be finite", "Drop or repair such rows", axes=("row", "column"))
    return columns if keep is None else columns[keep]


def _check_rows(array: NDArray[Any], n: int, keep: NDArray[np.bool_] | None) -> None:
    expected = n if keep is None else keep.size
    if array.ndim == 0 or len(array) != expected:
        raise InputError(
            f"covariates must have one value or vector per row: expected {expected} rows, got shape {array.shape}. "
            "Take outcomes, predictions and covariates from the same table"
        )
