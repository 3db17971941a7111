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
        How it is drawn: "reliability", "isotonic", "cumulative", "coverage", "quantile_reliability", "pit_histogram",
        "rank_histogram", "ecdf_difference", "expected_coverage", "cloud", "two_ecdfs" or "coordinates".
    columns
        The arrays by name, read-only, all of one length; (T, C) where C columns of ranks have a curve each.
    method
        How intervals and bands were found.
    n
        Number of rows behind the curve.
    details
        What belongs to the whole curve, such as its level; read-only arrays where each of several columns has its own.
    """

    kind: str
    columns: Mapping[str, NDArray[Any]]
    method: str
    n: int
    details: Mapping[str, Any]

    def __post_init__(self) -> None:
        columns = {name: _frozen(column) for name, column in self.columns.items()}
        details = {name: _frozen(v) if isinstance(v, np.ndarray) else v for name, v in self.details.items()}
        object.__setattr__(self, "columns", MappingProxyType(columns))
        object.__setattr__(self, "details", MappingProxyType(details))

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

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the curve on Matplotlib axes (new ones if None) and return them.

        An "ecdf_difference" has the option `scale`: ``"sqrt_n"`` draws it times √n. The others have none.
        """
        return plots.draw(self.kind, self.columns, self.details, ax, **options)


def _frozen(values: Any) -> NDArray[Any]:
    """Return a read-only copy."""
    array = np.array(values)
    array.flags.writeable = False
    return array
