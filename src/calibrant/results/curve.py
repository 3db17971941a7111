"""The result of a curve: plain arrays that can be drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant import plots


@dataclass(frozen=True, eq=False)
class Curve:
    """Named arrays of one curve. `curve.fitted` is `curve.columns["fitted"]`.

    Attributes
    ----------
    kind
        "reliability", "isotonic", "cumulative", "coverage", "quantile_reliability" or "pit_histogram": how it is drawn.
    columns
        The arrays by name, read-only, all of one length.
    method
        How intervals and bands were found.
    n
        Number of rows behind the curve.
    details
        Single numbers that belong to the curve, such as its level.
    """

    kind: str
    columns: Mapping[str, NDArray[Any]]
    method: str
    n: int
    details: Mapping[str, Any]

    def __post_init__(self) -> None:
        frozen = {name: np.array(column) for name, column in self.columns.items()}
        for column in frozen.values():
            column.flags.writeable = False
        object.__setattr__(self, "columns", MappingProxyType(frozen))
        object.__setattr__(self, "details", MappingProxyType(dict(self.details)))

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            for source in (self.columns, self.details):
                if name in source:
                    return source[name]
        raise AttributeError(f"a {self.kind} curve has {', '.join([*self.columns, *self.details])}; not {name}")

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy does not travel; a dictionary does
        return type(self), (self.kind, dict(self.columns), self.method, self.n, dict(self.details))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.columns, *self.details]

    def __repr__(self) -> str:
        length = len(next(iter(self.columns.values())))
        return f"Curve({self.kind}, {length} points of {', '.join(self.columns)}; {self.method}; n={self.n})"

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve on Matplotlib axes (new ones if None) and return them."""
        return plots.draw(self.kind, self.columns, self.details, ax)
