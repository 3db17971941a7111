"""The kinds of prediction: their names, and how each is recognised and read into checked rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from calibrant.core.words import listed
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.distribution import Stored
from calibrant.inputs.intervals import call_for_bounds
from calibrant.inputs.probabilities import Binary, Classes, read_binary, read_probabilities
from calibrant.inputs.rows import DistributionRows, RegionRows, read_outcomes, read_regions, without_outcome
from calibrant.inputs.samples import Samples, refuse_labelled

Rows = Binary | Classes
AnyRows = Rows | DistributionRows | RegionRows


class PredictionKind(NamedTuple):
    """A kind of prediction: its name in messages, and how outcomes and predictions become checked rows."""

    words: str
    read: Callable[..., AnyRows]


KINDS = {
    "binary": PredictionKind("one probability per row (a 1-D array)", read_probabilities),
    "classes": PredictionKind("class probabilities (an array (n, K))", read_probabilities),
    "intervals": PredictionKind("Intervals", read_regions),
    "sets": PredictionKind("Sets", read_regions),
    "quantiles": PredictionKind("Quantiles", read_regions),
    "samples": PredictionKind("Samples", read_outcomes),
    "distributions": PredictionKind("a distribution such as Normal", read_outcomes),
    "cdf": PredictionKind("CdfValues", read_regions),
}
"""The kinds of prediction, by the `prediction_kind` of the typed ones."""

AS_INTERVALS = {
    "quantiles": "Call .intervals() on it, which pairs levels such as 0.1 and 0.9",
    "distributions": "Call .interval(level) on it",
    "samples": "Call .interval(level) on it",
}
"""What verbs of intervals advise for other kinds of prediction."""

NO_ADVICE: Mapping[str, str] = MappingProxyType({})


def kind_of(prediction: Any) -> str | None:
    """Return the kind of a typed prediction, None for anything else, which must be an array."""
    return type(prediction).prediction_kind if isinstance(prediction, Stored) else None


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
    """Return checked rows of a prediction that the verb takes; refuse others by name and say what to do instead.

    `unequal` says that the verb takes rows with different numbers of draws, `weighted` that it takes weighted draws.
    """
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
    """Return checked rows of predictions without outcomes."""
    kind = kind_of(prediction)
    if kind not in accepted:
        advice = _advice(kind, accepted, instead)
        raise InputError(
            f"{verb} takes {kinds_words(accepted)} alone; got {shown(prediction)} ({type(prediction).__name__}){advice}"
        )
    if isinstance(prediction, Samples):
        _check_draws(verb, prediction)
    return without_outcome(prediction, weights=weights)


def _advice(kind: str | None, accepted: tuple[str, ...], instead: Mapping[str, str]) -> str:
    """Return what to do instead of passing this kind of prediction, if that is known."""
    advice = {**AS_INTERVALS, **instead} if "intervals" in accepted else instead
    return "" if kind is None or kind not in advice else f". {advice[kind]}"


def _check_draws(verb: str, samples: Samples, *, unequal: bool = False, weighted: bool = False) -> None:
    """Refuse weighted draws, and unequal numbers of draws, for verbs that do not take them."""
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


def kinds_words(accepted: tuple[str, ...]) -> str:
    """Return the kinds of prediction in words."""
    return listed([kind.words for name, kind in KINDS.items() if name in accepted], "or")
