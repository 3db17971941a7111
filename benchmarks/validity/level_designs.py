"""Calibrated predictions of every kind, for the levels of tests; some are built to break tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from benchmarks.validity import claim_designs
from benchmarks.validity.claim_designs import drawn_labels
from benchmarks.validity.designs import HARD_SCORES, SCORES
from scipy.stats import norm

from calibrant import Intervals, Normal, Quantiles, Samples, Sets

Rng = np.random.Generator


class Data(NamedTuple):
    """What a test is given: outcomes and predictions or two sets of points, and options."""

    given: tuple[Any, Any]
    options: Mapping[str, Any] = MappingProxyType({})


Draw = Callable[[Rng, int], Data]


def binary(scores: Callable[[Rng, int], Any], *, weighted: bool = False) -> Draw:
    """One probability per row."""

    def draw(rng: Rng, n: int) -> Data:
        p = scores(rng, n)
        y = (rng.random(n) < p).astype(np.int64)
        return Data((y, p), {"weights": rng.lognormal(size=n)} if weighted else {})

    return draw


def clustered(rng: Rng, n: int) -> Data:
    """Clusters of 10 rows that share a score and partly their outcome; tests are not told."""
    drawn = claim_designs.clustered(rng, n)
    return Data((drawn.y, drawn.prediction))


BINARY: dict[str, Draw] = {
    **{name: binary(scores) for name, scores in {**SCORES, **HARD_SCORES}.items()},
    "lognormal weights": binary(SCORES["uniform"], weighted=True),
}
CLUSTERS = "clusters of 10"


def classes(K: int) -> Draw:
    """K classes; of many, most have small probabilities in each row."""

    def draw(rng: Rng, n: int) -> Data:
        P = rng.dirichlet(np.full(K, min(1.0, 10 / K)), n)
        P /= P.sum(axis=1, keepdims=True)
        return Data((drawn_labels(rng, P), P))

    return draw


CLASSES: dict[str, Draw] = {f"{K} classes": classes(K) for K in (3, 10, 300)}


def intervals(level: float) -> Draw:
    """Intervals [-s, s] with lognormal s; whether an outcome is covered does not depend on s."""

    def draw(rng: Rng, n: int) -> Data:
        s = rng.lognormal(size=n)
        hit = rng.random(n) < level
        y = np.where(hit, rng.uniform(-1, 1, n), 1 + rng.exponential(size=n)) * s
        return Data((y, Intervals(-s, s, level)))

    return draw


def sets(level: float) -> Draw:
    """Random sets of 1 to 9 of 10 labels."""

    def draw(rng: Rng, n: int) -> Data:
        size, order = rng.integers(1, 10, n), np.argsort(rng.random((n, 10)), axis=1)
        mask = np.zeros((n, 10), dtype=bool)
        np.put_along_axis(mask, order, np.arange(10) < size[:, None], axis=1)
        place = np.where(rng.random(n) < level, rng.integers(0, size), rng.integers(size, 10))
        return Data((order[np.arange(n), place], Sets(mask, level)))

    return draw


INTERVALS: dict[str, Draw] = {
    **{f"{100 * level:g} % intervals": intervals(level) for level in (0.5, 0.9, 0.99)},
    "90 % sets": sets(0.9),
}


def conformal(m: int) -> Draw:
    """Split conformal intervals at 90 % from m scores, drawn anew each time."""

    def draw(rng: Rng, n: int) -> Data:
        drawn = claim_designs.split_conformal(m, 0.9)(rng, n)
        return Data((drawn.y, drawn.prediction), drawn.options)

    return draw


CONFORMAL: dict[str, Draw] = {f"split conformal, m = {m}": conformal(m) for m in (100, 500)}
TAUS = (0.05, 0.25, 0.5, 0.75, 0.95)


def nested(rng: Rng, n: int) -> Data:
    """Central intervals at three levels."""
    half = np.tile(norm.isf((1 - np.array([0.5, 0.8, 0.95])) / 2), (n, 1))
    return Data((rng.normal(size=n), Intervals(-half, half, (0.5, 0.8, 0.95))))


def quantiles(rng: Rng, n: int) -> Data:
    """Quantiles of normal distributions."""
    mean = rng.normal(size=n)
    return Data((rng.normal(mean), Quantiles(mean[:, None] + norm.ppf(TAUS), TAUS)))


NESTED: dict[str, Draw] = {
    "three levels": nested,
    "five quantiles": quantiles,
}


def draws(M: int, D: int = 1) -> Draw:
    """M draws, and the outcome from the same distribution; coordinates have correlation 0.6."""

    def draw(rng: Rng, n: int) -> Data:
        e = np.sqrt(0.4) * rng.normal(size=(n, M + 1, D)) + np.sqrt(0.6) * rng.normal(size=(n, M + 1, 1))
        both = rng.normal(size=(n, 1, 1)) + e
        return Data((both[:, 0], Samples(both[:, 1:])) if D > 1 else (both[:, 0, 0], Samples(both[:, 1:, 0])))

    return draw


def count_draws(rng: Rng, n: int) -> Data:
    """Draws of Poisson distributions: outcomes tie with draws."""
    both = rng.poisson(rng.uniform(0.5, 4, (n, 1)), (n, 10)).astype(np.float64)
    return Data((both[:, 0], Samples(both[:, 1:])))


DRAWS: dict[str, Draw] = {
    "9 draws": draws(9),
    "99 draws": draws(99),
    "9 draws of 5": draws(9, 5),
    "9 draws of counts": count_draws,
}


def points(distribution: Callable[[Rng, int], Any]) -> Draw:
    """Two sets of points of one distribution."""
    return lambda rng, n: Data((distribution(rng, n), distribution(rng, n)))


POINTS: dict[str, Draw] = {
    "Gaussian, d = 2": points(lambda rng, n: rng.normal(size=(n, 2))),
    "Gaussian, d = 10": points(lambda rng, n: rng.normal(size=(n, 10))),
    "Student's t2": points(lambda rng, n: rng.standard_t(2, (n, 2))),
    "counts": points(lambda rng, n: rng.poisson(1.0, (n, 2)).astype(np.float64)),
}


# Pages of audits: predictions that keep what they promise

AUDITED = {  # with which number of rows
    "uniform, calibrated": 100,
    "fence, calibrated": 200,
    "rare events, calibrated": 200,
    "92 % zeros, calibrated": 100,
    "three scores, calibrated": 100,
    "lognormal weights, calibrated": 100,
    "clusters of 10": 300,
    "4 groups, calibrated": 200,
    "3 classes, calibrated": 100,
    "90 % intervals, calibrated": 200,
    "split conformal, m = 100": 500,
    "quartiles of counts": 100,
    "sets of likely labels": 200,
    "quantiles, calibrated": 200,
    "quantiles of counts": 200,
    "Normal, calibrated": 200,
    "19 draws, D = 1, calibrated": 100,
    "19 draws, D = 5, calibrated": 100,
}


def audited(design: str) -> Draw:
    """A design of `claims`."""

    def draw(rng: Rng, n: int) -> Data:
        drawn = claim_designs.DESIGNS[design].draw(rng, n)
        return Data((drawn.y, drawn.prediction), drawn.options)

    return draw


PAGES: dict[str, Draw] = {f"page: {design}": audited(design) for design in AUDITED}
PAGE_ROWS = {f"page: {design}": n for design, n in AUDITED.items()}

# Two models that are equally good


def two_halves(power: float, *, weighted: bool = False) -> Draw:
    """The event has the probability (u + v)/2; one model knows u, the other v, and both are calibrated."""

    def draw(rng: Rng, n: int) -> Data:
        u, v = rng.random((2, n)) ** power
        y, mean = (rng.random(n) < (u + v) / 2).astype(np.int64), 1 / (1 + power)
        models = [(u + mean) / 2, (v + mean) / 2]
        return Data((y, models), {"weights": rng.lognormal(size=n)} if weighted else {})

    return draw


def two_normals(errors: Callable[[Rng, int], Any]) -> Draw:
    """Normal distributions whose means have independent errors of one distribution."""

    def draw(rng: Rng, n: int) -> Data:
        return Data((rng.normal(size=n), [Normal(errors(rng, n), 1.0) for _ in range(2)]))

    return draw


def two_series(rng: Rng, n: int) -> Data:
    """Errors of one day resemble those of the day before, AR(0.7), in both models."""
    e = rng.normal(size=(n, 2))
    for day in range(1, n):
        e[day] = 0.7 * e[day - 1] + np.sqrt(0.51) * e[day]
    return Data((rng.normal(size=n), [Normal(one, 1.0) for one in e.T]), {"time": np.arange(n)})


BINARY_PAIRS: dict[str, Draw] = {"two halves": two_halves(1.0), "two halves, rare": two_halves(12.0)}
MEAN_PAIRS: dict[str, Draw] = {
    "two halves, lognormal weights": two_halves(1.0, weighted=True),
    **BINARY_PAIRS,
}
CRPS_PAIRS: dict[str, Draw] = {
    "normal errors": two_normals(lambda rng, n: rng.normal(size=n)),
    "t2.5 errors": two_normals(lambda rng, n: rng.standard_t(2.5, n)),
    "a series": two_series,
}
