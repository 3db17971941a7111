"""Tests of the uniformity of counted ranks, one column at a time: statistic, p-value, and how its law was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import chunks
from calibrant.core.null import reaches, resampled_pvalue
from calibrant.core.pvalues import two_sided
from calibrant.core.results import TestResult
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.ranking import effects as rank_bins
from calibrant.ranking.bands import count_limits
from calibrant.ranking.covariates import DEGREES, ExchangedRanks, KeptRanks, RankCovariates
from calibrant.ranking.effects import (
    CORRECTIONS,
    LEAST,
    Found,
    adjusted,
    band_test,
    below,
    legendre,
    own_stream,
    rank_effect,
    ranks_in_words,
    shaped,
)
from calibrant.ranking.summary import GroupedRanks, Ranks


def cauchy(p: FloatArray) -> tuple[float, float]:
    """Return T and the combined p-value.

    >>> round(cauchy(np.array([0.25, 0.75]))[1], 12)
    0.5
    """
    terms = 1 / np.tan(np.pi * np.maximum(p, np.finfo(np.float64).tiny))
    T = float((terms / p.size).sum())  # the sum itself may overflow
    return T, float(np.arctan2(1.0, T) / np.pi)


def piet(u: FloatArray) -> tuple[float, float]:
    """Return T and p of the values themselves: 2 min(u, 1 - u) is uniform."""
    return cauchy(two_sided(u, 1 - u))


PAIRS = 40  # of roots
NODES = 256  # between two roots; the relative error is below 1e-11 as long as the tail is above 1e-300
SMALLEST = 0.04  # of x u_1: below it the tail is 1 in float64, and forty pairs of roots are too few


def anderson_darling_sf(x: float) -> float:
    """Return the limit of P(A² > x) (Anderson and Darling 1952): λ_k = 1/(k(k + 1)).

    >>> round(anderson_darling_sf(2.492), 5)
    0.05002
    """
    k = np.arange(1.0, 2 * PAIRS + 1)
    return _tail(x, k * (k + 1), lambda u: np.cos(np.pi / 2 * np.sqrt(1 + 4 * u)) / (np.pi * u))


def cramer_von_mises_sf(x: float) -> float:
    """Return the limit of P(W² > x) (Smirnov 1936): λ_k = 1/(k² π²).

    >>> round(cramer_von_mises_sf(0.46136), 5)
    0.05
    """
    k = np.arange(1.0, 2 * PAIRS + 1)
    return _tail(x, np.square(k * np.pi), lambda u: np.sin(np.sqrt(u)) / np.sqrt(u))


def _tail(x: float, roots: FloatArray, D: Callable[[FloatArray], FloatArray]) -> float:
    if x * roots[0] < SMALLEST:
        return 1.0
    first, last = roots[0::2, None], roots[1::2, None]
    half, angle = (last - first) / 2, (np.arange(NODES) + 0.5) * np.pi / NODES
    u = (first + last) / 2 + half * np.cos(angle)  # Gauss-Chebyshev: the integrand has a root at both ends
    with np.errstate(under="ignore"):
        f = np.exp(-x * u / 2) / (u * np.sqrt(np.abs(D(u)))) * half * np.sin(angle)
    terms = f.sum(axis=1) / NODES
    terms[1::2] *= -1
    return float(np.clip(terms.sum(), 0.0, 1.0))


FEWEST = 5  # rows at which the laws of W² and A² hold the level
FAR = 1e-6  # tail of W² beyond which its correction for n is larger than what it corrects


def randomised(counts: NDArray[np.int64], rng: np.random.Generator) -> list[FloatArray]:
    """Return u = (r + V)/m in ascending order, V uniform on [0, 1): a list with an array (n,) for each column.

    Uniform exactly if the ranks are. V is drawn rank by rank, so that the order of rows does not matter.
    """
    m = len(counts)
    found = []
    for column in counts.T:
        rank = np.repeat(np.arange(m), column)
        found.append(np.sort((rank + rng.random(rank.size)) / m))
    return found


def kolmogorov(u: FloatArray) -> tuple[float, float]:
    """Return D = max |F_n - F| of values in [0, 1] and its exact p-value.

    >>> statistic, pvalue = kolmogorov(np.array([0.25]))
    >>> statistic, pvalue
    (0.75, 0.5)
    """
    from scipy.stats import kstwo

    u, i = np.sort(u), np.arange(1, u.size + 1)
    D = float(np.maximum(i / u.size - u, u - (i - 1) / u.size).max())
    return D, float(kstwo.sf(D, u.size))


def cramer_von_mises(u: FloatArray) -> tuple[float, float]:
    """Return W² = 1/(12n) + Σ (u_(i) - (2i - 1)/(2n))² and its p-value.

    That of SciPy, the limit with its correction of order 1/n (Csörgő and Faraway 1996). Far in the tail the corrected
    value would turn negative: there it is at least half of the limit, and beyond 1e-6 the limit itself, which is larger
    than the truth.
    """
    from scipy.stats import cramervonmises

    _check_rows(u, "cvm")
    n, i = u.size, np.arange(1, u.size + 1)
    W2 = float(1 / (12 * n) + ((np.sort(u) - (2 * i - 1) / (2 * n)) ** 2).sum())
    limit = cramer_von_mises_sf(W2)
    if limit <= FAR:
        return W2, limit
    return W2, max(float(cramervonmises(u, "uniform").pvalue), limit / 2)


def anderson_darling(u: FloatArray) -> tuple[float, float]:
    """Return A² = -n - (1/n) Σ (2i - 1)(ln u_(i) + ln(1 - u_(n+1-i))) and its p-value in the limit of many rows."""
    _check_rows(u, "ad")
    eps = np.finfo(np.float64).eps / 2
    u, i = np.sort(np.clip(u, eps, 1 - eps)), np.arange(1, u.size + 1)
    A2 = float(-u.size - np.mean((2 * i - 1) * (np.log(u) + np.log1p(-u[::-1]))))
    return A2, anderson_darling_sf(A2)


def _check_rows(u: FloatArray, method: str) -> None:
    if u.size < FEWEST:
        raise NotApplicableError(
            f'method="{method}" needs at least {FEWEST} rows for its law; got {u.size}. "band" is exact for any number'
        )


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


ROUNDING = 8 * np.finfo(np.float64).eps  # of a mean: a standard deviation this small is that of a constant
SMALLEST_RANK_SCORE = 1e-145  # root of a sum of squares that has lost nothing to the end of float64
DEPENDENT = 1e-10  # of the largest eigenvalue of the correlations: less is a covariate that others tell


def score(summary: RankCovariates) -> Found:
    r"""Return T = Σ_{k=1,2} |φ_k(r)' Q|², Q an orthonormal basis of the centred covariates, and its p-value.

    If ranks are uniform and have nothing to do with the covariates, T has mean 2q exactly, q the rank of the
    covariates, and is chi-square with 2q degrees of freedom in the limit. From moments: with S = Σ(x - x̄)(x - x̄)' and
    c_k = Σ(x - x̄) φ_k(r), T = Σ_k c_k' S⁻¹ c_k.
    """
    from scipy.special import chdtrc

    c = summary.cross  # (q, K, C)
    basis = _basis(summary.spread, summary.mean, summary.n)  # (q, rank)
    T = (np.tensordot(basis, c, axes=(0, 0)) ** 2).sum(axis=(0, 1))
    dof = basis.shape[1] * c.shape[1]
    words = f"ranks against covariates; chi-square limit with {dof} degree{'s' if dof > 1 else ''} of freedom"
    return Found(T, np.asarray(chdtrc(dof, T)), words, {}, {"dof": dof})


def permuted_score(summary: KeptRanks, resamples: int, rng: np.random.Generator) -> Found:
    """Return T, and its p-value if the ranks of a row are equally likely to belong to any covariates."""
    rank, x = summary.ordered()
    largest = np.abs(x).max(axis=0)
    x = x / np.where(largest > 0, largest, 1.0)  # sums and squares stay in float64
    step = x - x.mean(axis=0)
    basis = _basis(step.T @ step, x.mean(axis=0), len(x))
    Q = step @ basis  # (n, rank)
    phi = legendre(summary.ranks.M)[:DEGREES][:, rank]  # (K, n, C)
    K, n, C = phi.shape
    columns = np.ascontiguousarray(phi.transpose(1, 0, 2).reshape(n, K * C))

    def statistic(order: Any) -> FloatArray:
        return np.asarray(((Q.T @ columns[order]) ** 2).reshape(-1, K, C).sum(axis=(0, 1)))

    T = statistic(slice(None))
    drawn = np.stack([statistic(rng.permutation(n)) for _ in range(resamples)])  # (B, C)
    p = resampled_pvalue(reaches(drawn, T).sum(axis=0), resamples)
    return Found(T, p, f"ranks against covariates; {resamples:,} permutations", {}, {"dof": basis.shape[1] * K})


def _basis(spread: FloatArray, mean: FloatArray, n: int) -> FloatArray:
    """Return A (q, rank) with A' S A = I: (x - x̄) A is orthonormal. Constant and dependent covariates add nothing."""
    scale = np.sqrt(np.diagonal(spread))
    if ((scale > 0) & (scale < SMALLEST_RANK_SCORE)).any():
        raise InputError("covariates are too small for their squares; divide them by their largest value")
    varies = scale > ROUNDING * np.abs(mean) * np.sqrt(n)
    if not varies.any():
        raise NotApplicableError(
            "no covariate varies between rows, so that ranks cannot vary with them; divide tiny ones by their largest "
            "value"
        )
    scale = scale[varies]
    values, vectors = np.linalg.eigh(spread[np.ix_(varies, varies)] / np.outer(scale, scale))
    kept = values > DEPENDENT * values[-1]
    A = np.zeros((len(spread), int(np.count_nonzero(kept))))
    A[varies] = vectors[:, kept] / np.sqrt(values[kept]) / scale[:, None]
    return A


FEWEST_RANK_GROUPS = 20  # rows of a group that is tested


def grouped(summary: GroupedRanks, multiplicity: str) -> TestResult:
    """Return exact p-values per group and column, adjusted over all of them; small groups are listed and not tested."""
    ranks = summary.ranks
    shape = (len(summary.parts), ranks.C)
    gamma, raw, where = np.full((3, *shape), np.nan)
    for g, part in enumerate(summary.parts):
        if part.n >= FEWEST_RANK_GROUPS:
            gamma[g], raw[g], where[g] = band_test(part)
    if np.isnan(raw).all():
        largest = max(part.n for part in summary.parts)
        raise NotApplicableError(
            f"no group has the {FEWEST_RANK_GROUPS} rows that its test needs; the largest has {largest}. "
            "Use fewer, larger groups"
        )
    raw = np.maximum(raw, LEAST)
    effects = [rank_effect(part) for part in summary.parts]
    single = ranks.single
    details = {
        "groups": summary.labels,
        "rows": np.array([part.n for part in summary.parts]),
        "names": ranks.names,
        "pvalue_each": shaped(raw, single),
        "where": shaped(where, single),
        "M": ranks.M,
        "tied": shaped(summary.tied, single),
    }
    untested = int(np.count_nonzero([part.n < FEWEST_RANK_GROUPS for part in summary.parts]))
    few = f", {untested} of them too small to be tested" if untested else ""
    cells = int(np.count_nonzero(~np.isnan(raw)))
    return TestResult(
        statistic=shaped(gamma, single),
        pvalue=shaped(adjusted(raw, multiplicity), single),
        estimate=tuple(
            shaped(np.stack([getattr(effect, name) for effect in effects]), single) for name in ("shift", "spread")
        ),
        method=(
            f"curve of the ranks against its simultaneous band, in each of {len(summary.parts):,} groups{few}; exact; "
            f"{ranks_in_words(ranks)}; {cells} p-values, {CORRECTIONS[multiplicity]}"
        ),
        n=summary.n,
        details=details,
    )


TIE = 1e-10  # statistics this close are equal in exact arithmetic
BLOCK_RANK_EXCHANGE = 1 << 22  # counts that are looked at together


def exchange_pvalues(summary: ExchangedRanks, method: str, statistic: FloatArray, bins: Any) -> FloatArray:
    """Return (1 + #{max_c T_bc >= T_c}) / (B + 1) of each column c: the smallest is that of all columns together.

    Tables of exchanged members have the law of the observed one if predictions are calibrated, so that the smallest is
    exact; and if only some columns are calibrated the chance to reject one of these is still at most the level.
    """
    B, extreme = len(summary.tables), np.zeros(statistic.size, np.int64)
    for part in chunks(B, max(1, BLOCK_RANK_EXCHANGE // summary.tables[0].size)):
        tables = summary.tables[part]
        counts = np.moveaxis(tables, 0, 1)  # (M + 1, b, C)
        extreme += _outside(counts, summary, statistic) if method == "band" else _above(counts, method, statistic, bins)
    return np.asarray(resampled_pvalue(extreme, B))


def _outside(counts: NDArray[np.int64], summary: ExchangedRanks, gamma: FloatArray) -> NDArray[np.int64]:
    """Return how many tables have a column whose γ is at most that of each observed column: that leaves its limits."""
    ranks = summary.ranks
    c, t = below(counts, ranks.points), ranks.points / (ranks.M + 1)
    low, high = c.min(axis=2), c.max(axis=2)  # (T, b) over columns
    found = []
    for g in gamma:
        limits = count_limits(float(g), ranks.n, t, strict=True)
        outside = (low < limits.lower[:, None]) | (high > limits.upper[:, None])
        found.append(np.count_nonzero(outside.any(axis=0)))
    return np.array(found)


def _above(counts: NDArray[np.int64], method: str, statistic: FloatArray, bins: Any) -> NDArray[np.int64]:
    """Return how many tables have a column whose statistic reaches that of each observed column."""
    m, b, C = counts.shape
    flat = counts.reshape(m, b * C)
    n, M = int(flat[:, 0].sum()), m - 1
    if method == "smooth":
        redrawn = ((legendre(M) @ flat) ** 2).sum(axis=0) / n
    else:
        k = rank_bins.read_bins(bins, n, M)
        redrawn = rank_bins.pearson(rank_bins.bin_counts(flat, k), n * rank_bins.rank_bins(M, k) / m)
    largest = redrawn.reshape(b, C).max(axis=1)
    return np.asarray(np.count_nonzero(largest[:, None] >= statistic * (1 - TIE), axis=0))
