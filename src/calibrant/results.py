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
from calibrant.simulating.calibration import Calibration
from calibrant.simulating.fits import Failure
from calibrant.simulating.simulate_calibration import Interrupted

__all__ = [
    "Audit",
    "Calibration",
    "Comparison",
    "ConfidenceInterval",
    "CrpsDecomposition",
    "Curve",
    "Decomposition",
    "Direction",
    "Explanation",
    "Failure",
    "Interrupted",
    "Measured",
    "Pair",
    "Power",
    "QuantileDecomposition",
    "TestResult",
]
