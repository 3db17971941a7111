"""A prediction by the names of its columns."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.inputs.cdf_values import CdfValues
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.laws import Law, Samples
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.sets import Sets

OF_ROWS: Mapping[type, tuple[str, ...]] = {
    Intervals: ("lower", "upper"),
    Sets: ("mask",),
    Quantiles: ("values",),
    Samples: ("draws", "log_density"),
    CdfValues: ("at", "below"),
}
"""The arguments of a prediction that have one entry per row; of a law all do."""


@dataclass(frozen=True, repr=False)
class FromColumns:
    """A prediction given by the columns that its arguments are in; made by `from_columns`."""

    kind: Callable[..., Any]
    columns: Mapping[str, str | tuple[str, ...]]
    others: Mapping[str, Any]

    @property
    def needed(self) -> tuple[str, ...]:
        """The names of all columns."""
        lists = ((names,) if isinstance(names, str) else names for names in self.columns.values())
        return tuple(name for names in lists for name in names)

    def of(self, column: Callable[[str], NDArray[Any]]) -> Any:
        """Return the prediction of a table, given what returns its columns."""
        found = {argument: values_of(names, column) for argument, names in self.columns.items()}
        return self.kind(**found, **self.others)

    def __repr__(self) -> str:
        given = (f"{name}={value!r}" for name, value in {**self.columns, **self.others}.items())
        return f"from_columns({', '.join([self.kind.__name__, *given])})"


def from_columns(kind: Callable[..., Any], *arguments: Any, **named: Any) -> FromColumns:
    """A prediction by the names of its columns, for tables that are not read yet: files, Dask and Spark frames.

    Parameters
    ----------
    kind
        `Intervals`, `Sets`, `Quantiles`, `Samples`, `CdfValues`, or a law such as `Normal`.
    *arguments, **named
        Its arguments. Those with an entry per row are the name of a column, or a list of names for a matrix; a column
        of lists is a matrix too. Others, such as `level`, are given as always.

    Examples
    --------
    >>> from calibrant import Intervals, Normal, Quantiles
    >>> from_columns(Intervals, "low", "high", level=0.9)
    from_columns(Intervals, lower='low', upper='high', level=0.9)
    >>> from_columns(Quantiles, ["q10", "q90"], levels=[0.1, 0.9])
    from_columns(Quantiles, values=('q10', 'q90'), levels=[0.1, 0.9])
    >>> from_columns(Normal, mean="mu", std="sigma")
    from_columns(Normal, mean='mu', std='sigma')
    """
    if not (isinstance(kind, type) and (kind in OF_ROWS or issubclass(kind, Law))):
        known = ", ".join(known.__name__ for known in OF_ROWS)
        raise InputError(f"expected a kind of prediction ({known}, or a law such as Normal); got {shown(kind)}")
    try:
        given = inspect.signature(kind).bind(*arguments, **named).arguments
    except TypeError as problem:
        raise InputError(f"from_columns({kind.__name__}, ...): {problem}") from None
    of_rows = OF_ROWS.get(kind, tuple(given))
    columns = {name: read_names(name, value) for name, value in given.items() if name in of_rows and value is not None}
    return FromColumns(kind, columns, {name: value for name, value in given.items() if name not in of_rows})


def read_names(argument: str, value: Any) -> str | tuple[str, ...]:
    """Return the name of a column, or a tuple of names."""
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, (list, tuple)) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"{argument} must be the name of a column, or a list of names; got {shown(value)}")
    return value if isinstance(value, str) else names


def values_of(names: str | tuple[str, ...], column: Callable[[str], NDArray[Any]]) -> NDArray[Any]:
    """Return a column, or several as a matrix."""
    if isinstance(names, str):
        return column(names)
    return np.column_stack([column(name) for name in names])
