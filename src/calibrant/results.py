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
from calibrant.ranking.explain_words import Explanation

__all__ = [
    "ConfidenceInterval",
    "CrpsDecomposition",
    "Curve",
    "Decomposition",
    "Direction",
    "Explanation",
    "QuantileDecomposition",
    "TestResult",
]
