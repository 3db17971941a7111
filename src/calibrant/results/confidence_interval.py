"""The result of `interval`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ConfidenceInterval:
    """Where the true value of a metric lies, with a given confidence.

    Attributes
    ----------
    low, high
        The ends; infinite where there is none. Arrays where the metric is an array: each interval has the confidence
        on its own.
    estimate
        The value of the metric.
    level
        The confidence: the share of data sets whose interval holds the true value, at least.
    method
        How the ends were found.
    n
        Number of rows they rest on.
    """

    low: float | FloatArray
    high: float | FloatArray
    estimate: float | FloatArray
    level: float
    method: str
    n: int | NDArray[np.int64]

    def __post_init__(self) -> None:
        for name in ("low", "high", "estimate", "n"):
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                frozen = np.array(value)
                frozen.flags.writeable = False
                object.__setattr__(self, name, frozen)

    def __repr__(self) -> str:
        n = self.n.tolist() if isinstance(self.n, np.ndarray) else self.n
        return (
            f"ConfidenceInterval(low={_text(self.low)}, high={_text(self.high)}, estimate={_text(self.estimate)}, "
            f"level={self.level:g}, n={n}, method={self.method!r})"
        )


def _text(value: float | FloatArray) -> str:
    if isinstance(value, np.ndarray):
        return f"[{', '.join(f'{item:.6g}' for item in value.tolist())}]"
    return f"{value:.6g}"
