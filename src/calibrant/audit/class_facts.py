"""What an audit knows of class probabilities: the rows themselves, or summaries of batches of them."""

from __future__ import annotations

from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from calibrant.audit.pairs import MEANS, CountedPairs, Pairs, RowPairs
from calibrant.catalogue import Entry, find
from calibrant.errors import NotApplicableError
from calibrant.inputs import Classes
from calibrant.summaries import Grid, Ordered, PerLabel, Several, Summary

TOP, EACH, LABELS = "top", "each", "labels"
NOTIONS = {EACH: "classwise", LABELS: "top-label"}


class ClassFacts(Protocol):
    """Class probabilities and the classes that came true."""

    @property
    def K(self) -> int:
        """Number of classes."""

    @property
    def top(self) -> Pairs:
        """The probability of the most probable class, and whether it came true."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """How often each class came true."""

    def against_the_rest(self, k: int) -> Ordered:
        """Return the probabilities of class k and whether it came true, sorted."""

    def result(self, entry: Entry) -> Any:
        """Return what a verb finds of whole vectors, with the options of an audit."""

    def notion(self, notion: str) -> float:
        """Return the expected calibration error of a notion."""


class RowClasses:
    """Rows that are all here."""

    def __init__(self, rows: Classes) -> None:
        self.rows, self.K = rows, rows.K

    @property
    def top(self) -> Pairs:
        """The most probable class."""
        return RowPairs(self.rows.top_label())

    @property
    def counts(self) -> NDArray[np.int64]:
        """How often each class came true."""
        return np.bincount(self.rows.y, minlength=self.K)

    def against_the_rest(self, k: int) -> Ordered:
        """Return class k against the rest."""
        return Ordered.of(self.rows.one_vs_rest(k))

    def result(self, entry: Entry) -> Any:
        """Return what a verb finds."""
        return entry.of_rows(self.rows, entry.completed(entry.audit_options(self.rows)))

    def notion(self, notion: str) -> float:
        """Return the expected calibration error of a notion."""
        entry = find("ece")
        return float(entry.of_rows(self.rows, entry.completed({"notion": notion})))


class CountedClasses:
    """Rows that came in batches: cells (or sorted rows) of the most probable class and of each class, and means."""

    def __init__(self, parts: Several) -> None:
        self.parts = parts

    @classmethod
    def summary(cls, rows: Classes, *, exact: bool) -> Several:
        """Return what is kept of a batch."""
        counted: type[Grid] | type[Ordered] = Ordered if exact else Grid
        parts: dict[str, Summary] = {TOP: CountedPairs.summary(rows.top_label(), exact=exact)}
        parts |= {name: PerLabel.of(rows, notion, counted.of) for name, notion in NOTIONS.items()}
        means = (find(name) for name in MEANS)
        return Several.of(parts | {entry.name: entry.summarise(rows, **entry.options) for entry in means})

    @property
    def K(self) -> int:
        """Number of classes."""
        return len(cast(PerLabel, self.parts[EACH]).parts)

    @property
    def top(self) -> Pairs:
        """The most probable class."""
        return CountedPairs(cast(Several, self.parts[TOP]))

    @property
    def counts(self) -> NDArray[np.int64]:
        """How often each class came true; cells know it of rows without weights, and up to their mean weight else."""
        return np.array([round(float(self.against_the_rest(k).events.sum())) for k in range(self.K)])

    def against_the_rest(self, k: int) -> Ordered:
        """Return class k against the rest."""
        part = cast(PerLabel, self.parts[EACH]).parts[k]
        return part.ordered() if isinstance(part, Grid) else cast(Ordered, part)

    def result(self, entry: Entry) -> Any:
        """Return what a verb finds; one that needs the rows does not apply."""
        if entry.name in self.parts:
            return entry.finish(self.parts[entry.name], **entry.options)
        raise NotApplicableError("of class probabilities it needs the rows, which came in batches")

    def notion(self, notion: str) -> float:
        """Return the expected calibration error of a notion."""
        entry = find("ece")
        part = next(self.parts[name] for name, other in NOTIONS.items() if other == notion)
        return float(entry.finish(part, **entry.completed({"notion": notion})))
