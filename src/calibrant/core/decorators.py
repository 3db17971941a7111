"""The decorators of verbs that are not plain functions yet; it goes when the last of them is one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import make_dataclass
from typing import Any

from calibrant.core.catalogue import Entry, enter, unknown_option
from calibrant.core.interval_sums import IntervalSums
from calibrant.core.means import enter_mean
from calibrant.core.summary import Summary

SHARED = {
    "weights": {"binary", "classes", "intervals", "sets", "quantiles", "samples", "distributions", "cdf"},
    "classes": {"binary", "classes", "sets"},
    "pos_label": {"binary"},
}


def _public(finish: Any, predictions: Any, outcome: bool, call: Any) -> tuple[Any, type]:
    own = list(inspect.signature(finish).parameters.values())[1:]
    either, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    shared = [name for name, kinds in SHARED.items() if kinds & set(predictions)] if outcome else ["weights"]
    names = {p.name for p in own} | set(shared)

    if outcome:

        @functools.wraps(finish)
        def public(y: Any, prediction: Any = None, **given: Any) -> Any:
            for name in given:
                if name not in names:
                    raise unknown_option(public, name)
            rows = {name: given.pop(name) for name in shared if name in given}
            return call(y, prediction, given, rows)

        first = [inspect.Parameter("y", either), inspect.Parameter("prediction", either, default=None)]
    else:

        @functools.wraps(finish)
        def public(prediction: Any, **given: Any) -> Any:
            for name in given:
                if name not in names:
                    raise unknown_option(public, name)
            rows = {name: given.pop(name) for name in shared if name in given}
            y, other = (prediction, None) if isinstance(prediction, Summary) else (None, prediction)
            return call(y, other, given, rows)

        first = [inspect.Parameter("prediction", either)]
    last = [inspect.Parameter(name, keyword, default=None) for name in shared]
    public.__signature__ = inspect.Signature([*first, *own, *last])  # type: ignore[attr-defined]
    made = make_dataclass(f"{finish.__name__}_options", [p.name for p in own], frozen=True)
    return public, made


def verb(
    kind: str,
    *,
    summarise: Callable[..., Summary],
    predictions: tuple[str, ...] = ("binary",),
    outcome: bool = True,
    row_scores: Any = None,
    on_grid: Any = None,
    by_group: Any = None,
    rounding: Any = None,
    **properties: Any,
) -> Callable[[Callable[..., Any]], Any]:
    """Make the public verb of a function of a summary, and enter it into the catalogue."""

    def decorate(finish: Callable[..., Any]) -> Any:
        def call(y: Any, prediction: Any, given: Any, rows: Any) -> Any:
            return entry(y, prediction, entry.parse(given), **rows)

        public, made = _public(finish, predictions, outcome, call)
        hooks: dict[str, Any] = {}
        if row_scores is not None:
            hooks["row_scores"] = lambda rows, o: row_scores(rows, **vars(o))
        if on_grid is not None:
            hooks["on_grid"] = lambda o: on_grid(vars(o))
        if by_group is not None:
            hooks["by_group"] = lambda o: by_group(vars(o))
        if rounding is not None:
            hooks["rounding"] = lambda grid, o: rounding(grid, **vars(o))
        plain = summarise.__name__ == "ordered"
        entry: Entry[Any, Any] = Entry(
            public,
            made,
            summarise if plain else (lambda rows, o: summarise(rows, **vars(o))),
            lambda summary, o: finish(summary, **vars(o)),
            kind=kind,
            predictions=predictions,
            outcome=outcome,
            **hooks,
            **{key: value for key, value in properties.items() if value is not None},
        )
        enter(entry)
        return public

    return decorate


def metric(**properties: Any) -> Callable[[Callable[..., Any]], Any]:
    """Enter a measurement that returns a number or a record; see `verb` for the properties."""
    return verb("metric", **properties)


def calibration_test(**properties: Any) -> Callable[[Callable[..., Any]], Any]:
    """Enter a test; see `verb` for the properties."""
    return verb("test", **properties)


def curve(**properties: Any) -> Callable[[Callable[..., Any]], Any]:
    """Enter a curve; see `verb` for the properties."""
    return verb("curve", **properties)


def mean_metric(
    *,
    fused: Callable[..., list[IntervalSums] | None] | None = None,
    of_grid: Callable[..., float] | None = None,
    predictions: tuple[str, ...] = ("binary",),
    outcome: bool = True,
    returns: Any = None,
    **properties: Any,
) -> Callable[[Callable[..., Any]], Any]:
    """Enter a metric that is the mean of row scores."""

    def decorate(row_scores: Callable[..., Any]) -> Any:
        def call(y: Any, prediction: Any, given: Any, rows: Any) -> Any:
            return entry(y, prediction, entry.parse(given), **rows)

        public, made = _public(row_scores, predictions, outcome, call)
        entry: Entry[Any, Any] = enter_mean(
            public,
            made,
            lambda rows, o: row_scores(rows, **vars(o)),
            sums=None if fused is None else (lambda rows, o: fused(rows, **vars(o))),
            of_grid=None if of_grid is None else (lambda grid, o: of_grid(grid, **vars(o))),
            predictions=predictions,
            outcome=outcome,
            **properties,
        )
        return public

    return decorate
