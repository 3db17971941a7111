"""The columns of a table that contain outcome, prediction, weights and groups."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, did_you_mean, listing, shown
from calibrant.inputs.arrays import as_array
from calibrant.inputs.distribution import Stored
from calibrant.inputs.groups import batch_labels
from calibrant.inputs.kinds import KINDS, kinds_words


@dataclass(frozen=True, repr=False)
class FromColumns:
    """A prediction given by the names of the columns of its arguments; made by `from_columns`."""

    kind: Callable[..., Any]
    columns: Mapping[str, str | tuple[str, ...]]
    others: Mapping[str, Any]

    @property
    def needed(self) -> tuple[str, ...]:
        return tuple(name for names in self.columns.values() for name in _as_tuple(names))

    def of(self, column: Callable[[str], NDArray[Any]]) -> Any:
        """Return the prediction of a table, given a function that returns its columns."""
        found = {argument: values_of(names, column) for argument, names in self.columns.items()}
        return self.kind(**found, **self.others)

    def __repr__(self) -> str:
        given = (f"{name}={value!r}" for name, value in {**self.columns, **self.others}.items())
        return f"from_columns({', '.join([self.kind.__name__, *given])})"


def from_columns(kind: type, *arguments: Any, **named: Any) -> FromColumns:
    """Describe a prediction by the names of its columns, for files, Dask and Spark frames that are read later.

    Parameters
    ----------
    kind
        `Intervals`, `Sets`, `Quantiles`, `Samples`, `CdfValues`, or a distribution such as `Normal`.
    *arguments, **named
        Its arguments. For an argument with one entry per row give the name of a column, or a list of names for a
        matrix; a column of lists is also a matrix. Give other arguments, such as `level`, as usual.

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
    if not (isinstance(kind, type) and issubclass(kind, Stored)):
        known = kinds_words([name for name, declared in KINDS.items() if declared.classes])
        raise InputError(f"expected a kind of prediction ({known}); got {shown(kind)}")
    try:
        given = inspect.signature(kind).bind(*arguments, **named).arguments
    except TypeError as problem:
        raise InputError(f"from_columns({kind.__name__}, ...): {problem}") from None
    of_rows = KINDS[kind.prediction_kind].row_arguments or tuple(given)
    columns = {name: read_names(name, value) for name, value in given.items() if name in of_rows and value is not None}
    return FromColumns(kind, columns, {name: value for name, value in given.items() if name not in of_rows})


def read_names(argument: str, value: Any) -> str | tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, (list, tuple)) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"{argument} must be the name of a column, or a list of names; got {shown(value)}")
    return value if isinstance(value, str) else names


def _as_tuple(names: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return () if names is None else (names,) if isinstance(names, str) else names


def values_of(names: str | tuple[str, ...], column: Callable[[str], NDArray[Any]]) -> NDArray[Any]:
    """Return one column, several columns as a matrix, or several columns of lists (one per coordinate) as (n, M, D)."""
    if isinstance(names, str):
        return column(names)
    found = [column(name) for name in names]
    if found[0].ndim == 1:
        return np.column_stack(found)
    for name, array in zip(names, found, strict=True):
        if array.shape != found[0].shape:
            raise InputError(
                f"all coordinates must have the same number of draws; {shown(names[0])} has {found[0].shape[1]:,} and "
                f"{shown(name)} {array.shape[1] if array.ndim > 1 else 1:,}"
            )
    return np.stack(found, axis=-1)


class Batch(NamedTuple):
    """Rows as verbs take them, arrays or a typed prediction, the number of the batch, and what was known of each."""

    y: Any
    prediction: Any
    weights: Any = None
    groups: Mapping[str, Any] | None = None
    number: int = 0
    covariates: Mapping[str, Any] | None = None

    @property
    def weightless(self) -> bool:
        """Whether all rows have weight 0 and are left out; other batches may have rows that count."""
        if self.weights is None:
            return False
        w = as_array(self.weights, name="weights")
        return w.dtype.kind in "biuf" and w.size > 0 and not w.any()


@dataclass(frozen=True)
class NamedColumns:
    """The columns of a table that a measurement needs."""

    y: str | tuple[str, ...] | None  # several columns for vectors; None for verbs that do not use outcomes
    prediction: str | tuple[str, ...] | FromColumns  # probabilities of the event, of classes in their order, or typed
    weights: str | None = None
    groups: tuple[str, ...] = ()
    others: tuple[str, ...] = ()  # of numbers
    covariates: tuple[str, ...] = ()  # of numbers, texts or truth values
    percent: bool = False  # whether probabilities are percentages

    def __post_init__(self) -> None:
        if set(self.groups) & set(_as_tuple(self.y)):
            raise InputError("{groups=} names the outcome {value}; leave it out", option="groups", value=self.y)

    @classmethod
    def read(cls, y: Any, prediction: Any, weights: Any = None, groups: Any = None, covariates: Any = None) -> Self:
        named = prediction if isinstance(prediction, FromColumns) else read_names("prediction", prediction)
        by = None if groups is None else read_names("groups", groups)
        if weights is not None and not isinstance(weights, str):
            raise InputError(f"weights must be the name of a column; got {shown(weights)}")
        outcome = None if y is None else read_names("y", y)
        known = _as_tuple(None if covariates is None else read_names("covariates", covariates))
        for name in known:
            if name in _as_tuple(outcome):
                raise InputError(f"covariates ({name}) is the outcome: it was not known before. Leave it out")
        return cls(outcome, named, weights, _as_tuple(by), covariates=known)

    @property
    def predicted(self) -> tuple[str, ...]:
        p = self.prediction
        return p.needed if isinstance(p, FromColumns) else _as_tuple(p)

    @property
    def needed(self) -> tuple[str, ...]:
        lists = (self.y, self.predicted, self.weights, self.others, self.covariates, self.groups)
        return tuple(dict.fromkeys(name for names in lists for name in _as_tuple(names)))

    @property
    def checked(self) -> tuple[str, ...]:
        """The columns that must not have missing values: all but the groups."""
        return replace(self, groups=()).needed

    def check(self, names: Sequence[str], where: str, option: str = "") -> None:
        """Refuse a table, described by `where`, that lacks a column; `option` is the option that named the table."""
        for name in self.needed:
            if name not in names:
                hint = f"{did_you_mean(name, names)} Its columns are {listing(names, most=20)}".lstrip()
                message = "{where}" + (" ({option})" if option else "") + " has no column {value}. {hint}"
                raise InputError(message, where=where, option=option, value=name, hint=hint)

    def batch(self, frame: Any, number: int = 0) -> Batch:
        """Return the rows of a frame of polars, pandas or pyarrow as batch `number`."""
        self.check(list(map(str, frame.schema.names if _is_arrow(frame) else frame.columns)), "the table")

        column, p = partial(_column, frame), self.prediction
        prediction = p.of(column) if isinstance(p, FromColumns) else values_of(p, column)
        return Batch(
            None if self.y is None else values_of(self.y, column),
            prediction / 100 if self.percent else prediction,
            None if self.weights is None else column(self.weights),
            {name: batch_labels(_native(frame, name), name=name) for name in self.groups} or None,
            number,
            {name: _native(frame, name) for name in self.covariates} or None,
        )

    def pieces(self, frame: Any) -> tuple[Batch, ...]:
        """Return the chunks of a polars frame as batches without copying: of one outcome and one score, else none."""
        plain = isinstance(self.y, str) and isinstance(self.prediction, str) and self.weights is None
        if not plain or self.percent or self.groups or type(frame).__module__.partition(".")[0] != "polars":
            return ()
        y, p = frame.get_column(self.y), frame.get_column(self.prediction)
        large = str(y.dtype) in ("Int128", "UInt128")  # not available in NumPy
        if not (y.dtype.is_numeric() and p.dtype.is_float()) or large or y.null_count() or p.null_count():
            return ()
        if y.chunk_lengths() != p.chunk_lengths():
            return ()
        return tuple(
            Batch(outcomes.to_numpy(), scores.to_numpy())
            for outcomes, scores in zip(y.get_chunks(), p.get_chunks(), strict=True)
        )


def _column(frame: Any, name: str) -> NDArray[Any]:
    values = as_array(_native(frame, name), name=name)
    if values.dtype.kind != "O" or not len(values) or not isinstance(values[0], (list, tuple, np.ndarray)):
        return values
    kind = getattr(values[0], "dtype", np.dtype(np.float64))
    try:
        return np.array(values.tolist(), dtype=kind if kind.kind == "f" else np.float64)
    except (TypeError, ValueError):
        lengths = sorted({len(entry) for entry in values if entry is not None})
        seen = f"lists of lengths {shown(lengths)}" if len(lengths) > 1 else "lists that are not all numbers"
        raise InputError(f"column {name!r} contains {seen}; expected the same number of numbers in each row") from None


def _native(frame: Any, name: str) -> Any:
    return frame.column(name) if _is_arrow(frame) else frame[name]


def _is_arrow(frame: Any) -> bool:
    return type(frame).__module__.partition(".")[0] == "pyarrow"
