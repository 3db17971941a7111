"""What is simulated for draws: uniform ranks, vectors whose draws are right or wrong in one way, weighted draws."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri_exp

from calibrant import Samples

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Rng = np.random.Generator

CALIBRATED = "calibrated"
WIDE, NARROW, BIASED = "sd x1.15", "sd x.87", "bias .15 sd"
UNCORRELATED, CLIMATOLOGY = "corr 0", "climatology"
TRUTHS = (CALIBRATED, WIDE, NARROW, BIASED, UNCORRELATED, CLIMATOLOGY)
FACTOR = {WIDE: 1.15, NARROW: 0.87}
BIAS = 0.15
CORRELATION = 0.6
PROPOSALS = {"wider": (0.5, 1.3), "as wide": (0.5, 1.0)}  # centre and deviation of weighted draws; target is N(0, 1)


# Ranks alone: what a test makes of uniform ranks does not depend on the distribution they came from.


def uniform_ranks(rng: Rng, n: int, M: int) -> IntArray:
    """Ranks 0 to M, all equally likely."""
    return rng.integers(0, M + 1, n)


def correlated_ranks(rng: Rng, n: int, M: int, C: int, rho: float) -> IntArray:
    """C columns of uniform ranks that depend on each other: cells of normal variates with correlation rho."""
    u = ndtr(gaussian_noise(rng, (n, C), rho))
    return np.minimum((u * (M + 1)).astype(np.int64), M)


# Noise of vectors, with correlation.


@cache
def _root(D: int, rho: float) -> FloatArray:
    return np.linalg.cholesky(np.full((D, D), rho) + (1 - rho) * np.eye(D))


def gaussian_noise(rng: Rng, shape: tuple[int, ...], rho: float) -> FloatArray:
    """Standard normal vectors, every pair of coordinates with correlation rho."""
    return rng.standard_normal(shape) @ _root(shape[-1], rho).T


def gaussian_log_density(e: FloatArray, rho: float) -> FloatArray:
    """Return the log density up to a constant: -(|e|² - ρ (Σe)²/(1 + (D - 1)ρ)) / (2 (1 - ρ))."""
    squares, total = np.einsum("...d,...d->...", e, e), e.sum(axis=-1)
    return -0.5 * (squares - rho / (1 + (e.shape[-1] - 1) * rho) * total**2) / (1 - rho)


def skewed_noise(rng: Rng, shape: tuple[int, ...], rho: float) -> FloatArray:
    """Exponential coordinates of mean 0 and deviation 1, joined by a Gaussian copula."""
    return -np.log(ndtr(-gaussian_noise(rng, shape, rho))) - 1


def skewed_log_density(e: FloatArray, rho: float) -> FloatArray:
    """Return the log density up to a constant; -inf below the least value."""
    a = e + 1
    inside = (a > 0).all(axis=-1)
    g = -ndtri_exp(-np.where(a > 0, a, 1.0))
    found = gaussian_log_density(g, rho) + 0.5 * (g * g).sum(axis=-1) - a.sum(axis=-1)
    return np.where(inside, found, -np.inf)


class Noise(NamedTuple):
    """A distribution of vectors with mean 0 and deviation 1 in each coordinate."""

    draw: Callable[[Rng, tuple[int, ...], float], FloatArray]
    log_density: Callable[[FloatArray, float], FloatArray]


NOISES = {
    "Gaussian": Noise(gaussian_noise, gaussian_log_density),
    "skewed": Noise(skewed_noise, skewed_log_density),
}


class Vectors(NamedTuple):
    """Outcomes, draws that know their own density, the density at the outcomes, and what the draws were made from."""

    y: FloatArray  # (n, D)
    samples: Samples  # (n, M, D)
    log_density_y: FloatArray  # (n,)
    x: FloatArray  # (n, D)


def vectors(rng: Rng, n: int, M: int, D: int, truth: str, noise: str = "Gaussian", spread: float = 1.0) -> Vectors:
    """y = x + e with x normal of this spread and e correlated; the draws know x but for the climatology.

    One thing is wrong at a time: the spread of all coordinates, the first coordinate moved, the correlation of e, or
    the draws are those of another row, which makes them right on average over the rows.
    """
    distribution = NOISES[noise]
    x = spread * rng.standard_normal((n, D))
    y = x + distribution.draw(rng, (n, D), CORRELATION)
    if truth == CLIMATOLOGY:
        draws = spread * rng.standard_normal((n, M, D)) + distribution.draw(rng, (n, M, D), CORRELATION)
        # for skewed noise the normal distribution with its moments: ranks may use any function of the value
        variance = spread**2 + 1
        at = [gaussian_log_density(z / np.sqrt(variance), CORRELATION / variance) for z in (draws, y)]
    else:
        rho, factor = (0.0 if truth == UNCORRELATED else CORRELATION), FACTOR.get(truth, 1.0)
        centre = x + (BIAS if truth == BIASED else 0.0) * (np.arange(D) == 0)
        draws = centre[:, None] + factor * distribution.draw(rng, (n, M, D), rho)
        at = [distribution.log_density((z - c) / factor, rho) for z, c in ((draws, centre[:, None]), (y, centre))]
    return Vectors(y, Samples(draws, log_density=at[0]), at[1], x)


def likelihood(z: FloatArray, x: Any) -> FloatArray:
    """Log likelihood of x at z (n, M + 1, D), up to a constant, as if the noise were Gaussian."""
    return gaussian_log_density(z - np.asarray(x)[:, None], CORRELATION)


class Weighted(NamedTuple):
    """Outcomes of N(0, 1), draws of another normal distribution, and target over proposal at both."""

    y: FloatArray
    samples: Samples  # weighted
    y_weight: FloatArray


def weighted(rng: Rng, n: int, M: int, proposal: str) -> Weighted:
    """Draws of N(a, b²) where N(0, 1) is meant. Weights are bounded if the proposal is wider, b > 1."""
    a, b = PROPOSALS[proposal]
    y, draws = rng.standard_normal(n), rng.normal(a, b, (n, M))
    at_draws, at_y = (b * np.exp(((s - a) / b) ** 2 / 2 - s * s / 2) for s in (draws, y))
    return Weighted(y, Samples(draws, draw_weights=at_draws), at_y)
