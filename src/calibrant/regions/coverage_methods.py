"""Is the number of hits what the level says? Exact tails, and the likelihood ratio of Kupiec."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.pvalues import beta_binomial_tails, binomial_tails, two_sided
from calibrant.errors import NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.progress import steps

TIE = 1e-9  # statistics this close, relatively above 1, are tied


def least_tied(statistic: float) -> float:
    """Return the least value that counts as having reached the statistic."""
    return statistic - TIE * max(1.0, statistic)


def hit_pvalue(k: int, n: int, level: float, alternative: str, calibration_size: int | None) -> float:
    """Return the p-value of k hits among n rows; `alternative` says on which side of the level the coverage may lie.

    With `calibration_size` m the coverage itself is Beta(j, m + 1 - j), j = ⌈(m + 1) level⌉: that of split conformal
    prediction given its calibration set (Vovk 2012).
    """
    if calibration_size is None:
        low, high = (float(tail) for tail in binomial_tails(k, n, level))
    else:
        low, high = beta_binomial_tails(k, n, *conformal_beta(calibration_size, level))
    if alternative == "two-sided":
        return float(two_sided(low, high))
    return low if alternative == "less" else high


def conformal_beta(m: int, level: float) -> tuple[int, int]:
    """Return the parameters of the law of the coverage, given m calibration scores.

    >>> conformal_beta(100, 0.9)
    (91, 10)
    """
    j = max(1, math.ceil(round((m + 1) * level, 10)))  # 100 · 0.55 is 55.00000000000001
    if j > m:
        needed = math.ceil(round(level / (1 - level), 10))
        if math.ceil(round(needed * level, 10)) < needed:  # the quotient was rounded up
            needed -= 1
        raise NotApplicableError(
            f"{m} calibration scores are too few for level {shown(level)}: the interval that holds it is infinite and "
            f"covers everything. At least {needed} are needed"
        )
    return j, m + 1 - j


def likelihood_ratio(k: Any, n: Any, level: float) -> FloatArray:
    """Return 2[k ln(k/nc) + (n-k) ln((n-k)/n(1-c))], 0 ln 0 = 0: twice the log likelihood lost by the level c."""
    from scipy.special import kl_div

    k, n = np.asarray(k, np.float64), np.asarray(n, np.float64)
    return np.asarray(2 * (kl_div(k, n * level) + kl_div(n - k, n * (1 - level))))


def kupiec_pvalue(k: int, n: int, level: float, null: str) -> tuple[float, float]:
    """Return Kupiec's statistic and its p-value, exact: P(LR(K) >= LR), K ~ Binomial(n, level)."""
    T = float(likelihood_ratio(k, n, level))
    if null == "asymptotic":
        return T, chi_square_sf(T, 1)
    least = least_tied(T)
    middle = math.floor(n * level)  # LR falls up to it and rises after it

    def reached(j: int) -> bool:
        return float(likelihood_ratio(j, n, level)) >= least

    below = _last(reached, 0, middle)
    above = n - _last(lambda j: reached(n - j), 0, n - middle - 1)
    low = float(binomial_tails(below, n, level)[0]) if below >= 0 else 0.0
    high = float(binomial_tails(above, n, level)[1]) if above <= n else 0.0
    return T, min(1.0, low + high)


def chi_square_sf(x: float, df: int) -> float:
    """Return P(X > x) of a chi-square law."""
    from scipy.special import gammaincc

    return float(gammaincc(df / 2, max(x, 0.0) / 2))


def _last(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the last number from low to high for which it holds, if it holds up to some point; low - 1 if never."""
    low -= 1
    while low < high:
        j = (low + high + 1) // 2
        low, high = (j, high) if holds(j) else (low, j - 1)
    return low


ENOUGH = 5.0  # least expected count for which the chi-square limit is used


class Joint(NamedTuple):
    """Statistic and p-value, the counts behind them, and how the law was found."""

    statistic: float
    pvalue: float
    counts: NDArray[np.int64]
    expected: FloatArray
    how: str


def joint(hits: NDArray[np.int64], levels: FloatArray, n: int, null: str, B: int, rng: np.random.Generator) -> Joint:
    """Compare the rows between neighbouring levels with n times the difference of the levels.

    The cells are rings of nested intervals or sets, or the stretches (q_{k-1}, q_k] between quantiles. The statistic
    equals n (ĉ - c)' S⁻¹ (ĉ - c), S_kl = min(c_k, c_l) - c_k c_l.
    """
    order = np.argsort(levels)
    counts = np.diff(hits[order], prepend=0, append=n)
    share = np.diff(levels[order], prepend=0.0, append=1.0)
    expected = n * share
    T = float(_pearson(counts, expected))
    L = levels.size
    if null == "asymptotic" or expected.min() >= ENOUGH:
        words = f"chi-square limit with {L} degree{'s' if L > 1 else ''} of freedom"
        return Joint(T, chi_square_sf(T, L), counts, expected, words)
    drawn = rng.multinomial(n, share / share.sum(), size=B)
    extreme = int(np.count_nonzero(_pearson(drawn, expected) >= least_tied(T)))
    return Joint(T, (1 + extreme) / (B + 1), counts, expected, f"{B} simulated counts")


def _pearson(counts: NDArray[np.int64], expected: FloatArray) -> FloatArray:
    return np.asarray(((counts - expected) ** 2 / expected).sum(axis=-1))


EXACT_ROWS = 10_000  # beyond so many the chi-square limit is used
MOST_NUMBERS = 1 << 22  # drawn at once
NEGLIGIBLE = 100.0  # natural logarithms below the likeliest: what is rarer counts as reached, unlooked at


class Transitions(NamedTuple):
    """Numbers of transitions: hit to hit, hit to miss, miss to hit, miss to miss; any shape."""

    n00: NDArray[np.int64]
    n01: NDArray[np.int64]
    n10: NDArray[np.int64]
    n11: NDArray[np.int64]


class Found(NamedTuple):
    """Statistic, p-value, and how the law was found."""

    statistic: float
    pvalue: float
    how: str


def transitions_of(miss: NDArray[np.bool_], series: NDArray[np.int64]) -> Transitions:
    """Count the transitions of misses (..., n) within series; none goes from one series to the next."""
    order = np.argsort(series, kind="stable")
    within = np.diff(series[order]) == 0
    ordered = miss[..., order]
    a, b = ordered[..., :-1] & within, ordered[..., 1:] & within
    n11 = np.count_nonzero(a & b, axis=-1)
    n10, n01 = np.count_nonzero(a, axis=-1) - n11, np.count_nonzero(b, axis=-1) - n11
    total = np.count_nonzero(within)
    return Transitions(*(np.asarray(n) for n in (total - n01 - n10 - n11, n01, n10, n11)))


def independence_ratio(t: Transitions) -> FloatArray:
    """Return twice the log likelihood that a chain of first order gains over independence."""
    from scipy.special import kl_div

    N = np.maximum(t.n00 + t.n01 + t.n10 + t.n11, 1)
    after_hit, after_miss = t.n00 + t.n01, t.n10 + t.n11
    hits, misses = t.n00 + t.n10, t.n01 + t.n11
    terms = (
        kl_div(t.n00, after_hit * hits / N),
        kl_div(t.n01, after_hit * misses / N),
        kl_div(t.n10, after_miss * hits / N),
        kl_div(t.n11, after_miss * misses / N),
    )
    return np.asarray(2 * sum(terms))


def conditional_ratio(t: Transitions, level: float) -> FloatArray:
    """Return the same plus Kupiec's statistic of the rows that follow another one."""
    hits = t.n00 + t.n10
    return np.asarray(independence_ratio(t) + likelihood_ratio(hits, hits + t.n01 + t.n11, level))


def independence(
    miss: NDArray[np.bool_], series: NDArray[np.int64], null: str, B: int, rng: np.random.Generator
) -> Found:
    """Test whether misses are independent of the row before, given their number."""
    T = float(independence_ratio(transitions_of(miss, series)))
    n, k = miss.size, int(np.count_nonzero(miss))
    if null == "asymptotic" or n > EXACT_ROWS:
        return Found(T, chi_square_sf(T, 1), _limit_words(null, n, 1))
    if _has_several(series):
        extreme = sum(
            int(np.count_nonzero(independence_ratio(transitions_of(drawn, series)) >= least_tied(T)))
            for drawn in _permuted(miss, series, B, rng)
        )
        return Found(T, (1 + extreme) / (B + 1), f"{B} permutations within series")
    distribution = run_distribution(n, k, _log_factorials(n))
    return Found(
        T, min(1.0, _reached(distribution, independence_ratio(distribution.transitions), T)), "exact given the misses"
    )


def conditional(
    miss: NDArray[np.bool_], series: NDArray[np.int64], level: float, null: str, B: int, rng: np.random.Generator
) -> Found:
    """Test coverage and independence at once."""
    T = float(conditional_ratio(transitions_of(miss, series), level))
    n = miss.size
    if null == "asymptotic" or n > EXACT_ROWS:
        return Found(T, chi_square_sf(T, 2), _limit_words(null, n, 2))
    if _has_several(series):
        extreme = sum(
            int(np.count_nonzero(conditional_ratio(transitions_of(drawn, series), level) >= least_tied(T)))
            for drawn in _bernoulli(n, 1 - level, B, rng)
        )
        return Found(T, (1 + extreme) / (B + 1), f"{B} redraws of the misses")
    logs = _log_factorials(n)
    misses = np.arange(n + 1)
    log_mass = logs[n] - logs[misses] - logs[n - misses] + misses * np.log1p(-level) + (n - misses) * np.log(level)
    pvalue = 0.0
    for k, log in enumerate(log_mass.tolist()):
        share = 1.0
        if log > log_mass.max() - NEGLIGIBLE:
            distribution = run_distribution(n, k, logs)
            share = _reached(distribution, conditional_ratio(distribution.transitions, level), T)
        pvalue += float(np.exp(log)) * share
    return Found(T, min(1.0, pvalue), "exact")


class RunDistribution(NamedTuple):
    """Transitions that occur with non-negligible probability given the misses, and the rest of the probability."""

    transitions: Transitions
    probability: FloatArray
    rest: float


def run_distribution(n: int, k: int, log_factorials: FloatArray) -> RunDistribution:
    """Return the law of the transitions of k misses in n rows, every order equally likely.

    With r runs of misses and s runs of hits, r - 1 <= s <= r + 1, there are C(k-1, r-1) C(n-k-1, s-1) orders for each
    kind of first row: a first row that is a miss starts one run of misses without a transition into it.
    """
    if k in (0, n):
        at = [np.array([n - 1 if state == (k == n) else 0]) for state in (0, 1)]
        none = np.zeros(1, np.int64)
        return RunDistribution(Transitions(at[0], none, none, at[1]), np.ones(1), 0.0)
    h = n - k
    runs = np.arange(1, k + 1)
    r = np.concatenate([runs] * 4)
    s = np.concatenate([runs - 1, runs, runs, runs + 1])
    first_miss = np.repeat([1, 1, 0, 0], k)
    possible = (s >= 1) & (s <= h)
    r, s, first_miss = r[possible], s[possible], first_miss[possible]

    def log_choose(a: int, b: NDArray[np.int64]) -> FloatArray:
        return np.asarray(log_factorials[a] - log_factorials[b] - log_factorials[a - b])

    logs = log_choose(k - 1, r - 1) + log_choose(h - 1, s - 1)
    mass = np.exp(logs - logs.max())
    mass /= mass.sum()
    likely = logs > logs.max() - NEGLIGIBLE
    r, s, first_miss = r[likely], s[likely], first_miss[likely]
    t = Transitions(n00=h - s, n01=r - first_miss, n10=s - (1 - first_miss), n11=k - r)
    return RunDistribution(t, mass[likely], float(mass[~likely].sum()))


def _reached(distribution: RunDistribution, statistics: FloatArray, T: float) -> float:
    return float(distribution.probability[statistics >= least_tied(T)].sum()) + distribution.rest


def _log_factorials(n: int) -> FloatArray:
    from scipy.special import gammaln

    return np.asarray(gammaln(np.arange(n + 1) + 1.0))


def _has_several(series: NDArray[np.int64]) -> bool:
    return bool((series != series[0]).any())


def _limit_words(null: str, n: int, df: int) -> str:
    why = "" if null == "asymptotic" else f" beyond {EXACT_ROWS:,} rows"
    return f"chi-square limit with {df} degree{'s' if df > 1 else ''} of freedom{why}"


def _permuted(
    miss: NDArray[np.bool_], series: NDArray[np.int64], B: int, rng: np.random.Generator
) -> Iterator[NDArray[np.bool_]]:
    """Yield batches (replicates, n) of misses permuted within their series."""
    order = np.argsort(series, kind="stable")
    for start, stop in steps(B, size=max(1, MOST_NUMBERS // miss.size), label="permuting misses within series"):
        keys = np.lexsort([rng.random((stop - start, miss.size)), np.broadcast_to(series, (stop - start, miss.size))])
        drawn = np.empty((stop - start, miss.size), dtype=bool)
        drawn[:, order] = miss[keys]
        yield drawn


def _bernoulli(n: int, share: float, B: int, rng: np.random.Generator) -> Iterator[NDArray[np.bool_]]:
    for start, stop in steps(B, size=max(1, MOST_NUMBERS // n), label="redrawing misses"):
        yield rng.random((stop - start, n)) < share
