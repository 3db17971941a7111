"""Summaries made of others: one per label, several under names; and the labels seen in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.core.summary import Summary
from calibrant.errors import SummaryError, shown
from calibrant.inputs.labels import MAX_LABELS_NAMED
from calibrant.inputs.probabilities import Binary, Classes


@dataclass(frozen=True, eq=False, repr=False)
class PerLabel(Summary):
    """Summaries of the binary problems of a notion, in the order of the labels.

    `notion` is "classwise" (class k against the rest, over all rows) or "top-label" (the rows that predict k).
    """

    notion: str
    parts: tuple[Summary, ...]

    @classmethod
    def of(cls, rows: Classes, notion: str, summarise: Callable[[Binary], Summary]) -> Self:
        """Return the summaries of one binary problem per label."""
        if notion == "classwise":
            return cls(notion, tuple(summarise(rows.one_vs_rest(k)) for k in range(rows.K)))
        return cls(notion, tuple(summarise(part) for part in rows.by_predicted_label()))

    def merged(self, other: Self) -> Self:
        if self.notion != other.notion or len(self.parts) != len(other.parts):
            raise SummaryError(
                f"a {self.notion} summary of {len(self.parts)} labels does not merge with "
                f"a {other.notion} summary of {len(other.parts)}"
            )
        return type(self)(self.notion, tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))

    @property
    def grows(self) -> bool:
        return any(part.grows for part in self.parts)

    @property
    def n(self) -> int:
        if self.notion == "classwise":
            return self.parts[0].n
        return sum(part.n for part in self.parts)


@dataclass(frozen=True, eq=False, repr=False)
class Several(Summary):
    """Named summaries; each is merged with the one of the same name."""

    names: tuple[str, ...]
    parts: tuple[Summary, ...]

    @classmethod
    def of(cls, parts: Mapping[str, Summary]) -> Self:
        """Return these summaries as one."""
        return cls(tuple(parts), tuple(parts.values()))

    def merged(self, other: Self) -> Self:
        if self.names != other.names:
            raise SummaryError(f"summaries of {self.names} do not merge with summaries of {other.names}")
        return type(self)(self.names, tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))

    @property
    def is_empty(self) -> bool:
        return not self.names

    def __getitem__(self, name: str) -> Summary:
        return self.parts[self.names.index(name)]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    @property
    def grows(self) -> bool:
        return any(part.grows for part in self.parts)

    @property
    def n(self) -> int:
        return self.parts[0].n if self.parts else 0


@dataclass(frozen=True, eq=False, repr=False)
class LabelsSeen(Summary):
    """The numbers of rows and of events and, if there are no events, some of the labels as text."""

    rows: int
    events: int
    others: tuple[str, ...]

    @classmethod
    def of(cls, y: NDArray[Any], events: NDArray[np.uint8]) -> Self:
        """Return what is kept of outcomes, given which of them are events."""
        count = int(events.sum())
        return cls(len(y), count, () if count else _some(shown(label) for label in set(y.tolist())))

    def merged(self, other: Self) -> Self:
        events = self.events + other.events
        return type(self)(self.rows + other.rows, events, () if events else _some((*self.others, *other.others)))

    @property
    def n(self) -> int:
        return self.rows


def _some(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the first few different labels, sorted."""
    return tuple(sorted(set(labels))[:MAX_LABELS_NAMED])
