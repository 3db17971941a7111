"""Quantile forecasts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import FloatArray, locked
from calibrant.inputs.distribution import Checked, Selection
from calibrant.inputs.intervals import Intervals, constructor, read_bounds, taken
from calibrant.inputs.options import DIGITS, check_choice, levels_shown, place_of, read_levels

USAGE = "Call it as Quantiles(values, levels), such as Quantiles([[1.0, 2.0, 4.0]], [0.1, 0.5, 0.9])"
LEVELS_MEANT = f"Pass the probabilities of the quantiles as levels=. {USAGE}"


@dataclass(frozen=True, eq=False, init=False)
class Quantiles(Checked):
    """Quantile forecasts: values that the outcome stays at or below with given probabilities.

    Parameters
    ----------
    values : array_like of shape (n, Q), or (n,) for one level
        The quantiles of each row, not decreasing from left to right; infinite ones are legal.
    levels : sequence of Q, or a float
        Their probabilities, strictly increasing, strictly between 0 and 1.
    crossed : {"raise", "sort"}
        What to do with a row whose values decrease: refuse, or sort it (rearrangement).

    Examples
    --------
    >>> forecast = Quantiles([[1.0, 2.0, 4.0], [0.0, 3.0, 6.0]], [0.1, 0.5, 0.9])
    >>> forecast
    Quantiles(n=2, levels=[0.1, 0.5, 0.9])
    >>> forecast.intervals()
    Intervals(n=2, level=[0.8])
    """

    prediction_kind: ClassVar[str] = "quantiles"
    values: FloatArray  # (n, Q), columns contiguous
    levels: FloatArray  # (Q,)
    single: bool
    eps: float  # of the dtype the values came in

    @constructor(USAGE, dict.fromkeys(("alpha", "alphas", "quantiles", "q"), lambda value: LEVELS_MEANT))
    def __init__(
        self, values: ArrayLike, levels: float | ArrayLike, crossed: Literal["raise", "sort"] = "raise"
    ) -> None:
        check_choice("crossed", crossed, "raise", "sort")
        found, one = read_levels(levels, "levels")
        columns, flat, eps = read_bounds(values, "values")
        if columns.shape[1] != found.size or one != flat:
            raise InputError(
                f"values must have shape (n, {found.size}), one column per level; got {np.shape(values)} "
                f"for levels {shown(levels)}.{_shape_remedy(columns.shape[1], found, one, flat)}"
            )
        if (np.diff(found) <= 0).any():
            raise InputError(f"levels must increase from left to right; got {shown(found.tolist())}")
        self._hold(values=locked(_uncrossed(columns, crossed)), levels=found, single=one, eps=eps)

    def at(self, level: float) -> Quantiles:
        """Return the quantile of one level."""
        k = slice(place := place_of(level, self.levels, "levels"), place + 1)
        return self._with(values=self.values[:, k], levels=self.levels[k], single=True)

    def take(self, rows: Selection) -> Quantiles:
        return self._with(values=taken(self.values, rows))

    @classmethod
    def of_columns(cls, kind: list[Any], columns: FloatArray) -> Quantiles:
        """Return the quantiles whose `columns` these are."""
        levels, single = kind[1:]
        return cls(columns[:, 0], levels[0]) if single else cls(columns, levels)

    def columns(self) -> tuple[list[Any], FloatArray]:
        return ["Quantiles", self.levels.tolist(), self.single], self.values

    def pairs(self) -> list[tuple[int, int]]:
        """Return the columns (τ, 1 - τ) that make central intervals, the widest first."""
        rounded = self.levels.round(DIGITS)
        low, high = np.flatnonzero(rounded < 0.5), np.flatnonzero(rounded > 0.5).tolist()
        found = []
        for k in low.tolist():
            gap = np.abs(self.levels[high] - (1 - self.levels[k]))
            if gap.size and gap.min() <= 10.0**-DIGITS:
                found.append((k, high.pop(int(np.argmin(gap)))))
        return found

    def intervals(self) -> Intervals:
        """Return the central intervals that pairs of levels τ and 1 - τ make, of level 1 - 2τ."""
        pairs = self.pairs()
        if not pairs:
            raise InputError(f"no two levels mirror each other, such as 0.1 and 0.9; got {shown(self.levels.tolist())}")
        low, high = (np.array(side) for side in zip(*pairs, strict=True))
        levels = (self.levels[high] - self.levels[low]).round(DIGITS + 2)
        return Intervals(self.values[:, low], self.values[:, high], levels).of_precision(self.eps)

    def __repr__(self) -> str:
        return f"Quantiles(n={self.n}, {levels_shown(self.levels, False, 'levels')})"


def _shape_remedy(columns: int, levels: FloatArray, one: bool, flat: bool) -> str:
    if columns != levels.size or one == flat:
        return " Pass one column of values for each level"
    if one:
        return f" Pass levels=[{levels[0]:.10g}], or values[:, 0]"
    return f" Pass levels={levels[0]:.10g}, or values[:, None]"


def _uncrossed(values: FloatArray, crossed: str) -> FloatArray:
    bad = values[:, 1:] < values[:, :-1]
    if not bad.any():
        return values
    if crossed == "sort":
        return np.asfortranarray(np.sort(values, axis=1))
    row, column = (int(i) for i in np.argwhere(bad)[0])
    message = (
        "quantiles must not decrease with their level; {row} has {value} and then {next}. "
        "Pass {crossed='sort'} to sort such rows"
    )
    raise InputError(message, row=row, value=values[row, column], next=shown(values[row, column + 1]), option="crossed")
