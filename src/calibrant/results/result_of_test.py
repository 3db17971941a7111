"""The result of a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar


@dataclass(frozen=True)
class TestResult:
    """What a test found.

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

    statistic: float
    pvalue: float
    estimate: float
    method: str
    n: int
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "details", MappingProxyType(dict(self.details)))

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy does not travel; a dictionary does
        values = (self.statistic, self.pvalue, self.estimate, self.method, self.n, dict(self.details))
        return type(self), values

    def __repr__(self) -> str:
        details = ", ".join(f"{name}={value:.4g}" for name, value in self.details.items() if isinstance(value, float))
        return (
            f"TestResult(statistic={self.statistic:.6g}, pvalue={self.pvalue:.4g}, estimate={self.estimate:.6g}, "
            f"n={self.n}, method={self.method!r}{', ' + details if details else ''})"
        )
