"""The catalogue: what calibrant knows of every verb, and the one way from data or a summary to its value.

A verb is a plain public function with its whole signature. Beside it stands its `Entry`: how its options are parsed,
once, into a frozen value; how checked rows become a summary; and how the summary becomes the result.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Labels
from calibrant.core.calls import check_options, public
from calibrant.core.kept_rows import KeptRows
from calibrant.core.limits import Limits
from calibrant.core.ordered import Ordered
from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError, did_you_mean, shown
from calibrant.inputs.cdf_values import CdfValues
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.kinds import KINDS, AnyRows, kinds_words, read, read_alone
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.sets import Sets
from calibrant.lazy import import_all, import_named, ours

OptionsT = TypeVar("OptionsT")
R = TypeVar("R")

__all__ = ["ENTRIES", "Entry", "NoOptions", "Shown", "enter", "entries", "find", "is_verb", "public", "summarize"]


@dataclass(frozen=True)
class Shown:
    """How an audit shows a number: its name in words, and whether it grows with miscalibration.

    A number that does gets the value it would have if calibrated and a p-value, both from redrawn outcomes.
    """

    label: str
    grows: bool = False


@dataclass(frozen=True)
class NoOptions:
    """The options of a verb that has none."""


@dataclass(frozen=True, eq=False)
class Entry(Generic[OptionsT, R]):
    """What the catalogue knows of a verb: enough to run it on arrays, batches, files, Dask, Spark, and in an audit.

    The first four: the public function; the frozen dataclass that its options are parsed into, which checks them; and
    the functions from checked rows and options to the summary, and from the summary and options to the result.
    """

    verb: Callable[..., R]
    options: type[OptionsT]
    summarise: Callable[[Any, OptionsT], Summary]
    finish: Callable[[Any, OptionsT], R]
    _: KW_ONLY
    reads: tuple[type[Summary], ...]  # kinds of summary; the first is what it makes of rows by default
    kind: str = "metric"  # or "test", "curve"; "ranks" for verbs that return one rank per row
    predictions: tuple[str, ...] = ("binary",)  # which kinds of prediction it judges, names of `kinds.KINDS`
    outcome: bool = True  # whether it looks at outcomes; `width` does not
    range: tuple[float, float] = (-np.inf, np.inf)  # between which values it lies
    perfect: float = 0.0  # its value for predictions that are certain and right
    mean: bool = False  # whether a row of weight 2 counts like two rows
    audit: Mapping[str, Shown] = field(default_factory=dict)  # fields of the result that an audit shows; "": the result
    row_scores: Callable[[Any, OptionsT], NDArray[np.float64]] | None = None  # whose mean it is, if it is a mean
    # whether a `Grid` of one probability per row tells the result for these options, up to `rounding`: a number, or one
    # for each field of a record
    on_grid: Callable[[OptionsT], bool] = lambda options: False
    rounding: Callable[[Any, OptionsT], float | Mapping[str, float]] = lambda grid, options: 0.0
    instead: Mapping[str, str] = field(default_factory=dict)  # what to do with kinds of prediction that it refuses
    limits: Callable[[Any, OptionsT], Limits] | None = None  # of the result, if valid ones are known, for `interval`
    unequal: bool = False  # whether it takes `Samples` whose rows have different numbers of draws

    @property
    def name(self) -> str:
        return self.verb.__name__

    @functools.cached_property
    def defaults(self) -> Mapping[str, Any]:
        """The options and their defaults, as the signature of the verb shows them."""
        shown = inspect.signature(self.verb).parameters
        return {option.name: shown[option.name].default for option in fields(self.options)}  # type: ignore[arg-type]

    @functools.cached_property
    def usual(self) -> OptionsT:
        return self.parse({})

    def parse(self, given: Mapping[str, Any]) -> OptionsT:
        """Return the options of a call that is made later: what batches, files, engines and audits need."""
        check_options(self.verb, self.defaults, given)
        values = {**self.defaults, **given}
        lacking = [name for name, value in values.items() if value is inspect.Parameter.empty]
        if lacking:
            raise InputError(f"{self.name} needs the option {lacking[0]}=")
        return self.options(**values)

    def __call__(
        self,
        y: Any,
        prediction: Any,
        options: OptionsT,
        *,
        weights: Any = None,
        classes: Any = None,
        pos_label: Any = None,
    ) -> R:
        """Measure data, or what a summary contains."""
        given = {"weights": weights, "classes": classes, "pos_label": pos_label}
        if prediction is None and isinstance(y, int) and y == 0:
            raise InputError("there are no rows: got 0, the sum of no summaries; at least one row is needed")
        if isinstance(y, Summary):
            for name, value in {"prediction": prediction, **given}.items():
                if value is not None:
                    raise InputError(f"{name} cannot be given with a summary, which has the rows already")
            return self.of_summary(y, options)
        return self.of_rows(self.read(y, prediction, **given), options)

    def alone(self, prediction: Any, options: OptionsT, *, weights: Any = None) -> R:
        """Measure predictions without outcomes, or what a summary contains of them."""
        y, prediction = (prediction, None) if isinstance(prediction, Summary) else (None, prediction)
        return self(y, prediction, options, weights=weights)

    def read(self, y: Any, prediction: Any, *, weights: Any = None, **labels: Any) -> AnyRows:
        if not self.outcome:
            return read_alone(self.name, self.predictions, prediction, weights=weights, instead=self.instead)
        given = {"weights": weights, "instead": self.instead, "unequal": self.unequal, **labels}
        return read(self.name, self.predictions, y, prediction, **given)

    def of_rows(self, rows: AnyRows, options: OptionsT) -> R:
        return self.finish(self.summarise(rows, options), options)

    def of_summary(self, summary: Summary, options: OptionsT) -> R:
        self.check_summary(summary)
        return self.finish(summary, options)

    def check_summary(self, summary: Summary) -> None:
        """Refuse a summary that this verb does not read, or that has no rows."""
        if not isinstance(summary, self.reads):
            expected = " or ".join(kind.__name__ for kind in self.reads)
            raise SummaryError(
                f"{self.name} reads a summary of kind {expected}; got {type(summary).__name__}. "
                f"Make one with summarize({self.name!r}, y, prediction)"
            )
        if summary.n == 0:
            raise InputError("there are no rows: the summary is empty; at least one row is needed")
        if isinstance(summary, Ordered) and not 0 <= summary.score[0] <= summary.score[-1] <= 1:
            raise SummaryError(
                f"the scores of this summary must lie in [0, 1]; they reach from {summary.score[0]:g} to "
                f"{summary.score[-1]:g}. Make it again"
            )
        if isinstance(summary, KeptRows) and summary.kind not in self.predictions:
            raise SummaryError(
                f"{self.name} judges {kinds_words(self.predictions)}; this summary has rows of "
                f"{KINDS[summary.kind].words}"
            )


ENTRIES: dict[str, Entry[Any, Any]] = {}
"""The entries of all verbs that have been imported; `entries` imports all of calibrant's first."""

RANKINGS: dict[str, Entry[Any, Any]] = {}
"""The same of verbs that return ranks, which have a summary but no result of one."""


def enter(entry: Entry[OptionsT, R]) -> Entry[OptionsT, R]:
    """Enter a verb into the catalogue, where batches, files, engines, audits and tests find it."""
    (RANKINGS if entry.kind == "ranks" else ENTRIES)[entry.name] = entry
    return entry


def entries() -> dict[str, Entry[Any, Any]]:
    """Return the entries of all verbs, calibrant's own and those that were entered since."""
    import_all()
    return ENTRIES


def is_verb(measurement: Any) -> bool:
    """Tell whether this is a public function of the catalogue, and not one of the same name."""
    name = getattr(measurement, "__name__", "")
    entry = ENTRIES.get(name) or RANKINGS.get(name)
    return entry is not None and measurement is entry.verb


def find(measurement: Any, *, ranks: bool = False) -> Entry[Any, Any]:
    """Return the entry of a verb given as the function or its name; those that return ranks only if asked for."""
    name = measurement.__name__ if is_verb(measurement) else measurement
    if isinstance(name, str) and name not in ENTRIES and name not in RANKINGS:
        import_named(name)
    known = {**ENTRIES, **RANKINGS} if ranks else ENTRIES
    entry = known.get(name) if isinstance(name, str) else None
    if entry is None:
        import_all()
        expected = "expected a verb of calibrant or its name"
        hint = "The verb comes first, as in interval(ece, y, p); a distribution has .interval(level) of its own"
        if isinstance(name, str):
            expected, hint = f"{expected} ({', '.join(sorted(known))})", did_you_mean(ours(name), known)
        raise InputError(f"{expected}; got {shown(measurement)}. {hint}".removesuffix(". "))
    return entry


def ordered(rows: Any, options: object) -> Ordered:
    """Return the sorted rows, of class probabilities those of the most probable class: a `summarise` of many verbs."""
    return Ordered.of(rows.pairs())


def all_rows(rows: Any, options: object) -> Ordered | KeptRows:
    """Return all rows: sorted if they have one probability each, else as they are."""
    return Ordered.of(rows) if rows.kind == "binary" else KeptRows.of(rows)


OF_POINTS = ("mmd", "mmd_test", "kernel_distance", "frechet_distance")  # verbs of sets of points that have a summary


@public
def summarize(
    metric: Callable[..., Any] | str,
    y: ArrayLike | None,
    prediction: ArrayLike | Intervals | Sets | Quantiles | Distribution | CdfValues,
    *,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: Any = None,
    **options: Any,
) -> Summary:
    """Return the summary from which a verb with these options is computed.

    Summaries of batches add up: ``ece(summarize(ece, y1, p1) + summarize(ece, y2, p2))`` is the value of all rows,
    and no batch needs to be kept. Pass the same options to the verb. The summary of a verb that returns ranks are their
    counts, `Ranks`, which every test and curve of ranks takes:
    ``uniformity_test(summarize("joint_ranks", y, samples))``.

    Parameters
    ----------
    metric
        The verb or its name.
    y, prediction, weights, classes, pos_label
        As for the verb itself; verbs that return ranks take weights here.
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
    given = getattr(metric, "__name__", metric)
    if isinstance(given, str) and given in OF_POINTS and not is_verb(metric):
        raise InputError(
            f"{given} compares sets of points, not outcomes with predictions; its batches are added up by "
            "points.PointBlocks.of(y, points) (mmd, kernel_distance) or points.PointMoments.of(points) "
            "(frechet_distance)"
        )
    entry = find(metric, ranks=True)
    parsed = entry.parse(options)  # a misspelt option is refused before the rows are read
    rows = entry.read(y, prediction, weights=weights, classes=classes, pos_label=pos_label)
    return entry.summarise(rows, parsed)
