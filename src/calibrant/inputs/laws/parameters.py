"""Parameters of laws at the boundary: any container in, finite read-only float64 arrays out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.inputs.containers import NUMBERS, as_array, is_missing, numbers_of_objects
from calibrant.inputs.weights import FloatArray


def read_numbers(values: Any, name: str) -> NDArray[Any]:
    """Return `values`, a container or a single number, as an array of real numbers; it may share memory."""
    if isinstance(values, (bool, np.bool_)):
        raise InputError(f"{name} must be numbers; got {shown(values)} ({type(values).__name__})")
    array = np.asarray(values) if isinstance(values, NUMBERS) else as_array(values, name=name)
    if array.dtype.kind == "O":
        array = _from_objects(array, name)
    if array.dtype.kind not in "iuf":
        such_as = f", such as {shown(array.reshape(-1)[0])}" if array.size else ""
        raise InputError(
            f"{name} must be real numbers; got values of type {array.dtype}{such_as}. "
            "Convert them with .astype(float) if they are meant as such"
        )
    return array


def read_array(values: Any, name: str) -> FloatArray:
    """Return a read-only float64 copy; whether its shape and values are legal is for the law to say."""
    array = read_numbers(values, name)
    if array.size == 0:
        raise InputError(f"{name} is empty (shape {array.shape}); at least one value is needed")
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite and is refused as such
        return locked(array.astype(np.float64, order="C", copy=True))


def read_columns(**given: Any) -> tuple[FloatArray, ...]:
    """Return parameters of one number per row, or one for all rows, as arrays of the same length."""
    columns = {name: read_array(values, name) for name, values in given.items()}
    for name, column in columns.items():
        if column.ndim > 1:
            remedy = f"Pass {name}[:, 0]" if column.shape[1:] == (1,) else "Vector outcomes have the law MvNormal"
            raise InputError(
                f"{name} must be one number per row, or one for all rows; got shape {column.shape}. {remedy}"
            )
        refuse_not_finite(column, name)
    lengths = {name: len(column) for name, column in columns.items() if column.ndim == 1}
    n = max(lengths.values(), default=1)
    if any(length != n for length in lengths.values()):
        got = " and ".join(f"{length} of {name}" for name, length in lengths.items())
        raise InputError(
            f"{' and '.join(columns)} must have the same number of rows; got {got}. "
            "A single number, not in a list, stands for all rows"
        )
    return tuple(locked(np.full(n, column)) if column.ndim == 0 else column for column in columns.values())


def refuse_where(
    bad: NDArray[np.bool_], values: NDArray[Any], expected: str, remedy: str, *, axes: tuple[str, ...] = ("row",)
) -> None:
    """Raise an error that shows the first bad value and its place, if there is one; `axes` name the place."""
    if not bad.any():
        return
    place = np.unravel_index(int(np.argmax(bad)), bad.shape)
    if len(place) == 0:
        raise InputError(f"{expected}; got {shown(values[()])}. {remedy}")
    named = [(axis, int(i)) for axis, i in zip(axes, place, strict=True)]
    raise InputError(
        "{expected}; "
        + ", ".join("{row}" if axis == "row" else f"{axis} {i}" for axis, i in named)
        + " is {value}. {remedy}",
        expected=expected,
        row=dict(named).get("row"),
        value=values[place],
        remedy=remedy,
    )


def refuse_not_finite(values: FloatArray, name: str, *, axes: tuple[str, ...] = ("row",)) -> None:
    """Raise an error that shows the first missing or infinite value, if there is one."""
    refuse_where(~np.isfinite(values), values, f"{name} must be finite", "Drop or repair such rows", axes=axes)


def refuse_not_positive(values: FloatArray, name: str) -> None:
    """Raise an error that shows the first value that is not above 0, if there is one."""
    remedy = f"A law without spread has no density; if {name} was rounded to 0, give its true value"
    refuse_where(~(values > 0), values, f"{name} must be positive", remedy)


def locked(array: FloatArray) -> FloatArray:
    """Return the array, which nobody can write to from now on."""
    array.flags.writeable = False
    return array


def _from_objects(array: NDArray[Any], name: str) -> NDArray[Any]:
    numbers = numbers_of_objects(array)
    if numbers is not None:
        return numbers
    flat = array.reshape(-1).tolist()
    no_number = (i for i, v in enumerate(flat) if not (isinstance(v, NUMBERS) or is_missing(v)))
    i = next(no_number, None)
    if i is None:
        raise InputError(f"{name} must be numbers that float64 can hold; one of them is too large")
    row = i // max(1, array.size // max(1, len(array))) if array.ndim else 0
    raise InputError(
        "{name} must be real numbers; {row} is {value} ({type})",
        name=name,
        row=row,
        value=flat[i],
        type=type(flat[i]).__name__,
    )
