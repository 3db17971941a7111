"""Rows as a user would pass them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

Change = Callable[[Any], Any]


@dataclass(frozen=True)
class Case:
    """Outcomes, predictions and weights as a user would pass them.

    `columns` are the arrays, one entry per row, that `build` makes the prediction of. `options` are those options of
    the verb that have a value for every row, such as groups. y is None where the prediction holds the outcome.
    """

    y: Any
    columns: Mapping[str, Any]
    build: Callable[..., Any]
    prediction: Any
    weights: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values())))

    def weighted(self, weights: Any) -> Case:
        """Return the same rows with these weights."""
        return replace(self, weights=weights)

    def rows(self, chosen: Any) -> Case:
        """Return the chosen rows."""

        def cut(column: Any) -> Any:
            return column[chosen]

        plain = isinstance(self.prediction, np.ndarray)
        prediction = cut(self.prediction) if plain else self.prediction.take(chosen)
        return replace(self._changed(cut, cut, cut), prediction=prediction)

    def remade(self, *, y: Change = np.asarray, columns: Change = np.asarray, others: Change = np.asarray) -> Case:
        """Return the case with its outcomes, the arrays of the prediction, and what else is given by row changed."""
        changed = self._changed(y, columns, others)
        return replace(changed, prediction=self.build(**changed.columns))

    def _changed(self, y: Change, columns: Change, others: Change) -> Case:
        return replace(
            self,
            y=None if self.y is None else y(self.y),
            columns={name: columns(column) for name, column in self.columns.items()},
            weights=None if self.weights is None else others(self.weights),
            options={name: others(value) for name, value in self.options.items()},
        )


def case(y: Any, build: Callable[..., Any], **columns: Any) -> Case:
    """Return the case of a prediction made of these columns."""
    return Case(y, columns, build, build(**columns))
