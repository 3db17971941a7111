"""The smallest errors of normal predictions that the band test finds four times in five."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import exp, inf, log, nan, sqrt

import numpy as np
from numpy.typing import NDArray

from calibrant.inference.rank_effect import SHIFT, SPREAD
from calibrant.inference.tails import normal_quantile
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.ecdf_band import ecdf_band
from calibrant.primitives.poisson_walk import PoissonWalk
from calibrant.primitives.rank_points import rank_points

SEEN = 0.8  # "four times in five"
LARGE = 10_000  # rows, beyond which an effect shrinks with the root of their number
MOST_POINTS = 60  # of the band, at which a curve is followed
STEPS = 4  # of the search; the quantile of the power is almost linear in the effect
WIDEST = log(20.0)  # factors of the spread beyond 20 and 1/20, and shifts beyond 5, are one to the ranks
FARTHEST = 5.0


@lru_cache(maxsize=256)
def smallest_effects(n: int, M: int, *, cells: bool = False, tail: float = 0.05) -> tuple[float, float]:
    r"""Return the smallest shift, and factor of the spread above 1, that the band test of `tail` sees with power 0.8.

    If outcomes are N(0, τ²) in units of a predictive law N(δ, 1), u = Φ(τz - δ) with z standard normal, and a rank
    among M draws is Binomial(M, u). So the counts #{r < j} of n rows are a Poisson process with other steps, given its
    jumps, and the probability that they leave the band is as exact as the band. They are followed at 60 of its points
    at most, which leaves out a little. Of a spread that is too small and one that is too large the one that is seen
    less counts.

    The shift is infinite if none is seen, the factor too; it is NaN for one draw, which has no spread.

    >>> shift, spread = smallest_effects(200, 99)
    >>> round(shift, 2), round(spread, 2)
    (0.24, 1.29)
    """
    if n > LARGE:
        shift, spread = smallest_effects(LARGE, M, cells=cells, tail=tail)
        return shift * sqrt(LARGE / n), spread ** sqrt(LARGE / n)
    j = rank_points(n, M, cells=cells)
    band = ecdf_band(n, j / (M + 1), 1 - tail)
    few = np.unique(np.linspace(0, j.size - 1, min(j.size, MOST_POINTS)).round().astype(np.intp))
    j, lower, upper = j[few], band.lower[few], band.upper[few]

    def power(shift: float, log_spread: float) -> float:
        shares = _shares(j, M, cells, shift, log_spread)
        return 1 - PoissonWalk.of(n, shares).inside(lower, upper)

    deviations = normal_quantile(1 - tail / 2) + normal_quantile(SEEN)
    shift = _smallest(lambda size: power(size, 0.0), deviations * SHIFT / sqrt(n), FARTHEST)
    if M < 2:
        return shift, nan
    guess = deviations * SPREAD / sqrt(n)
    narrow = _smallest(lambda size: power(0.0, size), guess, WIDEST)
    wide = _smallest(lambda size: power(0.0, -size), guess, WIDEST)
    return shift, exp(max(narrow, wide))


def _smallest(power: Callable[[float], float], guess: float, most: float) -> float:
    """Return the effect of power 0.8; infinite if none up to `most` has it."""
    target = normal_quantile(SEEN)
    low, high = (0.0, -inf), (0.0, -inf)
    size = min(guess, most)
    while True:
        high = (size, _probit(power(size)))
        if high[1] >= target:
            break
        if size >= most:
            return inf
        low, size = high, min(1.4 * size, most)
    for _ in range(STEPS):
        share = 0.5 if low[1] == -inf else (target - low[1]) / (high[1] - low[1])
        middle = low[0] + min(max(share, 0.05), 0.95) * (high[0] - low[0])
        reached = (middle, _probit(power(middle)))
        low, high = (reached, high) if reached[1] < target else (low, reached)
    return high[0]


def _probit(share: float) -> float:
    return normal_quantile(min(max(share, 1e-12), 1 - 1e-12))


def _shares(j: NDArray[np.int64], M: int, cells: bool, shift: float, log_spread: float) -> FloatArray:
    """Return P(r < j): that of u itself for cells, else the mean of binomial probabilities over u."""
    from scipy.special import betainc, ndtr, ndtri

    tau = exp(log_spread)
    if cells:
        return np.asarray(ndtr((ndtri(j / (M + 1)) + shift) / tau))
    z = np.linspace(-8.5, 8.5, 401)
    weight = np.exp(-0.5 * z * z)
    u = ndtr(-(tau * z - shift))  # 1 - u, accurate at both ends
    found = betainc(M - j[:, None] + 1.0, j[:, None], u) @ (weight / weight.sum())
    return np.asarray(np.clip(found, 1e-300, 1 - 1e-16))
