"""What audits are shown: predictions of every kind, right or wrong in a known way, and what is true of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from benchmarks.validity.claim_truth import (
    BinaryTruth,
    Chances,
    ClassTruth,
    DistributionTruth,
    FloatArray,
    Known,
    RegionTruth,
)
from benchmarks.validity.designs import HARD_SCORES, SCORES
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import norm, poisson

from calibrant import Intervals, Normal, Quantiles, Samples, Sets

Rng = np.random.Generator
Labels = NDArray[np.int64]
CALIBRATED = "calibrated"


class Data(NamedTuple):
    """One data set for an audit, and what is true of it."""

    y: NDArray[Any]
    prediction: Any
    options: Mapping[str, Any]
    known: Known


@dataclass(frozen=True)
class Design:
    """How data sets are drawn; `kept`: the predictions keep what they promise, so that no fault may be claimed."""

    draw: Callable[[Rng, int], Data]
    kept: bool
    repeats: Mapping[int, int]  # number of data sets for each number of rows


# Probabilities: truths are functions of the score

Curve = Callable[[FloatArray], FloatArray]


def _logistic(slope: float, shift: float) -> Curve:
    def probability(p: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return expit(slope * logit(p) + shift)

    return probability


def _wave(p: FloatArray) -> FloatArray:
    return np.clip(p + 0.06 * np.cos(2 * np.pi * p), 0, 1)


def _one_region(p: FloatArray) -> FloatArray:
    return np.where((p > 0.6) & (p <= 0.8), p + 0.12, p)


TRUTHS: dict[str, Curve] = {
    CALIBRATED: lambda p: p,
    "slope .99": _logistic(0.99, 0.0),
    "slope .8": _logistic(0.8, 0.0),
    "slope 1.3": _logistic(1.3, 0.0),
    "shift .3": _logistic(1.0, 0.3),
    "wave": _wave,
    "one region": _one_region,
}


def binary(scores: str, truth: str, *, weighted: bool = False) -> Callable[[Rng, int], Data]:
    """One probability per row."""

    def draw(rng: Rng, n: int) -> Data:
        p = {**SCORES, **HARD_SCORES}[scores](rng, n)
        q = TRUTHS[truth](p)
        w = rng.lognormal(size=n) if weighted else np.ones(n)
        y = (rng.random(n) < q).astype(np.int64)
        return Data(y, p, {"weights": w} if weighted else {}, BinaryTruth(Chances(p, q, w), {}))

    return draw


CLUSTER, WITHIN = 10, 0.3  # rows of a cluster, and how much they share


def clustered(rng: Rng, n: int) -> Data:
    """Clusters of 10 rows that share a score and, partly, their outcome: calibrated over all clusters."""
    code = np.arange(n) // CLUSTER
    p, shared = rng.random(code.max() + 1)[code], rng.random(code.max() + 1)[code]
    y = (np.where(rng.random(n) < WITHIN, shared, rng.random(n)) < p).astype(np.int64)
    return Data(y, p, {"clusters": code}, BinaryTruth(Chances(p, p, np.ones(n)), {}))


def grouped(G: int, truth: str) -> Callable[[Rng, int], Data]:
    """G groups: all right, one wrong, or half of them too high and half too low, which cancels over all rows."""

    def draw(rng: Rng, n: int) -> Data:
        p, group = rng.random(n), rng.integers(G, size=n)
        wrong = {CALIBRATED: 0 * group, "one group": 1 * (group == 0), "cancelling": 1 - 2 * (group % 2)}[truth]
        q = p + 0.8 * wrong * p * (1 - p)
        y = (rng.random(n) < q).astype(np.int64)
        return Data(y, p, {"groups": group}, BinaryTruth(Chances(p, q, np.ones(n)), {"group": group}))

    return draw


def drawn_labels(rng: Rng, Q: FloatArray) -> Labels:
    """Return one label per row, drawn from its class probabilities."""
    return (rng.random((len(Q), 1)) > Q.cumsum(axis=1)).sum(axis=1).clip(max=Q.shape[1] - 1)


def classes(K: int, truth: str, *, G: int = 0) -> Callable[[Rng, int], Data]:
    """K classes; one wrong: class 0 happens half as often as predicted, and its share goes to class 1."""

    def draw(rng: Rng, n: int) -> Data:
        P = rng.dirichlet(np.full(K, min(1.0, 10 / K)), n)
        P /= P.sum(axis=1, keepdims=True)
        Q = P.copy()
        if truth == "one class":
            Q[:, 1] += 0.5 * Q[:, 0]
            Q[:, 0] *= 0.5
        elif truth == "overconfident":
            Q = 0.8 * P + 0.2 / K
        groups = {"group": rng.integers(G, size=n)} if G else {}
        options = {"groups": groups["group"]} if G else {}
        return Data(drawn_labels(rng, Q), P, options, ClassTruth(P, Q, groups))

    return draw


# Intervals, sets, quantiles

NESTED = (0.5, 0.8, 0.95)


def _half(level: Any) -> Any:
    return norm.isf((1 - np.asarray(level)) / 2)


def _between(lower: FloatArray, upper: FloatArray, mean: Any, s: Any) -> FloatArray:
    return norm.cdf(upper, mean, s) - norm.cdf(lower, mean, s)


def normal_intervals(levels: tuple[float, ...], spread: float, *, G: int = 0) -> Callable[[Rng, int], Data]:
    """Central intervals of normal distributions, `spread` times as wide as they should be."""

    def draw(rng: Rng, n: int) -> Data:
        mean, s = rng.normal(size=(n, 1)), rng.lognormal(sigma=0.5, size=(n, 1))
        half = spread * s * _half(levels)
        y = rng.normal(mean, s)[:, 0]
        groups = {"group": rng.integers(G, size=n)} if G else {}
        options = {"groups": groups["group"]} if G else {}
        lower, upper = mean - half, mean + half
        single = len(levels) == 1
        given = Intervals(lower[:, 0], upper[:, 0], levels[0]) if single else Intervals(lower, upper, levels)
        return Data(y, given, options, RegionTruth(_between(lower, upper, mean, s), levels, groups))

    return draw


def split_conformal(m: int, level: float, *, counts: bool = False) -> Callable[[Rng, int], Data]:
    """Absolute errors of m calibration rows, drawn anew each time, give the width of all intervals."""

    def outcomes(rng: Rng, n: int) -> FloatArray:
        return rng.poisson(3, n) - 3.0 if counts else rng.normal(size=n)

    def draw(rng: Rng, n: int) -> Data:
        q = np.sort(np.abs(outcomes(rng, m)))[int(np.ceil(round((m + 1) * level, 10))) - 1]
        covered = poisson.cdf(3 + q, 3) - poisson.cdf(3 - q - 1, 3) if counts else 2 * norm.cdf(q) - 1
        known = RegionTruth(np.full((n, 1), covered), (level,), {})
        given = Intervals(np.full(n, -q), np.full(n, q), level)
        return Data(outcomes(rng, n), given, {"calibration_size": m}, known)

    return draw


def heteroscedastic(rng: Rng, n: int) -> Data:
    """Intervals of one width for outcomes of two spreads: 90 % over all rows, 82 and 98 % in the two halves."""
    s = np.where(np.arange(n) % 2, 0.75, 1.3)
    half = _marginal_half()
    known = RegionTruth(_between(-half, half, 0, s)[:, None], (0.9,), {"group": np.arange(n) % 2})
    y = rng.normal(size=n) * s
    return Data(y, Intervals(np.full(n, -half), np.full(n, half), 0.9), {"groups": np.arange(n) % 2}, known)


def _marginal_half() -> float:
    from scipy.optimize import brentq

    return float(brentq(lambda h: norm.cdf(h / 0.75) + norm.cdf(h / 1.3) - 1.9, 0.5, 4))


def count_intervals(rng: Rng, n: int) -> Data:
    """Exact quartiles of Poisson(3), which cover more than a half because they must."""
    lower, upper = np.full(n, 2.0), np.full(n, 4.0)
    known = RegionTruth(np.full((n, 1), poisson.cdf(4, 3) - poisson.cdf(1, 3)), (0.5,), {})
    return Data(rng.poisson(3, n).astype(np.float64), Intervals(lower, upper, 0.5), {}, known)


def one_sided(true_level: float) -> Callable[[Rng, int], Data]:
    """Upper bounds that outcomes stay below with this probability, said to be 90 %."""

    def draw(rng: Rng, n: int) -> Data:
        mean = rng.normal(size=n)
        upper = mean + norm.ppf(true_level)
        known = RegionTruth(np.full((n, 1), true_level), (0.9,), {})
        return Data(rng.normal(mean), Intervals(np.full(n, -np.inf), upper, 0.9), {}, known)

    return draw


def label_sets(temperature: float) -> Callable[[Rng, int], Data]:
    """Sets of the likeliest labels, up to 90 % of the stated probability; labels follow P tempered."""

    def draw(rng: Rng, n: int) -> Data:
        P = rng.dirichlet(np.full(10, 0.5), n)
        Q = P**temperature
        Q /= Q.sum(axis=1, keepdims=True)
        order = np.argsort(-P, axis=1)
        total = np.take_along_axis(P, order, axis=1).cumsum(axis=1)
        needed = np.column_stack([np.ones(n, dtype=bool), total[:, :-1] < 0.9])
        mask = np.zeros(P.shape, dtype=bool)
        np.put_along_axis(mask, order, needed, axis=1)
        known = RegionTruth((Q * mask).sum(axis=1, keepdims=True), (0.9,), {})
        return Data(drawn_labels(rng, Q), Sets(mask, 0.9), {}, known)

    return draw


TAUS = (0.05, 0.25, 0.5, 0.75, 0.95)


def normal_quantiles(spread: float, shift: float) -> Callable[[Rng, int], Data]:
    """Quantiles of normal distributions; outcomes are moved by `shift` and spread by 1/`spread`."""

    def draw(rng: Rng, n: int) -> Data:
        mean, s = rng.normal(size=n), rng.lognormal(sigma=0.5, size=n)
        z = norm.ppf(TAUS)
        chance = np.tile(norm.cdf(spread * z - shift), (n, 1))
        y = mean + s * (shift + rng.normal(size=n))
        return Data(y, Quantiles(mean[:, None] + spread * np.outer(s, z), TAUS), {}, RegionTruth(chance, TAUS, {}))

    return draw


def normal_distributions(spread: float, shift: float) -> Callable[[Rng, int], Data]:
    """Normal distributions."""

    def draw(rng: Rng, n: int) -> Data:
        mean, s = rng.normal(size=n), rng.lognormal(sigma=0.5, size=n)
        y = mean + s * (shift + rng.normal(size=n))
        return Data(y, Normal(mean, spread * s), {}, DistributionTruth(shift, spread))

    return draw


def draws(M: int, D: int, spread: float, shift: float) -> Callable[[Rng, int], Data]:
    """M draws of D independent coordinates; the last coordinate alone is wrong if there are several."""

    def draw(rng: Rng, n: int) -> Data:
        wrong = (np.arange(D) == D - 1).astype(np.float64)
        mean = rng.normal(size=(n, D))
        y = mean + shift * wrong + rng.normal(size=(n, D))
        drawn = mean[:, None] + (1 + (spread - 1) * wrong) * rng.normal(size=(n, M, D))
        names = None if D == 1 else frozenset([str(D - 1)])
        known = DistributionTruth(shift, spread, M, names)
        return Data(y[:, 0] if D == 1 else y, Samples(drawn[..., 0] if D == 1 else drawn), {}, known)

    return draw


# All designs. Numbers of data sets are such that most cells take about a minute.

SMALL = MappingProxyType({50: 1000, 200: 1000, 2000: 400})
MIDDLE = MappingProxyType({200: 500, 2000: 400, 10_000: 200})
ONE_SIZE = MappingProxyType({2000: 400})
LARGE = MappingProxyType({100_000: 40, 1_000_000: 8})

DESIGNS: dict[str, Design] = {
    **{f"{scores}, calibrated": Design(binary(scores, CALIBRATED), True, SMALL) for scores in (*SCORES, *HARD_SCORES)},
    **{
        f"{scores}, {truth}": Design(binary(scores, truth), False, MIDDLE if scores == "uniform" else ONE_SIZE)
        for scores in ("uniform", "rare events", "92 % zeros", "tied")
        for truth in TRUTHS
        if truth != CALIBRATED
    },
    "uniform, large, calibrated": Design(binary("uniform", CALIBRATED), True, LARGE),
    "uniform, large, slope .99": Design(binary("uniform", "slope .99"), False, LARGE),
    "uniform, large, wave": Design(binary("uniform", "wave"), False, LARGE),
    "lognormal weights, calibrated": Design(binary("uniform", CALIBRATED, weighted=True), True, SMALL),
    "lognormal weights, slope .8": Design(binary("uniform", "slope .8", weighted=True), False, ONE_SIZE),
    "clusters of 10": Design(clustered, True, {200: 500, 2000: 400}),
    **{
        f"{G} groups, {truth}": Design(grouped(G, truth), truth == CALIBRATED, {200: 500, 2000: 300})
        for G in (4, 20)
        for truth in (CALIBRATED, "one group", "cancelling")
    },
    **{
        f"{K} classes, {truth}": Design(classes(K, truth), truth == CALIBRATED, {2000: 40} if K == 300 else {500: 300})
        for K in (3, 10, 300)
        for truth in (CALIBRATED, "one class", "overconfident")
    },
    "3 classes, 4 groups, calibrated": Design(classes(3, CALIBRATED, G=4), True, {500: 300}),
    "90 % intervals, calibrated": Design(normal_intervals((0.9,), 1.0), True, SMALL),
    "90 % intervals, 4 groups, calibrated": Design(normal_intervals((0.9,), 1.0, G=4), True, {200: 500, 2000: 400}),
    "90 % intervals, too narrow": Design(normal_intervals((0.9,), 0.8), False, SMALL),
    "90 % intervals, too wide": Design(normal_intervals((0.9,), 1.2), False, SMALL),
    "three levels, calibrated": Design(normal_intervals(NESTED, 1.0), True, SMALL),
    "three levels, too narrow": Design(normal_intervals(NESTED, 0.9), False, SMALL),
    "split conformal, m = 100": Design(split_conformal(100, 0.9), True, SMALL),
    "split conformal, m = 500": Design(split_conformal(500, 0.9), True, SMALL),
    "split conformal, counts": Design(split_conformal(500, 0.9, counts=True), True, {2000: 400}),
    "heteroscedastic, one width": Design(heteroscedastic, False, SMALL),
    "quartiles of counts": Design(count_intervals, True, SMALL),
    "one-sided, calibrated": Design(one_sided(0.9), True, SMALL),
    "one-sided, too low": Design(one_sided(0.85), False, ONE_SIZE),
    "sets of likely labels": Design(label_sets(1.0), True, SMALL),
    "sets, overconfident": Design(label_sets(0.5), False, ONE_SIZE),
    "quantiles, calibrated": Design(normal_quantiles(1.0, 0.0), True, SMALL),
    "quantiles, too narrow": Design(normal_quantiles(0.85, 0.0), False, ONE_SIZE),
    "quantiles, too low": Design(normal_quantiles(1.0, 0.2), False, ONE_SIZE),
    "Normal, calibrated": Design(normal_distributions(1.0, 0.0), True, {200: 500, 2000: 200}),
    "Normal, too narrow": Design(normal_distributions(0.8, 0.0), False, {2000: 200}),
    "Normal, too low": Design(normal_distributions(1.0, 0.2), False, {2000: 200}),
    **{
        f"{M} draws, D = {D}, {words}": Design(
            draws(M, D, spread, shift), words == CALIBRATED, {200: 500} if D == 1 else {200: 300}
        )
        for M in (19, 99)
        for D in (1, 5)
        for words, spread, shift in ((CALIBRATED, 1.0, 0.0), ("spread 1.3", 1.3, 0.0), ("shift .2", 1.0, 0.2))
    },
}
