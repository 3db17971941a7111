"""What measurements return besides a plain number."""

from calibrant.core.results import (
    ConfidenceInterval,
    CrpsDecomposition,
    Curve,
    Decomposition,
    Direction,
    QuantileDecomposition,
    TestResult,
)
from calibrant.engines.jobs import Measured
from calibrant.ranking.explain_words import Explanation
from calibrant.report.audit import Audit

__all__ = [
    "Audit",
    "ConfidenceInterval",
    "CrpsDecomposition",
    "Curve",
    "Decomposition",
    "Direction",
    "Explanation",
    "Measured",
    "QuantileDecomposition",
    "TestResult",
]
