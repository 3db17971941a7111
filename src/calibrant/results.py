"""What measurements return besides a plain number."""

from calibrant.core.results import (
    ConfidenceInterval,
    CrpsDecomposition,
    Curve,
    Decomposition,
    Direction,
    Pair,
    Power,
    QuantileDecomposition,
    TestResult,
)
from calibrant.engines.jobs import Measured
from calibrant.ranking.explain_words import Explanation
from calibrant.report.audit import Audit
from calibrant.report.comparison import Comparison

__all__ = [
    "Audit",
    "Comparison",
    "ConfidenceInterval",
    "CrpsDecomposition",
    "Curve",
    "Decomposition",
    "Direction",
    "Explanation",
    "Measured",
    "Pair",
    "Power",
    "QuantileDecomposition",
    "TestResult",
]
