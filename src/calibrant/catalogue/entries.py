"""What the catalogue knows of every verb, and how a verb is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant.catalogue.reading import KINDS, AnyRows, read, read_alone
from calibrant.errors import InputError, SummaryError, did_you_mean, shown
from calibrant.summaries import Ordered, Summary

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
