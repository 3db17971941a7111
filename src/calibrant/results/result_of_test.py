"""The result of a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

Numbers = Any
"""A number; where a prediction has several coordinates an array with one number each; or a tuple of such."""

MOST_SHOWN = 6  # numbers of an array in a repr


@dataclass(frozen=True, eq=False, repr=False)
class TestResult:
    """What a test found.

    A test of several coordinates has arrays in place of numbers, with one entry for each of them.

    Attributes
    ----------
    statistic
        The number whose law under calibration is known.
    pvalue
        Probability, if the predictions are calibrated, of a statistic at least as extreme.
    estimate
        The size of the miscalibration in its own units.
    method
        The test, and how the law of the statistic was found.
    n
        Number of rows used.
    details
        What only this test has.
    """

    __test__: ClassVar[bool] = False  # not a test case, whatever pytest makes of the name

    statistic: Numbers
    pvalue: Numbers
    estimate: Numbers
    method: str
    n: int
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("statistic", "pvalue", "estimate"):
            object.__setattr__(self, name, _frozen(getattr(self, name)))
        details = {name: _frozen(value) for name, value in self.details.items()}
        object.__setattr__(self, "details", MappingProxyType(details))

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy does not travel; a dictionary does
        values = (self.statistic, self.pvalue, self.estimate, self.method, self.n, dict(self.details))
        return type(self), values

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]  # equal by value, and details have no hash

    def __repr__(self) -> str:
        parts = [
            f"statistic={_shown(self.statistic, 6)}",
            f"pvalue={_shown(self.pvalue, 4)}",
            f"estimate={_shown(self.estimate, 6)}",
            f"n={self.n}",
            f"method={self.method!r}",
            *(f"{name}={value:.4g}" for name, value in self.details.items() if isinstance(value, float)),
        ]
        return f"TestResult({', '.join(parts)})"


def _frozen(value: Any) -> Any:
    """Return arrays as a copy that nobody can write to."""
    if isinstance(value, tuple):
        return tuple(_frozen(part) for part in value)
    if not isinstance(value, np.ndarray):
        return value
    copy = value.copy()
    copy.flags.writeable = False
    return copy


def _equal(one: Any, other: Any) -> bool:
    """Compare by value; of arrays NaN equals NaN."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        if type(one) is not type(other) or one.shape != other.shape:
            return False
        return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    return bool(one == other)


def _shown(value: Any, digits: int) -> str:
    """Return a number with so many digits, the first of many, or several such in brackets."""
    if isinstance(value, tuple):
        return f"({', '.join(_shown(part, digits) for part in value)})"
    if isinstance(value, np.ndarray) and value.ndim:
        more = f", ... {len(value)} in all" if len(value) > MOST_SHOWN else ""
        return f"[{', '.join(_shown(part, digits) for part in value[:MOST_SHOWN])}{more}]"
    return f"{value:.{digits}g}"
