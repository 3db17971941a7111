"""Tests of the uniformity of counted ranks, one column at a time: statistic, p-value, and how its law was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from calibrant.errors import InputError
from calibrant.inference.null import reaches, resampled_pvalue
from calibrant.inference.rank_band import band_test
from calibrant.inference.rank_cauchy import piet
from calibrant.inference.rank_effect import rank_effect
from calibrant.inference.rank_randomised import anderson_darling, cramer_von_mises, kolmogorov, randomised
from calibrant.inference.rank_result import Found
from calibrant.inputs.weights import FloatArray
from calibrant.primitives import rank_bins
from calibrant.primitives.dispatch import chunks
from calibrant.primitives.legendre import legendre
from calibrant.primitives.own_stream import own_stream
from calibrant.summaries.ranks import Ranks

CONTINUOUS: Mapping[str, tuple[Callable[[FloatArray], tuple[float, float]], str]] = {
    "ks": (kolmogorov, "Kolmogorov-Smirnov; exact"),
    "cvm": (cramer_von_mises, "Cramér-von Mises; limit law, corrected for the number of rows"),
    "ad": (anderson_darling, "Anderson-Darling; limit law"),
    "piet": (piet, "single values (PIET); Cauchy combination"),
}
"""Tests of values in [0, 1], and their names in words."""
ON_COUNTS = ("band", "smooth", "chi2")
METHODS = (*ON_COUNTS, *CONTINUOUS)
FEW = 50  # rows below which the law of the smooth statistic is simulated
BLOCK = 1 << 20  # simulated ranks at a time


def column_test(ranks: Ranks, method: str, *, bins: Any, resamples: int, rng: Any) -> Found:
    """Test every column of the ranks by itself."""
    if method == "band":
        found = band_test(ranks)
        words = "curve of the ranks against its simultaneous band; exact"
        return Found(found.gamma, found.pvalue, words, {"where": found.where}, {})
    if method == "smooth":
        return _smooth(ranks, resamples, rng)
    if method == "chi2":
        return _chi2(ranks, bins, resamples, rng)
    return _continuous(ranks, method, rng)


def _smooth(ranks: Ranks, B: int, rng: Any) -> Found:
    """Sum the squares of the components: Neyman's smooth test."""
    from scipy.special import chdtrc

    Z = rank_effect(ranks).Z
    S, K = (Z * Z).sum(axis=0), len(Z)
    rows = float(ranks.weight[:, 0].sum() ** 2 / ranks.weight2[:, 0].sum())
    columns, shared = {"Z": Z}, {"dof": K}
    if rows < FEW and ranks.has_equal_weights:
        drawn = _simulated_smooth(ranks.n, ranks.M, B, own_stream(rng))
        p = np.array([resampled_pvalue(np.count_nonzero(reaches(drawn, s, 1.0)), B) for s in S])
        return Found(S, p, f"smooth test of {K} polynomials; {B:,} simulated sets of ranks", columns, shared)
    words = f"smooth test of {K} polynomials; chi-square limit with {K} degree{'s' if K > 1 else ''} of freedom"
    if rows < FEW:
        words += f", of only {rows:.3g} rows' worth of weights ({FEW} wanted), so the level may not be kept"
    return Found(S, np.asarray(chdtrc(K, S)), words, columns, shared)


def _simulated_smooth(n: int, M: int, B: int, rng: np.random.Generator) -> FloatArray:
    phi = legendre(M)
    found = [
        ((phi[:, rng.integers(M + 1, size=(part.stop - part.start, n))].sum(axis=2)) ** 2).sum(axis=0) / n
        for part in chunks(B, max(1, BLOCK // n))
    ]
    return np.concatenate(found)


def _chi2(ranks: Ranks, bins: Any, B: int, rng: Any) -> Found:
    """Compare counts in bins with their expectation: Pearson's test."""
    k = rank_bins.read_bins(bins, ranks.n, ranks.M)
    counts = rank_bins.bin_counts(ranks.counts, k)
    expected = ranks.n * rank_bins.rank_bins(ranks.M, k) / (ranks.M + 1)
    T, p = rank_bins.chi2(counts, expected, rng, resamples=B)
    large = rank_bins.is_large(expected)
    how = f"chi-square limit with {k - 1} degree{'s' if k > 2 else ''} of freedom" if large else f"{B:,} simulated sets"
    shared = {"bins": k, "dof": k - 1, "expected": expected}
    return Found(T, p, f"histogram of {k} bins (Pearson); {how}", {"counts": counts}, shared)


def _continuous(ranks: Ranks, method: str, rng: Any) -> Found:
    if rng is None:
        raise InputError(
            f'method="{method}" is made for continuous values and spreads each rank over its cell at random; '
            'pass rng=, a numpy Generator or a whole number. "band", "smooth" and "chi2" need no chance'
        )
    test, words = CONTINUOUS[method]
    T, p = zip(*(test(u) for u in randomised(ranks.counts, own_stream(rng))), strict=True)
    return Found(np.array(T), np.array(p), f"{words}; of (rank + V)/(M + 1) with one random V", {}, {})
