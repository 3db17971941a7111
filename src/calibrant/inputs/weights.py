"""Importance weights at the boundary."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.inputs.containers import as_array, is_missing, numbers_of_objects

FloatArray = NDArray[np.float64]

LIGHTEST, HEAVIEST = 1e-100, 1e100  # so that neither a weight nor its square leaves the range of float64
NEGLIGIBLE = 1e-40  # of the largest weight: less than this changes no digit of any result


def unit_weights(n: int) -> FloatArray:
    """Return n weights of 1 that take the memory of one."""
    return np.broadcast_to(np.float64(1.0), (n,))


def is_unit(weights: FloatArray) -> bool:
    """Tell whether these are the weights of `unit_weights`."""
    return weights.strides == (0,) and (weights.size == 0 or weights[0] == 1.0)


def take_weights(weights: FloatArray, rows: NDArray[np.intp]) -> FloatArray:
    """Return the weights of these rows; weights of 1 stay what they are."""
    return unit_weights(rows.size) if is_unit(weights) else weights[rows]


def pair_weight(weights: FloatArray, count: NDArray[np.int64] | None = None) -> float:
    """Return Σ_{i≠j} w_i w_j as a sum of positive terms, over rows or over `count` equal rows each."""
    if count is None:
        return float(2 * (weights[1:] * np.cumsum(weights[:-1])).sum())
    total = weights * count
    return float(2 * (total[1:] * np.cumsum(total[:-1])).sum() + (weights * weights * count * (count - 1)).sum())


def read_weights(weights: Any, n: int) -> FloatArray:
    """Return n finite weights >= 0, not all of them 0."""
    if weights is None:
        return unit_weights(n)
    array = as_array(weights, name="weights")
    if array.ndim != 1:
        raise InputError(f"weights must be one number per row; got an array of shape {array.shape}")
    if array.shape[0] != n:
        raise InputError(f"weights must have one value per row: expected {n} rows, got {array.shape[0]}")
    if array.dtype.kind == "O":
        array = _from_objects(array)
    if array.dtype.kind not in "iuf":
        raise InputError(f"weights must be numbers; got values of type {array.dtype}, such as {shown(array[0])}")
    w = array.astype(np.float64)
    bad = ~(np.isfinite(w) & (w >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError("weights must be finite and at least 0; {row} is {value}", row=row, value=array[row])
    heaviest = float(w.max())
    if heaviest == 0:
        raise InputError("weights must not all be 0; leave weights out for equal weights")
    if not LIGHTEST <= heaviest <= HEAVIEST:
        raise InputError(
            f"the largest weight must lie between {LIGHTEST:g} and {HEAVIEST:g}; got {heaviest:g}. "
            "A common factor changes no result: divide the weights by their mean"
        )
    w[w < NEGLIGIBLE * heaviest] = 0.0  # such rows are dropped with those of weight 0
    return unit_weights(n) if (w == 1).all() else w


def _from_objects(array: NDArray[Any]) -> NDArray[Any]:
    numbers = numbers_of_objects(array)
    if numbers is not None:
        return numbers
    found = (i for i, v in enumerate(array.tolist()) if not (isinstance(v, (int, float)) or is_missing(v)))
    row = next(found, 0)
    raise InputError("weights must be numbers; {row} is {value}", row=row, value=array[row])
