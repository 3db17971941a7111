"""The kinds of prediction: their names, and how each is recognised and read into checked rows."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from calibrant.core.words import listed
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.cdf_values import CdfValues
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.probabilities import Binary, Classes, read_binary, read_probabilities
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.rows import DistributionRows, RegionRows, read_outcomes, read_regions, without_outcome
from calibrant.inputs.samples import Samples
from calibrant.inputs.sets import Sets

Rows = Binary | Classes
AnyRows = Rows | DistributionRows | RegionRows


class PredictionKind(NamedTuple):
    """A kind of prediction: its name in messages, and the type that a user passes, None for a plain array."""

    words: str
    prediction: type | None


KINDS = {
    "binary": PredictionKind("one probability per row (a 1-D array)", None),
    "classes": PredictionKind("class probabilities (an array (n, K))", None),
    "intervals": PredictionKind("Intervals", Intervals),
    "sets": PredictionKind("Sets", Sets),
    "quantiles": PredictionKind("Quantiles", Quantiles),
    "samples": PredictionKind("Samples", Samples),
    "distributions": PredictionKind("a distribution such as Normal", Distribution),
    "cdf": PredictionKind("CdfValues", CdfValues),
}
"""The kinds of prediction; subclasses stand before their base classes."""

NO_ADVICE: Mapping[str, str] = MappingProxyType({})


def kind_of(prediction: Any) -> str | None:
    """Return the kind of a typed prediction, None for anything else, which must be an array."""
    for name, kind in KINDS.items():
        if kind.prediction is not None and isinstance(prediction, kind.prediction):
            return name
    return None


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
        if "classes" in accepted:
            return read_probabilities(y, prediction, weights=weights, classes=classes, pos_label=pos_label)
        if "binary" in accepted:
            return read_binary(y, prediction, verb=verb, weights=weights, classes=classes, pos_label=pos_label)
        draws = ". Draws are passed as Samples(draws)" if "samples" in accepted else ""
        raise InputError(
            f"{verb} judges {kinds_words(accepted)}; got {shown(prediction)} ({type(prediction).__name__}). "
            f"A plain array is always taken as probabilities{draws}"
        )
    if kind not in accepted:
        advice = f". {instead[kind]}" if kind in instead else ""
        raise InputError(f"{verb} judges {kinds_words(accepted)}; got {type(prediction).__name__}{advice}")
    if pos_label is not None or (classes is not None and kind != "sets"):
        name = "pos_label" if pos_label is not None else "classes"
        raise InputError(f"{name}= is for labels of probabilities; leave it out for {type(prediction).__name__}")
    if isinstance(prediction, Samples):
        _check_draws(verb, prediction, unequal=unequal, weighted=weighted)
    if isinstance(prediction, Distribution):
        return read_outcomes(y, prediction, weights=weights)
    return read_regions(y, prediction, weights=weights, classes=classes)


def read_alone(
    verb: str, accepted: tuple[str, ...], prediction: Any, *, weights: Any, instead: Mapping[str, str] = NO_ADVICE
) -> RegionRows:
    """Return checked rows of predictions without outcomes."""
    kind = kind_of(prediction)
    if kind not in accepted:
        advice = f". {instead[kind]}" if kind is not None and kind in instead else ""
        raise InputError(
            f"{verb} takes {kinds_words(accepted)} alone; got {shown(prediction)} ({type(prediction).__name__}){advice}"
        )
    if isinstance(prediction, Samples):
        _check_draws(verb, prediction)
    return without_outcome(prediction, weights=weights)


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


def part_of(rows: Any, part: slice) -> Any:
    """Return consecutive rows without copying them; probabilities become float64."""
    if isinstance(rows, Binary):
        return Binary(rows.y[part], rows.p[part].astype("float64", copy=False), rows.w[part])
    if isinstance(rows, Classes):
        return Classes(rows.y[part], rows.P[part].astype("float64", copy=False), rows.w[part])
    if isinstance(rows, DistributionRows):
        return DistributionRows(rows.y[part], rows.distribution.take(part), rows.w[part], None, rows.dtype, rows.names)
    return rows.take(part)


def kinds_words(accepted: tuple[str, ...]) -> str:
    """Return the kinds of prediction in words."""
    return listed([kind.words for name, kind in KINDS.items() if name in accepted], "or")
