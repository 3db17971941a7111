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


# What classifiers find: points of each set for each design.

CLASSIFIED = {
    "same, d = 5": 200,
    "shift 0.08 in all of 512 columns": 250,
    "spread 1.05 in 512 columns": 250,
    "ring against normal, d = 2": 200,
    "correlation 0.5, d = 2": 300,
    "one of 20 columns bimodal": 300,
}


def classified(rng: Rng, design: str, n: int) -> tuple[FloatArray, FloatArray]:
    """Return n real points and n generated ones of a design of `CLASSIFIED`."""
    if design.startswith("ring"):
        turn, radius = rng.uniform(0, 2 * math.pi, n), math.sqrt(2) + 0.2 * rng.standard_normal(n)
        return rng.standard_normal((n, 2)), radius[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    d = {"same": 5, "corr": 2, "one ": 20}.get(design[:4], 512)
    y, points = rng.standard_normal((n, d)), rng.standard_normal((n, d))
    if design.startswith("shift"):
        points += 0.08
    elif design.startswith("spread"):
        points *= 1.05
    elif design.startswith("corr"):
        points[:, 1] = 0.5 * points[:, 0] + math.sqrt(0.75) * points[:, 1]
    elif design.startswith("one"):
        points[:, 0] = 0.9 * rng.choice([-1.0, 1.0], n) + math.sqrt(0.19) * rng.standard_normal(n)
    return y, points


# Sets that are less varied, or only look so, beside normal points.

VARIED = ("same", "sd 0.7", "shift 2", "30 points x 10", "30 x 10, jitter 0.02", "half of 8 modes", "lognormal")


def varied(rng: Rng, truth: str, n: int, d: int) -> tuple[FloatArray, FloatArray]:
    """Return n real points and n generated ones that are as varied as `truth` says."""
    y, points = rng.standard_normal((n, d)), rng.standard_normal((n, d))
    if truth == "sd 0.7":
        points *= 0.7
    elif truth == "shift 2":
        points[:, 0] += 2
    elif truth.startswith("30"):
        points = np.repeat(points[:30], n // 30, axis=0)
        if "jitter" in truth:
            points += 0.02 * rng.standard_normal(points.shape)
    elif truth == "half of 8 modes":
        centres = 4 * rng.standard_normal((8, d))
        y, points = 0.3 * y + centres[rng.integers(8, size=n)], 0.3 * points + centres[rng.integers(4, size=n)]
    elif truth == "lognormal":
        points = np.exp(points)
    return y, points


def lattice(rng: Rng, design: str, n: int) -> FloatArray:
    """Return n points with ties."""
    if design.startswith("coarse"):
        return np.round(3 * rng.standard_normal((n, 4)))
    if design.startswith("an atom"):
        return np.where(rng.random((n, 1)) < 0.05, 0.0, rng.standard_normal((n, 2)))
    return rng.poisson(1.0, (n, 2)).astype(np.float64)


def standard(rng: Rng, design: str, shape: tuple[int, ...]) -> FloatArray:
    """Return numbers with mean 0 and standard deviation 1."""
    if design == "exponential":
        return rng.exponential(size=shape) - 1
    return rng.standard_normal(shape) if design == "normal" else rng.standard_t(5, shape) * math.sqrt(0.6)
