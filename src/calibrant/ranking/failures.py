"""What kind of error uneven ranks show."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from math import exp, inf, log, nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.pvalues import normal_quantile
from calibrant.inputs.arrays import FloatArray
from calibrant.ranking.bands import ecdf_band
from calibrant.ranking.counting import POLYNOMIALS, legendre
from calibrant.ranking.effects import SHIFT, SPREAD
from calibrant.ranking.poisson_walk import PoissonWalk
from calibrant.ranking.summary import rank_points

LARGEST_LOG_SPREAD = log(20.0)  # ranks cannot tell factors of the spread beyond 20 and 1/20 apart
LARGEST_SHIFT = 5.0  # nor shifts beyond it
HALVINGS = 36  # of the range of log spreads
ROWS_FOR_COVARIANCE = 30  # below which the covariance of uniform ranks is taken


class NormalErrors(NamedTuple):
    """Shift and spread of predictions by their ranks, and what they leave over.

    `shift` is in predictive standard deviations, positive if predictions are too high; `spread` is the factor that the
    predictive spread needs. `parts` are what each of them alone would make of the first and second component, `rest`
    what both leave of the third and fourth, all in the size that many draws would give. `ends` is the share of ranks
    0 and M that they would make. `measurable` says whether any normal errors give such components.
    """

    shift: float
    shift_low: float
    shift_high: float
    spread: float
    spread_low: float
    spread_high: float
    parts: FloatArray  # (2,)
    rest: FloatArray  # (K - 2,)
    ends: float
    measurable: bool


def shrinkage(M: int) -> FloatArray:
    r"""Return what finitely many draws leave of the components of a rank, (K,).

    A rank among M draws is Binomial(M, u) given the value u of the predicted distribution function, and

    .. math:: \mathrm{E}[\varphi_k(r) \mid u] = \rho_k \sqrt{2k + 1}\, P_k(2u - 1), \qquad
              \rho_k^2 = \prod_{i=1}^k \frac{M - i + 1}{M + i + 1}

    with the Legendre polynomial P_k: 0.97 for the spread among 99 draws, 0.74 among 9.

    >>> shrinkage(9).round(2)
    array([0.9 , 0.74, 0.54, 0.35])
    """
    i = np.arange(1, min(POLYNOMIALS, M) + 1)
    return np.asarray(np.sqrt(np.cumprod((M - i + 1) / (M + i + 1))))


def normal_errors(counts: NDArray[np.int64], level: float) -> NormalErrors:
    r"""Return the errors of normal predictions whose ranks have the first two components of these counts, (M + 1,).

    Outcomes N(0, τ²) in units of a predictive distribution N(δ, 1) have u = Φ(τz - δ), z standard normal. δ and τ solve

    .. math:: \rho_k \sqrt{2k + 1}\, \mathrm{E}\, P_k(2u - 1) = \frac1n \sum_i \varphi_k(r_i), \qquad k = 1, 2,

    which `rank_effect` does to first order for many draws. Intervals are those of the delta method with the covariance
    that the components have in these counts, or of uniform ranks if there are few.

    >>> found = normal_errors(np.array([25, 25, 25, 25]), 0.95)
    >>> round(found.shift, 6) + 0.0, round(found.spread, 6)
    (0.0, 1.0)
    """
    n, M = int(counts.sum()), counts.size - 1
    rho = shrinkage(M)
    phi = legendre(M) / rho[:, None]
    b = phi @ counts / n  # in the size that many draws would give
    shift, log_spread, measurable = _solved(b, M)
    expected = _components(shift, log_spread)
    parts = np.array([_components(shift, 0.0)[0], _components(0.0, log_spread)[1]])
    covariance = (phi * counts) @ phi.T / n - np.outer(b, b) if n >= ROWS_FOR_COVARIANCE else np.diag(rho**-2)
    se = _standard_errors(shift, log_spread, covariance[:2, :2] / n) if measurable else np.full(2, np.inf)
    reach = normal_quantile((1 + level) / 2) * se
    with np.errstate(over="ignore"):
        low, high = (np.exp(log_spread + step) for step in (-reach[1], reach[1]))
    u = _values(shift, log_spread)
    ends = float(((1 - u) ** M + u**M) @ _normal()[1])  # the probability of lying outside all M draws
    return NormalErrors(
        shift,
        shift - float(reach[0]),
        shift + float(reach[0]),
        exp(log_spread) if M > 1 else np.nan,
        float(low) if M > 1 else np.nan,
        float(high) if M > 1 else np.nan,
        parts,
        (b - expected[: b.size])[2:],
        ends,
        measurable,
    )


@cache
def _normal() -> tuple[FloatArray, FloatArray]:
    """Return points of a standard normal variable and their probabilities."""
    z = np.linspace(-8.5, 8.5, 851)
    p = np.exp(-0.5 * z * z)
    return z, p / p.sum()


def _values(shift: float, log_spread: float) -> FloatArray:
    """Return u at the points."""
    from scipy.special import ndtr

    return np.asarray(ndtr(exp(log_spread) * _normal()[0] - shift))


def _components(shift: float, log_spread: float) -> FloatArray:
    """Return E √(2k + 1) P_k(2u - 1), k = 1 to 4."""
    x = 2 * _values(shift, log_spread) - 1
    s = x * x
    polynomials = [x, (3 * s - 1) / 2, x * (5 * s - 3) / 2, (35 * s * s - 30 * s + 3) / 8]
    return np.sqrt([3.0, 5.0, 7.0, 9.0]) * (np.stack(polynomials) @ _normal()[1])


def _solved(b: FloatArray, M: int) -> tuple[float, float, bool]:
    """Return shift and log spread with these components; one that is out of reach is set to the nearest in reach.

    E u = Φ(-δ/√(1 + τ²)) gives δ for each τ, and with that the second component grows with τ.
    """
    from scipy.special import ndtri

    mean = 0.5 + b[0] / sqrt(12)
    closest = 0.5 / (M + 1)
    measurable = closest <= mean <= 1 - closest
    q = float(ndtri(np.clip(mean, closest, 1 - closest)))
    if M == 1:
        return -sqrt(2) * q, 0.0, measurable

    def shift(log_spread: float) -> float:
        return -sqrt(1 + exp(2 * log_spread)) * q

    def second(log_spread: float) -> float:
        x = 2 * _values(shift(log_spread), log_spread) - 1
        return sqrt(5) * (3 * float((x * x) @ _normal()[1]) - 1) / 2

    if not measurable:
        return shift(0.0), 0.0, False
    low, high = -LARGEST_LOG_SPREAD, LARGEST_LOG_SPREAD
    if not second(low) < b[1] < second(high):
        end = low if b[1] <= second(low) else high
        return shift(end), end, False
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if second(middle) < b[1] else (low, middle)
    return shift(low), low, True


def _standard_errors(shift: float, log_spread: float, covariance: FloatArray) -> FloatArray:
    """Return those of shift and log spread, from the covariance of the components."""
    z, p = _normal()
    x = 2 * _values(shift, log_spread) - 1
    tau = exp(log_spread)
    density = 2 * np.exp(-0.5 * (tau * z - shift) ** 2) / sqrt(2 * np.pi)  # of x = 2u - 1
    by_component = np.stack([np.full_like(x, sqrt(3)), sqrt(5) * 3 * x])[: len(covariance)]
    by_error = np.stack([-density, tau * z * density])[: len(covariance)]
    slopes = (by_component * p) @ by_error.T
    inverse = np.linalg.pinv(slopes)
    se = np.sqrt(np.maximum(np.diag(inverse @ covariance @ inverse.T), 0.0))
    return se if se.size == 2 else np.array([se[0], np.nan])


NOTICED_ERRORS = 1.96  # standard errors from which the largest error is named
CLEAR_ERRORS = 3.0  # standard errors from which several errors are named
NOTABLE_SHARE = 0.4  # of the largest part, from which another is named too
TWO_MODES = -0.45  # what is left of the fourth component where two modes are averaged
EMPTY_MIDDLE = 0.45  # density of ranks in the middle fifth, below which the outcome avoids it
SPIKES = 1.25  # times the share of the ends that normal errors explain
FLAT_SHARE = 0.5  # of the size of all components, below which those without the ends are flat
DRAWS_FOR_SPIKES = 9  # among which a spike differs from a slope

NONE, OTHER = "none", "other"
NARROW, WIDE, HIGH, LOW = "too narrow", "too wide", "too high", "too low"
SKEWED, HEAVY, LIGHT = "skewed", "heavy-tailed", "light-tailed"
MODES, OUTSIDE = "two modes", "outside"
OUTWARD_HIGH = "too narrow or biased"


def failures_of(counts: NDArray[np.int64], errors: NormalErrors) -> tuple[str, ...]:
    """Return what is wrong with predictions whose ranks are known to be uneven, the largest error first.

    `errors` are the shift and spread that explain the first two components. What these leave of the third and fourth is
    skewness and tails. All four are means of orthonormal polynomials, so their sizes can be compared.

    >>> from calibrant.ranking.failures import normal_errors
    >>> counts = np.array([400, 300, 200, 100, 50])
    >>> failures_of(counts, normal_errors(counts, 0.95))[0]
    'too high'
    """
    if _has_spikes(counts, errors):
        return (OUTSIDE,)
    if errors.rest.size == 2 and errors.rest[1] <= TWO_MODES and _middle(counts) < EMPTY_MIDDLE:
        return (MODES,)
    sizes = _sizes(counts, errors)
    if not sizes:
        return (OTHER,)
    shape = {HEAVY, LIGHT} & set(sizes)
    if shape and sizes[min(shape)] >= NOTABLE_SHARE * max(sizes.values()):
        first = min(shape)  # a spread that is wrong only in the core is not corrected by a factor
        return (first, *(name for name in _largest_first(sizes) if name not in (first, NARROW, WIDE)))
    return _largest_first(sizes)


def supported(failures: tuple[str, ...], errors: NormalErrors) -> tuple[str, ...]:
    """Leave out a shift and a spread whose own limits contain the value of calibration.

    Errors that are too large to be measured have no limits and stay. Ranks that leave nothing to name are uneven in
    another way.

    >>> errors = normal_errors(np.array([6, 3, 3, 6]), 0.95)
    >>> supported((NARROW, HIGH), errors)
    ('other',)
    """
    if not errors.measurable:
        return failures
    excluded = {
        HIGH: errors.shift_low > 0,
        LOW: errors.shift_high < 0,
        NARROW: errors.spread_low > 1,
        WIDE: errors.spread_high < 1,
    }
    return tuple(name for name in failures if excluded.get(name, True)) or (OTHER,)


def outward_failure(counts: NDArray[np.int64]) -> str:
    """Return what is wrong where high ranks mean outlying outcomes: the direction of a bias does not show."""
    n = int(counts.sum())
    Z = float(legendre(counts.size - 1)[0] @ counts) / sqrt(n)
    if abs(Z) < NOTICED_ERRORS:
        return OTHER
    return OUTWARD_HIGH if Z > 0 else WIDE


def _sizes(counts: NDArray[np.int64], errors: NormalErrors) -> dict[str, float]:
    """Return the sizes of the errors that are larger than chance explains."""
    n, M = int(counts.sum()), counts.size - 1
    rest = errors.rest if errors.measurable else errors.rest[:0]
    parts = np.concatenate([errors.parts[: min(M, 2)], rest])
    names = ((LOW, HIGH), (NARROW, WIDE), (SKEWED, SKEWED), (LIGHT, HEAVY))
    seen = np.abs(parts) * shrinkage(M)[: parts.size] * sqrt(n)  # in standard errors
    chosen = seen >= CLEAR_ERRORS
    if not chosen.any():
        chosen = (seen == seen.max()) & (seen >= NOTICED_ERRORS)
    return {names[k][int(parts[k] < 0)]: abs(float(parts[k])) for k in np.flatnonzero(chosen)}


def _largest_first(sizes: dict[str, float]) -> tuple[str, ...]:
    largest = max(sizes.values())
    kept = [name for name in sizes if sizes[name] >= NOTABLE_SHARE * largest]
    return tuple(sorted(kept, key=lambda name: -sizes[name]))


def _has_spikes(counts: NDArray[np.int64], errors: NormalErrors) -> bool:
    """Tell whether ranks 0 and M alone are too frequent: beyond what normal errors explain, and flat between them."""
    n, M = int(counts.sum()), counts.size - 1
    if M < DRAWS_FOR_SPIKES or not errors.measurable:
        return False
    ends = int(counts[0] + counts[-1])
    expected = n * max(errors.ends, 2 / (M + 1))
    if ends < SPIKES * expected or ends - expected < CLEAR_ERRORS * sqrt(expected):
        return False
    return _squares(counts[1:-1]) <= FLAT_SHARE**2 * _squares(counts)


def _squares(counts: NDArray[np.int64]) -> float:
    """Return the sum of the squared components, less what chance adds."""
    n, phi = int(counts.sum()), legendre(counts.size - 1)
    return max(0.0, float(np.sum((phi @ counts / n) ** 2)) - len(phi) / n) if n else 0.0


def _middle(counts: NDArray[np.int64]) -> float:
    """Return the share of ranks in the middle fifth over what it would be if they were uniform."""
    M = counts.size - 1
    inside = np.abs(2 * np.arange(M + 1) - M) <= (M + 1) / 5
    return float(counts[inside].sum() / counts.sum() / inside.mean())


POWER = 0.8  # "four times in five"
MANY_ROWS = 10_000  # beyond which an effect shrinks with the root of their number
MAX_POINTS_FOLLOWED = 60  # of the band
POWER_STEPS = 4  # of the search; the quantile of the power is almost linear in the effect


@lru_cache(maxsize=256)
def smallest_effects(n: int, M: int, *, cells: bool = False, tail: float = 0.05) -> tuple[float, float]:
    r"""Return the smallest shift, and factor of the spread above 1, that the band test of `tail` sees with power 0.8.

    If outcomes are N(0, τ²) in units of a predictive distribution N(δ, 1), u = Φ(τz - δ) with z standard normal, and a
    rank among M draws is Binomial(M, u). So the counts #{r < j} of n rows are a Poisson process with other steps, given
    its jumps, and the probability that they leave the band is as exact as the band. They are followed at 60 of its
    points at most, which leaves out a little. Of a spread that is too small and one that is too large, the one that is
    harder to see counts.

    The shift is infinite if none is seen, the factor too; it is NaN for one draw, which has no spread.

    >>> shift, spread = smallest_effects(200, 99)
    >>> round(shift, 2), round(spread, 2)
    (0.24, 1.29)
    """
    if n > MANY_ROWS:
        shift, spread = smallest_effects(MANY_ROWS, M, cells=cells, tail=tail)
        return shift * sqrt(MANY_ROWS / n), spread ** sqrt(MANY_ROWS / n)
    j = rank_points(n, M, cells=cells)
    band = ecdf_band(n, j / (M + 1), 1 - tail)
    few = np.unique(np.linspace(0, j.size - 1, min(j.size, MAX_POINTS_FOLLOWED)).round().astype(np.intp))
    j, lower, upper = j[few], band.lower[few], band.upper[few]

    def power(shift: float, log_spread: float) -> float:
        shares = _shares(j, M, cells, shift, log_spread)
        return 1 - PoissonWalk.of(n, shares).inside(lower, upper)

    deviations = normal_quantile(1 - tail / 2) + normal_quantile(POWER)
    shift = _smallest(lambda size: power(size, 0.0), deviations * SHIFT / sqrt(n), LARGEST_SHIFT)
    if M < 2:
        return shift, nan
    guess = deviations * SPREAD / sqrt(n)
    narrow = _smallest(lambda size: power(0.0, size), guess, LARGEST_LOG_SPREAD)
    wide = _smallest(lambda size: power(0.0, -size), guess, LARGEST_LOG_SPREAD)
    return shift, exp(max(narrow, wide))


def _smallest(power: Callable[[float], float], guess: float, most: float) -> float:
    """Return the effect of power 0.8; infinite if none up to `most` has it."""
    target = normal_quantile(POWER)
    low, high = (0.0, -inf), (0.0, -inf)
    size = min(guess, most)
    while True:
        high = (size, _probit(power(size)))
        if high[1] >= target:
            break
        if size >= most:
            return inf
        low, size = high, min(1.4 * size, most)
    for _ in range(POWER_STEPS):
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
