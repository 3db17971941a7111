"""Exact simultaneous bands for the counts of uniform numbers, and the exact p-value of a curve of counts.

`ecdf_band` is the band of a curve, `histogram_band` that of bars, `counts_test` the test of a curve.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_level
from calibrant.ranking.poisson_walk import NEGLIGIBLE, Counts, PoissonWalk, deviance, poisson_pmf

SLACK = 1e-10  # tails that are equal in exact arithmetic differ by less when rounded
ROUNDING = 1e-12  # of probabilities that equal the level in exact arithmetic
LARGEST_STEP = 30.0  # factor by which g changes at a time
OVERSHOOT = 1.1  # factor that lets a step end on the other side
MAX_TRIES = 1000  # of g; some 20 are usual
LARGEST_LEVEL = 1 - 1e-12  # for which bands are found
RARE = 1e-9  # probabilities of leaving a band below which 1 - P(inside) has too few digits
MAX_PRODUCTS = 10**10  # of a p-value; more would take over a second
SMALLEST_TAIL = 1e-200  # binomial tails below may have lost their digits, or be 0


class CountLimits(NamedTuple):
    """Counts that are not outside at g, of B_j ~ Binomial(N, t_j)."""

    lower: Counts  # the smallest c with 2 P(B_j <= c) >= g
    upper: Counts  # the largest c with 2 P(B_j >= c) >= g
    reached: float  # the largest g that has these limits
    next_below: float  # the largest g that has wider limits
    tails: FloatArray  # 2 P(B_j < lower_j) + 2 P(B_j > upper_j)


def count_limits(g: float, N: int, t: FloatArray, *, strict: bool = False) -> CountLimits:
    """Return the limits at g, up to rounding of the tails; `strict` asks for tails of more than g."""
    least = np.nextafter(g * (1 + SLACK), np.inf) if strict else g * (1 - SLACK)
    (low, at_low, below), (high, at_high, above) = (_limit(least, N, t, end) for end in (0, 1))
    reached, next_below = min(at_low.min(), at_high.min()), max(below.max(), above.max())
    return CountLimits(low, N - high, float(reached), float(next_below), below + above)


def _limit(least: float, N: int, t: FloatArray, end: int) -> tuple[Counts, FloatArray, FloatArray]:
    """Return the smallest count c from this end with tail(c) >= least, tail(c) and tail(c - 1).

    The probes start at a guess, go on by 1, 2, 4, ... and bisect.
    """
    bad, at_bad = np.full(t.size, -1), np.zeros(t.size)
    good, at_good = np.full(t.size, N + 1), np.full(t.size, np.inf)
    probe, step = _guess(least, N, 1 - t if end else t), 1
    while (k := np.flatnonzero(good - bad > 1)).size:
        c = np.clip(probe[k], bad[k] + 1, good[k] - 1)
        value = doubled_tail(c, N, t[k], end)
        enough = value >= least
        good[k[enough]], at_good[k[enough]] = c[enough], value[enough]
        bad[k[~enough]], at_bad[k[~enough]] = c[~enough], value[~enough]
        between = (bad[k] >= 0) & (good[k] <= N) & (step > 1)
        probe[k] = np.where(between, (bad[k] + good[k]) // 2, np.where(enough, c - step, c + step))
        step *= 2
    return good, at_good, at_bad


def _guess(least: float, N: int, t: FloatArray) -> Counts:
    """Return about the quantile least/2, by the normal distribution and its first correction for skewness."""
    from scipy.special import ndtri

    z = float(np.clip(ndtri(min(least / 2, 1.0)), -40, 40))
    c = N * t + z * np.sqrt(N * t * (1 - t)) + (z * z - 1) * (1 - 2 * t) / 6
    return np.floor(np.clip(c, 0, N)).astype(np.int64)


def doubled_tail(c: Counts, N: int, t: FloatArray, end: int) -> FloatArray:
    """Return 2 P(B <= c), or from the other end 2 P(B >= N - c)."""
    from scipy.special import betainc, betaincc

    a = np.minimum(c, N - 1)
    value = betainc(N - a, a + 1, t) if end else betaincc(a + 1, N - a, t)
    return np.asarray(2 * np.where(c < N, value, 1.0))


def check_band_level(name: str, value: object) -> float:
    level = check_level(value, name)
    if level > LARGEST_LEVEL:
        raise InputError(f"{name} must be at most 1 - 1e-12, where limits can be told apart; got {shown(value)}")
    return level


def largest_gamma(
    N: int, t: FloatArray, outside: Callable[[CountLimits], float], *, tail: float, guess: float
) -> tuple[CountLimits, float]:
    """Return the limits at the largest g with P(outside) <= tail, and that probability.

    P(outside) is a step function of g that changes only at attained tail values. An accepted g is moved up to the
    largest with its limits, a rejected one down to the next attained value, and the search ends when they meet. In
    between log P(outside) is almost a line in log g; where the steps hide that, halving the bracket helps.
    """
    wide: CountLimits | None = None  # at the largest g that is accepted
    narrow: CountLimits | None = None  # at the smallest that is rejected
    at_wide = at_narrow = found = 0.0
    g = guess
    for tries in range(MAX_TRIES):
        limits = count_limits(g, N, t)
        p = outside(limits)
        excess = math.log(max(p, 1e-300) / tail)
        if p <= tail + min(ROUNDING, tail / 100):
            wide, at_wide, found = limits, min(excess, 0.0), p
        else:
            narrow, at_narrow = limits, excess
        factor = math.exp(min(abs(excess), math.log(LARGEST_STEP))) * OVERSHOOT  # P(outside) grows about as g
        if narrow is None:
            g *= factor
        elif wide is None:
            g = min(g / factor, narrow.next_below)
        else:
            low, high = wide.reached, narrow.next_below
            if low >= high * (1 - SLACK):
                break
            share = 0.5 if tries % 3 == 0 else min(0.9, max(0.1, at_wide / (at_wide - at_narrow)))
            g = min(high, max(low * (1 + 2 * SLACK), low * (high / low) ** share))
    if wide is None:
        raise NotApplicableError(f"no band of level {1 - tail:.10g} was found for these counts; use a lower level")
    return wide, found


class Band(NamedTuple):
    """Limits lower_j <= c_j <= upper_j that are all kept with a probability of at least the level."""

    gamma: float  # doubled tail beyond a limit that is nearest to leaving the band
    coverage: float  # the probability that all are kept
    lower: Counts  # (T,)
    upper: Counts


def ecdf_band(N: int, t: ArrayLike, level: float) -> Band:
    r"""Return the band that the counts c_j = #{u <= t_j} of N uniform numbers keep to with probability `level`.

    The limits are those of B_j ~ Binomial(N, t_j) at the largest g (Säilynoja, Bürkner and Vehtari 2022), by the exact
    distribution of all c_j:

    .. math:: l_j = \min\{c : 2 P(B_j \le c) \ge g\}, \quad u_j = \max\{c : 2 P(B_j \ge c) \ge g\}, \quad
              γ = \max\{g : P(l_j \le c_j \le u_j \text{ for all } j) \ge \text{level}\}

    t is increasing and in (0, 1). Bands are remembered.

    >>> band = ecdf_band(4, [0.5], 0.8)  # P(c = 0) = P(c = 4) = 1/16
    >>> band.lower, band.upper, round(band.coverage, 12), round(band.gamma, 12)
    (array([1]), array([3]), 0.875, 0.625)
    """
    return _band(int(N), np.asarray(t, np.float64).tobytes(), float(level))


def observed_gamma(counts: ArrayLike, N: int, t: ArrayLike) -> tuple[FloatArray, NDArray[np.intp]]:
    r"""Return how far each column of counts, (T,) or (T, C), is from its null distribution, (C,), and at which t, (C,).

    .. math:: γ = 2 \min_j \min\{P(B_j \le c_j), P(B_j \ge c_j)\}

    The place is the first that reaches γ. A curve is outside of a band if its γ is below that of the band.
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
    if (gamma == 0).any():  # tails that are too small for a float
        depth *= np.where(gamma == 0, 1 + deviance(c, N * points) + deviance(N - c, N * (1 - points)), 1.0)
    return gamma, np.argmax(depth, axis=0)


def gamma_pvalue(gamma: float, N: int, t: ArrayLike) -> float:
    r"""Return the exact P(γ <= gamma) of `observed_gamma` under uniformity, also where it is very small.

    It is at most 1 - level exactly if the curve leaves the band of that level.

    γ/2 <= p <= T γ always. The upper bound is returned where γ is below 1e-200, as if it were 1e-200, and with millions
    of rows where p is below 1e-8: such a p is not understated, and it is never 0.
    """
    return _pvalue(float(gamma), int(N), np.asarray(t, np.float64).tobytes())


@lru_cache(maxsize=64)
def _band(N: int, points: bytes, level: float) -> Band:
    t, tail = np.frombuffer(points), 1 - level
    walk = PoissonWalk.of(N, t, least=NEGLIGIBLE if tail > RARE else NEGLIGIBLE * tail)

    def outside(limits: CountLimits) -> float:
        if tail > RARE:
            return 1 - walk.inside(limits.lower, limits.upper)
        return walk.outside(limits.lower, limits.upper)

    # neighbours depend on each other: many points count as about 5 log T
    limits, p = largest_gamma(N, t, outside, tail=tail, guess=tail / min(t.size, 1 + 5 * np.log(t.size)))
    return _read_only(Band(limits.reached, 1 - p, limits.lower, limits.upper))


def _read_only(band: Band) -> Band:
    band.lower.flags.writeable = band.upper.flags.writeable = False
    return band


@lru_cache(maxsize=1024)
def _pvalue(gamma: float, N: int, points: bytes) -> float:
    t = np.frombuffer(points)
    bound = min(1.0, t.size * max(gamma, SMALLEST_TAIL))
    if gamma < SMALLEST_TAIL:
        return bound
    limits = count_limits(gamma, N, t, strict=True)
    lower, upper = limits.lower, limits.upper
    # P(outside) is gamma/2 or more; T kernels of total mass 1 are divided by P(N jumps), about 1/sqrt(2πN)
    walk = PoissonWalk.of(N, t, least=NEGLIGIBLE * gamma / (t.size * np.sqrt(2 * np.pi * N)))
    products = sum(kernel.mass.size * int(room) for kernel, room in zip(walk.kernels, upper - lower, strict=True))
    if products <= MAX_PRODUCTS:
        return walk.outside(lower, upper)
    p = 1 - walk.inside(lower, upper)
    return p if p > 10 * RARE else bound


def histogram_band(N: int, shares: ArrayLike, level: float) -> Band:
    r"""Return limits that the counts of all bins keep to with a probability of at least `level`, N rows in all.

    The limits of bin k, of probability s_k, are those of Binomial(N, s_k) at one g for all bins, the largest that will
    do; see `ecdf_band`. Bins of one share have one pair of limits, so the attained probability can exceed the level.

    >>> band = histogram_band(2, [0.5, 0.5], 0.5)
    >>> band.lower, band.upper, round(band.coverage, 12)
    (array([1, 1]), array([1, 1]), 0.5)
    """
    return _histogram_band(int(N), np.asarray(shares, np.float64).tobytes(), float(level))


def probability_inside(N: int, shares: FloatArray, bins: Counts, lower: Counts, upper: Counts) -> float:
    r"""Return P(lower_k <= n_k <= upper_k for all bins) of multinomial counts n, where bins_k bins have share_k.

    Multinomial counts are independent Poisson counts, given that they add up to N: the N-th entry of the
    convolution over bins, each restricted to its limits, divided by the Poisson probability of N.
    """
    from scipy.fft import next_fast_len

    first, last = int(bins @ lower), int(bins @ upper)
    if (lower > upper).any() or not first <= N <= last:
        return 0.0
    size = next_fast_len(last - first + 1, real=True)
    product = np.ones(size // 2 + 1, np.complex128)
    for share, power, low, high in zip(shares, bins, lower, upper, strict=True):
        product *= np.fft.rfft(poisson_pmf(np.arange(low, high + 1), N * share), size) ** power
    return float(np.clip(np.fft.irfft(product, size)[N - first] / poisson_pmf(N, N), 0, 1))


@lru_cache(maxsize=64)
def _histogram_band(N: int, shares: bytes, level: float) -> Band:
    different, which, bins = np.unique(np.frombuffer(shares), return_inverse=True, return_counts=True)

    def outside(limits: CountLimits) -> float:
        p = 1 - probability_inside(N, different, bins, limits.lower, limits.upper)
        # bars rarely leave the band two at a time: the sum of their tails has the digits that 1 - P(inside) lacks
        return p if p > RARE else float(bins @ limits.tails / 2)

    tail = 1 - level
    limits, p = largest_gamma(N, different, outside, tail=tail, guess=tail / which.size)
    return _read_only(Band(limits.reached, 1 - p, limits.lower[which], limits.upper[which]))


class BandTest(NamedTuple):
    """γ of each column, (C,), its exact p-value, and the t at which it is reached first."""

    gamma: FloatArray
    pvalue: FloatArray
    where: FloatArray


def counts_test(counts: NDArray[np.int64], N: int, t: FloatArray) -> BandTest:
    """Compare counts (T, C) with Binomial(N, t), all points at once: the smallest doubled tail γ and P(γ* <= γ).

    >>> found = counts_test(np.array([[0], [4]]), 4, np.array([0.25, 0.5]))
    >>> found.gamma, found.where  # 2 P(B >= 4) of Binomial(4, 1/2)
    (array([0.125]), array([0.5]))
    """
    gamma, place = observed_gamma(counts, N, t)
    return BandTest(gamma, np.array([gamma_pvalue(float(value), N, t) for value in gamma]), t[place])
