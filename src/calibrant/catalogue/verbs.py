"""The decorators that make a public verb of a function of a summary."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from calibrant.catalogue.entries import ENTRIES, Entry, Shown, Verb, shared_options
from calibrant.catalogue.reading import AnyRows
from calibrant.errors import InputError
from calibrant.inputs import Binary
from calibrant.summaries import Ordered, Summary


def verb(
    kind: str,
    *,
    reads: tuple[type[Summary], ...],
    summarise: Callable[..., Summary],
    predictions: tuple[str, ...] = ("binary",),
    outcome: bool = True,
    range: tuple[float, float] = (-np.inf, np.inf),
    perfect: float = 0.0,
    mean: bool = False,
    audit: Mapping[str, Shown] | None = None,
    audit_options: Callable[[AnyRows], Mapping[str, Any]] = lambda rows: {},
    redrawn: Callable[[Ordered, NDArray[Any]], NDArray[np.float64]] | None = None,
    row_scores: Callable[..., NDArray[np.float64]] | None = None,
    on_grid: Callable[[Mapping[str, Any]], bool] = lambda options: False,
    by_group: Callable[[Mapping[str, Any]], bool] = lambda options: True,
    rounding: Callable[..., float | Mapping[str, float]] = lambda grid, **options: 0.0,
    instead: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., Any]], Verb[Any]]:
    """Make the public verb of a function of a summary, and enter it into the catalogue.

    The function's first argument is the summary and its keyword-only arguments are the options. `summarise(rows,
    **options)` makes the summary of checked rows.
    """

    def decorate(finish: Callable[..., Any]) -> Verb[Any]:
        name = finish.__name__
        own = list(inspect.signature(finish).parameters.values())[1:]

        @functools.wraps(finish)
        def public(
            y: Any,
            prediction: Any = None,
            *,
            weights: Any = None,
            classes: Any = None,
            pos_label: Any = None,
            **options: Any,
        ) -> Any:
            completed = entry.completed(options)
            given = {"weights": weights, "classes": classes, "pos_label": pos_label}
            if prediction is None and isinstance(y, int) and y == 0:
                raise InputError("there are no rows: got 0, the sum of no summaries; at least one row is needed")
            if isinstance(y, Summary):
                _refuse_beside_summary(prediction=prediction, **given)
                return entry.of_summary(y, completed)
            return entry.of_rows(entry.read(y, prediction, **given), completed)

        @functools.wraps(finish)
        def of_prediction(prediction: Any, *, weights: Any = None, **options: Any) -> Any:
            given = (prediction,) if isinstance(prediction, Summary) else (None, prediction)
            return public(*given, weights=weights, **options)

        shown: Any = public if outcome else of_prediction
        shown.__signature__ = _signature(own, finish, outcome, shared_options(predictions, outcome))
        options = {parameter.name: parameter.default for parameter in own}
        entry = Entry(
            name,
            kind,
            reads,
            predictions,
            outcome,
            range,
            perfect,
            mean,
            audit or {},
            audit_options,
            redrawn,
            row_scores,
            on_grid,
            by_group,
            rounding,
            shown,
            summarise,
            finish,
            options,
            instead or {},
        )
        ENTRIES[name] = entry
        return cast(Verb[Any], shown)

    return decorate


def metric(**properties: Any) -> Callable[[Callable[..., Any]], Verb[Any]]:
    """Enter a measurement that returns a number or a record; see `verb` for the properties."""
    return verb("metric", **properties)


def calibration_test(**properties: Any) -> Callable[[Callable[..., Any]], Verb[Any]]:
    """Enter a test; see `verb` for the properties."""
    return verb("test", **properties)


def curve(**properties: Any) -> Callable[[Callable[..., Any]], Verb[Any]]:
    """Enter a curve; see `verb` for the properties."""
    return verb("curve", **properties)


def ordered(rows: AnyRows, **_: Any) -> Ordered:
    """Return the sorted rows: the `summarise` of verbs of one probability per row that need them all."""
    return Ordered.of(cast(Binary, rows))  # such a verb has no "classes" among its predictions


def _refuse_beside_summary(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name} cannot be given with a summary, which holds the rows already")


def _signature(own: list[inspect.Parameter], finish: Any, outcome: bool, shared: tuple[str, ...]) -> inspect.Signature:
    """Return the signature people see: y, prediction, the options, then what verbs of these predictions take."""
    y, prediction, *others = list(inspect.signature(Verb.__call__).parameters.values())[1:-1]
    last = [option for option in others if option.name in shared]
    returns = inspect.signature(finish).return_annotation
    first = [y, prediction] if outcome else [prediction.replace(default=inspect.Parameter.empty)]
    return inspect.Signature([*first, *own, *last], return_annotation=returns)
