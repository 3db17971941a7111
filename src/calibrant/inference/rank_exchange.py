"""Several columns judged together, whatever their dependence: the largest statistic of exchanged tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inference.null import resampled_pvalue
from calibrant.inference.rank_band import below
from calibrant.inputs.weights import FloatArray
from calibrant.primitives import rank_bins
from calibrant.primitives.count_limits import count_limits
from calibrant.primitives.dispatch import chunks
from calibrant.primitives.legendre import legendre
from calibrant.summaries.exchanged_ranks import ExchangedRanks

TIE = 1e-10  # statistics this close are equal in exact arithmetic
BLOCK = 1 << 22  # counts that are looked at together


def exchange_pvalues(summary: ExchangedRanks, method: str, statistic: FloatArray, bins: Any) -> FloatArray:
    """Return (1 + #{max_c T_bc >= T_c}) / (B + 1) of each column c: the smallest is that of all columns together.

    Tables of exchanged members have the law of the observed one if predictions are calibrated, so that the smallest is
    exact; and if only some columns are calibrated the chance to reject one of these is still at most the level.
    """
    B, extreme = len(summary.tables), np.zeros(statistic.size, np.int64)
    for part in chunks(B, max(1, BLOCK // summary.tables[0].size)):
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
