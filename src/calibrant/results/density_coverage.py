"""The result of `density_coverage`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Relabelled:
    """One of the four numbers when the pooled points are divided into two sets at random.

    Attributes
    ----------
    mean
        Mean over the divisions.
    low, high
        Between them lie 95 % of the values: quantiles 0.025 and 0.975.
    draws
        The values, one for each division, in an array that cannot be written to.
    """

    mean: float
    low: float
    high: float
    draws: NDArray[np.float64] = field(repr=False)

    @classmethod
    def of(cls, draws: NDArray[np.float64]) -> Relabelled:
        """Return mean and range of these values."""
        low, high = np.quantile(draws, [0.025, 0.975])
        return cls(float(draws.mean()), float(low), float(high), draws)

    def __post_init__(self) -> None:
        draws = np.array(self.draws)
        draws.flags.writeable = False
        object.__setattr__(self, "draws", draws)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        numbers = (self.mean, self.low, self.high) == (other.mean, other.low, other.high)
        return numbers and np.array_equal(self.draws, other.draws)

    __hash__ = None  # type: ignore[assignment]  # equal by value, and an array has no hash


@dataclass(frozen=True)
class DensityCoverage:
    """How generated points lie among real ones, by balls that reach to the k-th neighbour of the same set.

    Attributes
    ----------
    precision
        Share of generated points that lie in the ball of some real point.
    recall
        Share of real points that lie in the ball of some generated point.
    density
        Number of real balls that hold a generated point, in the mean over generated points, over k.
    coverage
        Share of real balls that hold a generated point.
    expected_coverage, expected_density
        What is expected of two sets of these sizes from the same law without ties.
    k
        The ball of a point reaches to the k-th nearest of the other points of its set.
    n, m
        Number of real and of generated points.
    relabelled
        Of ``"precision"``, ``"recall"``, ``"density"`` and ``"coverage"``: their values when the pooled points are
        divided at random into sets of these sizes, a `Relabelled` each. None if nobody asked.
    """

    precision: float
    recall: float
    density: float
    coverage: float
    expected_coverage: float
    expected_density: float
    k: int
    n: int
    m: int
    relabelled: Mapping[str, Relabelled] | None = None

    def __post_init__(self) -> None:
        if self.relabelled is not None:
            object.__setattr__(self, "relabelled", MappingProxyType(dict(self.relabelled)))

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy does not travel; a dictionary does
        *values, relabelled = (getattr(self, f.name) for f in fields(self))
        return type(self), (*values, None if relabelled is None else dict(relabelled))
