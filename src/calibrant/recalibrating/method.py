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
        ridges = self.ridge if isinstance(self.ridge, tuple) and len(self.ridge) == 2 else (self.ridge,)
        for name, is_legal, words in (
            ("inner", isinstance(self.inner, str), "the name of a binary method, such as 'logistic'"),
            (
                "clip",
                self.clip is None or 0 < as_number(self.clip) <= MAX_CLIP,
                f"a number above 0 and at most {MAX_CLIP}",
            ),
            (
                "ridge",
                self.ridge is None or all(0 < as_number(part) < math.inf for part in ridges),
                "a number above 0, such as 1.0, or for dirichlet a pair of them",
            ),
        ):
            if not is_legal:
                raise InputError(f"{name} must be {words}; got {{value}}", option=name, value=getattr(self, name))

    @property
    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults, without the score."""
        names = ("smoothing", "ridge", "clip", "inner")
        return {name: getattr(self, name) for name in names if getattr(self, name) != getattr(USUAL, name)}


USUAL = FitOptions()


@dataclass(frozen=True)
class Fit:
    """What a method found on the calibration rows."""

    parameters: Parameters
    objective: float | None = None  # the minimised mean, penalty included; None for a map that is no smooth optimum
    gradient: float | None = None  # its largest absolute component, without components at an active bound
    boundary: tuple[str, ...] = ()  # names of the parameters that lie on a bound
    warnings: tuple[str, ...] = ()  # what the user should know, in sentences without a full stop


@dataclass(frozen=True)
class Parameter:
    """Shape and range of a parameter, which a map that is read from a file must have.

    `axes` has one letter for each axis: "" for a number, "K" for classes, "L" for levels, any other letter for a length
    that all parameters with this letter share, such as "m" for the columns of a table and "D" for coordinates.
    """

    axes: str = ""
    low: float = -math.inf  # the range; both ends are legal
    high: float = math.inf
    infinite: bool = False
    order: Literal["", "rising", "not falling"] = ""  # along a table
    whole: bool = False
    single: bool = False  # whether a number stands for an array of length 1: one level, or outcomes that are numbers
    maps: str = ""  # the kind of the maps, for a parameter that is a tuple of maps


@dataclass(frozen=True)
class RowsCompared:
    """How many rows `auto` needs before it compares a method: of the rarer outcome, and for each parameter."""

    rarer_outcome: int = 0
    per_parameter: int = 0


@dataclass(frozen=True)
class Method:
    """One way of recalibrating one kind of prediction.

    A prediction is an array of float64 for probabilities, (n,) or (n, K), and the typed prediction for other kinds.
    """

    fit: Callable[[Any, FitOptions], Fit]  # of checked rows; refuses those for which the map does not exist
    apply: Callable[[Parameters, Any, FitOptions], Any]  # from a checked prediction to the recalibrated one
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    uses: tuple[str, ...] = ()  # which of "smoothing", "ridge", "clip", "inner", "groups" and "score" it takes
    count: Callable[[int], int] = lambda columns: 0  # the number of parameters, from that of classes or levels
    # Log score of each row after the map, where that is more accurate than the logarithm of the applied map.
    log_scores: Callable[[Parameters, Any, FitOptions], FloatArray] | None = None
    check: Callable[[Parameters], None] | None = None  # refuses parameters that do not belong together
    bounds: Callable[[Parameters, FloatArray, FitOptions], tuple[FloatArray, FloatArray]] | None = None
    # From a and s the parameters of the map with the logit a + s η, where η is that of a map with these parameters.
    # Maps of groups are then shrunk to a common map; without it each group has a map of its own.
    on_logit: Callable[[Parameters, float, float], Parameters] | None = None
    compared: RowsCompared | None = None  # None for a method that is fitted on request only
    reaches_ends: bool = False  # maps may send scores inside (0, 1) to 0 or 1: an infinite log score on new rows
    counts_rows: bool = False  # the fit counts rows: cells of a summary cannot take their place


def _unchanged(parameters: Parameters, prediction: Any, options: FitOptions) -> Any:
    """Return the prediction; a copy of an array, so changes of the result do not reach the caller."""
    return prediction.copy() if isinstance(prediction, np.ndarray) else prediction


IDENTITY = Method(lambda rows, options: Fit({}), _unchanged)
"""Leaves predictions as they are: what `auto` chooses if nothing helps."""
