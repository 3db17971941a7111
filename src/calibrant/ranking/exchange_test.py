"""The test of several dependent columns of ranks by exchanging outcomes with their draws."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Outcomes, Rng
from calibrant.core.catalogue import Entry, enter, public
from calibrant.core.dispatch import chunks
from calibrant.core.null import resampled_pvalue
from calibrant.core.results import TestResult
from calibrant.errors import InputError, SummaryError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_count
from calibrant.inputs.rows import DistributionRows
from calibrant.inputs.samples import Samples
from calibrant.ranking.bands import count_limits
from calibrant.ranking.counting import Counts, as_compared, counts_among, legendre
from calibrant.ranking.effects import (
    below,
    bin_counts,
    check_rng,
    count_ranks,
    number_of_bins,
    pearson,
    rank_bins,
    rank_result,
    refuse_unequal_weights,
    stream_after_ties,
)
from calibrant.ranking.members import DRAWN
from calibrant.ranking.summary import ExchangedCounts, Ranks
from calibrant.ranking.uniformity_test import band_found, chi2_found, smooth_found

BLOCK = 1 << 22  # ranks, or counts, that are processed together
MAX_COUNTS = 1 << 28  # in all tables, two gigabytes
TIE = 1e-10  # statistics this close are equal in exact arithmetic
METHODS = ("band", "smooth", "chi2")


@public
def rank_exchange_test(
    y: Outcomes | None,
    prediction: Samples | None = None,
    *,
    method: Literal["band", "smooth", "chi2"] = "band",
    resamples: int = 999,
    rng: Rng | None = None,
    weights: ArrayLike | None = None,
) -> TestResult:
    r"""Test the ranks of all coordinates together, exactly, however they depend on each other.

    If predictions are calibrated, the outcome and its draws are exchangeable. `resamples` times a random member of
    each row, outcome or draw, takes the outcome's place in all coordinates, and the statistic of each coordinate is
    compared with the largest of all coordinates:

    .. math:: p_c = \frac{1 + \#\{b : \max_{c'} T_{bc'} \ge T_c\}}{B + 1} .

    Parameters
    ----------
    y
        Outcomes, (n,) or (n, D). Or the summary made by ``summarize(rank_exchange_test, y, samples)``.
    prediction
        `Samples` (draws (n, M) or (n, M, D), those of row i in ``draws[i]``).
    method
        The statistic: that of `uniformity_test` (``"band"``), of `rank_smooth_test` (``"smooth"``) or of
        `rank_chi2_test` with its default bins (``"chi2"``).
    resamples
        Number of exchanged sets, B.
    rng
        Generator or seed; needed for ties between outcome and draws. Exchanges without it start from 0. To add up
        batches pass one Generator to all of them.
    weights
        Refused unless all are equal.

    Returns
    -------
    TestResult
        As that of the chosen statistic. `pvalue` is adjusted for all coordinates together; its smallest value is the
        p-value of "all coordinates are calibrated". `details["pvalue_each"]` has those of single coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import Samples
    >>> rng = np.random.default_rng(0)
    >>> draws = rng.normal(size=(50, 9, 2))
    >>> rank_exchange_test(np.full((50, 2), 5.0), Samples(draws), resamples=99).pvalue
    array([0.01, 0.01])
    """
    return EXCHANGE_TEST(y, prediction, ExchangeOptions(method, resamples, rng), weights=weights)


@dataclass(frozen=True)
class ExchangeOptions:
    method: Literal["band", "smooth", "chi2"]
    resamples: int
    rng: Rng | None

    def __post_init__(self) -> None:
        check_count("resamples", self.resamples)
        check_rng(self.rng)


def exchange(rows: DistributionRows, options: ExchangeOptions) -> Ranks:
    observed, B = count_ranks(rows, options), options.resamples
    refuse_unequal_weights("rank_exchange_test", observed)
    if observed.counts.size * B > MAX_COUNTS:
        tables = f"{B:,} tables of {observed.M + 1:,} ranks in {observed.C:,} columns"
        raise InputError(f"{tables} are more than {MAX_COUNTS:,} counts (2 GB); pass fewer resamples or fewer columns")
    stream = stream_after_ties(options.rng)
    number = int(stream.integers(1 << 62))
    return replace(observed, exchanged=(ExchangedCounts(exchanged_counts(rows, B, stream), (number,)),))


def _exchange_result(ranks: Ranks, options: ExchangeOptions) -> TestResult:
    if not ranks.exchanged:
        words = "rank_exchange_test needs the draws, which Ranks do not contain"
        raise SummaryError(f"{words}; pass outcomes and Samples, or summarize(rank_exchange_test, y, samples, ...)")
    refuse_unequal_weights("rank_exchange_test", ranks)
    if options.method == "band":
        found = band_found(ranks)
    elif options.method == "smooth":
        found = smooth_found(ranks, options.resamples, options.rng)
    else:
        found = chi2_found(ranks, None, options.resamples, options.rng)
    pvalue = exchange_pvalues(ranks, options.method, found.statistic)
    columns = f"; {ranks.C:,} columns" if ranks.C > 1 else ""
    sets = len(ranks.exchanged[0].tables)
    return rank_result(ranks, found, pvalue, f"{columns}, largest of all in {sets:,} exchanged sets")


def exchange_pvalues(ranks: Ranks, method: str, statistic: FloatArray) -> FloatArray:
    """Return (1 + #{max_c T_bc >= T_c}) / (B + 1) of each column c: the smallest is that of all columns together.

    Tables of exchanged members have the distribution of the observed one if predictions are calibrated, so the
    smallest is exact; and if only some columns are calibrated, the probability of rejecting one of these is still at
    most the level.
    """
    tables = ranks.exchanged[0].tables
    B, extreme = len(tables), np.zeros(statistic.size, np.int64)
    for part in chunks(B, max(1, BLOCK // tables[0].size)):
        counts = np.moveaxis(tables[part], 0, 1)  # (M + 1, b, C)
        extreme += _outside(counts, ranks, statistic) if method == "band" else _above(counts, method, statistic)
    return np.asarray(resampled_pvalue(extreme, B))


def _outside(counts: Counts, ranks: Ranks, gamma: FloatArray) -> Counts:
    """Return how many tables have a column whose γ is at most that of each observed column: that leaves its limits."""
    c, t = below(counts, ranks.points), ranks.points / (ranks.M + 1)
    low, high = c.min(axis=2), c.max(axis=2)  # (T, b) over columns
    found = []
    for g in gamma:
        limits = count_limits(float(g), ranks.n, t, strict=True)
        outside = (low < limits.lower[:, None]) | (high > limits.upper[:, None])
        found.append(np.count_nonzero(outside.any(axis=0)))
    return np.array(found)


def _above(counts: Counts, method: str, statistic: FloatArray) -> Counts:
    """Return how many tables have a column whose statistic reaches that of each observed column."""
    m, b, C = counts.shape
    flat = counts.reshape(m, b * C)
    n, M = int(flat[:, 0].sum()), m - 1
    if method == "smooth":
        redrawn = ((legendre(M) @ flat) ** 2).sum(axis=0) / n
    else:
        k = number_of_bins(None, n, M)
        redrawn = pearson(bin_counts(flat, k), n * rank_bins(M, k) / m)
    largest = redrawn.reshape(b, C).max(axis=1)
    return np.asarray(np.count_nonzero(largest[:, None] >= statistic * (1 - TIE), axis=0))


EXCHANGE_TEST = enter(
    Entry(
        rank_exchange_test,
        ExchangeOptions,
        exchange,
        _exchange_result,
        reads=(Ranks,),
        kind="test",
        predictions=("samples",),
        instead=DRAWN,
    )
)


def exchanged_counts(rows: DistributionRows, resamples: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return B tables of counts (B, M + 1, C): of ranks, if a random member of each row were its outcome.

    If predictions are calibrated, outcome and draws are exchangeable, and the table of the outcomes is one more such
    table: any statistic of it has the distribution of the same statistic of these, however the columns depend on each
    other. Ties are broken at random, anew in each table.
    """
    distribution = rows.samples
    assert distribution is not None  # the only kind that rank_exchange_test reads
    m, y = distribution.M + 1, rows.y.reshape(rows.n, -1)
    C = y.shape[1]
    tables = np.zeros((C, resamples * m), np.int64)
    offset = np.arange(resamples) * m
    for part in chunks(rows.n, max(1, BLOCK // max(resamples, m * C))):
        less, equal = member_counts(y[part], distribution.held[part].reshape(-1, distribution.M, C), rows.dtype)
        chosen = rng.integers(m, size=(len(less), resamples))
        for c in range(C):
            rank = np.take_along_axis(less[:, c], chosen, axis=1)
            ties = np.take_along_axis(equal[:, c], chosen, axis=1)
            if ties.any():
                rank += rng.integers(0, ties, endpoint=True)
            tables[c] += np.bincount((rank + offset).ravel(), minlength=tables.shape[1])
    return np.ascontiguousarray(tables.reshape(C, resamples, m).transpose(1, 2, 0))


def member_counts(y: NDArray[Any], draws: NDArray[Any], dtype: np.dtype[Any]) -> tuple[Counts, Counts]:
    """Return how many other members lie below each member and how many equal it, (n, C, M + 1), the outcome first."""
    z = np.concatenate([as_compared(y[:, None], dtype), as_compared(draws, dtype)], axis=1).transpose(0, 2, 1)
    return counts_among(z)
