"""Do misses come in clusters? Likelihood ratios of a Markov chain of misses (Christoffersen 1998), with exact laws.

Misses are the state 1, hits the state 0, and n_ij counts the transitions from i to j. Given the number of misses every
order of the rows is equally likely under independence; the statistics depend on the order through the number of runs
only, and runs can be counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inference.coverage_binomial import chi_square_sf, least_tied, likelihood_ratio
from calibrant.inputs.weights import FloatArray
from calibrant.progress import steps

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
    law = run_law(n, k, _log_factorials(n))
    return Found(T, min(1.0, _reached(law, independence_ratio(law.transitions), T)), "exact given the misses")


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
            law = run_law(n, k, logs)
            share = _reached(law, conditional_ratio(law.transitions, level), T)
        pvalue += float(np.exp(log)) * share
    return Found(T, min(1.0, pvalue), "exact")


class RunLaw(NamedTuple):
    """Transitions that occur with non-negligible probability given the misses, and the rest of the probability."""

    transitions: Transitions
    probability: FloatArray
    rest: float


def run_law(n: int, k: int, log_factorials: FloatArray) -> RunLaw:
    """Return the law of the transitions of k misses in n rows, every order equally likely.

    With r runs of misses and s runs of hits, r - 1 <= s <= r + 1, there are C(k-1, r-1) C(n-k-1, s-1) orders for each
    kind of first row: a first row that is a miss starts one run of misses without a transition into it.
    """
    if k in (0, n):
        at = [np.array([n - 1 if state == (k == n) else 0]) for state in (0, 1)]
        none = np.zeros(1, np.int64)
        return RunLaw(Transitions(at[0], none, none, at[1]), np.ones(1), 0.0)
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
    return RunLaw(t, mass[likely], float(mass[~likely].sum()))


def _reached(law: RunLaw, statistics: FloatArray, T: float) -> float:
    return float(law.probability[statistics >= least_tied(T)].sum()) + law.rest


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
