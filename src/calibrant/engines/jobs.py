"""Jobs: a summary of each batch, one of all batches, and the results read from it."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np

from calibrant.core.catalogue import Entry, find, summarize
from calibrant.core.cells import UnitRows
from calibrant.core.dispatch import takes_fast_body
from calibrant.core.grid import Grid
from calibrant.core.ordered import Ordered
from calibrant.core.several import Several
from calibrant.core.summary import Summary
from calibrant.engines.batches import (
    GROUPS,
    check_event_seen,
    check_one_group_column,
    picklable_options,
    takes_groups,
    with_batch_groups,
    with_batch_rng,
    with_event_outcomes,
)
from calibrant.errors import InputError, NotApplicableError, listing, shown
from calibrant.inputs.columns import Batch
from calibrant.inputs.kinds import AnyRows, read
from calibrant.inputs.probabilities import Binary

Result_co = TypeVar("Result_co", covariant=True)


class Job(Protocol[Result_co]):
    """A measurement of batches. It is sent to other processes, so everything in it must be picklable."""

    def part(self, batch: Batch) -> Summary:
        """Return the summary of a batch."""

    def finish(self, total: Summary) -> Result_co:
        """Return the result for all rows."""


GRID, ORDERED = "grid", "ordered"  # parts that verbs share: cells, or the sorted rows
TRIAL_ROWS = 2  # from which one sees what kind of summary a verb makes


class Measured(NamedTuple):
    """The result of a verb, and by how much it may differ from the result for the rows themselves.

    `rounding` is 0 except for verbs that read a `Grid`, where rows are counted in cells. For a record it has a bound
    for each field that has one. It does not include the rounding that every sum of floating-point numbers has.
    """

    value: Any
    rounding: float | Mapping[str, float]


class VerbCall(NamedTuple):
    """A verb by its name, with all its options."""

    verb: str
    options: Mapping[str, Any]

    @property
    def entry(self) -> Entry[Any, Any]:
        return find(self.verb)


@dataclass(frozen=True)
class Measuring:
    """A job: verbs in one pass, each from a summary of constant size or, if `exact`, from the rows it needs.

    If not, rows are counted in the cells of a `Grid` where possible, and a verb that needs the rows is refused.
    """

    wanted: Mapping[str, VerbCall]  # under the names of their results
    exact: bool = False
    labels: Mapping[str, Any] = field(default_factory=dict)  # `classes` and `pos_label`, as for the verbs

    @classmethod
    def of(
        cls, verbs: Any, groups: Sequence[str] = (), *, exact: bool = False, classes: Any = None, pos_label: Any = None
    ) -> Measuring:
        """Read what a user asks for: a verb or several, as functions, names, or functools.partial of a function.

        Names of `groups` that the verbs cannot use are refused.
        """
        given = list(verbs) if isinstance(verbs, (list, tuple)) else [verbs]
        if not given:
            raise InputError("there is nothing to measure; expected verbs, such as ece or 'ece'")
        wanted = dict(_wanted(verb) for verb in given)
        if len(wanted) < len(given):
            raise InputError(f"a verb with the same options is given twice: {shown(given)}")
        job = cls(wanted, exact, {"classes": classes, "pos_label": pos_label})
        job._check_groups(groups)
        return job

    def _check_groups(self, names: Sequence[str]) -> None:
        own = [name for name, each in self.wanted.items() if each.options.get(GROUPS) is not None]
        if names and own:
            raise InputError(
                f"groups are given twice: as {shown(names[0])}, and as an option of {own[0]}. Leave out the latter"
            )
        if names and not any(takes_groups(each.options) for each in self.wanted.values()):
            raise InputError(
                f"groups were given, {shown(names[0])}, but none of the verbs compares groups: "
                f"{listing(list(self.wanted))}. Select the rows of one group, or audit them"
            )
        check_one_group_column(names)

    def part(self, batch: Batch) -> Several:
        """Return the summaries of a batch; verbs that read the same summary share it."""
        batch, labels, seen = with_event_outcomes(batch, self.labels)
        rows, found = self._read(batch, labels), dict[str, Summary]()
        for name, (verb, options) in self.wanted.items():
            entry = find(verb)
            if not self.exact and rows.kind == "binary" and entry.on_grid(entry.parse(options)):
                if GRID not in found:
                    found[GRID] = Grid.of(cast(Binary, rows))
            elif ORDERED not in found or not _sorts(entry, rows, options):
                own = rows if entry.outcome else entry.read(None, batch.prediction, weights=batch.weights)
                given = with_batch_groups(with_batch_rng(options, batch), batch)
                summary = entry.summarise(own, entry.parse(given))
                if summary.grows and not self.exact:
                    words = f"{name} needs all rows, or all different scores; pass exact=True to keep them in memory"
                    raise NotApplicableError(words)
                found[ORDERED if type(summary) is Ordered else name] = summary
        return Several.of({**found, **seen})

    def part_of_pieces(self, pieces: Sequence[Batch]) -> Several | None:
        """Return the summary of a batch in the chunks it was decoded in, if all verbs count rows in cells.

        It is that of `part` bit for bit; joining the chunks first would take longer than to count them. None if they
        must be joined.
        """
        plain = not self.exact and all(label is None for label in self.labels.values())
        in_cells = all(find(verb).on_grid(find(verb).parse(options)) for verb, options in self.wanted.values())
        if not (plain and in_cells and takes_fast_body(sum(len(piece.y) for piece in pieces))):
            return None
        try:
            grid = Grid.of_pieces(map(self._counted, pieces), pieces[0].prediction.dtype.name)
        except InputError:
            return None
        return None if grid is None else Several.of({GRID: grid})  # the whole batch is refused with the number of a row

    def _counted(self, piece: Batch) -> UnitRows:
        """Return rows to be counted; outcomes of one byte and scores of 64 bits are checked while they are counted."""
        y, p = piece.y, piece.prediction
        if y.dtype in (np.int8, np.uint8) and p.dtype == np.float64:
            return UnitRows(y.view(np.uint8), p)
        rows = cast(Binary, self._read(piece, self.labels))
        return UnitRows(rows.y, rows.p)

    def finish(self, total: Summary) -> dict[str, Measured]:
        """Return the result of each verb."""
        parts = self.checked(total)
        return {name: _measured(name, wanted, parts) for name, wanted in self.wanted.items()}

    def checked(self, total: Summary) -> Several:
        """Return the summaries of all rows; refuse a `pos_label` that no row has."""
        parts = cast(Several, total)
        check_event_seen(parts, self.labels)
        return parts

    def _read(self, batch: Batch, labels: Mapping[str, Any]) -> AnyRows:
        """Check a batch once for all verbs; a verb that does not judge this kind of prediction refuses it itself."""
        y, prediction, weights = batch[:3]
        entries = [find(verb) for verb, _ in self.wanted.values()]
        first = next((entry for entry in entries if entry.outcome), entries[0])
        judged = tuple(dict.fromkeys(kind for entry in entries for kind in entry.predictions))
        if not first.outcome:
            return first.read(y, prediction, weights=weights)
        rows = read(first.name, judged, y, prediction, weights=weights, **labels)
        for entry in entries:
            if rows.kind not in entry.predictions:
                entry.read(y, prediction, weights=weights, **labels if entry.outcome else {})
        return rows


def _wanted(verb: Any) -> tuple[str, VerbCall]:
    options = {}
    if isinstance(verb, functools.partial):
        if verb.args:
            raise InputError(f"functools.partial of a verb takes options by keyword only; got {shown(verb.args)}")
        verb, options = verb.func, verb.keywords
    entry = find(verb)
    called = f"{entry.name}({', '.join(f'{name}={value!r}' for name, value in options.items())})"
    entry.parse(options)  # refuses what is wrong before rows are read
    return called if options else entry.name, VerbCall(entry.name, picklable_options({**entry.defaults, **options}))


def _sorts(entry: Entry[Any, Any], rows: AnyRows, options: Mapping[str, Any]) -> bool:
    """Tell whether the summary of a verb is the sorted rows, from the summary of a few of them."""
    if Ordered not in entry.reads or not isinstance(rows, Binary):
        return False
    try:
        return type(entry.summarise(rows.take(np.arange(min(TRIAL_ROWS, rows.n))), entry.parse(options))) is Ordered
    except InputError:
        return False


def _measured(name: str, wanted: VerbCall, parts: Several) -> Measured:
    entry, options = wanted.entry, wanted.entry.parse(wanted.options)
    if name in parts:
        return Measured(entry.of_summary(parts[name], options), 0.0)
    if ORDERED in parts:
        return Measured(entry.of_summary(parts[ORDERED], options), 0.0)
    grid = parts[GRID]
    return Measured(entry.of_summary(grid, options), entry.rounding(grid, options))


OWN = "own"


@dataclass(frozen=True)
class Summarizing:
    """A job: the summary of a verb, also of one that returns ranks, exactly as `summarize` makes it."""

    verb: str
    options: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, metric: Any, options: Mapping[str, Any], *, classes: Any = None, pos_label: Any = None) -> Summarizing:
        """Read what a user asks for; a misspelt option is refused before rows are read."""
        found = find(metric, ranks=True)
        found.parse(options)
        return cls(found.name, picklable_options(options), {"classes": classes, "pos_label": pos_label})

    def part(self, batch: Batch) -> Several:
        """Return the summary of a batch, and the labels of its outcomes if `pos_label` names one."""
        options = with_batch_rng(self.options, batch)
        (y, prediction, weights, *_), labels, seen = with_event_outcomes(batch, self.labels)
        return Several.of({OWN: summarize(self.verb, y, prediction, weights=weights, **labels, **options), **seen})

    def finish(self, total: Summary) -> Summary:
        """Return the summary of all rows; refuse a `pos_label` that no row has."""
        parts = cast(Several, total)
        check_event_seen(parts, self.labels)
        return parts[OWN]
