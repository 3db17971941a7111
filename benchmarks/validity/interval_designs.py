"""What is simulated for intervals, sets, quantiles and distributions: outcomes covered as they should be, or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm

from calibrant import Intervals, Normal, Quantiles, Samples, Sets

FloatArray = NDArray[np.float64]
Rng = np.random.Generator

CALIBRATED = "calibrated"
LOW, CLUSTERS, WIDE, ONE_GROUP = "coverage 0.05 low", "misses in clusters", "narrow ones miss more", "one group misses"
NARROW = "distributions too narrow"
SHORT = 0.05
STAY = 0.4  # probability that a miss follows a miss
HALVES = 0.08  # by which wide intervals cover more than the level, and narrow ones less
GROUPS = 5
CALIBRATION = 100  # scores of the split-conformal predictor
NESTED = (0.5, 0.8, 0.9, 0.95)
TAUS = (0.05, 0.25, 0.5, 0.75, 0.95)
NARROWER = 1.2  # how much wider than the predictions outcomes are under NARROW
FEATURES = 5
LABELS = 10


class Data(NamedTuple):
    """Outcomes, predictions, and what else belongs to the rows: groups, weights, features, the true value."""

    y: NDArray[Any]
    prediction: Any
    further: Mapping[str, Any] = MappingProxyType({})


Draw = Callable[[Rng, int, str], Data]


def hits_of(rng: Rng, level: float, truth: str, size: FloatArray, group: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Draw which rows are covered."""
    n = size.size
    if truth == CLUSTERS:
        return ~_chain(rng, n, 1 - level)
    chance = np.full(n, level)
    if truth == LOW:
        chance -= SHORT
    elif truth == WIDE:
        chance += np.where(size > np.median(size), HALVES, -HALVES)
    elif truth == ONE_GROUP:
        chance += np.where(group == 0, -SHORT * (GROUPS - 1), SHORT)
    return rng.random(n) < chance


def _chain(rng: Rng, n: int, misses: float) -> NDArray[np.bool_]:
    """Draw a Markov chain of misses with this share of misses, begun in its stationary distribution."""
    start = misses * (1 - STAY) / (1 - misses)
    miss, u = np.empty(n, dtype=bool), rng.random(n)
    miss[0] = u[0] < misses
    for i in range(1, n):
        miss[i] = u[i] < (STAY if miss[i - 1] else start)
    return miss


def intervals(level: float) -> Draw:
    """Intervals [-s, s] with lognormal s; where an outcome lies is drawn after whether it is covered."""

    def draw(rng: Rng, n: int, truth: str) -> Data:
        s, group = rng.lognormal(size=n), rng.integers(GROUPS, size=n)
        hit = hits_of(rng, level, truth, s, group)
        y = np.where(hit, rng.uniform(-1, 1, n), 1 + rng.exponential(size=n)) * s
        return Data(y, Intervals(-s, s, level), {"groups": group, "hit": hit})

    return draw


def sets(level: float) -> Draw:
    """Random sets of 1 to K - 1 labels; the true one is in the set as often as the level says."""

    def draw(rng: Rng, n: int, truth: str) -> Data:
        size, group = rng.integers(1, LABELS, n), rng.integers(GROUPS, size=n)
        order = np.argsort(rng.random((n, LABELS)), axis=1)
        mask = np.zeros((n, LABELS), dtype=bool)
        np.put_along_axis(mask, order, np.arange(LABELS) < size[:, None], axis=1)
        hit = hits_of(rng, level, truth, size.astype(np.float64), group)
        place = np.where(hit, rng.integers(0, size), rng.integers(size, LABELS))
        return Data(order[np.arange(n), place], Sets(mask, level), {"groups": group, "hit": hit})

    return draw


def split_conformal(level: float) -> Draw:
    """Absolute errors of 100 calibration rows, drawn anew each time, give the width of all intervals."""

    def draw(rng: Rng, n: int, truth: str) -> Data:
        scores = np.sort(np.abs(rng.normal(size=CALIBRATION)))
        q = scores[int(np.ceil(round((CALIBRATION + 1) * level, 10))) - 1]
        further = {"groups": rng.integers(GROUPS, size=n), "calibration_size": CALIBRATION}
        return Data(rng.normal(size=n), Intervals(np.full(n, -q), np.full(n, q), level), further)

    return draw


def _normal_rows(rng: Rng, n: int, truth: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    mean, s = rng.normal(size=n), rng.lognormal(sigma=0.5, size=n)
    return rng.normal(mean, s * (NARROWER if truth == NARROW else 1.0)), mean, s


def nested(rng: Rng, n: int, truth: str) -> Data:
    """Central intervals of normal distributions at several levels."""
    y, mean, s = _normal_rows(rng, n, truth)
    half = norm.isf((1 - np.array(NESTED)) / 2)
    lower, upper = mean[:, None] - np.outer(s, half), mean[:, None] + np.outer(s, half)
    return Data(y, Intervals(lower, upper, NESTED), {"groups": rng.integers(GROUPS, size=n)})


def quantiles(rng: Rng, n: int, truth: str) -> Data:
    """Quantiles of normal distributions."""
    y, mean, s = _normal_rows(rng, n, truth)
    return Data(y, Quantiles(mean[:, None] + np.outer(s, norm.ppf(TAUS)), TAUS))


def normal(rng: Rng, n: int, truth: str) -> Data:
    """Normal distributions."""
    y, mean, s = _normal_rows(rng, n, truth)
    return Data(y, Normal(mean, s))


def counts(rng: Rng, n: int, truth: str) -> Data:
    """Quantiles of Poisson distributions, which outcomes often lie on."""
    from scipy.stats import poisson

    rate = rng.uniform(1, 6, n)
    return Data(rng.poisson(rate).astype(np.float64), Quantiles(poisson.ppf(TAUS, rate[:, None]), TAUS))


def samples(M: int) -> Draw:
    """M draws per row, and the outcome from the same distribution."""

    def draw(rng: Rng, n: int, truth: str) -> Data:
        y, mean, s = _normal_rows(rng, n, truth)
        return Data(y, Samples(rng.normal(mean[:, None], s[:, None], (n, M))))

    return draw


def tied_samples(M: int) -> Draw:
    """The same of Poisson distributions."""

    def draw(rng: Rng, n: int, truth: str) -> Data:
        both = rng.poisson(rng.uniform(1, 6, (n, 1)), (n, M + 1)).astype(np.float64)
        return Data(both[:, 0], Samples(both[:, 1:]))

    return draw


def featured(rng: Rng, n: int, truth: str) -> Data:
    """Features that coverage does not depend on."""
    data = intervals(0.9)(rng, n, CALIBRATED)
    return Data(data.y, data.prediction, {"features": rng.normal(size=(n, FEATURES))})


LOGNORMAL, WITH_HITS, WITH_CHANCE = "lognormal weights", "hits weigh twice", "weights go with coverage"


def weighted(kind: str, level: float) -> Draw:
    """Intervals with weights, and the weighted coverage that is to be covered."""

    def draw(rng: Rng, n: int, truth: str) -> Data:
        log = rng.normal(size=n)
        w, chance, true = np.exp(log), np.full(n, level), level
        if kind == WITH_CHANCE:
            chance, true = expit(_logit(level) + log), _tilted(level)
        hit = rng.random(n) < chance
        if kind == WITH_HITS:
            w, true = 1.0 + hit, 2 * level / (1 + level)
        y = np.where(hit, 0.0, 2.0)
        return Data(y, Intervals(np.full(n, -1.0), np.ones(n), level), {"weights": w, "true": true})

    return draw


def _logit(p: float) -> float:
    return float(np.log(p) - np.log1p(-p))


@cache
def _tilted(level: float) -> float:
    """E[w p]/E[w] with w = e^x, p = expit(logit(level) + x): under the weights x is N(1, 1)."""
    x, weight = np.polynomial.hermite_e.hermegauss(80)
    return float((weight * expit(_logit(level) + x + 1)).sum() / weight.sum())


# Mean scores of N(0, 1) outcomes under their own distribution, which the t intervals are to cover.


def mean_interval_score(level: float) -> float:
    """(4/α) φ(z), z the upper quantile α/2."""
    return 4 / (1 - level) * float(norm.pdf(norm.isf((1 - level) / 2)))


def mean_quantile_scores(taus: tuple[float, ...]) -> FloatArray:
    """φ(z_τ)."""
    return norm.pdf(norm.ppf(taus))


def mean_crps(M: int | None = None) -> float:
    """1/√π; for M draws higher by the factor 1 + 1/M."""
    return (1 + (1 / M if M else 0.0)) / float(np.sqrt(np.pi))
