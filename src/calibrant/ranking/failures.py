"""What kind of error uneven ranks show: the questions that are asked of one column of ranks, in their order."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import exp, inf, log, nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.evidence import POWER
from calibrant.core.pvalues import binomial_tails, normal_quantile
from calibrant.inputs.arrays import FloatArray
from calibrant.ranking.bands import counts_test, ecdf_band
from calibrant.ranking.counting import legendre
from calibrant.ranking.draw_evidence import DrawEvidence
from calibrant.ranking.effects import SHIFT, SPREAD, below, bin_counts, pearson, share_limits
from calibrant.ranking.poisson_walk import PoissonWalk
from calibrant.ranking.rank_family import (
    LARGEST_LOG_SPREAD,
    FamilyFit,
    RankFamily,
    rows_to_tell_tails,
    third_and_fourth,
)
from calibrant.ranking.summary import rank_points

LARGEST_SHIFT = 5.0  # up to which an effect that can be seen is looked for

NONE, OTHER = "none", "other"
NARROW, WIDE, HIGH, LOW = "too narrow", "too wide", "too high", "too low"
SKEWED, HEAVY, LIGHT = "skewed", "heavy-tailed", "light-tailed"
MODES, OUTSIDE, DRAWS = "two modes", "outside", "dependent draws"
RELATED = "related to covariates"
OUTWARD_HIGH, OUTWARD_SHAPE = "too narrow or biased", "wrong shape"

MAX_SHAPE_RATE = 0.01  # of the tests of shapes and of outcomes outside; that of the test of the ranks if it is smaller
DOUBT_RATE = 0.05  # of the test of third and fourth component, for what is claimed of shift and spread
LEAST_OUTSIDE = 0.01  # share of outcomes in atoms
SHAPE_BINS = 10
CENTRE_AVOIDED = -5.0  # fourth component, in standard errors
EMPTY_MIDDLE = 0.5  # density of ranks in the middle fifth, below which the outcome avoids it
SHAPES = (SKEWED, HEAVY, LIGHT, MODES)
MADE_BY_COVARIATES = {"": (), "spread": SHAPES, "shift": (NARROW, *SHAPES)}  # what changes with them makes this too
OUTWARD_LEVELS = (0.5, 0.9)
MANY_ROWS = 10_000  # beyond which an effect shrinks with the root of their number
MAX_POINTS_FOLLOWED = 60  # of the band
POWER_STEPS = 4  # of the search; the quantile of the power is almost linear in the effect


class NormalErrors(NamedTuple):
    """Shift and spread of predictions by their ranks, with profile-likelihood limits.

    `shift` is in predictive standard deviations, positive if predictions are too high; `spread` is the factor that the
    predictive spread needs. One limit is infinite where the likelihood has no maximum inside the family.
    """

    shift: float
    shift_low: float
    shift_high: float
    spread: float
    spread_low: float
    spread_high: float

    @property
    def names(self) -> tuple[str, ...]:
        """The errors whose limits exclude the value of calibration, the one that is clearer first."""
        found = []
        if not self.shift_low <= 0 <= self.shift_high:
            found.append((_clarity(self.shift, self.shift_low, self.shift_high), HIGH if self.shift > 0 else LOW))
        if not self.spread_low <= 1 <= self.spread_high and not np.isnan(self.spread):
            logs = (log(max(value, 1e-9)) for value in (self.spread, self.spread_low, self.spread_high))
            found.append((_clarity(*logs), NARROW if self.spread > 1 else WIDE))
        return tuple(name for _, name in sorted(found, reverse=True))


def _clarity(value: float, low: float, high: float) -> float:
    """Return how many times as far as the nearer limit 0 is from the estimate."""
    return abs(value) / max(value - low if value > 0 else high - value, 1e-9)


def normal_errors(counts: NDArray[np.int64], level: float, *, cells: bool = False) -> NormalErrors:
    """Return shift and spread of the most likely member of `RankFamily`, given counts (M + 1,), with limits."""
    family = RankFamily(counts, cells=cells)
    return errors_of(family, family.fit(), 1 - level)


def errors_of(family: RankFamily, fit: FamilyFit, rate: float) -> NormalErrors:
    (a_low, a_high), (s_low, s_high) = family.limits(fit, rate)
    spread = (nan, nan, nan) if family.M < 2 else (fit.spread, exp(s_low), exp(s_high))
    return NormalErrors(fit.shift + 0.0, -a_high + 0.0, -a_low + 0.0, *spread)


class Diagnosis(NamedTuple):
    """What is wrong with one column of ranks, and by how much."""

    failures: tuple[str, ...]
    errors: NormalErrors
    far: bool = False  # whether outcomes far outside all draws are an error, and were set aside
    normal: bool = False  # whether shift and spread explain the ranks, so that their limits are those of mean and sd


def diagnosis(
    counts: NDArray[np.int64],
    rate: float,
    *,
    departs: bool,
    test_rate: float = 0.05,
    cells: bool = False,
    evidence: DrawEvidence | None = None,
    related: str = "",
) -> Diagnosis:
    """Ask what is wrong with ranks of these counts (M + 1,); limits of shift and spread have the error rate `rate`.

    Of ranks that do not depart from uniform ones nothing is asked but what outcomes far outside say. `test_rate` is
    that of the test of the ranks, also of those that are left when outcomes outside all draws are set aside. `related`
    is what changes with covariates, if the ranks are known to be related to some: "shift", "spread", or nothing.
    """
    given = evidence or DrawEvidence()
    shape_rate = min(MAX_SHAPE_RATE, test_rate)
    far = given.far is not None and given.far.pvalue < min(MAX_SHAPE_RATE, rate)
    rest = counts.copy()
    if far:
        assert given.far is not None
        rest -= np.bincount(given.far.ranks, minlength=counts.size)
    family = RankFamily(rest if rest.any() else counts, cells=cells)
    fit, atoms = family.fit(), False
    if departs:
        fit, atoms = _with_atoms(family, fit, rest, shape_rate)
    errors = errors_of(family, fit, rate)
    shape = _shape(family, fit, rest, shape_rate) if fit.inside else OTHER
    normal = not (shape or far or atoms) and _is_normal(family, fit)
    if not departs:
        return Diagnosis((OUTSIDE,) if far else (RELATED,) if related else (NONE,), errors, far, normal)
    if (far or atoms) and not _departs(rest[1:-1] if atoms else rest, test_rate, cells):
        only = DRAWS if _made_by_draws(given) else OUTSIDE
        return Diagnosis((only,), errors, far)
    no_factor = shape in (MODES, HEAVY, LIGHT)  # of the spread corrects such a shape
    names = [name for name in errors.names if not (no_factor and name in (NARROW, WIDE))]
    if far or atoms:
        names.insert(0, OUTSIDE)
    if shape not in ("", OTHER):
        names.insert(0, shape)
    by_draws = _made_by_draws(given)
    names = [name for name in names if name not in (*MADE_BY_COVARIATES[related], *by_draws)]
    if by_draws:
        names.insert(0, DRAWS)
    return Diagnosis(tuple(names) or (RELATED if related else OTHER,), errors, far, normal)


def _is_normal(family: RankFamily, fit: FamilyFit) -> bool:
    """Tell whether outcomes may be normal around the predictions, and there are rows enough to see that they are not.

    Outcomes of another shape have ranks that a wrong spread of normal predictions makes too: those of Student's t with
    three degrees of freedom and the right standard deviation look like draws that are 1.3 times too wide.
    """
    from scipy.special import chdtrc

    if family.n < rows_to_tell_tails(family.M, family.cells):
        return False
    z = third_and_fourth(family, fit)
    return bool(chdtrc(z.size, z @ z) >= DOUBT_RATE)


def _departs(counts: NDArray[np.int64], rate: float, cells: bool) -> bool:
    n, m = int(counts.sum()), counts.size
    if n == 0 or m < 2:
        return False
    points = rank_points(n, m - 1, cells=cells)
    return bool(counts_test(below(counts[:, None], points), n, points / m).pvalue[0] <= rate)


def _made_by_draws(evidence: DrawEvidence) -> tuple[str, ...]:
    if evidence.repeated:
        return (NARROW, WIDE, OUTSIDE, LIGHT, HEAVY)
    return (NARROW, OUTSIDE, LIGHT, HEAVY) if evidence.dependent else ()


def outside_pvalue(counts: NDArray[np.int64]) -> float:
    """Return P(B >= o) of B ~ Binomial(n, 2/(M + 1)), with o outcomes outside all draws."""
    return float(binomial_tails(counts[0] + counts[-1], counts.sum(), 2 / counts.size)[1])


def _with_atoms(family: RankFamily, fit: FamilyFit, counts: NDArray[np.int64], rate: float) -> tuple[FamilyFit, bool]:
    if outside_pvalue(counts) >= rate:
        return fit, False
    rich = family.with_atoms(fit)
    needed = -2 * log(rate)  # of twice the log-likelihood: chi-square with 2 degrees of freedom
    gains = 2 * (rich.loglik - fit.loglik) > needed and rich.below + rich.above > LEAST_OUTSIDE
    return (rich, True) if gains else (fit, False)


def _shape(family: RankFamily, fit: FamilyFit, counts: NDArray[np.int64], rate: float) -> str:
    """Return what shift and spread do not explain; empty if they explain all."""
    from scipy.special import chdtrc

    p, seen = family.chances(fit), family.counts
    m, n = p.size, family.n
    bins = min(SHAPE_BINS, m)
    expected = n * bin_counts(p[:, None], bins)[:, 0]
    parameters = sum(family.free) + sum(fit.atoms)
    if bins - 1 <= parameters:
        return ""
    statistic = pearson(bin_counts(seen[:, None], bins).astype(np.int64), np.maximum(expected, 1e-9))[0]
    explained = chdtrc(bins - 1 - parameters, statistic) >= rate
    phi = legendre(m - 1)
    if not explained and len(phi) == 4 and phi[3] @ seen / sqrt(n) < CENTRE_AVOIDED and _middle(counts) < EMPTY_MIDDLE:
        return MODES
    mean = phi @ p  # components may show what bins do not
    variance = np.maximum((phi * phi) @ p - mean**2, 1e-12)
    residual = (phi @ seen - n * mean) / np.sqrt(n * variance)
    third, fourth = (float(residual[k]) if k < len(phi) else 0.0 for k in (2, 3))
    if max(abs(third), abs(fourth)) < normal_quantile(1 - rate / 2):
        return "" if explained else OTHER
    if abs(third) >= abs(fourth):
        return SKEWED
    return LIGHT if fourth > 0 else HEAVY


def _middle(counts: NDArray[np.int64]) -> float:
    M = counts.size - 1
    inside = np.abs(2 * np.arange(M + 1) - M) <= (M + 1) / 5
    return float(counts[inside].sum() / counts.sum() / inside.mean())


def outward_failure(counts: NDArray[np.int64], rate: float) -> str:
    """Return what is wrong where high ranks mean outlying outcomes, by the coverage of regions of 50 and 90 %.

    The direction of a bias does not show. Limits of the two coverages have this error rate together.
    """
    n, m = float(counts.sum()), counts.size
    sides = []
    for level in OUTWARD_LEVELS:
        j = min(max(1, round(level * m)), m - 1)
        low, high = share_limits(counts[:j].sum(), n, rate / 2)
        sides.append(int(low > j / m) - int(high < j / m))
    if sides == [1, -1]:
        return OUTWARD_SHAPE
    if min(sides) < 0 <= -max(sides):
        return OUTWARD_HIGH
    return WIDE if max(sides) > 0 and min(sides) >= 0 else OTHER


@lru_cache(maxsize=256)
def smallest_effects(n: int, M: int, *, cells: bool = False, tail: float = 0.05) -> tuple[float, float]:
    r"""Return the smallest shift, and factor of the spread above 1, that the band test of `tail` sees with power 0.8.

    If outcomes are N(0, τ²) in units of a predictive distribution N(δ, 1), u = Φ(τz - δ) with z standard normal, and a
    rank among M draws is Binomial(M, u). So the counts #{r < j} of n rows are a Poisson process with other steps, given
    its jumps, and the probability that they leave the band is as exact as the band. They are followed at 60 of its
    points at most, which leaves out a little. Of a spread that is too small and one that is too large, the one that is
    harder to see counts.

    The shift is infinite if none is seen, the factor too; it is NaN for one draw, which has no spread.
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
