"""Every verb that measures, what it reads, and the one way from data or a summary to its value."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs import Binary, Classes, read_binary, read_probabilities
from calibrant.inputs.laws import Law
from calibrant.inputs.outcomes import LawRows, read_outcomes
from calibrant.primitives.dispatch import chunks
from calibrant.summaries import Moments, Ordered, Summary

R_co = TypeVar("R_co", covariant=True)
Rows = Binary | Classes
AnyRows = Rows | LawRows
RowScores = Mapping[str, NDArray[np.float64]]


SHARED = ("weights", "classes", "pos_label")  # options of every verb
LOOKALIKES = {
    "sample_weight": "weights",
    "n_bins": "bins",
    "num_bins": "bins",
    "labels": "classes",
}  # of other packages


class Verb(Protocol[R_co]):
    """A public measurement: of outcomes and predictions, or of a summary of them."""

    __name__: str

    def __call__(
        self,
        y: Any,
        prediction: Any = None,
        *,
        weights: Any = None,
        classes: Any = None,
        pos_label: Any = None,
        **options: Any,
    ) -> R_co:
        """Measure."""


@dataclass(frozen=True)
class Shown:
    """How an audit shows a number: its name in words, and whether it grows with miscalibration.

    A number that does gets the value it would have if calibrated and a p-value, both from redrawn outcomes.
    """

    label: str
    grows: bool = False


@dataclass(frozen=True)
class Entry:
    """What the catalogue knows of a verb.

    Attributes
    ----------
    name, kind
        The public name; "metric", "test" or "curve".
    reads
        The kinds of summary it is a function of; the first is what it makes of rows by default.
    predictions
        Which of "binary", "classes" and "laws" it judges.
    range, perfect
        Between which values it lies, and its value for predictions that are certain and right.
    mean
        Whether a row of weight 2 counts like two rows.
    audit
        The fields of the result that an audit shows; "" is the result itself.
    audit_options
        The options an audit uses for these rows, where they depend on their number.
    redrawn
        The metric of sorted rows for many redrawn outcomes at once, event counts (replicates, entries), where that is
        quicker than one at a time.
    verb, summarise
        The public function; the function from checked rows and options to the summary.
    """

    name: str
    kind: str
    reads: tuple[type[Summary], ...]
    predictions: tuple[str, ...]
    range: tuple[float, float]
    perfect: float
    mean: bool
    audit: Mapping[str, Shown]
    audit_options: Callable[[AnyRows], Mapping[str, Any]]
    redrawn: Callable[[Ordered, NDArray[Any]], NDArray[np.float64]] | None
    verb: Verb[Any]
    summarise: Callable[..., Summary]
    finish: Callable[..., Any]
    options: Mapping[str, Any]

    def read(self, y: Any, prediction: Any, **given: Any) -> AnyRows:
        """Take data through the boundary."""
        if isinstance(prediction, Law) and "laws" in self.predictions:
            weights = given.pop("weights", None)
            _refuse_labels(given)
            return read_outcomes(y, prediction, weights=weights)
        if "classes" in self.predictions:
            return read_probabilities(y, prediction, **given)
        return read_binary(y, prediction, verb=self.name, **given)

    def completed(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return all options, the given ones over the defaults."""
        for name in options:
            if name not in self.options:
                near = LOOKALIKES.get(name) or next(iter(get_close_matches(name, [*self.options, *SHARED])), "")
                listed = ", ".join([*self.options, *SHARED])
                hint = f"Did you mean {near}=? " if near else ""
                raise InputError(f"{self.name} has no option {name}. {hint}Its options are {listed}")
        return {**self.options, **options}

    def of_rows(self, rows: AnyRows, options: Mapping[str, Any]) -> Any:
        """Measure checked rows."""
        return self.finish(self.summarise(rows, **options), **options)

    def of_summary(self, summary: Summary, options: Mapping[str, Any]) -> Any:
        """Measure what a summary holds."""
        if not isinstance(summary, self.reads):
            expected = " or ".join(kind.__name__ for kind in self.reads)
            raise SummaryError(
                f"{self.name} reads a summary of kind {expected}; got {type(summary).__name__}. "
                f"Make one with summarize({self.name!r}, y, prediction)"
            )
        if summary.n == 0:
            raise InputError("there are no rows: the summary is empty; at least one row is needed")
        return self.finish(summary, **options)


ENTRIES: dict[str, Entry] = {}


def verb(
    kind: str,
    *,
    reads: tuple[type[Summary], ...],
    summarise: Callable[..., Summary],
    predictions: tuple[str, ...] = ("binary",),
    range: tuple[float, float] = (-np.inf, np.inf),
    perfect: float = 0.0,
    mean: bool = False,
    audit: Mapping[str, Shown] | None = None,
    audit_options: Callable[[AnyRows], Mapping[str, Any]] = lambda rows: {},
    redrawn: Callable[[Ordered, NDArray[Any]], NDArray[np.float64]] | None = None,
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

        public.__signature__ = _signature(own, finish)  # type: ignore[attr-defined]
        options = {parameter.name: parameter.default for parameter in own}
        entry = Entry(
            name,
            kind,
            reads,
            predictions,
            range,
            perfect,
            mean,
            audit or {},
            audit_options,
            redrawn,
            public,
            summarise,
            finish,
            options,
        )
        ENTRIES[name] = entry
        return public

    return decorate


def metric(**properties: Any) -> Callable[[Callable[..., Any]], Verb[Any]]:
    """Enter a measurement that returns a number or a record; see `verb` for the properties."""
    return verb("metric", **properties)


def mean_metric(**properties: Any) -> Callable[[Callable[..., NDArray[np.float64]]], Verb[float]]:
    """Enter a metric that is the mean of row scores, given as the function from checked rows to those scores."""

    def decorate(row_scores: Callable[..., NDArray[np.float64]]) -> Verb[float]:
        defaults = {p.name: p.default for p in list(inspect.signature(row_scores).parameters.values())[1:]}

        def column(options: Mapping[str, Any]) -> str:
            changed = ", ".join(f"{k}={v!r}" for k, v in options.items() if v != defaults[k])
            return f"{row_scores.__name__}({changed})" if changed else row_scores.__name__

        def summarise(rows: Rows, **options: Any) -> Moments:
            # The kind of prediction is part of the name: scores of one probability and of K do not mix.
            kind = "" if isinstance(rows, Binary) else f"[{rows.K} classes]"
            return moments_of(rows, lambda piece: {column(options) + kind: row_scores(piece, **options)})

        @functools.wraps(row_scores)
        def finish(summary: Moments, **options: Any) -> float:
            name = column(options)
            held = next((other for other in summary.names if other.startswith(f"{name}[")), name)
            return summary.mean_of(held)

        finish.__annotations__ = {**row_scores.__annotations__, "return": "float"}
        finish.__signature__ = inspect.signature(row_scores).replace(return_annotation="float")  # type: ignore[attr-defined]
        return metric(reads=(Moments,), summarise=summarise, mean=True, **properties)(finish)

    return decorate


def calibration_test(**properties: Any) -> Callable[[Callable[..., Any]], Verb[Any]]:
    """Enter a test; see `verb` for the properties."""
    return verb("test", **properties)


def curve(**properties: Any) -> Callable[[Callable[..., Any]], Verb[Any]]:
    """Enter a curve; see `verb` for the properties."""
    return verb("curve", **properties)


def is_verb(measurement: Any) -> bool:
    """Tell whether this is a public function of the catalogue, and not one of the same name."""
    entry = ENTRIES.get(getattr(measurement, "__name__", ""))
    return entry is not None and measurement is entry.verb


def find(measurement: Any) -> Entry:
    """Return the entry of a verb given as the function or its name."""
    name = measurement.__name__ if is_verb(measurement) else measurement
    entry = ENTRIES.get(name) if isinstance(name, str) else None
    if entry is None:
        raise InputError(
            f"expected a verb of calibrant or its name ({', '.join(sorted(ENTRIES))}); got {shown(measurement)}"
        )
    return entry


def summarize(
    metric: Any,
    y: Any,
    prediction: Any,
    *,
    weights: Any = None,
    classes: Any = None,
    pos_label: Any = None,
    **options: Any,
) -> Summary:
    """Return the summary that a verb with these options is a function of.

    Summaries of batches add up: ``ece(summarize(ece, y1, p1) + summarize(ece, y2, p2))`` is the value of all rows,
    and no batch needs to be kept. Pass the same options to the verb.

    Parameters
    ----------
    metric
        The verb or its name.
    y, prediction, weights, classes, pos_label
        As for the verb itself.
    **options
        Options of the verb.

    Examples
    --------
    >>> from calibrant import ece
    >>> batches = [([0, 1], [0.2, 0.6]), ([1, 1], [0.8, 0.4])]
    >>> total = sum(summarize(ece, y, p, bins=2) for y, p in batches)
    >>> total
    Grid(n=4)
    >>> round(ece(total, bins=2), 3)
    0.25
    """
    entry = find(metric)
    rows = entry.read(y, prediction, weights=weights, classes=classes, pos_label=pos_label)
    return entry.summarise(rows, **entry.completed(options))


def ordered(rows: Rows, **_: Any) -> Ordered:
    """Return the sorted rows: the `summarise` of verbs of one probability per row that need them all."""
    return Ordered.of(cast(Binary, rows))  # such a verb has no "classes" among its predictions


def moments_of(rows: Rows, row_scores: Callable[[Rows], RowScores]) -> Moments:
    """Return the moments of row scores, folded chunk by chunk so that no score array is as long as the data."""
    total = Moments.zero()
    for part in chunks(rows.n):
        piece: Rows
        if isinstance(rows, Binary):
            piece = Binary(rows.y[part], rows.p[part].astype(np.float64, copy=False), rows.w[part])
        else:
            piece = Classes(rows.y[part], rows.P[part].astype(np.float64, copy=False), rows.w[part])
        total += Moments.of(row_scores(piece), piece.w)
    return total


def _refuse_labels(given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name}= is for labels; the outcomes of a predictive law are numbers: leave it out")


def _refuse_beside_summary(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name} cannot be given with a summary, which holds the rows already")


def _signature(own: list[inspect.Parameter], finish: Any) -> inspect.Signature:
    """Return the signature people see: y, prediction, the options, then what every verb takes."""
    y, prediction, *shared = list(inspect.signature(Verb.__call__).parameters.values())[1:-1]
    returns = inspect.signature(finish).return_annotation
    return inspect.Signature([y, prediction, *own, *shared], return_annotation=returns)
