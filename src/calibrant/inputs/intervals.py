"""Prediction intervals."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from calibrant.errors import InputError, did_you_mean, shown
from calibrant.inputs.arrays import FloatArray, locked, read_numbers, refuse_rounded, refuse_where
from calibrant.inputs.distribution import Checked, Selection
from calibrant.inputs.options import as_number, check_choice, levels_shown, place_of, read_levels


def read_bounds(values: Any, name: str) -> tuple[FloatArray, bool, float]:
    """Return columns (n, L), each contiguous, whether one column was given as 1-D, and eps of the dtype that came."""
    array = read_numbers(values, name)
    if array.ndim not in (1, 2):
        call = call_for_bounds(array) if name in ("lower", "upper") else ""
        advice = f". {call}" if call else ""
        raise InputError(
            f"{name} must have shape (n,), or (n, L) with one column per level; got shape {array.shape}{advice}"
        )
    if array.size == 0:
        raise InputError(f"there are no rows: {name} is empty (shape {array.shape}); at least one row is needed")
    refuse_rounded(array, name)
    eps = float(np.finfo(array.dtype).eps) if array.dtype.kind == "f" else float(np.finfo(np.float64).eps)
    with np.errstate(over="ignore"):
        columns = array.astype(np.float64, copy=True)
    columns = np.asfortranarray(columns[:, None] if array.ndim == 1 else columns)
    if np.isnan(columns.min()):  # a NaN is the minimum of the values that contain it
        expected, remedy = f"{name} must not be missing", "Drop or repair such rows"
        refuse_where(np.isnan(columns), columns, expected, remedy, axes=_axes(columns))
    return columns, array.ndim == 1, max(eps, float(np.finfo(np.float64).eps))


def _axes(columns: FloatArray) -> tuple[str, ...]:
    return ("row", "column") if columns.shape[1] > 1 else ("row",)


def taken(columns: FloatArray, rows: Selection) -> FloatArray:
    """Return these rows of the columns, each column contiguous; a slice shares memory."""
    return columns[rows] if isinstance(rows, slice) else np.asfortranarray(columns[rows])


P = ParamSpec("P")
R = TypeVar("R")


def constructor(usage: str, instead: Mapping[str, Callable[[Any], str]]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let what makes a prediction refuse missing and unknown arguments by name; its signature stays as it is.

    The error ends with `usage`, or with what `instead` says of the value of an unknown argument or, if one is missing,
    of a given one.
    """

    def decorate(init: Callable[P, R]) -> Callable[P, R]:
        parameters = inspect.signature(init).parameters
        by_position = [name for name, parameter in parameters.items() if parameter.kind is not parameter.KEYWORD_ONLY]
        required = [name for name, parameter in parameters.items() if parameter.default is parameter.empty]

        @functools.wraps(init)
        def checked(*args: P.args, **given: P.kwargs) -> R:
            made = args[0].__name__ + "." + init.__name__ if isinstance(args[0], type) else type(args[0]).__name__
            if len(args) > len(by_position):
                most = ", ".join(by_position[1:])
                raise InputError(f"{made} takes {most} by position; got {len(args) - 1} positional arguments. {usage}")
            named = {**dict(zip(parameters, args, strict=False)), **given}
            unknown = [name for name in named if name not in parameters]
            missing = [name for name in required if name not in named]
            if unknown or missing:
                problem = f"has no argument {unknown[0]}" if unknown else f"needs {' and '.join(missing)}"
                known = list(parameters)[1:]
                hint = did_you_mean(unknown[0], known, spelled="{}=".format) if unknown else ""
                advice = [instead[name](named[name]) for name in unknown[:1] or named if name in instead]
                advice.append(f"{hint} {usage}".lstrip())
                raise InputError(f"{made} {problem}. {next(filter(None, advice))}")
            return init(*args, **given)

        return checked

    return decorate


def level_of_alpha(alpha: Any) -> str:
    """Say which level an alpha stands for.

    >>> level_of_alpha(0.1), level_of_alpha([0.5, 0.1]).partition(": ")[2]
    ('Pass nominal coverage instead: level=0.9 for alpha=0.1', 'level=[0.5, 0.9] for alpha=[0.5, 0.1]')
    """
    several = isinstance(alpha, (list, tuple, np.ndarray)) and np.ndim(alpha) == 1
    found = [as_number(value) for value in (alpha if several else [alpha])]
    if not found or not all(0 < value < 1 for value in found):
        return "Pass nominal coverage instead: level= is 1 - alpha"
    level, given = (", ".join(f"{value:.10g}" for value in values) for values in ([1 - a for a in found], found))
    which = f"level=[{level}] for alpha=[{given}]" if several else f"level={level} for alpha={given}"
    return f"Pass nominal coverage instead: {which}"


def call_for_bounds(bounds: Any) -> str:
    pair = "Pass a pair of bounds as Intervals(lower, upper, level), with a level such as 0.9"
    if isinstance(bounds, tuple) and len(bounds) == 2:
        return pair
    try:
        shape = np.shape(bounds)
    except ValueError:  # rows of different lengths
        return ""
    if len(shape) == 3 and shape[1] == 2:
        which, level = (", 0", "level") if shape[2] == 1 else ("", "levels")
        call = f"Intervals(bounds[:, 0{which}], bounds[:, 1{which}], {level})"
        return f"Pass bounds of shape (n, 2, L), as MAPIE returns them, as {call}"
    if len(shape) == 2 and shape[1] == 2 and hasattr(bounds, "columns"):
        low, high = (shown(name) for name in bounds.columns)
        return f"Pass the columns of a frame as Intervals(frame[{low}], frame[{high}], level), with a level such as 0.9"
    if len(shape) == 2 and shape[1] == 2:
        return "Pass rows of (lower, upper) as Intervals(*numpy.transpose(bounds), level), with a level such as 0.9"
    return pair if isinstance(bounds, list) and len(shape) == 2 == shape[0] else ""


@dataclass(frozen=True, eq=False, init=False)
class Intervals(Checked):
    """Prediction intervals with nominal coverage, at one level or several.

    Parameters
    ----------
    lower, upper : array_like of shape (n,), or (n, L) for L levels
        Bounds, both inside the interval. `lower` may be -inf and `upper` inf.
    level : float, or a sequence of L
        Nominal coverage of each column, strictly between 0 and 1: 0.9, never alpha.
    crossed : {"raise", "swap"}
        What to do where lower > upper: refuse, or exchange the two.

    Examples
    --------
    >>> forecast = Intervals([0.0, 1.0], [2.0, 5.0], 0.9)
    >>> forecast
    Intervals(n=2, level=0.9)
    >>> both = Intervals([[1.0, 0.0]], [[2.0, 3.0]], [0.5, 0.9])
    >>> both.at(0.9).upper[:, 0]
    array([3.])
    """

    prediction_kind: ClassVar[str] = "intervals"
    lower: FloatArray  # (n, L), columns contiguous
    upper: FloatArray  # (n, L)
    levels: FloatArray  # (L,)
    single: bool  # one level, given as a number: results are numbers, not arrays
    eps: float  # of the dtype the bounds came in

    @constructor(
        "Call it as Intervals(lower, upper, level), such as Intervals([0.0, 1.0], [2.0, 5.0], 0.9)",
        {"alpha": level_of_alpha, "lower": call_for_bounds},
    )
    def __init__(
        self, lower: ArrayLike, upper: ArrayLike, level: float | ArrayLike, crossed: Literal["raise", "swap"] = "raise"
    ) -> None:
        check_choice("crossed", crossed, "raise", "swap")
        levels, one = read_levels(level)
        low, flat, eps = read_bounds(lower, "lower")
        high, _, eps2 = read_bounds(upper, "upper")
        if low.shape != high.shape:
            raise InputError(f"lower and upper must have the same shape; got {low.shape} and {high.shape}")
        if low.shape[1] != levels.size:
            raise _wrong_levels(levels, low.shape[1])
        if one and not flat:
            raise InputError(f"bounds of shape {low.shape} need a list of levels, one per column; got {shown(level)}")
        axes, remedy = _axes(low), "An interval cannot have this bound"
        refuse_where(low == np.inf, low, "lower must be -inf or finite", remedy, axes=axes)
        refuse_where(high == -np.inf, high, "upper must be inf or finite", remedy, axes=axes)
        low, high = _uncrossed(low, high, crossed)
        self._hold(lower=locked(low), upper=locked(high), levels=levels, single=one, eps=max(eps, eps2))

    def at(self, level: float) -> Intervals:
        """Return the intervals of one level."""
        k = slice(place := place_of(level, self.levels), place + 1)
        return self._with(lower=self.lower[:, k], upper=self.upper[:, k], levels=self.levels[k], single=True)

    def take(self, rows: Selection) -> Intervals:
        return self._with(lower=taken(self.lower, rows), upper=taken(self.upper, rows))

    @classmethod
    def of_columns(cls, kind: list[Any], columns: FloatArray) -> Intervals:
        """Return the intervals whose `columns` these are."""
        levels, single = kind[1:]
        lower, upper = columns[:, : len(levels)], columns[:, len(levels) :]
        return cls(lower[:, 0], upper[:, 0], levels[0]) if single else cls(lower, upper, levels)

    def columns(self) -> tuple[list[Any], FloatArray]:
        return ["Intervals", self.levels.tolist(), self.single], np.column_stack([self.lower, self.upper])

    def of_precision(self, eps: float) -> Intervals:
        """Return the same intervals, whose bounds came with this rounding."""
        return self._with(eps=eps)

    def __repr__(self) -> str:
        return f"Intervals(n={self.n}, {levels_shown(self.levels, self.single)})"


def _wrong_levels(levels: FloatArray, L: int) -> InputError:
    expected = "one number, such as 0.9" if L == 1 else f"{L} numbers, one per column"
    pair = levels.size == 2 and L == 1 and abs(levels.sum() - 1) < 1e-9
    remedy = (
        f". It is nominal coverage: the interval between the quantiles {levels[0]:.10g} and {levels[1]:.10g} has "
        f"level={abs(levels[1] - levels[0]):.10g}"
        if pair
        else ""
    )
    return InputError(
        f"level must be {expected}, for bounds with {L} column{'s' if L > 1 else ''}; "
        f"got {shown(levels.tolist())}{remedy}"
    )


def _uncrossed(lower: FloatArray, upper: FloatArray, crossed: str) -> tuple[FloatArray, FloatArray]:
    bad = lower > upper
    if not bad.any():
        return lower, upper
    if crossed == "swap":
        return np.asfortranarray(np.minimum(lower, upper)), np.asfortranarray(np.maximum(lower, upper))
    row, column = (int(i) for i in np.argwhere(bad)[0])
    where = f"{{row}}, column {column}" if lower.shape[1] > 1 else "{row}"
    message = (
        f"lower must not exceed upper; {where} has lower {shown(lower[row, column])} and upper "
        f"{shown(upper[row, column])}. Pass {{crossed='swap'}} to exchange such bounds"
    )
    raise InputError(message, row=row, option="crossed")
