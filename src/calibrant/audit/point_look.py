"""What every look at two sets of points gets to know, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from calibrant.inputs.points import PointSets, random_part
from calibrant.results import Measurement, Section


@dataclass(frozen=True)
class Compared:
    """Two sets of points, what they are called, and how they are judged."""

    sets: PointSets
    real: str
    generated: str
    columns: tuple[str, ...]
    level: float
    resamples: int
    rng: np.random.Generator
    tests: int  # that the verdict rests on: p-values are multiplied by it
    alone: bool  # whether there is no other set that is compared with the real one

    def is_found(self, pvalue: float) -> bool:
        """Tell whether a p-value is small enough for all tests together."""
        return pvalue * self.tests <= 1 - self.level

    def few(self, most: int) -> PointSets:
        """Return at most so many points of each set, drawn at random."""
        return PointSets(random_part(self.sets.y, most, self.rng), random_part(self.sets.points, most, self.rng))

    def fewer_words(self, used: PointSets, what: str) -> tuple[str, ...]:
        """Say that not all points were used, if so."""
        if (used.n, used.m) == (self.sets.n, self.sets.m):
            return ()
        return (
            f"{what}: {used.n:,} of {self.sets.n:,} real and {used.m:,} of {self.sets.m:,} generated points, drawn at "
            "random to keep the time short.",
        )


class PointLook(NamedTuple):
    """One look: what is shown, the p-value of its tests together, and what it says if that is small enough."""

    section: Section
    pvalue: float | None
    sentences: tuple[str, ...]
    caveats: tuple[str, ...] = ()


def measured(compared: Compared, name: str, label: str, value: float, **details: Any) -> Measurement:
    """Return a measurement; where there are several generated sets, its name and its label say of which."""
    if compared.alone:
        return Measurement(name, label, value, **details)
    return Measurement(f"{name}.{compared.generated}", f"{compared.generated}: {label}", value, **details)
