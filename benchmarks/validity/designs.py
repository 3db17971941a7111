"""What is simulated: scores of several shapes, some built to break tests, and outcomes from a distorted truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

FloatArray = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], FloatArray]


def _tied(rng: np.random.Generator, n: int) -> FloatArray:
    """Like confidences that a person or a language model states: 0, 0.1, .., 1."""
    return np.rint(10 * rng.random(n)) / 10


def _bimodal(rng: np.random.Generator, n: int) -> FloatArray:
    return np.where(rng.random(n) < 0.5, rng.beta(2, 20, n), rng.beta(20, 2, n))


def _fence(rng: np.random.Generator, n: int) -> FloatArray:
    """Return scores of 0.5, where a score says nothing, and a tenth of 0.0035."""
    return np.where(np.arange(n) < n // 10, 0.0035, 0.5)


def _zeros(rng: np.random.Generator, n: int) -> FloatArray:
    return np.where(rng.random(n) < 0.8, 0.0, rng.random(n))


SCORES: dict[str, Draw] = {
    "uniform": lambda rng, n: rng.random(n),
    "rare": lambda rng, n: rng.beta(0.5, 10, n),
    "confident": lambda rng, n: rng.beta(5, 0.2, n),
    "tied": _tied,
    "bimodal": _bimodal,
    "fence": _fence,
    "zeros": _zeros,
}

# Scores of real tables on which tests and limits were seen to fail: more designs for tests and claims.
HARD_SCORES: dict[str, Draw] = {
    "rare events": lambda rng, n: np.exp(rng.uniform(np.log(0.001), np.log(0.02), n)),
    "92 % zeros": lambda rng, n: np.where(rng.random(n) < 0.92, 0.0, rng.random(n)),
    "three scores": lambda rng, n: rng.choice([0.1, 0.35, 0.8], n, p=[0.6, 0.3, 0.1]),
}

HARD_WORDS = {
    "rare events": "0.001 to 0.02, uniform on the log scale",
    "92 % zeros": "0 for 92 % of the rows, else uniform",
    "three scores": "0.1, 0.35 and 0.8 for 60, 30 and 10 % of the rows",
}

WORDS = {
    "uniform": "uniform on [0, 1]",
    "rare": "Beta(0.5, 10)",
    "confident": "Beta(5, 0.2)",
    "tied": "uniform, rounded to 0, 0.1, .., 1",
    "bimodal": "half Beta(2, 20), half Beta(20, 2)",
    "fence": "0.5, and a tenth of the rows 0.0035",
    "zeros": "0 for 80 % of the rows, else uniform",
}


@dataclass(frozen=True)
class Truth:
    """P(y = 1 | p) = expit(slope logit p + shift); at p = 0 and p = 1 that is p whatever the distortion."""

    slope: float
    shift: float

    def probability(self, p: FloatArray) -> FloatArray:
        """Return P(y = 1 | p)."""
        # A round trip through the logit would move a calibrated score by a rounding.
        return p if self == CALIBRATED else expit(self.slope * logit(p) + self.shift)

    def outcomes(self, rng: np.random.Generator, p: FloatArray) -> NDArray[np.int64]:
        """Draw outcomes."""
        return (rng.random(p.size) < self.probability(p)).astype(np.int64)


CALIBRATED = Truth(1.0, 0.0)
