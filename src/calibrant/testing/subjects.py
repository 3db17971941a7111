"""What a law is checked on: a verb with its options and data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.catalogue import Entry
from calibrant.core.summarizing import summarize
from calibrant.core.summary import Summary
from calibrant.testing.cases import Case
from calibrant.testing.data import DATA
from calibrant.testing.numbers import numbers


@dataclass(frozen=True)
class PerRow:
    """An option with a value for every row, such as groups, to be drawn from these values."""

    values: tuple[Any, ...]

    def drawn(self, rng: np.random.Generator, n: int) -> NDArray[Any]:
        """Return a value for each of n rows."""
        return rng.choice(self.values, n)


@dataclass(frozen=True)
class Subject:
    """A verb, options, the name of the data and how many rows of them.

    Options that are a `PerRow` are drawn with the data. `equal_weights` says that the verb takes no others.
    """

    entry: Entry[Any, Any]
    data: str
    options: Mapping[str, Any] = field(default_factory=dict)
    equal_weights: bool = False
    n: int = 210

    def case(self, rng: np.random.Generator) -> Case:
        """Return n random rows."""
        return self._completed(DATA[self.data].make(rng, self.n), rng)

    def certain(self, rng: np.random.Generator) -> Case:
        """Return predictions that are certain and right."""
        found = DATA[self.data].certain
        assert found is not None, f"no prediction among {self.data} is certain"
        return self._completed(found, rng)

    def weights(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """Return random weights, all equal if no others are taken."""
        return np.full(n, 2.5) if self.equal_weights else rng.uniform(1, 2, n)

    def measure(self, case: Case) -> Any:
        """Return the result for a case."""
        options = {**self._fixed, **case.options}
        if self.entry.outcome:
            return self.entry.verb(case.y, case.prediction, weights=case.weights, **options)
        return self.entry.verb(case.prediction, weights=case.weights, **options)

    def value(self, case: Case) -> NDArray[np.float64]:
        """Return the numbers of the result for a case."""
        return numbers(self.measure(case))

    def summary(self, case: Case) -> Summary:
        """Return the summary of a case."""
        y = case.y if self.entry.outcome else None
        return summarize(self.entry.name, y, case.prediction, weights=case.weights, **self._fixed, **case.options)

    def value_of(self, summary: Summary) -> NDArray[np.float64]:
        """Return the numbers of a summary, which holds what is given by row."""
        return numbers(self.entry.verb(summary, **self._fixed))

    @property
    def _fixed(self) -> dict[str, Any]:
        return {name: option for name, option in self.options.items() if not isinstance(option, PerRow)}

    def _completed(self, case: Case, rng: np.random.Generator) -> Case:
        drawn = {name: value.drawn(rng, case.n) for name, value in self.options.items() if isinstance(value, PerRow)}
        return replace(case, options=drawn)
