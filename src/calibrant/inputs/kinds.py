"""The kinds of prediction: each is declared once, and the rest of the code asks the declaration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.cdf_values import CdfValues
from calibrant.inputs.distribution import Stored
from calibrant.inputs.intervals import Intervals, call_for_bounds
from calibrant.inputs.mixture import Mixture
from calibrant.inputs.parametric import Laplace, MvNormal, Normal
from calibrant.inputs.probabilities import Binary, Classes, read_binary, read_probabilities
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.rows import (
    CdfRows,
    DistributionRows,
    IntervalRows,
    QuantileRows,
    RegionRows,
    SetRows,
    read_outcomes,
)
from calibrant.inputs.samples import Samples, refuse_labelled
from calibrant.inputs.sets import Sets

Rows = Binary | Classes
AnyRows = Rows | DistributionRows | RegionRows


@dataclass(frozen=True)
class PredictionKind:
    """A kind of prediction. Typed ones with `columns` and `of_columns` can be stored and merged."""

    words: str  # what messages call it
    title: str  # the heading of its audit
    audit: str  # where its audit is declared, as module:name in `calibrant.auditing`; empty: it is not audited
    read: Callable[..., AnyRows]  # makes checked rows of outcomes and predictions
    classes: tuple[type, ...] = ()
    row_arguments: tuple[str, ...] | None = None  # those with one entry per row, which `from_columns` names; None: all
    alone: Callable[..., RegionRows] = RegionRows.alone  # makes rows of predictions without outcomes
    as_intervals: str = ""  # what turns it into intervals, as advice

    def audited(self) -> Any:
        """Return how this kind is audited, a `core.findings.Kind`; only the modules of the kind are imported."""
        module, name = self.audit.split(":")
        return getattr(import_module(f"calibrant.auditing.{module}"), name)


def _region(
    title: str, audit: str, rows: type[RegionRows], made: type, row_arguments: tuple[str, ...], as_intervals: str = ""
) -> PredictionKind:
    return PredictionKind(made.__name__, title, audit, rows.read, (made,), row_arguments, rows.alone, as_intervals)


PAIRED = "Call .intervals() on it, which pairs levels such as 0.1 and 0.9"
AT_LEVEL = "Call .interval(level) on it"
KINDS = {
    "binary": PredictionKind(
        "one probability per row (a 1-D array)", "Probabilities of an event", "probabilities:BINARY", read_probabilities
    ),
    "classes": PredictionKind(
        "class probabilities (an array (n, K))", "Probabilities of classes", "probabilities:CLASSES", read_probabilities
    ),
    "intervals": _region("Prediction intervals", "regions:INTERVALS", IntervalRows, Intervals, ("lower", "upper")),
    "sets": _region("Prediction sets", "regions:SETS", SetRows, Sets, ("mask",)),
    "quantiles": _region("Quantile forecasts", "regions:QUANTILES", QuantileRows, Quantiles, ("values",), PAIRED),
    "samples": PredictionKind(
        "Samples",
        "Draws of predictive distributions",
        "distributions:DISTRIBUTIONS",
        read_outcomes,
        (Samples,),
        ("draws", "log_density"),
        as_intervals=AT_LEVEL,
    ),
    "distributions": PredictionKind(
        "a distribution such as Normal",
        "Predictive distributions",
        "distributions:DISTRIBUTIONS",
        read_outcomes,
        (Normal, Laplace, MvNormal, Mixture),
        as_intervals=AT_LEVEL,
    ),
    "cdf": _region("Values of distribution functions", "", CdfRows, CdfValues, ("at", "below")),
}
"""The kinds of prediction, by the `prediction_kind` of the typed ones."""

JUDGES = {
    "intervals": "coverage, interval_score and audit judge intervals",
    "sets": "coverage, width and audit judge sets",
    "quantiles": "quantile_score, coverage and audit judge quantiles",
    "samples": "crps, uniformity_test and audit judge draws",
    "distributions": "crps, uniformity_test and audit judge distributions",
    "cdf": "pit_histogram and uniformity_test judge values of distribution functions",
}
"""Which verbs judge typed predictions: advice where a verb is for other kinds."""

LEVELLED = ("intervals", "sets", "quantiles")  # kinds whose columns belong to nominal levels
AUDITED = tuple(name for name, kind in KINDS.items() if kind.audit)
STORED: dict[str, Any] = {made.__name__: made for kind in KINDS.values() for made in kind.classes}
"""The typed predictions by the names of their classes."""

NO_ADVICE: Mapping[str, str] = MappingProxyType({})


def kind_of(prediction: Any) -> str | None:
    """Return the kind of a typed prediction, None for anything else, which must be an array."""
    return type(prediction).prediction_kind if isinstance(prediction, Stored) else None


def is_levelled(stored: str) -> bool:
    """Whether the columns of a typed prediction, named by its class, belong to nominal levels."""
    return stored in STORED and STORED[stored].prediction_kind in LEVELLED


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
    unequal: bool = False,
    weighted: bool = False,
) -> AnyRows:
    """Return checked rows; refuse predictions, unequal numbers and weights of draws that the verb does not take."""
    kind = kind_of(prediction)
    if kind is None:
        refuse_labelled(prediction, "prediction")
        if "classes" in accepted:
            return read_probabilities(y, prediction, weights=weights, classes=classes, pos_label=pos_label)
        if "binary" in accepted:
            return read_binary(y, prediction, verb=verb, weights=weights, classes=classes, pos_label=pos_label)
        bounds = call_for_bounds(prediction) if "intervals" in accepted else ""
        draws = "Draws are passed as Samples(draws)" if "samples" in accepted else ""
        advice = f". {bounds or draws}" if bounds or draws else ""
        raise InputError(
            f"{verb} judges {kinds_words(accepted)}; got {shown(prediction)} ({type(prediction).__name__}). "
            f"A plain array is always taken as probabilities{advice}"
        )
    if kind not in accepted:
        advice = _advice(kind, accepted, instead)
        raise InputError(f"{verb} judges {kinds_words(accepted)}; got {type(prediction).__name__}{advice}")
    if pos_label is not None or (classes is not None and kind != "sets"):
        name = "pos_label" if pos_label is not None else "classes"
        raise InputError(f"{name}= is for labels of probabilities; leave it out for {type(prediction).__name__}")
    if isinstance(prediction, Samples):
        _check_draws(verb, prediction, unequal=unequal, weighted=weighted)
    return KINDS[kind].read(y, prediction, weights=weights, **({} if classes is None else {"classes": classes}))


def read_alone(
    verb: str, accepted: tuple[str, ...], prediction: Any, *, weights: Any, instead: Mapping[str, str] = NO_ADVICE
) -> RegionRows:
    kind = kind_of(prediction)
    if kind not in accepted:
        advice = _advice(kind, accepted, instead)
        raise InputError(
            f"{verb} takes {kinds_words(accepted)} alone; got {shown(prediction)} ({type(prediction).__name__}){advice}"
        )
    if isinstance(prediction, Samples):
        _check_draws(verb, prediction)
    return KINDS[kind].alone(prediction, weights=weights)


def _advice(kind: str | None, accepted: Sequence[str], instead: Mapping[str, str]) -> str:
    if kind is None:
        return ""
    usual = KINDS[kind].as_intervals if "intervals" in accepted else ""
    return f". {instead.get(kind, usual) or JUDGES[kind]}"


def _check_draws(verb: str, samples: Samples, *, unequal: bool = False, weighted: bool = False) -> None:
    if samples.draw_weights is not None and not weighted:
        raise NotApplicableError(
            f"{verb} takes draws of equal weight: a weighted draw has no rank. Use pit(y, samples, rng=0), and "
            "CdfValues of what it returns for curves and tests"
        )
    if samples.counts is not None and not unequal:
        raise NotApplicableError(
            f"{verb} needs the same number of draws in every row; these rows have {samples.counts.min():,} to "
            f"{samples.counts.max():,}. Pass samples.thin(rng=0), random draws of each row"
        )


def kinds_words(accepted: Sequence[str]) -> str:
    *others, last = (kind.words for name, kind in KINDS.items() if name in accepted)
    return f"{', '.join(others)} or {last}" if others else last
