"""What a measurement returns besides a plain number."""

from calibrant.results.confidence_interval import ConfidenceInterval
from calibrant.results.curve import Curve
from calibrant.results.density_coverage import DensityCoverage, Relabelled
from calibrant.results.explanation import Explanation
from calibrant.results.findings import Figure, Findings, Measurement, Section, Table, Verdict
from calibrant.results.records import CrpsDecomposition, Decomposition, Direction, QuantileDecomposition
from calibrant.results.result_of_test import TestResult

__all__ = [
    "ConfidenceInterval",
    "CrpsDecomposition",
    "Curve",
    "Decomposition",
    "DensityCoverage",
    "Direction",
    "Explanation",
    "Figure",
    "Findings",
    "Measurement",
    "QuantileDecomposition",
    "Relabelled",
    "Section",
    "Table",
    "TestResult",
    "Verdict",
]
