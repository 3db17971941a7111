"""What an audit knows of one probability per row: the rows themselves, or summaries of batches of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol, cast

from calibrant.catalogue import Entry, find
from calibrant.errors import NotApplicableError
from calibrant.inference.skce_test import MOST_BINARY
from calibrant.inputs import Binary
from calibrant.summaries import Grid, Ordered, Several, Summary

CELLS, SORTED = "cells", "sorted"
MEANS = ("brier_score", "log_score")  # of row scores, kept beside the cells
KERNEL = "skce_test"


class Pairs(Protocol):
    """One probability per row, and the event."""

    @property
    def ordered(self) -> Ordered:
        """The rows in the order of their scores; one entry per cell where they were counted in cells."""

    @property
    def pooled(self) -> bool:
        """Whether the rows were counted in cells."""

    def result(self, entry: Entry) -> Any:
        """Return what a verb finds, with the options of an audit."""

    def rounding(self, entry: Entry) -> float | Mapping[str, float]:
        """Return by how much that may differ from what it finds of the rows."""


class RowPairs:
    """Rows that are all here: one sort, and one pass for what needs no sort."""

    pooled = False

    def __init__(self, rows: Binary) -> None:
        self.rows = rows

    @cached_property
    def ordered(self) -> Ordered:
        """The sorted rows."""
        return Ordered.of(self.rows)

    def result(self, entry: Entry) -> Any:
        """Return what a verb finds."""
        chosen = entry.audit_options(self.rows)
        if entry.reads[0] is Ordered and not chosen:
            return entry.finish(self.ordered, **entry.options)
        return entry.of_rows(self.rows, entry.completed(chosen))

    def rounding(self, entry: Entry) -> float:
        """Return 0."""
        return 0.0


class CountedPairs:
    """Rows that came in batches: their cells or, if they were kept, all of them sorted; and a few means."""

    def __init__(self, parts: Several) -> None:
        self.parts = parts

    @classmethod
    def summary(cls, rows: Binary, *, exact: bool) -> Several:
        """Return what is kept of a batch."""
        first: dict[str, Summary] = {SORTED: Ordered.of(rows)} if exact else {CELLS: Grid.of(rows)}
        means = (find(name) for name in MEANS)
        return Several.of(first | {entry.name: entry.summarise(rows, **entry.options) for entry in means})

    @property
    def pooled(self) -> bool:
        """Whether the rows were counted in cells."""
        return CELLS in self.parts

    @cached_property
    def ordered(self) -> Ordered:
        """The sorted rows, or one entry per cell."""
        return cast(Grid, self.parts[CELLS]).ordered() if self.pooled else cast(Ordered, self.parts[SORTED])

    def result(self, entry: Entry) -> Any:
        """Return what a verb finds; one that needs more than there is does not apply."""
        if entry.name in self.parts:
            return entry.finish(self.parts[entry.name], **entry.options)
        if entry.name == KERNEL and self.ordered.n > MOST_BINARY:
            raise NotApplicableError(
                f"above {MOST_BINARY:,} rows it takes blocks of rows in random order, and these came in an unknown one"
            )
        if not self.pooled:
            return entry.finish(self.ordered, **entry.options)
        if not entry.on_grid(entry.options):
            raise NotApplicableError(
                "it needs the rows, which were counted in cells; an exact audit keeps them (exact=True, --exact)"
            )
        return entry.finish(self.parts[CELLS], **entry.options)

    def rounding(self, entry: Entry) -> float | Mapping[str, float]:
        """Return the bound of a verb that reads cells, else 0."""
        if entry.name in self.parts or not self.pooled or not entry.on_grid(entry.options):
            return 0.0
        return entry.rounding(self.parts[CELLS], **entry.options)
