"""Sets of points at the boundary: arrays (n, d) that are data themselves, not predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import FloatArray, locked, read_numbers, refuse_not_finite


def column_names(values: Any) -> tuple[str, ...]:
    """Return the names of the columns of a data frame, an Arrow table or a labelled array; () if they have none.

    Names that a library gives of itself, 0, 1, ... or column_0, column_1, ..., are none.

    >>> import pandas as pd
    >>> column_names(pd.DataFrame({"height": [1.8], "weight": [75.0]}))
    ('height', 'weight')
    >>> column_names(pd.DataFrame([[1.8, 75.0]]))
    ()
    """
    found = tuple(map(str, _given(values)))
    numbers = range(len(found))
    of_itself = (tuple(map(str, numbers)), tuple(f"column_{k}" for k in numbers))
    return () if found in of_itself else found


def _given(values: Any) -> tuple[Any, ...]:
    package = type(values).__module__.partition(".")[0]
    if package == "pyarrow":  # whose columns are the numbers themselves
        return tuple(getattr(getattr(values, "schema", None), "names", ()))
    if package == "xarray":
        last = tuple(values.dims)[-1:]
        return tuple(label for name in last if name in values.indexes for label in values.indexes[name])
    columns = getattr(values, "columns", ())
    return () if callable(columns) else tuple(columns)


HUGE = 1e150  # beyond this the square of a coordinate is no finite number


@dataclass(frozen=True, eq=False)
class PointSets:
    """Two sets of points in one space: real ones y (n, d), and others (m, d), finite float64 numbers."""

    y: FloatArray
    points: FloatArray

    @property
    def n(self) -> int:
        """Number of points of the first set."""
        return len(self.y)

    @property
    def m(self) -> int:
        """Number of points of the second set."""
        return len(self.points)

    @property
    def d(self) -> int:
        """Number of coordinates."""
        return int(self.y.shape[1])

    @property
    def pooled(self) -> FloatArray:
        """All points, the first set first."""
        return np.concatenate([self.y, self.points])


def read_point_sets(y: Any, points: Any, *, least: int = 2) -> PointSets:
    """Return two sets of points with the same number of coordinates, each of at least `least` points."""
    first, second = read_points(y, "y", least=least), read_points(points, "points", least=least)
    check_names(y, points)
    if first.shape[1] != second.shape[1]:
        raise InputError(
            f"y and points must have the same number of columns; got {first.shape[1]} in y and {second.shape[1]} in "
            "points. Take the same coordinates of both, in the same order"
        )
    return PointSets(first, second)


def check_names(y: Any, points: Any, name: str = "points") -> None:
    """Refuse data frames whose columns have other names or another order: points are compared column by column."""
    first, second = column_names(y), column_names(points)
    if first == second or len(first) != len(second):  # without names, or not as many: columns are counted elsewhere
        return
    if sorted(first) == sorted(second):
        raise InputError(
            f"y and {name} name the same columns in another order: {shown(list(first))} and {shown(list(second))}. "
            f"Put them in one order, such as {_reordered(y, points, name)}"
        )
    j = next(j for j in range(len(first)) if first[j] != second[j])
    raise InputError(
        f"y and {name} name their columns differently: column {j} is {shown(first[j])} in y and {shown(second[j])} in "
        f"{name}. Rename the columns that mean the same, or pass plain arrays, numpy.asarray({name})"
    )


def _reordered(y: Any, points: Any, name: str) -> str:
    """Return the expression that puts the columns of points in the order of y."""
    first, second = (type(values).__module__.partition(".")[0] for values in (y, points))
    order = {"pyarrow": "y.schema.names", "xarray": "list(y[y.dims[1]].values)"}.get(first, "list(y.columns)")
    if second == "xarray":
        return f"{name}.sel({{{name}.dims[1]: {order}}})"
    return f"{name}.select({order})" if second == "pyarrow" else f"{name}[{order}]"


def read_points(values: Any, name: str, *, least: int = 2) -> FloatArray:
    """Return one set of points as a read-only array (n, d) of finite float64 numbers; it may share memory.

    >>> read_points([[1, 2], [3, 4]], "points")
    array([[1., 2.],
           [3., 4.]])
    """
    array = read_numbers(values, name)
    if array.ndim != 2:
        raise InputError(f"{name} must be points (n, d), one row each; got shape {array.shape}. {_remedy(array, name)}")
    n, d = array.shape
    if d == 0:
        raise InputError(f"{name} must have at least one column; got shape {array.shape}")
    if n < least:
        raise InputError(f"{name} must have at least {least} points; got {n}")
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite and is refused as such
        found = np.ascontiguousarray(array, dtype=np.float64).view()  # sums do not depend on how it lies in memory
    refuse_not_finite(found, name, axes=("row", "column"))
    largest = max(found.max(), -found.min())
    if largest > HUGE:
        raise InputError(
            f"{name} must lie within ±{HUGE:g}, so that distances are finite numbers; the largest is {largest:.6g}. "
            "Give them in other units"
        )
    return locked(found)


def random_part(points: FloatArray, most: int, rng: np.random.Generator) -> FloatArray:
    """Return at most so many of the points, drawn without replacement; they stay in their order.

    >>> random_part(np.array([[1.0], [2.0], [3.0]]), 2, np.random.default_rng(0)).tolist()
    [[2.0], [3.0]]
    """
    return points if len(points) <= most else points[np.sort(rng.choice(len(points), most, replace=False))]


def _remedy(array: Any, name: str) -> str:
    if array.ndim == 1:
        return f"For points on a line pass {name}[:, None]"
    if array.ndim > 2:
        return f"For images or sequences pass features, or {name}.reshape(len({name}), -1)"
    return "Pass an array with one row per point"
