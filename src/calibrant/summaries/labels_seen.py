"""Which outcomes were seen: a label that names the event may be in no row of a batch, but not in no row of all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import shown
from calibrant.inputs.labels import SOME
from calibrant.summaries.base import Summary


@dataclass(frozen=True, eq=False, repr=False)
class LabelsSeen(Summary):
    """The number of rows and of events; where there are none of the latter, some of the labels there are, in words."""

    rows: int
    events: int
    others: tuple[str, ...]

    @classmethod
    def of(cls, y: NDArray[Any], events: NDArray[np.uint8]) -> Self:
        """Look at outcomes, of which some are events."""
        count = int(events.sum())
        return cls(len(y), count, () if count else _some(shown(label) for label in set(y.tolist())))

    @classmethod
    def zero(cls) -> Self:
        """Return the summary of no rows."""
        return cls(0, 0, ())

    def merged(self, other: Self) -> Self:
        """Add numbers, and join labels."""
        events = self.events + other.events
        return type(self)(self.rows + other.rows, events, () if events else _some((*self.others, *other.others)))

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.rows


def _some(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the first of the different ones."""
    return tuple(sorted(set(labels))[:SOME])
