"""Tests of ranks that are spread over their cells at random, u = (r + V)/(M + 1): for continuous values in [0, 1]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Outcomes, Rng
from calibrant.core.catalogue import public
from calibrant.core.pvalues import two_sided
from calibrant.core.results import TestResult
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.ranking.counting import PASS_RNG, Forecast
from calibrant.ranking.effects import ColumnTests, Multiplicity, RankTestOptions, enter_rank_test, stream_after_ties
from calibrant.ranking.summary import Ranks

ContinuousTest = Callable[[FloatArray], tuple[float, float]]
"""From values in [0, 1] to a statistic and its p-value."""
PIET = "single values (PIET); Cauchy combination"
MIN_ROWS_FOR_LIMIT = 5  # from which the limits of W² and A² keep the level
FAR_TAIL = 1e-6  # tail of W² beyond which its correction for n is larger than what it corrects
ROOT_PAIRS = 40
NODES_PER_PAIR = 256  # the relative error is below 1e-11 as long as the tail is above 1e-300
SMALLEST_PRODUCT = 0.04  # of x u_1: below it the tail is 1 in float64, and forty pairs of roots are too few


@public
def rank_edf_test(
    y: Outcomes | None,
    prediction: Forecast | None = None,
    *,
    method: Literal["ks", "cvm", "ad"] = "ks",
    multiplicity: Multiplicity = "holm",
    rng: Rng | None = None,
    weights: ArrayLike | None = None,
) -> TestResult:
    r"""Test the ranks of outcomes by a distance of their empirical distribution function from the uniform one.

    Of u = (r + V)/(M + 1) with V uniform and drawn with `rng`:

    ``"ks"``
        Kolmogorov-Smirnov, :math:`D = \max |F_n(u) - u|`; exact.
    ``"cvm"``
        Cramér-von Mises, :math:`W^2 = \frac{1}{12n} + \sum_i (u_{(i)} - \frac{2i - 1}{2n})^2`; the limit, corrected
        for the number of rows.
    ``"ad"``
        Anderson-Darling, :math:`A^2 = -n - \frac1n \sum_i (2i - 1)(\ln u_{(i)} + \ln(1 - u_{(n+1-i)}))`; the limit.

    Parameters
    ----------
    y, prediction, multiplicity, weights
        As in `uniformity_test`, also the result, which has no `where`.
    method
        One of the above. The last two need at least 5 rows.
    rng
        Generator or seed for V, and for ties between outcome and draws. Always needed.

    Examples
    --------
    >>> from calibrant.summaries import Ranks
    >>> rank_edf_test(Ranks.of(range(500), M=1000), rng=0).pvalue < 1e-50
    True
    """
    return EDF_TEST(y, prediction, EdfOptions(multiplicity, rng, method), weights=weights)


@dataclass(frozen=True)
class EdfOptions(RankTestOptions):
    method: Literal["ks", "cvm", "ad"]


def _continuous_found(verb: str, test: ContinuousTest, words: str, ranks: Ranks, rng: Rng | None) -> ColumnTests:
    if rng is None:
        raise InputError(f"{verb} spreads each rank over its cell at random; {PASS_RNG}. uniformity_test needs none")
    T, p = zip(*(test(u) for u in randomised(ranks.counts, stream_after_ties(rng))), strict=True)
    return ColumnTests(np.array(T), np.array(p), f"{words}; of (rank + V)/(M + 1) with one random V", {}, {})


def randomised(counts: NDArray[np.int64], rng: np.random.Generator) -> list[FloatArray]:
    """Return u = (r + V)/m in ascending order, V uniform on [0, 1): a list with an array (n,) for each column.

    Uniform exactly if the ranks are. V is drawn rank by rank, so the order of rows does not matter.
    """
    m = len(counts)
    found = []
    for column in counts.T:
        rank = np.repeat(np.arange(m), column)
        found.append(np.sort((rank + rng.random(rank.size)) / m))
    return found


EDF_TEST = enter_rank_test(
    rank_edf_test,
    EdfOptions,
    lambda ranks, options: _continuous_found("rank_edf_test", *METHODS[options.method], ranks, options.rng),
)


@public
def rank_cauchy_test(
    y: Outcomes | None,
    prediction: Forecast | None = None,
    *,
    multiplicity: Multiplicity = "holm",
    rng: Rng | None = None,
    weights: ArrayLike | None = None,
) -> TestResult:
    r"""Test ranks of rows that depend on each other, such as those of leave-one-out predictions (PIET).

    The p-values :math:`p_i = 2 \min(u_i, 1 - u_i)` of single rows, u = (r + V)/(M + 1) with V uniform and drawn with
    `rng`, are combined by the Cauchy rule

    .. math:: T = \frac1n \sum_i \tan((\tfrac12 - p_i) \pi), \qquad p = \tfrac12 - \frac{\arctan T}{\pi} .

    Parameters
    ----------
    y, prediction, multiplicity, rng, weights
        As in `rank_edf_test`, also the result.

    Examples
    --------
    >>> from calibrant.summaries import Ranks
    >>> rank_cauchy_test(Ranks.of([0] * 500, M=10_000), rng=0).pvalue < 1e-3
    True
    """
    return CAUCHY_TEST(y, prediction, RankTestOptions(multiplicity, rng), weights=weights)


CAUCHY_TEST = enter_rank_test(
    rank_cauchy_test,
    RankTestOptions,
    lambda ranks, options: _continuous_found("rank_cauchy_test", piet, PIET, ranks, options.rng),
)


def piet(u: FloatArray) -> tuple[float, float]:
    """Return T and p of the values themselves: 2 min(u, 1 - u) is uniform."""
    return cauchy(two_sided(u, 1 - u))


def cauchy(p: FloatArray) -> tuple[float, float]:
    terms = 1 / np.tan(np.pi * np.maximum(p, np.finfo(np.float64).tiny))
    T = float((terms / p.size).sum())  # the sum itself may overflow
    return T, float(np.arctan2(1.0, T) / np.pi)


def kolmogorov(u: FloatArray) -> tuple[float, float]:
    """Return D = max |F_n - F| of values in [0, 1] and its exact p-value."""
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
    if limit <= FAR_TAIL:
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
    if u.size < MIN_ROWS_FOR_LIMIT:
        words = f'method="{method}" needs at least {MIN_ROWS_FOR_LIMIT} rows for its limit; got {u.size}'
        raise NotApplicableError(f"{words}. uniformity_test is exact for any number")


METHODS: dict[str, tuple[ContinuousTest, str]] = {
    "ks": (kolmogorov, "Kolmogorov-Smirnov; exact"),
    "cvm": (cramer_von_mises, "Cramér-von Mises; limit distribution, corrected for the number of rows"),
    "ad": (anderson_darling, "Anderson-Darling; limit distribution"),
}


def anderson_darling_sf(x: float) -> float:
    """Return the limit of P(A² > x) (Anderson and Darling 1952): λ_k = 1/(k(k + 1))."""
    k = np.arange(1.0, 2 * ROOT_PAIRS + 1)
    return _tail(x, k * (k + 1), lambda u: np.cos(np.pi / 2 * np.sqrt(1 + 4 * u)) / (np.pi * u))


def cramer_von_mises_sf(x: float) -> float:
    """Return the limit of P(W² > x) (Smirnov 1936): λ_k = 1/(k² π²)."""
    k = np.arange(1.0, 2 * ROOT_PAIRS + 1)
    return _tail(x, np.square(k * np.pi), lambda u: np.sin(np.sqrt(u)) / np.sqrt(u))


def _tail(x: float, roots: FloatArray, D: Callable[[FloatArray], FloatArray]) -> float:
    if x * roots[0] < SMALLEST_PRODUCT:
        return 1.0
    first, last = roots[0::2, None], roots[1::2, None]
    half, angle = (last - first) / 2, (np.arange(NODES_PER_PAIR) + 0.5) * np.pi / NODES_PER_PAIR
    u = (first + last) / 2 + half * np.cos(angle)  # Gauss-Chebyshev: the integrand has a root at both ends
    with np.errstate(under="ignore"):
        f = np.exp(-x * u / 2) / (u * np.sqrt(np.abs(D(u)))) * half * np.sin(angle)
    terms = f.sum(axis=1) / NODES_PER_PAIR
    terms[1::2] *= -1
    return float(np.clip(terms.sum(), 0.0, 1.0))
