"""What a method of recalibration is: how it fits, how it is applied, and which parameters its map has."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from calibrant.errors import InputError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import as_number, check_choice

Parameters: TypeAlias = Mapping[str, Any]
"""The parameters of a map: numbers, arrays, and for maps made of maps a tuple of these."""

MAX_CLIP = 0.1


@dataclass(frozen=True)
class FitOptions:
    """The options of a fit that only some methods use; `Method.uses` names them."""

    score: str | None = None
    smoothing: Literal["platt"] | None = None
    ridge: float | tuple[float, float] | None = None
    clip: float | None = None
    inner: str = "logistic"

    def __post_init__(self) -> None:
        check_choice("smoothing", self.smoothing, None, "platt")
        if not isinstance(self.inner, str):
            raise InputError(
                "inner must be the name of a binary method, such as 'logistic'; got {value}",
                option="inner",
                value=self.inner,
            )
        if self.clip is not None and not 0 < as_number(self.clip) <= MAX_CLIP:
            raise InputError(
                f"clip must be a number above 0 and at most {MAX_CLIP}, such as 1e-6; got {{value}}",
                option="clip",
                value=self.clip,
            )
        if self.ridge is not None:
            parts = self.ridge if isinstance(self.ridge, tuple) and len(self.ridge) == 2 else (self.ridge,)
            if not all(0 < as_number(part) < math.inf for part in parts):
                raise InputError(
                    "ridge must be a number above 0, such as 1.0, or for dirichlet a pair of them; got {value}",
                    option="ridge",
                    value=self.ridge,
                )

    @property
    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults, without the score."""
        names = ("smoothing", "ridge", "clip", "inner")
        return {name: getattr(self, name) for name in names if getattr(self, name) != getattr(USUAL, name)}


USUAL = FitOptions()


@dataclass(frozen=True)
class Fit:
    """What a method found on the calibration rows.

    Attributes
    ----------
    parameters
        The parameters of the map.
    objective
        The minimised mean, penalty included; None for maps that are not an optimum of a smooth function.
    gradient
        The largest absolute component of the gradient of that mean, without components at an active bound.
    boundary
        Names of the parameters that lie on a bound.
    warnings
        What the user should know, in sentences without a full stop.
    """

    parameters: Parameters
    objective: float | None = None
    gradient: float | None = None
    boundary: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Parameter:
    """Shape and range of a parameter, which a map that is read from a file must have.

    Attributes
    ----------
    axes
        One letter for each axis: "" for a number, "K" for classes, "L" for levels, any other letter for a length that
        all parameters with this letter share, such as "m" for the columns of a table and "D" for coordinates.
    low, high
        The range; both ends are legal.
    infinite
        Whether the parameter may be infinite.
    order
        "rising" or "not falling" along a table; empty for any order.
    whole
        Whether the parameter is a whole number.
    single
        Whether a number stands for an array of length 1: one level, or outcomes that are numbers.
    maps
        The kind of the maps, for a parameter that is a tuple of maps; empty for numbers.
    """

    axes: str = ""
    low: float = -math.inf
    high: float = math.inf
    infinite: bool = False
    order: Literal["", "rising", "not falling"] = ""
    whole: bool = False
    single: bool = False
    maps: str = ""


@dataclass(frozen=True)
class RowsCompared:
    """How many rows `auto` needs before it compares a method.

    Attributes
    ----------
    rarer_outcome
        The least number of rows of the rarer outcome of an event.
    per_parameter
        The least number of rows for each parameter.
    """

    rarer_outcome: int = 0
    per_parameter: int = 0


@dataclass(frozen=True)
class Method:
    """One way of recalibrating one kind of prediction.

    A prediction is an array of float64 for probabilities, (n,) or (n, K), and the typed prediction for other kinds.

    Attributes
    ----------
    fit
        From checked rows and options to a `Fit`; refuses rows for which the map does not exist.
    apply
        From parameters, a checked prediction and options to the recalibrated prediction.
    parameters
        Shape and range of each parameter.
    uses
        Which of "smoothing", "ridge", "clip", "inner", "groups" and "score" the method takes.
    count
        The number of parameters, from the number of classes or levels.
    log_scores
        Log score of each row after the map, from parameters, rows and options, where that is more accurate than the
        logarithm of the applied map; None if it is not.
    check
        Refuses parameters that do not belong together, such as a lower bound above its upper bound.
    bounds
        From parameters, scores and options to a lower and an upper probability; None for maps that have no bounds.
    compared
        The rows that `auto` needs to compare the method; None for a method that is fitted on request only.
    reaches_ends
        Whether maps usually send some scores inside (0, 1) to exactly 0 or 1. Their log score on new rows is infinite.
    counts_rows
        Whether the fit counts rows. Cells of a summary cannot take their place then.
    """

    fit: Callable[[Any, FitOptions], Fit]
    apply: Callable[[Parameters, Any, FitOptions], Any]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    uses: tuple[str, ...] = ()
    count: Callable[[int], int] = lambda columns: 0
    log_scores: Callable[[Parameters, Any, FitOptions], FloatArray] | None = None
    check: Callable[[Parameters], None] | None = None
    bounds: Callable[[Parameters, FloatArray, FitOptions], tuple[FloatArray, FloatArray]] | None = None
    compared: RowsCompared | None = None
    reaches_ends: bool = False
    counts_rows: bool = False


def _fit_identity(rows: Any, options: FitOptions) -> Fit:
    return Fit({})


def _unchanged(parameters: Parameters, prediction: Any, options: FitOptions) -> Any:
    """Return the prediction; a copy of an array, so changes of the result do not reach the caller."""
    return prediction.copy() if isinstance(prediction, np.ndarray) else prediction


IDENTITY = Method(_fit_identity, _unchanged)
"""Leaves predictions as they are: what `auto` chooses if nothing helps."""
