"""Ranks put into bins, and Pearson's statistic of the counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError
from calibrant.inputs import check_count
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.own_stream import own_stream

MOST, FEWEST = 20, 5  # bins by default
ROWS_PER_BIN = 20
ENOUGH = 5.0  # least expected count for which the chi-square limit is used
RESAMPLES = 999
LEAST = float(np.finfo(np.float64).tiny)  # no p-value is 0
TIE = 1e-10  # counts in another order may sum to a statistic that differs by its rounding


def default_bins(n: int, M: int) -> int:
    """Return a number of bins for n ranks 0 to M: at most 20 and M + 1, some 20 rows each, and even bins if possible.

    The largest divisor of M + 1 between half of what these rules allow and all of it, else all of it.

    >>> default_bins(10_000, 99), default_bins(100, 99), default_bins(10_000, 100), default_bins(50, 1)
    (20, 5, 20, 2)
    """
    m = M + 1
    start = min(MOST, max(FEWEST, n // ROWS_PER_BIN), m)
    return next((k for k in range(start, 0, -1) if m % k == 0 and 2 * k >= start), start)


def read_bins(bins: Any, n: int, M: int) -> int:
    """Return the number of bins that was asked for, 2 to M + 1; the default if it is None."""
    if bins is None:
        return default_bins(n, M)
    found = check_count("bins", bins, least=2)
    if found > M + 1:
        raise InputError(f"bins must be at most {M + 1:,}, the number of ranks 0 to M = {M:,}; got {found:,}")
    return found


def rank_bins(M: int, bins: int) -> NDArray[np.int64]:
    """Return how many of the ranks 0 to M fall into each bin; rank r falls into bin ((r + 1) bins - 1) // (M + 1).

    This is right-closed in (r + 1)/(M + 1). Bins that do not divide M + 1 differ by one rank.

    >>> rank_bins(99, 7)
    array([14, 14, 14, 15, 14, 14, 15])
    """
    return np.diff(_starts(M, bins), append=M + 1)


def bin_counts(counts: NDArray[Any], bins: int) -> NDArray[Any]:
    """Return counts of ranks (M + 1, C) summed over bins: (bins, C).

    >>> bin_counts(np.array([[1], [2], [3], [4]]), 2)[:, 0]
    array([3, 7])
    """
    return np.asarray(np.add.reduceat(counts, _starts(len(counts) - 1, bins), axis=0))


def chi2(
    counts: NDArray[np.int64], expected: FloatArray, rng: Any, *, resamples: int = RESAMPLES
) -> tuple[FloatArray, FloatArray]:
    """Return Σ_k (count_k - expected_k)² / expected_k of each column of counts (bins, C), and its p-value.

    Chi-square with bins - 1 degrees of freedom; if an expected count is below 5, simulated multinomial counts and
    (1 + #{T* >= T}) / (resamples + 1). Without `rng` the simulation starts from 0.

    >>> statistic, pvalue = chi2(np.array([[30], [10]]), np.array([20.0, 20.0]), None)
    >>> float(statistic[0]), round(float(pvalue[0]), 6)
    (10.0, 0.001565)
    """
    from scipy.special import chdtrc

    statistic = pearson(counts, expected)
    if is_large(expected):
        return statistic, np.maximum(chdtrc(expected.size - 1, statistic), LEAST)
    n = int(counts[:, 0].sum())
    share = expected / expected.sum()
    drawn = own_stream(rng).multinomial(n, share, size=resamples)
    redrawn = np.sort(pearson(drawn.T, expected))
    extreme = resamples - np.searchsorted(redrawn, statistic * (1 - TIE))
    return statistic, (1 + extreme) / (resamples + 1)


def is_large(expected: FloatArray) -> bool:
    """Tell whether every expected count is large enough for the chi-square limit."""
    return bool(expected.min() >= ENOUGH)


def pearson(counts: NDArray[np.int64], expected: FloatArray) -> FloatArray:
    """Return Σ_k (count_k - expected_k)² / expected_k of each column of counts (bins, C)."""
    return np.asarray(((counts - expected[:, None]) ** 2 / expected[:, None]).sum(axis=0))


def _starts(M: int, bins: int) -> NDArray[np.int64]:
    """Return the first rank of each bin: the least r with (r + 1) bins > k (M + 1)."""
    return np.arange(bins) * (M + 1) // bins
