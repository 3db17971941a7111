"""From any container to a NumPy array, by position, without copying where that is possible."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown

NUMBERS = (int, float, np.integer, np.floating, np.bool_)
FRAMES = ("pandas", "polars", "pyarrow", "modin", "cudf")  # read through narwhals


def as_array(values: Any, *, name: str) -> NDArray[Any]:
    """Return `values` as an array of numbers, booleans or objects; labels and indices are ignored."""
    if isinstance(values, np.ma.MaskedArray):
        return _unmasked(values, name)
    if isinstance(values, np.ndarray):
        return np.asarray(values)
    if values is None:
        raise InputError(f"{name} is missing: expected an array, a list or a column, got None")
    if isinstance(values, (str, bytes, dict, set, frozenset)):
        raise InputError(
            f"{name} must be an array, a list or a column of values; got the {type(values).__name__} {shown(values)}. "
            "Pass the column itself, such as frame['name']"
        )
    package = type(values).__module__.partition(".")[0]
    if package == "torch":
        return _from_torch(values, name)
    if package in FRAMES:
        return _from_frame(values, name)
    if package == "xarray" and hasattr(values, "data_vars"):
        raise InputError(f"{name} is an xarray Dataset; pass one array, such as {name}.to_dataarray().T")
    return _from_sequence(values, name)


def is_missing(value: Any) -> bool:
    """Tell whether a Python object stands for a value that is not there."""
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, (float, np.floating)) and math.isnan(value))
    )


def numbers_of_objects(array: NDArray[Any]) -> NDArray[Any] | None:
    """Return an array of Python objects as numbers, missing ones as NaN; None if one of them is no number."""
    flat = array.reshape(-1).tolist()
    if flat and all(isinstance(value, (bool, np.bool_)) for value in flat):
        return np.array(flat, dtype=bool).reshape(array.shape)
    if not all(isinstance(value, NUMBERS) or is_missing(value) for value in flat):
        return None
    try:
        numbers = [math.nan if is_missing(value) else float(value) for value in flat]
    except OverflowError:  # a whole number beyond float64
        return None
    return np.array(numbers, dtype=np.float64).reshape(array.shape)


def _unmasked(values: np.ma.MaskedArray[Any, Any], name: str) -> NDArray[Any]:
    mask = np.ma.getmaskarray(values)
    if mask.any():
        row = int(np.argmax(mask.reshape(len(mask), -1).any(axis=1))) if mask.ndim else 0
        raise InputError("{name} has a masked value at {row}; drop masked rows first", name=name, row=row)
    return np.asarray(values.data)


def _from_torch(values: Any, name: str) -> NDArray[Any]:
    torch = sys.modules["torch"]
    if not isinstance(values, torch.Tensor):
        return _from_sequence(values, name)
    if values.device.type != "cpu":
        raise InputError(f"{name} is a tensor on {shown(str(values.device))}; pass {name}.cpu()")
    tensor = values.detach()
    if tensor.dtype is torch.bfloat16:  # NumPy has no such type; every bfloat16 is a float32
        tensor = tensor.float()
    try:
        return np.asarray(tensor.numpy())
    except (RuntimeError, TypeError) as problem:  # sparse layouts, float8, lazy conjugates
        raise InputError(f"{name} is a tensor that NumPy cannot read: {problem}") from None


def _from_frame(values: Any, name: str) -> NDArray[Any]:
    import narwhals as nw

    try:
        native: Any = nw.from_native(values, allow_series=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise InputError(f"{name} has two columns of one name; rename one of them") from None
    if isinstance(native, nw.LazyFrame):
        raise InputError(f"{name} is a lazy frame; collect it first, or pass one of its columns")
    if isinstance(native, (nw.Series, nw.DataFrame)):
        return np.asarray(native.to_numpy())
    # Arrow arrays that are not chunked, and pandas extension arrays, have no narwhals wrapper.
    if hasattr(values, "to_numpy"):
        options = {"zero_copy_only": False} if type(values).__module__.startswith("pyarrow") else {}
        return np.asarray(values.to_numpy(**options))
    return _from_sequence(values, name)


def _from_sequence(values: Any, name: str) -> NDArray[Any]:
    if hasattr(values, "toarray") and hasattr(values, "nnz"):
        raise InputError(f"{name} is a sparse {type(values).__name__}; pass {name}.toarray()")
    try:
        array = np.asarray(values)
        if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
            # NumPy would turn a mixed list such as [1, "yes"] into text; keep the values as they came.
            array = np.asarray(values, dtype=object)
    except (RuntimeError, TypeError, ValueError) as problem:  # torch raises a RuntimeError
        raise InputError(f"{name} is not a regular array: {problem}") from None
    if array.ndim == 0:
        raise InputError(
            f"{name} must be an array, a list or a column with one value per row; "
            f"got the single value {shown(values)} ({type(values).__name__})"
        )
    return array
