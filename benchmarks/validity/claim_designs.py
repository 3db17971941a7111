"""What audits are shown: predictions of every kind, right or wrong in a known way, and what is true of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from benchmarks.validity.claim_truth import (
    NORMAL,
    QUANTILES,
    BinaryTruth,
    Chances,
    ClassTruth,
    DrawsTruth,
    FloatArray,
    Known,
    Line,
    RegionTruth,
    drawn_errors,
    mean_distance,
    normal_score,
    rank_range,
)
from benchmarks.validity.designs import HARD_SCORES, SCORES
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import gamma, norm, poisson
from scipy.stats import t as student

from calibrant import Intervals, Normal, Quantiles, Samples, ScipyDistribution, Sets
from calibrant.core.claims import Claim
from calibrant.core.evidence import ALL_ROWS
from calibrant.ranking import joint_ranks

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


def _five_periods(p: FloatArray) -> FloatArray:
    return np.clip(p + np.where(np.floor(10 * p) % 2 > 0, -0.1, 0.1), 0, 1)


def _corner(p: FloatArray) -> FloatArray:
    return np.where(p > 0.95, p - 0.2, p)


TRUTHS: dict[str, Curve] = {
    CALIBRATED: lambda p: p,
    "slope .99": _logistic(0.99, 0.0),
    "slope .8": _logistic(0.8, 0.0),
    "slope 1.3": _logistic(1.3, 0.0),
    "shift .3": _logistic(1.0, 0.3),
    "wave": _wave,
    "one region": _one_region,
}
LOCAL: dict[str, Curve] = {"five periods": _five_periods, "corner": _corner}  # what the cutoff error hardly shows


def binary(scores: str, truth: str, *, weighted: bool = False) -> Callable[[Rng, int], Data]:
    """One probability per row."""

    def draw(rng: Rng, n: int) -> Data:
        p = {**SCORES, **HARD_SCORES}[scores](rng, n)
        q = {**TRUTHS, **LOCAL}[truth](p)
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
    return Data(y, p, {"clusters": code}, BinaryTruth(Chances(p, p, np.ones(n), code), {}))


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


def _between(lower: Any, upper: Any, mean: Any, s: Any) -> FloatArray:
    return norm.cdf(upper, mean, s) - norm.cdf(lower, mean, s)


def lines(levels: tuple[float, ...], hit: FloatArray, inside: FloatArray | None = None) -> tuple[Line, ...]:
    """Return one line per level of probabilities (n, L); without `inside` no outcome lies on an edge."""
    inner = hit if inside is None else inside
    return tuple(Line(level, hit[:, k], inner[:, k]) for k, level in enumerate(levels))


def interval_truth(given: Intervals, hit: FloatArray, inside: FloatArray | None = None, **known: Any) -> RegionTruth:
    """Return what is true of intervals that are covered with these probabilities, (n, L)."""
    lower, upper = (np.asarray(bound).reshape(hit.shape) for bound in (given.lower, given.upper))
    middle = np.where(np.isinf(lower), upper, (lower + upper) / 2).mean(axis=1)
    levels = tuple(np.atleast_1d(given.levels).tolist())
    return RegionTruth({"intervals": lines(levels, hit, inside)}, sizes=upper - lower, places=middle, **known)


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
        return Data(y, given, options, interval_truth(given, _between(lower, upper, mean, s), groups=groups))

    return draw


def split_conformal(m: int, level: float, *, counts: bool = False) -> Callable[[Rng, int], Data]:
    """Absolute errors of m calibration rows, drawn anew each time, give the width of all intervals."""

    def outcomes(rng: Rng, n: int) -> FloatArray:
        return rng.poisson(3, n) - 3.0 if counts else rng.normal(size=n)

    def draw(rng: Rng, n: int) -> Data:
        q = np.sort(np.abs(outcomes(rng, m)))[int(np.ceil(round((m + 1) * level, 10))) - 1]
        covered = poisson.cdf(3 + q, 3) - poisson.cdf(3 - q - 1, 3) if counts else 2 * norm.cdf(q) - 1
        given = Intervals(np.full(n, -q), np.full(n, q), level)
        known = interval_truth(given, np.full((n, 1), covered), less=True)
        return Data(outcomes(rng, n), given, {"calibration_size": m}, known)

    return draw


def heteroscedastic(rng: Rng, n: int) -> Data:
    """Intervals of one width for outcomes of two spreads: 90 % over all rows, 82 and 98 % in the two groups."""
    group = np.arange(n) % 2
    s, half = np.where(group, 0.75, 1.3), _marginal_half()
    given = Intervals(np.full(n, -half), np.full(n, half), 0.9)
    known = interval_truth(given, _between(-half, half, 0, s)[:, None], groups={"group": group})
    return Data(rng.normal(size=n) * s, given, {"groups": group}, known)


@cache
def _marginal_half() -> float:
    return float(brentq(lambda h: norm.cdf(h / 0.75) + norm.cdf(h / 1.3) - 1.9, 0.5, 4))


def count_intervals(rng: Rng, n: int) -> Data:
    """Exact quartiles of Poisson(3), which cover more than a half because they must."""
    given = Intervals(np.full(n, 2.0), np.full(n, 4.0), 0.5)
    hit, inside = poisson.cdf(4, 3) - poisson.cdf(1, 3), poisson.pmf(3, 3)
    known = interval_truth(given, np.full((n, 1), hit), np.full((n, 1), inside))
    return Data(rng.poisson(3, n).astype(np.float64), given, {}, known)


def one_sided(true_level: float) -> Callable[[Rng, int], Data]:
    """Upper bounds that outcomes stay below with this probability, said to be 90 %."""

    def draw(rng: Rng, n: int) -> Data:
        mean = rng.normal(size=n)
        given = Intervals(np.full(n, -np.inf), mean + norm.ppf(true_level), 0.9)
        return Data(rng.normal(mean), given, {}, interval_truth(given, np.full((n, 1), true_level)))

    return draw


def rounded_outcomes(rng: Rng, n: int) -> Data:
    """Whole-numbered intervals for outcomes with Student's t errors that are rounded: bounds are often hit exactly."""
    mean, errors = np.rint(10 * rng.normal(size=n)), 3 * rng.standard_t(3, n)
    half = np.rint(3 * student.ppf(0.95, 3))
    given = Intervals(mean - half, mean + half, 0.9)
    hit, inside = (2 * student.cdf((half + step) / 3, 3) - 1 for step in (0.5, -0.5))
    known = interval_truth(given, np.full((n, 1), hit), np.full((n, 1), inside), less=True)
    return Data(np.rint(mean + errors), given, {}, known)


def some_without_bounds(rng: Rng, n: int) -> Data:
    """Right intervals, and a tenth that have no bounds: where the model gave up."""
    mean, open_ended = rng.normal(size=n), rng.random(n) < 0.1
    half = np.where(open_ended, np.inf, _half(0.9))
    given = Intervals(mean - half, mean + half, 0.9)
    hit = np.where(open_ended, 1.0, 0.9)[:, None]
    middle = np.where(open_ended, np.nan, mean)
    known = RegionTruth({"intervals": lines((0.9,), hit)}, sizes=2 * half[:, None], places=middle)
    return Data(rng.normal(mean), given, {}, known)


def label_sets(temperature: float, *, digits: int | None = None) -> Callable[[Rng, int], Data]:
    """Sets of the likeliest labels, up to 90 % of the stated probability; labels follow P tempered.

    Probabilities with few `digits` are often tied, and sets then reach beyond their level.
    """

    def draw(rng: Rng, n: int) -> Data:
        P = rng.dirichlet(np.full(10, 0.5), n)
        if digits is not None:
            P = np.maximum(P.round(digits), 10.0**-digits / 4)
            P /= P.sum(axis=1, keepdims=True)
        Q = P**temperature
        Q /= Q.sum(axis=1, keepdims=True)
        order = np.argsort(-P, axis=1)
        total = np.take_along_axis(P, order, axis=1).cumsum(axis=1)
        needed = np.column_stack([np.ones(n, dtype=bool), total[:, :-1] < 0.9])
        mask = np.zeros(P.shape, dtype=bool)
        np.put_along_axis(mask, order, needed, axis=1)
        covered = (Q * mask).sum(axis=1, keepdims=True)
        sizes = mask.sum(axis=1, keepdims=True).astype(np.float64)
        known = RegionTruth({"sets": lines((0.9,), covered)}, less=True, sizes=sizes)
        return Data(drawn_labels(rng, Q), Sets(mask, 0.9), {}, known)

    return draw


TAUS = (0.05, 0.25, 0.5, 0.75, 0.95)
NINE = (0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975)  # at which distributions are looked at


def quantile_truth(taus: tuple[float, ...], at: FloatArray, below: FloatArray | None = None) -> RegionTruth:
    """Return what is true of quantiles, given P(y <= q) and P(y < q), (n, Q)."""
    under = at if below is None else below
    low = len(taus) // 2
    central = tuple(round(1 - 2 * tau, 6) for tau in taus[:low])
    hit, inside = at[:, ::-1][:, :low] - under[:, :low], under[:, ::-1][:, :low] - at[:, :low]
    known = {"quantile": lines(taus, at, under), "central intervals": lines(central, hit, np.maximum(inside, 0))}
    return RegionTruth(known)


def _normal_outcomes(rng: Rng, n: int, shift: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    mean, s = rng.normal(size=n), rng.lognormal(sigma=0.5, size=n)
    return mean + s * (shift + rng.normal(size=n)), mean, s


def normal_quantiles(spread: float, shift: float) -> Callable[[Rng, int], Data]:
    """Quantiles of normal distributions that are `spread` times as wide as the outcomes, which are moved by `shift`."""

    def draw(rng: Rng, n: int) -> Data:
        y, mean, s = _normal_outcomes(rng, n, shift)
        z = norm.ppf(TAUS)
        known = quantile_truth(TAUS, np.tile(norm.cdf(spread * z - shift), (n, 1)))
        return Data(y, Quantiles(mean[:, None] + spread * np.outer(s, z), TAUS), {}, known)

    return draw


def count_quantiles(rng: Rng, n: int) -> Data:
    """Exact quantiles of Poisson distributions, on which outcomes often lie."""
    rate = rng.uniform(1, 6, (n, 1))
    q = poisson.ppf(TAUS, rate)
    known = quantile_truth(TAUS, poisson.cdf(q, rate), poisson.cdf(q - 1, rate))
    return Data(rng.poisson(rate[:, 0]).astype(np.float64), Quantiles(q, TAUS), {}, known)


def zero_inflated_quantiles(rng: Rng, n: int) -> Data:
    """Exact quantiles of Poisson distributions of which 40 % are 0: several quantiles of a row are the same."""
    rate, values = rng.uniform(1, 6, (n, 1)), np.arange(40)
    cdf = 0.4 + 0.6 * poisson.cdf(values, rate)
    q = (cdf[:, None] < np.array(TAUS)[:, None] - 1e-12).sum(axis=2)
    at = np.take_along_axis(cdf, q, axis=1)
    below = np.where(q > 0, np.take_along_axis(cdf, np.maximum(q - 1, 0), axis=1), 0.0)
    y = np.where(rng.random(n) < 0.4, 0, rng.poisson(rate[:, 0]))
    return Data(y.astype(np.float64), Quantiles(q.astype(np.float64), TAUS), {}, quantile_truth(TAUS, at, below))


@cache
def normal_skill(spread: float, shift: float) -> float:
    """Return the skill of the normal distributions below, whose standard deviations are exp(z/2), z normal."""
    z, weight = np.polynomial.hermite_e.hermegauss(60)
    s, weight = np.exp(z / 2), weight / weight.sum()
    pairs = mean_distance(shift * (s[:, None] - s), np.sqrt(2 + s[:, None] ** 2 + s**2))
    return float(1 - (weight @ s) * normal_score(shift, spread) / (weight @ pairs @ weight / 2))


def normal_distributions(spread: float, shift: float, *, G: int = 0) -> Callable[[Rng, int], Data]:
    """Normal distributions, wrong in the same ways."""

    def draw(rng: Rng, n: int) -> Data:
        y, mean, s = _normal_outcomes(rng, n, shift)
        known = quantile_truth(NINE, np.tile(norm.cdf(spread * norm.ppf(NINE) - shift), (n, 1)))
        groups = {"group": rng.integers(G, size=n)} if G else {}
        options = {"groups": groups["group"]} if G else {}
        known = replace(known, groups=groups, skill=normal_skill(spread, shift), shift=-shift / spread)
        return Data(y, Normal(mean, spread * s), options, known)

    return draw


JOINT = ("mean_distance", "average")  # ranks of vectors that audits look at
JOINT_ROWS = 20_000  # simulated to know their distribution


def _vectors(rng: Rng, n: int, M: int, D: int, spread: float, shift: float) -> tuple[FloatArray, FloatArray]:
    wrong = (np.arange(D) == D - 1).astype(np.float64)
    mean = rng.normal(size=(n, D))
    y = mean + shift * wrong + rng.normal(size=(n, D))
    return y, mean[:, None] + (1 + (spread - 1) * wrong) * rng.normal(size=(n, M, D))


@cache
def joint_error(M: int, D: int, spread: float, shift: float) -> float:
    """Return the largest error of the coverage of an interval between two joint ranks, by simulation."""
    if D == 1 or (spread, shift) == (1.0, 0.0):
        return 0.0
    rng = np.random.default_rng(1)
    y, drawn = _vectors(rng, JOINT_ROWS, M, D, spread, shift)
    found = []
    for method in JOINT:
        rank = np.asarray(joint_ranks(y, Samples(drawn), method=method, rng=rng)).ravel().astype(np.int64)
        found.append(rank_range(np.bincount(rank, minlength=M + 1) / JOINT_ROWS))
    return max(found)


def draws(M: int, D: int, spread: float, shift: float, *, G: int = 0) -> Callable[[Rng, int], Data]:
    """M draws of D independent coordinates, of which the last is wrong; groups, if any, are alike."""

    def draw(rng: Rng, n: int) -> Data:
        y, drawn = _vectors(rng, n, M, D, spread, shift)
        known = DrawsTruth(shift, spread, M, D, joint_error(M, D, spread, shift))
        options = {"groups": rng.integers(G, size=n)} if G else {}
        return Data(y[:, 0] if D == 1 else y, Samples(drawn[..., 0] if D == 1 else drawn), options, known)

    return draw


def draws_of_other_outcomes(M: int, errors: str) -> Callable[[Rng, int], Data]:
    """M normal draws with the right mean and standard deviation, for outcomes of another shape."""

    def draw(rng: Rng, n: int) -> Data:
        mean = rng.normal(size=n)
        y = mean + drawn_errors(errors, rng.random(n))
        return Data(y, Samples(mean[:, None] + rng.normal(size=(n, M))), {}, DrawsTruth(0.0, 1.0, M, errors=errors))

    return draw


COUNTS = np.arange(80)  # all that Poisson distributions with these means have


def _below(levels: tuple[float, ...], rate: FloatArray, true_rate: FloatArray) -> FloatArray:
    """Return P(U <= τ) of each row, where U is drawn evenly over the jump of the predicted distribution function."""
    below, jump = poisson.cdf(COUNTS - 1, rate[:, None]), poisson.pmf(COUNTS, rate[:, None])
    chance = poisson.pmf(COUNTS, true_rate[:, None])
    share = [np.clip((tau - below) / np.maximum(jump, 1e-300), 0, 1) for tau in levels]
    return np.stack([(part * chance).sum(axis=1) for part in share], axis=1)


@cache
def counts_skill(factor: float) -> float:
    """Return the skill of Poisson distributions whose means, from Gamma(3), should be so many times as large.

    The CRPS of F for outcomes with the distribution function G is Σ (F - G)² + G (1 - G) on average.
    """
    rate = gamma.ppf((np.arange(2000) + 0.5) / 2000, 3)[:, None]
    F, G = poisson.cdf(COUNTS, rate), poisson.cdf(COUNTS, factor * rate)
    every = G.mean(axis=0)
    return float(1 - ((F - G) ** 2 + G * (1 - G)).sum(axis=1).mean() / (every * (1 - every)).sum())


def counts(factor: float) -> Callable[[Rng, int], Data]:
    """Poisson distributions of counts, whose true means are `factor` times as large."""

    def draw(rng: Rng, n: int) -> Data:
        rate = rng.gamma(3, size=n)
        known = quantile_truth(NINE, _below(NINE, rate, factor * rate))
        known = replace(known, skill=counts_skill(factor), shift=float((1 - factor) * np.sqrt(rate).mean()))
        return Data(rng.poisson(factor * rate).astype(np.float64), ScipyDistribution(poisson(rate)), {}, known)

    return draw


# On the border of a tolerance

BORDERS = {"just below": 0.999, "just above": 1.001}  # where a tolerance is, as a multiple of the true error


def on_border(draw: Callable[[Rng, int], Data], quantity: str, multiple: float) -> Callable[[Rng, int], Data]:
    """Give the audit a tolerance that the true error exceeds a little, or stays below by as little."""

    def drawn(rng: Rng, n: int) -> Data:
        data = draw(rng, n)
        error = data.known.value(Claim("limits", ALL_ROWS, quantity, 0.0))
        return data._replace(options={**data.options, "tolerance": multiple * error})

    return drawn


GATE = 0.02  # tolerance of the gate in the README: calibrant check --fail-if "verdict = miscalibrated"


def with_tolerance(draw: Callable[[Rng, int], Data], tolerance: float) -> Callable[[Rng, int], Data]:
    """Give the audit this tolerance."""
    return lambda rng, n: draw(rng, n)._replace(options={"tolerance": tolerance})


# All designs

CALIBRATED_ROWS = MappingProxyType({50: 400, 200: 400, 2000: 400})
WRONG_ROWS = MappingProxyType({50: 150, 200: 150, 2000: 100})
MIDDLE = MappingProxyType({200: 150, 2000: 100, 10_000: 40})
ONE_SIZE = MappingProxyType({2000: 100})
NEAR = MappingProxyType({500: 400})  # where the error is close to a tolerance
NEAR_RANGES = MappingProxyType({500: 100, 2000: 100, 10_000: 40})  # where ranges of scores may decide
LARGE = MappingProxyType({100_000: 20, 1_000_000: 4})
MANY_CLASSES = MappingProxyType({500: 60, 2000: 8})
FEW_PAGES = MappingProxyType({200: 100, 2000: 60})

DESIGNS: dict[str, Design] = {
    **{
        f"{scores}, calibrated": Design(binary(scores, CALIBRATED), True, CALIBRATED_ROWS)
        for scores in (*SCORES, *HARD_SCORES)
    },
    **{
        f"{scores}, {truth}": Design(binary(scores, truth), False, MIDDLE if scores == "uniform" else ONE_SIZE)
        for scores in ("uniform", "rare events", "92 % zeros", "tied")
        for truth in TRUTHS
        if truth != CALIBRATED
    },
    **{f"uniform, {truth}": Design(binary("uniform", truth), False, ONE_SIZE) for truth in LOCAL},
    **{
        f"uniform, {truth}, tolerance .05": Design(with_tolerance(binary("uniform", truth), 0.05), False, NEAR_RANGES)
        for truth in LOCAL
    },
    **{
        f"{scores}, gate of the README": Design(
            with_tolerance(binary(scores, CALIBRATED), GATE), True, {200: 400, 500: 400, 2000: 400}
        )
        for scores in ("uniform", "rare")
    },
    "uniform, large, calibrated": Design(binary("uniform", CALIBRATED), True, LARGE),
    "uniform, large, slope .99": Design(binary("uniform", "slope .99"), False, LARGE),
    "uniform, large, wave": Design(binary("uniform", "wave"), False, LARGE),
    "lognormal weights, calibrated": Design(
        binary("uniform", CALIBRATED, weighted=True), True, {50: 400, 200: 400, 2000: 100}
    ),
    "lognormal weights, slope .8": Design(binary("uniform", "slope .8", weighted=True), False, ONE_SIZE),
    "clusters of 10": Design(clustered, True, {500: 400, 2000: 400}),
    **{
        f"{G} groups, {truth}": Design(
            grouped(G, truth),
            truth == CALIBRATED,
            {200: 400, 2000: 400} if truth == CALIBRATED else {200: 150, 2000: 100},
        )
        for G in (4, 20)
        for truth in (CALIBRATED, "one group", "cancelling")
    },
    **{
        f"{K} classes, {truth}": Design(
            classes(K, truth),
            truth == CALIBRATED,
            MANY_CLASSES if K == 300 else {500: 400 if truth == CALIBRATED else 150},
        )
        for K in (3, 10, 300)
        for truth in (CALIBRATED, "one class", "overconfident")
    },
    "3 classes, 4 groups, calibrated": Design(classes(3, CALIBRATED, G=4), True, {500: 400}),
    "90 % intervals, calibrated": Design(normal_intervals((0.9,), 1.0), True, CALIBRATED_ROWS),
    "90 % intervals, 4 groups, calibrated": Design(normal_intervals((0.9,), 1.0, G=4), True, {200: 400, 2000: 400}),
    "90 % intervals, too narrow": Design(normal_intervals((0.9,), 0.8), False, WRONG_ROWS),
    "90 % intervals, too wide": Design(normal_intervals((0.9,), 1.2), False, WRONG_ROWS),
    "three levels, calibrated": Design(normal_intervals(NESTED, 1.0), True, CALIBRATED_ROWS),
    "three levels, too narrow": Design(normal_intervals(NESTED, 0.9), False, WRONG_ROWS),
    "split conformal, m = 100": Design(split_conformal(100, 0.9), True, CALIBRATED_ROWS),
    "split conformal, m = 500": Design(split_conformal(500, 0.9), True, CALIBRATED_ROWS),
    "split conformal, counts": Design(split_conformal(500, 0.9, counts=True), True, {2000: 400}),
    "heteroscedastic, one width": Design(heteroscedastic, False, WRONG_ROWS),
    "quartiles of counts": Design(count_intervals, True, CALIBRATED_ROWS),
    "intervals, rounded outcomes": Design(rounded_outcomes, True, FEW_PAGES),
    "intervals, some without bounds": Design(some_without_bounds, False, FEW_PAGES),
    "one-sided, calibrated": Design(one_sided(0.9), True, CALIBRATED_ROWS),
    "one-sided, too low": Design(one_sided(0.85), False, ONE_SIZE),
    "sets of likely labels": Design(label_sets(1.0), True, CALIBRATED_ROWS),
    "sets of tied probabilities": Design(label_sets(1.0, digits=1), True, FEW_PAGES),
    "sets, overconfident": Design(label_sets(0.5), False, ONE_SIZE),
    "quantiles, calibrated": Design(normal_quantiles(1.0, 0.0), True, CALIBRATED_ROWS),
    "quantiles, too narrow": Design(normal_quantiles(0.85, 0.0), False, ONE_SIZE),
    "quantiles, too low": Design(normal_quantiles(1.0, 0.2), False, ONE_SIZE),
    "quantiles of counts": Design(count_quantiles, True, CALIBRATED_ROWS),
    "quantiles of counts, many zeros": Design(zero_inflated_quantiles, True, FEW_PAGES),
    "Normal, calibrated": Design(normal_distributions(1.0, 0.0), True, {200: 400, 2000: 400}),
    "Normal, 4 groups, too narrow": Design(normal_distributions(0.8, 0.0, G=4), False, ONE_SIZE),
    "Normal, too narrow": Design(normal_distributions(0.8, 0.0), False, ONE_SIZE),
    "Normal, too low": Design(normal_distributions(1.0, 0.2), False, ONE_SIZE),
    "Poisson, calibrated": Design(counts(1.0), True, {200: 400, 2000: 400}),
    **{f"Poisson, means × {factor:g}": Design(counts(factor), False, {200: 100, 800: 100}) for factor in (0.8, 1.2)},
    **{
        f"{M} draws, {errors} outcomes": Design(
            draws_of_other_outcomes(M, errors), False, {200: 100, 1000: 100, 6000: 40}
        )
        for M in (19, 99)
        for errors in QUANTILES
        if errors != NORMAL
    },
    **{
        f"{M} draws, D = {D}, {words}": Design(
            draws(M, D, spread, shift), words == CALIBRATED, {50: 400, 200: 400} if words == CALIBRATED else {200: 200}
        )
        for M in (19, 99)
        for D in (1, 5)
        for words, spread, shift in ((CALIBRATED, 1.0, 0.0), ("spread 1.3", 1.3, 0.0), ("shift .2", 1.0, 0.2))
    },
    **{
        f"{name}, tolerance {where} the error": Design(on_border(draw, quantity, multiple), False, NEAR)
        for name, draw, quantity in (
            ("uniform, shift .3", binary("uniform", "shift .3"), "rms_error"),
            ("92 % zeros, wave", binary("92 % zeros", "wave"), "rms_error"),
            ("rare events, shift .3", binary("rare events", "shift .3"), "rms_error"),
            ("tied, one region", binary("tied", "one region"), "rms_error"),
            ("lognormal weights, slope .8", binary("uniform", "slope .8", weighted=True), "cutoff_error"),
            ("90 % intervals, too narrow", normal_intervals((0.9,), 0.8), "coverage_error"),
            ("three levels, too narrow", normal_intervals(NESTED, 0.9), "coverage_error"),
            ("quantiles, too low", normal_quantiles(1.0, 0.2), "coverage_error"),
            ("19 draws, D = 1, spread 1.3", draws(19, 1, 1.3, 0.0), "coverage_error"),
        )
        for where, multiple in BORDERS.items()
    },
    "19 draws, 4 groups, calibrated": Design(draws(19, 1, 1.0, 0.0, G=4), True, {200: 400}),
    "19 draws, 4 groups, spread 1.3": Design(draws(19, 1, 1.3, 0.0, G=4), False, {800: 100}),
}

KINDS = {  # which designs are of which kind of prediction, by the words in their names
    "classes": ("classes",),
    "draws": ("draws",),
    "distributions": ("Normal", "Poisson"),
    "quantiles": ("quantiles",),
    "sets": ("sets",),
    "intervals": ("intervals", "levels", "conformal", "one-sided", "heteroscedastic", "quartiles"),
    "one probability per row, groups": ("groups",),
    "one probability per row": ("",),
}


def kind_of(design: str) -> str:
    """Return the kind of prediction of a design of claims."""
    return next(kind for kind, words in KINDS.items() if any(word in design for word in words))
