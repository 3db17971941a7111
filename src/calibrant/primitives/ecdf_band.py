"""Exact simultaneous bands for the counts of uniform numbers, and the exact p-value of a curve of counts."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.count_limits import SLACK, Limits, count_limits, doubled_tail
from calibrant.primitives.gamma_search import largest_gamma
from calibrant.primitives.poisson_walk import NEGLIGIBLE, Counts, PoissonWalk, is_mirrored

RARE = 1e-9  # probabilities of leaving a band from which 1 - P(inside) has too few digits
LONG = 10**10  # products of a p-value that would take more than a second
SMALLEST = 1e-200  # binomial tails below may have lost their digits, or be 0


class Band(NamedTuple):
    """Limits lower_j <= c_j <= upper_j that all hold with a probability of at least the level."""

    gamma: float  # doubled tail beyond a limit that is nearest to leaving the band
    coverage: float  # the probability that all hold
    lower: Counts  # (T,)
    upper: Counts


def ecdf_band(N: int, t: ArrayLike, level: float) -> Band:
    r"""Return the band that the counts c_j = #{u <= t_j} of N uniform numbers keep to with probability `level`.

    The limits are those of B_j ~ Binomial(N, t_j) at the largest g (Säilynoja, Bürkner and Vehtari 2022), by the exact
    law of all c_j:

    .. math:: l_j = \min\{c : 2 P(B_j \le c) \ge g\}, \quad u_j = \max\{c : 2 P(B_j \ge c) \ge g\}, \quad
              γ = \max\{g : P(l_j \le c_j \le u_j \text{ for all } j) \ge \text{level}\}

    t is increasing and in (0, 1). Bands are remembered.

    Examples
    --------
    >>> band = ecdf_band(4, [0.5], 0.8)  # P(c = 0) = P(c = 4) = 1/16
    >>> band.lower, band.upper, round(band.coverage, 12), round(band.gamma, 12)
    (array([1]), array([3]), 0.875, 0.625)
    """
    return _band(int(N), np.asarray(t, np.float64).tobytes(), float(level))


def observed_gamma(counts: ArrayLike, N: int, t: ArrayLike) -> tuple[FloatArray, NDArray[np.intp]]:
    r"""Return how far each column of counts, (T,) or (T, C), is from its law, (C,), and at which t, (C,).

    .. math:: γ = 2 \min_j \min\{P(B_j \le c_j), P(B_j \ge c_j)\}

    The place is the first that reaches γ. A curve is outside of a band if its γ is below that of the band.

    >>> gamma, place = observed_gamma([0, 4], 4, [0.25, 0.5])
    >>> gamma, place  # 2 P(B >= 4) = 2/16
    (array([0.125]), array([1]))
    """
    c = np.asarray(counts, np.int64)
    c = c.reshape(len(c), -1)
    points = np.broadcast_to(np.asarray(t, np.float64)[:, np.newaxis], c.shape)
    value = np.full(c.shape, np.inf)
    for end, k in enumerate((c, N - c)):
        near = k <= N * (1 - points if end else points) + 1  # beyond is the larger tail: median and mean differ by < 1
        value[near] = np.minimum(value[near], doubled_tail(k[near], N, points[near], end))
    gamma = value.min(axis=0)
    depth = np.where(value <= gamma * (1 + SLACK), 1.0, 0.0)
    if (gamma == 0).any():
        depth *= np.where(gamma == 0, 1 + _deviance(c, N, points), 1.0)
    return gamma, np.argmax(depth, axis=0)


def gamma_pvalue(gamma: float, N: int, t: ArrayLike) -> float:
    r"""Return the exact P(γ <= gamma) of `observed_gamma` under uniformity, also where it is very small.

    It is at most 1 - level exactly if the curve leaves the band of that level.

    Notes
    -----
    γ/2 <= p <= T γ always. The upper bound is returned where γ is below 1e-200, as if it were 1e-200, and with millions
    of rows where p is below 1e-8: such a p is not understated, and it is never 0.

    >>> round(gamma_pvalue(0.125, 4, [0.5]), 12)  # c = 0 or c = 4
    0.125
    """
    return _pvalue(float(gamma), int(N), np.asarray(t, np.float64).tobytes())


@lru_cache(maxsize=64)
def _band(N: int, points: bytes, level: float) -> Band:
    t, tail = np.frombuffer(points), 1 - level
    walk = PoissonWalk.of(N, t, least=NEGLIGIBLE if tail > RARE else NEGLIGIBLE * tail)

    def find(g: float, wide: Limits | None, narrow: Limits | None) -> Limits:
        return count_limits(g, N, t, mirrored=walk.mirrored, wide=wide, narrow=narrow)

    def outside(limits: Limits) -> float:
        if tail > RARE:
            return 1 - walk.inside(limits.lower, limits.upper)
        return walk.outside(limits.lower, limits.upper)

    # neighbours depend on each other: many points count as about 5 log T
    limits, p = largest_gamma(find, outside, tail=tail, guess=tail / min(t.size, 1 + 5 * np.log(t.size)))
    for limit in (lower := limits.lower.copy(), upper := limits.upper.copy()):
        limit.flags.writeable = False
    return Band(limits.reached, 1 - p, lower, upper)


@lru_cache(maxsize=1024)
def _pvalue(gamma: float, N: int, points: bytes) -> float:
    t = np.frombuffer(points)
    bound = min(1.0, t.size * max(gamma, SMALLEST))
    if gamma < SMALLEST:
        return bound
    limits = count_limits(gamma, N, t, mirrored=is_mirrored(t), strict=True)
    lower, upper = limits.lower, limits.upper
    # P(outside) is gamma/2 or more; T kernels of total mass 1 are divided by P(N jumps), about 1/sqrt(2πN)
    walk = PoissonWalk.of(N, t, least=NEGLIGIBLE * gamma / (t.size * np.sqrt(2 * np.pi * N)))
    if sum(kernel.mass.size * int(room) for kernel, room in zip(walk.kernels, upper - lower, strict=True)) <= LONG:
        return walk.outside(lower, upper)
    p = 1 - walk.inside(lower, upper)
    return p if p > 10 * RARE else bound


def _deviance(c: Counts, N: int, t: FloatArray) -> FloatArray:
    """Return c log(c/Nt) + (N - c) log((N - c)/N(1 - t)), which orders tails that are too small for a float."""
    from scipy.special import xlogy

    return np.asarray(xlogy(c, c / (N * t)) + xlogy(N - c, (N - c) / (N * (1 - t))))
