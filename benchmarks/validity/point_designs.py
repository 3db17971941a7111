"""What is simulated for two sets of points: sets of one distribution, sets that differ in one way, and true values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Rng = np.random.Generator

SAME = "one distribution"
SHIFT, WIDE, CORRELATED, MISSING = "mean +0.3 sd", "sd x1.2", "correlation 0.5", "a missing mode"
DIFFERENT = (SHIFT, WIDE, CORRELATED, MISSING)
MODES = 5  # of which the generated set has four


class Design(NamedTuple):
    """A distribution of points, and how many of the second set there are for one of the first."""

    distribution: Callable[[Rng, int], FloatArray]
    ratio: int = 1


def _normal(d: int) -> Callable[[Rng, int], FloatArray]:
    return lambda rng, n: rng.standard_normal((n, d))


DESIGNS: dict[str, Design] = {
    "Gaussian, d = 2": Design(_normal(2)),
    "Gaussian, d = 10": Design(_normal(10)),
    "Student's t2, d = 2": Design(lambda rng, n: rng.standard_t(2, (n, 2))),
    "integers, d = 2": Design(lambda rng, n: rng.poisson(1.0, (n, 2)).astype(np.float64)),
    "Gaussian, d = 2, m = 5n": Design(_normal(2), 5),
}


def one_distribution(rng: Rng, design: str, n: int) -> tuple[FloatArray, FloatArray]:
    """Return n points and, by the design, as many or more of the same distribution."""
    distribution, ratio = DESIGNS[design]
    return distribution(rng, n), distribution(rng, ratio * n)


def two_distributions(rng: Rng, truth: str, n: int, d: int) -> tuple[FloatArray, FloatArray]:
    """Return n real points and n generated ones that differ from them as `truth` says."""
    y, points = rng.standard_normal((n, d)), rng.standard_normal((n, d))
    if truth == SHIFT:
        points[:, 0] += 0.3
    elif truth == WIDE:
        points *= 1.2
    elif truth == CORRELATED:
        points[:, 1] = 0.5 * points[:, 0] + math.sqrt(0.75) * points[:, 1]
    elif truth == MISSING:
        centres = np.zeros((MODES, d))
        turn = 2 * math.pi * np.arange(MODES) / MODES
        centres[:, :2] = 4 * np.column_stack([np.cos(turn), np.sin(turn)])
        y, points = y + centres[rng.integers(MODES, size=n)], points + centres[rng.integers(MODES - 1, size=n)]
    return y, points


# True values: y ~ N(0, I), points ~ N(μ, s² I) with μ in the first coordinate.


def gaussian_mmd(d: int, mu: float, s: float, sigma: float) -> float:
    """Return MMD² of the kernel exp(-|x - y|² / 2σ²)."""

    def mean(variance: float, apart: float) -> float:  # of the kernel, the variance being that of the difference
        total = sigma**2 + variance
        return (sigma**2 / total) ** (d / 2) * math.exp(-(apart**2) / (2 * total))

    return mean(2, 0) + mean(2 * s**2, 0) - 2 * mean(1 + s**2, mu)


def polynomial_mmd(d: int, mu: float, s: float) -> float:
    """Return MMD² of the kernel (x · y / d + 1)³."""

    def mean(mu1: float, s1: float, mu2: float, s2: float) -> float:
        p, v = mu1 * mu2, s1**2 * s2**2
        second = d * v + s1**2 * mu2**2 + s2**2 * mu1**2 + p**2
        third = p**3 + 3 * p * (s2**2 * mu1**2 + s1**2 * mu2**2) + 3 * (d + 2) * v * p
        return 1 + 3 * p / d + 3 * second / d**2 + third / d**3

    return mean(0, 1, 0, 1) + mean(mu, s, mu, s) - 2 * mean(0, 1, mu, s)
