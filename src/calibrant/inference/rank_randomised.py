"""Continuous tests of ranks: spread each rank over its cell at random, then compare with the uniform law."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import NotApplicableError
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.quadratic_tails import anderson_darling_sf, cramer_von_mises_sf

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
