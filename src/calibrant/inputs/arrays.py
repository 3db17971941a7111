"""Arrays from any container: numbers, weights and parameters, with errors that name the first bad entry."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown

FloatArray = NDArray[np.float64]
T = TypeVar("T", bound=np.generic)

Labels: TypeAlias = Sequence[Any] | np.ndarray[Any, Any]
"""The labels of classes, in the order of the columns."""

Rng: TypeAlias = np.random.Generator | int
"""A generator of random numbers, or its seed."""

NUMBERS = (int, float, np.integer, np.floating, np.bool_)
FRAMES = ("pandas", "polars", "pyarrow", "modin", "cudf")  # read through narwhals
LIGHTEST, HEAVIEST = 1e-100, 1e100  # limits of the largest weight: neither it nor its square leaves float64
EXACT = 2**53  # float64 represents all whole numbers up to here
NEGLIGIBLE = 1e-40  # share of the largest weight below which a weight changes no digit of any result


def as_array(values: Any, *, name: str) -> NDArray[Any]:
    """Return `values` as an array of numbers, booleans or objects, without the index or labels of its container."""
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values)
        refuse_where(mask, values.data, f"{name} must not be masked", "Drop masked rows first")
        return np.asarray(values.data)
    if isinstance(values, np.ndarray):
        is_string_dtype = values.dtype.kind == "T"  # NumPy cannot sort its missing values
        return np.asarray(values, dtype=object if is_string_dtype else None)
    if values is None:
        raise InputError(f"{name} is missing: expected an array, a list or a column, got None")
    if isinstance(values, (str, bytes, dict, set, frozenset)):
        raise InputError(
            f"{name} must be an array, a list or a column, such as frame['name']; got the {type(values).__name__} "
            f"{shown(values)}"
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
    if isinstance(value, (float, np.floating, np.datetime64, np.timedelta64)):
        return bool(value != value)  # noqa: PLR0124  # NaN and NaT differ from themselves
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def missing_mask(array: NDArray[Any]) -> NDArray[np.bool_]:
    if array.dtype.kind == "O":
        return np.fromiter(map(is_missing, array.reshape(-1).tolist()), bool, array.size).reshape(array.shape)
    if array.dtype.kind in "fmM":
        return np.asarray(array != array)  # noqa: PLR0124
    return np.zeros(array.shape, bool)


def is_number(value: object) -> bool:
    """Tell whether a Python object is a real number; True and False are not."""
    return isinstance(value, NUMBERS) and not isinstance(value, (bool, np.bool_))


def numbers_of_objects(array: NDArray[Any]) -> NDArray[Any] | None:
    """Return objects as numbers, missing ones as NaN, or as booleans if all are; None if one is no number."""
    flat = array.reshape(-1).tolist()
    if flat and all(isinstance(value, (bool, np.bool_)) for value in flat):
        return np.array(flat, dtype=bool).reshape(array.shape)
    if not all(is_number(value) or is_missing(value) for value in flat):
        return None
    try:
        numbers = [math.nan if is_missing(value) else float(value) for value in flat]
    except OverflowError:  # a whole number beyond float64
        return None
    return np.array(numbers, dtype=np.float64).reshape(array.shape)


def read_objects(
    array: NDArray[Any], name: str, expected: str = "real numbers", *, booleans: bool = True
) -> NDArray[Any]:
    """Return Python objects as an array of numbers, or refuse the first that is not a number, with its row."""
    numbers = numbers_of_objects(array)
    if numbers is not None and (booleans or numbers.dtype.kind != "b"):
        return numbers
    for i, value in enumerate(array.reshape(-1).tolist()):
        if not (is_number(value) or is_missing(value)):
            message = f"{{name}} must be {expected}; {{row}} is {{value}} ({type(value).__name__})"
            raise InputError(message, name=name, row=i // (array.size // len(array)), value=value)
    raise InputError(f"{name} must be numbers that float64 can represent; one of them is too large")


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
    is_arrow = type(values).__module__.startswith("pyarrow")
    dtype = getattr(native, "dtype", None)
    # NumPy has no such integers, and pyarrow would give missing values of a dictionary another label.
    if dtype in (nw.Int128, nw.UInt128) or (is_arrow and isinstance(native, nw.Series) and dtype == nw.Categorical):
        return np.array(native.to_list(), dtype=object)
    if isinstance(native, (nw.Series, nw.DataFrame)):
        return np.asarray(native.to_numpy())
    # Arrow arrays that are not chunked, and pandas extension arrays, have no narwhals wrapper.
    if hasattr(values, "to_numpy"):
        return np.asarray(values.to_numpy(**{"zero_copy_only": False} if is_arrow else {}))
    return _from_sequence(values, name)


def _from_sequence(values: Any, name: str) -> NDArray[Any]:
    if hasattr(values, "toarray") and hasattr(values, "nnz"):
        raise InputError(f"{name} is a sparse {type(values).__name__}; pass {name}.toarray()")
    if isinstance(values, (list, tuple)):  # NumPy would drop the masks of its parts
        masked = next((i for i, part in enumerate(values) if np.ma.is_masked(part)), None)
        if masked is not None:
            message = "{name} must not be masked; {row} has masked values. Drop masked rows first"
            raise InputError(message, name=name, row=masked)
    try:
        array = np.asarray(values)
        if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
            # NumPy would turn a mixed list such as [1, "yes"] into text; keep the values as they came.
            array = np.asarray(values, dtype=object)
        elif array.dtype.kind != "b" and _has_booleans(values):
            array = np.asarray(values, dtype=object)  # NumPy would turn True among numbers into 1
    except (RuntimeError, TypeError, ValueError) as problem:  # torch raises a RuntimeError
        raise InputError(f"{name} is not a regular array: {problem}") from None
    if array.ndim == 0:
        raise InputError(
            f"{name} must have one value per row; got the single value {shown(values)} ({type(values).__name__})"
        )
    return array


def _has_booleans(values: Any) -> bool:
    if not isinstance(values, (list, tuple)):
        return False
    types = set(map(type, values))
    return not types.isdisjoint((bool, np.bool_)) or (
        not types.isdisjoint((list, tuple)) and any(map(_has_booleans, values))
    )


def unit_weights(n: int) -> FloatArray:
    """Return n weights of 1 in the memory of one number."""
    return np.broadcast_to(np.float64(1.0), (n,))


def is_unit(weights: FloatArray) -> bool:
    """Tell whether these are weights made by `unit_weights`."""
    return weights.strides == (0,) and (weights.size == 0 or weights[0] == 1.0)


def take_weights(weights: FloatArray, rows: NDArray[np.intp]) -> FloatArray:
    """Return the weights of these rows; `unit_weights` stay such."""
    return unit_weights(rows.size) if is_unit(weights) else weights[rows]


def kept_rows(weights: FloatArray) -> NDArray[np.intp] | None:
    """Return the numbers of the rows with positive weight; None if all have it."""
    return None if is_unit(weights) or weights.min() > 0 else np.flatnonzero(weights)


def pair_weight(weights: FloatArray, count: NDArray[np.int64] | None = None) -> float:
    """Return Σ_{i≠j} w_i w_j as a sum of positive terms, over rows or over `count` equal rows each."""
    if count is None:
        return float(2 * (weights[1:] * np.cumsum(weights[:-1])).sum())
    total = weights * count
    return float(2 * (total[1:] * np.cumsum(total[:-1])).sum() + (weights * weights * count * (count - 1)).sum())


def read_weights(weights: Any, n: int) -> FloatArray:
    """Return n finite weights >= 0 of which at least one is positive."""
    if weights is None:
        return unit_weights(n)
    array = as_array(weights, name="weights")
    if array.ndim != 1:
        raise InputError(f"weights must be one number per row; got an array of shape {array.shape}")
    if array.shape[0] != n:
        raise InputError(f"weights must have one value per row: expected {n} rows, got {array.shape[0]}")
    if array.dtype.kind == "O":
        array = read_objects(array, "weights", "numbers")
    if array.dtype.kind not in "iuf":
        raise InputError(f"weights must be numbers; got values of type {array.dtype}, such as {shown(array[0])}")
    w = array.astype(np.float64)
    bad = ~(np.isfinite(w) & (w >= 0))
    refuse_where(bad, array, "weights must be finite and at least 0", "Drop or repair such rows")
    heaviest = float(w.max())
    if heaviest == 0:
        raise InputError("weights must not all be 0; leave weights out for equal weights")
    if not LIGHTEST <= heaviest <= HEAVIEST:
        raise InputError(
            f"the largest weight must lie between {LIGHTEST:g} and {HEAVIEST:g}; got {heaviest:g}. "
            "As a common factor changes no result, divide the weights by their mean"
        )
    w[w < NEGLIGIBLE * heaviest] = 0.0  # such rows are dropped with those of weight 0
    return unit_weights(n) if (w == 1).all() else w


def kept_mask(weights: Any) -> NDArray[np.bool_] | None:
    """Return which of the caller's rows have positive weight; None if all of them do.

    >>> kept_mask([1, 0, 2]).tolist(), kept_mask(None)
    ([True, False, True], None)
    """
    if weights is None:
        return None
    w = read_weights(weights, len(as_array(weights, name="weights")))
    return None if kept_rows(w) is None else w > 0


def is_percentage(text: str) -> bool:
    """Tell whether a text is a number with a percent sign.

    >>> is_percentage("46 %"), is_percentage("46"), is_percentage("%")
    (True, False, False)
    """
    number, sign, rest = text.strip().partition("%")
    try:
        float(number)
    except ValueError:
        return False
    return bool(sign) and not rest


def read_numbers(values: Any, name: str) -> NDArray[Any]:
    """Return `values`, a container or a single number, as an array of real numbers; it may share memory."""
    if isinstance(values, (bool, np.bool_)):
        raise InputError(f"{name} must be numbers; got {shown(values)} ({type(values).__name__})")
    array = np.asarray(values) if isinstance(values, NUMBERS) else as_array(values, name=name)
    if array.dtype.kind == "O":
        array = read_objects(array, name)
    if array.dtype.kind not in "iuf":
        such_as = f", such as {shown(array.reshape(-1)[0])}" if array.size else ""
        raise InputError(
            f"{name} must be real numbers; got values of type {array.dtype}{such_as}. Convert them with .astype(float)"
        )
    return array


def read_array(values: Any, name: str) -> FloatArray:
    """Return a read-only copy in float64 of at least one value; its shape and its values are not checked."""
    array = read_numbers(values, name)
    if array.size == 0:
        raise InputError(f"{name} is empty (shape {array.shape}); at least one value is needed")
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite and is refused as such
        return locked(array.astype(np.float64, order="C", copy=True))


def read_parameters(**given: Any) -> tuple[FloatArray, ...]:
    """Return finite parameters, each one number per row or one for all rows, as arrays of the same length."""
    columns = {name: read_array(values, name) for name, values in given.items()}
    stretched = stretch(columns)
    for name, column in columns.items():
        refuse_not_finite(column, name)
    return stretched


def stretch(columns: Mapping[str, NDArray[T]]) -> tuple[NDArray[T], ...]:
    """Return columns, each one number per row or one for all rows, in the same length; they are made read-only."""
    for name, column in columns.items():
        if column.ndim > 1:
            only = column.shape[1:] == (1,)
            remedy = f"Pass {name}[:, 0]" if only else "Vector outcomes have the distribution MvNormal"
            raise InputError(
                f"{name} must be one number per row, or one for all rows; got shape {column.shape}. {remedy}"
            )
    lengths = {name: len(column) for name, column in columns.items() if column.ndim == 1}
    n = max(lengths.values(), default=1)
    if any(length != n for length in lengths.values()):
        got = " and ".join(f"{length} of {name}" for name, length in lengths.items())
        raise InputError(
            f"{' and '.join(columns)} must have the same number of rows; got {got}. "
            "A single number, not in a list, stands for all rows"
        )
    return tuple(locked(column if column.ndim else np.full(n, column)) for column in columns.values())


def refuse_where(
    bad: NDArray[np.bool_],
    values: NDArray[Any],
    expected: str,
    remedy: str,
    *,
    axes: tuple[str, ...] = ("row", "column"),
    rows: NDArray[np.intp] | None = None,
) -> None:
    """Raise an error that shows the first bad value and its place; `rows` are the caller's, if rows were dropped."""
    if not bad.any():
        return
    place = np.unravel_index(int(np.argmax(bad)), bad.shape)
    if len(place) == 0:
        raise InputError(f"{expected}; got {shown(values[()])}. {remedy}")
    named = {axis: int(i) for axis, i in zip(axes, place, strict=False)}
    row, value = named.get("row"), values[place]
    where = ", ".join("{row}" if axis == "row" else f"{axis} {i}" for axis, i in named.items())
    raise InputError(
        "{expected}; " + where + " is {value}" + (" (missing)" if is_missing(value) else "") + ". {remedy}",
        expected=expected,
        row=row if rows is None or row is None else int(rows[row]),
        value=value,
        remedy=remedy,
    )


def is_finite(values: NDArray[Any]) -> bool:
    """Tell whether all numbers are finite; if their sum is, one pass without a temporary array shows it."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum(dtype=np.promote_types(values.dtype, np.float32))
    return bool(np.isfinite(total) or np.isfinite(values).all())


def refuse_not_finite(values: FloatArray, name: str, **place: Any) -> None:
    """Raise an error that shows the first missing or infinite value; `place` is as in `refuse_where`."""
    if not is_finite(values):
        refuse_where(~np.isfinite(values), values, f"{name} must be finite", "Drop or repair such rows", **place)


def refuse_rounded(values: NDArray[Any], name: str, rows: NDArray[np.intp] | None = None) -> None:
    """Raise an error that shows the first whole number that float64 cannot represent.

    >>> refuse_rounded(np.array([2**53, 2**53 + 1]), "y")
    Traceback (most recent call last):
    calibrant.errors.InputError: y must be numbers that float64 can represent; row 1 is 9007199254740993. Whole ...
    """
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or values.size == 0:
        return
    if values.max() <= EXACT and values.min() >= -EXACT:
        return
    rounded = values.astype(np.float64)
    beyond = rounded >= float(np.iinfo(values.dtype).max)  # rounded up to a number that does not come back
    bad = np.where(beyond, 0.0, rounded).astype(values.dtype) != values
    remedy = "Whole numbers beyond 2**53 are rounded: subtract a common offset first"
    expected = f"{name} must be numbers that float64 can represent"
    refuse_where(bad, values, expected, remedy, rows=rows)


def refuse_not_positive(values: FloatArray, name: str) -> None:
    remedy = f"A distribution without spread has no density; if {name} was rounded to 0, give its true value"
    refuse_where(~(values > 0), values, f"{name} must be positive", remedy)


def field_values(instance: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name, in their order."""
    return {field.name: getattr(instance, field.name) for field in fields(instance)}


def locked(array: NDArray[T]) -> NDArray[T]:
    array.flags.writeable = False
    return array
