"""What the catalogue knows of every verb, and how a verb is found."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from types import MappingProxyType
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import CHUNK_ROWS, chunks, on_threads
from calibrant.core.grid import Grid
from calibrant.core.interval_sums import IntervalSums, sums_in_one_pass
from calibrant.core.moments import Moments
from calibrant.core.ordered import Ordered
from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError, did_you_mean, shown
from calibrant.inputs.cdf_values import CdfValues
from calibrant.inputs.distribution import Law
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.probabilities import Binary, Classes, read_binary, read_probabilities
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.rows import Judged, LawRows, read_judged, read_outcomes, without_outcome
from calibrant.inputs.samples import Samples
from calibrant.inputs.sets import Sets

Rows = Binary | Classes
AnyRows = Rows | LawRows | Judged

KINDS = {
    "binary": "one probability per row (a 1-D array)",
    "classes": "class probabilities (an array (n, K))",
    "intervals": "Intervals",
    "sets": "Sets",
    "quantiles": "Quantiles",
    "samples": "Samples",
    "laws": "a law such as Normal",
    "cdf": "CdfValues",
}
"""The kinds of prediction, in words."""
NO_ADVICE: Mapping[str, str] = MappingProxyType({})


def kind_of(prediction: Any) -> str | None:
    """Return the kind of a typed prediction, None for what can only be an array."""
    types = {Intervals: "intervals", Sets: "sets", Quantiles: "quantiles", CdfValues: "cdf", Samples: "samples"}
    if type(prediction) in types:
        return types[type(prediction)]
    return "laws" if isinstance(prediction, Law) else None


def read(
    verb: str,
    accepted: tuple[str, ...],
    y: Any,
    prediction: Any,
    *,
    weights: Any = None,
    classes: Any = None,
    pos_label: Any = None,
    instead: Mapping[str, str] = NO_ADVICE,
) -> AnyRows:
    """Return checked rows of a prediction that the verb judges; others are refused by name, with what to do instead."""
    kind = kind_of(prediction)
    if kind is None:
        if "classes" in accepted:
            return read_probabilities(y, prediction, weights=weights, classes=classes, pos_label=pos_label)
        if "binary" in accepted:
            return read_binary(y, prediction, verb=verb, weights=weights, classes=classes, pos_label=pos_label)
        draws = ". Draws are passed as Samples(draws)" if "samples" in accepted else ""
        raise InputError(
            f"{verb} judges {listed(accepted)}; got {shown(prediction)} ({type(prediction).__name__}). "
            f"A plain array is only ever taken as probabilities{draws}"
        )
    if kind not in accepted:
        advice = f". {instead[kind]}" if kind in instead else ""
        raise InputError(f"{verb} judges {listed(accepted)}; got {type(prediction).__name__}{advice}")
    if pos_label is not None or (classes is not None and kind != "sets"):
        name = "pos_label" if pos_label is not None else "classes"
        raise InputError(f"{name}= is for labels of probabilities; leave it out for {type(prediction).__name__}")
    if isinstance(prediction, Law):
        return read_outcomes(y, prediction, weights=weights)
    return read_judged(y, prediction, weights=weights, classes=classes)


def read_alone(
    verb: str, accepted: tuple[str, ...], prediction: Any, *, weights: Any, instead: Mapping[str, str] = NO_ADVICE
) -> Judged:
    """Return rows of predictions without outcomes."""
    kind = kind_of(prediction)
    if kind not in accepted:
        advice = f". {instead[kind]}" if kind is not None and kind in instead else ""
        raise InputError(
            f"{verb} takes {listed(accepted)} alone; got {shown(prediction)} ({type(prediction).__name__}){advice}"
        )
    return without_outcome(prediction, weights=weights)


def part_of(rows: Any, part: slice) -> Any:
    """Return consecutive rows without copying them, probabilities in float64."""
    if isinstance(rows, Binary):
        return Binary(rows.y[part], rows.p[part].astype("float64", copy=False), rows.w[part])
    if isinstance(rows, Classes):
        return Classes(rows.y[part], rows.P[part].astype("float64", copy=False), rows.w[part])
    if isinstance(rows, LawRows):
        return LawRows(rows.y[part], rows.law.take(part), rows.w[part], None, rows.dtype)
    return rows.take(part)


def listed(accepted: tuple[str, ...]) -> str:
    """Return the kinds of prediction in words."""
    words = [KINDS[kind] for kind in KINDS if kind in accepted]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


R_co = TypeVar("R_co", covariant=True)

SHARED = {"weights": set(KINDS), "classes": {"binary", "classes", "sets"}, "pos_label": {"binary"}}
"""Options that verbs share, and the kinds of prediction they are for."""

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
        Which kinds of prediction it judges, names of `reading.KINDS`.
    outcome
        Whether it looks at outcomes; `width` does not.
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
    row_scores
        The function from checked rows to the scores whose mean it is, if it is a mean.
    on_grid
        Whether a `Grid` of one probability per row tells the result for these options, up to `rounding`.
    by_group
        Whether it compares groups of rows with these options, if it has an option `groups`.
    rounding
        By how much the result of a `Grid` with these options may differ from that of the rows: a number, or one for
        each field of a record.
    instead
        What to do with kinds of prediction that it refuses, in words.
    verb, summarise
        The public function; the function from checked rows and options to the summary.
    """

    name: str
    kind: str
    reads: tuple[type[Summary], ...]
    predictions: tuple[str, ...]
    outcome: bool
    range: tuple[float, float]
    perfect: float
    mean: bool
    audit: Mapping[str, Shown]
    audit_options: Callable[[AnyRows], Mapping[str, Any]]
    redrawn: Callable[[Ordered, NDArray[Any]], NDArray[np.float64]] | None
    row_scores: Callable[..., NDArray[np.float64]] | None
    on_grid: Callable[[Mapping[str, Any]], bool]
    by_group: Callable[[Mapping[str, Any]], bool]
    rounding: Callable[..., float | Mapping[str, float]]
    verb: Verb[Any]
    summarise: Callable[..., Summary]
    finish: Callable[..., Any]
    options: Mapping[str, Any]
    instead: Mapping[str, str]

    def read(
        self, y: Any, prediction: Any, *, weights: Any = None, classes: Any = None, pos_label: Any = None
    ) -> AnyRows:
        """Take data through the boundary."""
        if not self.outcome:
            return read_alone(self.name, self.predictions, prediction, weights=weights, instead=self.instead)
        labels = {"classes": classes, "pos_label": pos_label}
        return read(self.name, self.predictions, y, prediction, weights=weights, instead=self.instead, **labels)

    def completed(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return all options, the given ones over the defaults."""
        for name in options:
            if name not in self.options:
                known = [*self.options, *shared_options(self.predictions, self.outcome)]
                raise InputError(f"{self.name} has no option {name}. {options_hint(name, known)}")
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


def options_hint(name: str, known: Sequence[str]) -> str:
    """Say which options there are, and which one of them may have been meant.

    >>> options_hint("n_bins", ["bins", "norm"])
    'Did you mean bins=? Its options are bins, norm'
    >>> options_hint("n_bins", ["half"])
    'Its options are half'
    """
    hint = did_you_mean(LOOKALIKES.get(name, name), known, spelled="{}=".format)
    return f"{hint} Its options are {', '.join(known)}".lstrip()


def shared_options(predictions: tuple[str, ...], outcome: bool) -> tuple[str, ...]:
    """Return the shared options of a verb that judges these kinds of prediction."""
    found = tuple(name for name, kinds in SHARED.items() if kinds & set(predictions))
    return found if outcome else ("weights",)


def is_verb(measurement: Any) -> bool:
    """Tell whether this is a public function of the catalogue, and not one of the same name."""
    entry = ENTRIES.get(getattr(measurement, "__name__", ""))
    return entry is not None and measurement is entry.verb


def find(measurement: Any) -> Entry:
    """Return the entry of a verb given as the function or its name."""
    name = measurement.__name__ if is_verb(measurement) else measurement
    entry = ENTRIES.get(name) if isinstance(name, str) else None
    if entry is None:
        known = f"expected a verb of calibrant or its name ({', '.join(sorted(ENTRIES))})"
        hint = did_you_mean(name, ENTRIES) if isinstance(name, str) else ""
        raise InputError(f"{known}; got {shown(measurement)}. {hint}".removesuffix(". "))
    return entry


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


S = TypeVar("S", bound=Summary)
Scores = NDArray[np.float64] | NDArray[np.bool_]
RowScores = Mapping[str, Scores]
SERIAL_CHUNKS = 4  # fewer end before the threads have begun
SEVERAL = "several "
"""Marks the columns of a metric that is an array: one column per level."""


def mean_metric(
    *,
    fused: Callable[..., list[IntervalSums] | None] | None = None,
    of_grid: Callable[..., float] | None = None,
    **properties: Any,
) -> Callable[[Callable[..., Scores]], Verb[Any]]:
    """Enter a metric that is the mean of row scores, given as the function from checked rows to those scores.

    The scores, numbers or True and False, have shape (n,), or (n, L) for predictions of L levels; the metric is then a
    number, or an array (L,) if the prediction has several levels. `fused(rows, **options)` may give the sums of those
    scores in one pass, one entry per level, where there are so many rows of weight 1 that it pays. `of_grid(grid,
    **options)` gives the mean for one probability per row from a `Grid`, exactly, if that can be done.
    """

    def decorate(row_scores: Callable[..., Scores]) -> Verb[Any]:
        signature = inspect.signature(row_scores)
        defaults = {p.name: p.default for p in list(signature.parameters.values())[1:]}

        def column(options: Mapping[str, Any]) -> str:
            changed = ", ".join(f"{k}={v!r}" for k, v in options.items() if v != defaults[k])
            return f"{row_scores.__name__}({changed})" if changed else row_scores.__name__

        def summarise(rows: AnyRows, **options: Any) -> Moments:
            def names(L: int | None) -> list[str]:
                return [column(options) + name for name in column_names(rows, L)]

            def named(piece: AnyRows) -> RowScores:
                scores = row_scores(piece, **options)
                if scores.ndim == 1:
                    return {names(None)[0]: scores}
                return dict(zip(names(scores.shape[1]), scores.T, strict=True))

            sums = fused(rows, **options) if fused and sums_in_one_pass(rows.n, rows.w) else None
            return moments_of(rows, named) if sums is None else Moments.of_sums(names(len(sums)), sums)

        def numbers(rows: AnyRows, **options: Any) -> NDArray[np.float64]:
            return np.asarray(row_scores(rows, **options), dtype=np.float64)

        @functools.wraps(row_scores)
        def finish(summary: Moments | Grid, **options: Any) -> Any:
            if isinstance(summary, Grid):
                assert of_grid is not None  # else it is not among what the verb reads
                return of_grid(summary, **options)
            name = column(options)
            held = [other for other in summary.names if other == name or other.startswith(f"{name}[")]
            values = [summary.mean_of(other) for other in held or [name]]
            return np.array(values) if SEVERAL in held[0] else values[0]

        returns = "float" if signature.return_annotation == "FloatArray" else signature.return_annotation
        returns = properties.pop("returns", returns)
        finish.__annotations__ = {**row_scores.__annotations__, "return": returns}
        finish.__signature__ = signature.replace(return_annotation=returns)  # type: ignore[attr-defined]
        reads = (Moments,) if of_grid is None else (Moments, Grid)
        return metric(
            reads=reads,
            summarise=summarise,
            mean=True,
            row_scores=numbers,
            on_grid=lambda options: of_grid is not None,
            **properties,
        )(finish)

    return decorate


def column_names(rows: AnyRows, L: int | None) -> list[str]:
    """Return what is added to a metric's name for each column of scores: scores of different kinds do not mix."""
    if isinstance(rows, Binary):
        return [""]
    if isinstance(rows, Classes):
        return [f"[{rows.K} classes]"]
    if isinstance(rows, LawRows):
        return ["[law]"] if L is None else [f"[{SEVERAL}coordinate {k}]" for k in range(L)]
    return _level_names(rows, L)


def _level_names(rows: Judged, L: int | None) -> list[str]:
    prediction = rows.prediction
    kind = type(prediction).__name__
    levels = getattr(prediction, "levels", None)
    words = [f"{level:.10g}" for level in levels] if levels is not None else [f"column {k}" for k in range(L or 0)]
    if L is None:  # one score over all levels
        return [f"[{kind} {', '.join(words)}]"]
    several = "" if prediction.single else SEVERAL
    size = f"K={prediction.K} " if isinstance(prediction, Sets) else ""
    return [f"[{several}{kind} {size}{word}]" for word in words]


def moments_of(rows: Any, row_scores: Callable[[Any], RowScores]) -> Moments:
    """Return the moments of row scores, chunk by chunk so that no score array is as long as the data."""
    return folded(rows, lambda piece: Moments.of(row_scores(piece), piece.w), Moments.zero())


def folded(rows: Any, summarise: Callable[[Any], S], zero: S) -> S:
    """Return the sum of the summaries of chunks, computed on all cores and merged in their order."""

    def of(part: slice) -> S:
        return summarise(part_of(rows, part))

    levels = getattr(getattr(rows, "prediction", None), "levels", None)
    size = max(1, CHUNK_ROWS // (1 if levels is None else levels.size))  # so many columns stay in the cache
    few = rows.n <= SERIAL_CHUNKS * size
    parts = map(of, chunks(rows.n, size)) if few else on_threads(of, rows.n, size=size)
    return reduce(add, parts, zero)
