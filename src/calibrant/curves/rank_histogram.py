"""Histogram of ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.catalogue import curve
from calibrant.curves.rank_columns import (
    JUDGED,
    adjusted,
    by_column,
    check_columns,
    known_of,
    level_of_each,
    rank_summary,
    said_of_columns,
)
from calibrant.inputs import check_level
from calibrant.primitives.histogram_band import histogram_band
from calibrant.primitives.rank_bins import RESAMPLES, bin_counts, chi2, is_large, rank_bins, read_bins
from calibrant.results import Curve
from calibrant.summaries.ranks import Ranks


@curve(reads=(Ranks,), summarise=rank_summary, predictions=JUDGED)
def rank_histogram(
    ranks: Ranks,
    *,
    bins: int | None = None,
    level: float = 0.95,
    multiplicity: str = "bonferroni",
    rng: Any = None,
) -> Curve:
    r"""Histogram of the ranks of outcomes among their draws, with the exact band of all bars at once.

    Rank r of 0 to M falls into bin :math:`((r + 1) K - 1) \mathbin{//} m` of K, :math:`m = M + 1`. A bin that holds
    :math:`b_k` ranks is expected to hold :math:`n b_k / m` rows; bars are drawn as count over expected count, so that
    bins that do not divide m show no comb.

    Parameters
    ----------
    y
        Outcomes, (n,) or (n, D); None for `CdfValues`. Or a `Ranks` summary of any verb of ranks, such as
        ``summarize(energy_ranks, y, samples)``, alone.
    prediction
        `Samples` (draws (n, M) or (n, M, D), those of row i in ``draws[i]``), a law, `Quantiles` or `CdfValues`. What
        has no draws is counted in the 1000 cells of F(y).
    weights
        Refused unless all are equal: weighted counts have no exact law.
    bins
        Number of bins, 2 to m. None: at most 20, some 20 rows each, and a divisor of m if one is near.
    level
        Probability with which all bars of calibrated predictions stay inside the band; of several columns, all of
        theirs.
    multiplicity
        For several columns. ``"bonferroni"``: each band has level 1 - (1 - level)/C, and p-values are adjusted (Holm).
        ``"none"``: each column for itself.
    rng
        Generator or seed that breaks ties between outcome and draws, needed if there are any, and that simulates
        counts, by default from 0.

    Returns
    -------
    Curve
        One entry per bin: `first` and `last`, its ranks, `counts`, (K,) or (K, C) for C columns, `expected`, and
        `lower` and `upper`, the simultaneous band of counts.

        Details: `edges` in ranks (bin k holds ``edges[k] <= r < edges[k + 1]``); `chi2`, Pearson's statistic,
        `pvalue_each` and `pvalue`, adjusted for the columns; `gamma_band` and `coverage`, the tail at which the band
        was cut and the probability it attains; `n`, `M`, `names` of the columns, `tied`, ranks that chance has decided,
        and `cells`, whether F(y) was counted.

    Notes
    -----
    The limits are those of Binomial(n, :math:`b_k/m`) at one tail for all bins; the probability that every bar stays
    between them is found by convolution, and is at least `level`. The p-value is chi-square with K - 1 degrees of
    freedom, or by 999 simulated histograms if an expected count is below 5; it looks at all bars together, so that it
    and the band may disagree.

    A U: predictions too narrow. A dome: too wide. Falling to the right: too high; rising: too low. Only the ends high:
    outcomes beyond all draws, or draws that depend on each other. A flat histogram does not show that predictions are
    sharp, nor that they are right for every kind of row; `ecdf_difference` needs no bins.

    Examples
    --------
    Four outcomes, each with its rank among three draws, in two bins of two ranks:

    >>> from calibrant import Samples
    >>> draws = Samples([[1.0, 2.0, 3.0]] * 4)
    >>> curve = rank_histogram([0.0, 0.5, 1.5, 9.0], draws, bins=2)
    >>> curve.first.tolist(), curve.last.tolist()
    ([0, 2], [1, 3])
    >>> curve.counts.tolist(), curve.expected.tolist()
    ([3, 1], [2.0, 2.0])
    """
    level = check_level(level)
    check_columns("rank_histogram", ranks, multiplicity)
    N, m = ranks.n, ranks.M + 1
    K = read_bins(bins, N, ranks.M)
    size = rank_bins(ranks.M, K)
    edges = np.concatenate(([0], np.cumsum(size)))
    counts, expected = bin_counts(ranks.counts, K), N * size / m
    band = histogram_band(N, size / m, level_of_each(level, ranks.C, multiplicity))
    statistic, pvalue = chi2(counts, expected, rng)
    law = f"chi-square with {K - 1} degrees of freedom" if is_large(expected) else f"{RESAMPLES} simulated histograms"
    return Curve(
        kind="rank_histogram",
        columns={
            "first": edges[:-1],
            "last": edges[1:] - 1,
            "counts": by_column(counts, ranks),
            "expected": expected,
            "lower": band.lower,
            "upper": band.upper,
        },
        method=f"exact simultaneous band of {K} bins; {law}{said_of_columns(ranks, multiplicity)}",
        n=N,
        details={
            "level": level,
            "edges": edges,
            "gamma_band": band.gamma,
            "coverage": band.coverage,
            "chi2": by_column(statistic, ranks),
            "pvalue": by_column(adjusted(pvalue, multiplicity), ranks),
            "pvalue_each": by_column(pvalue, ranks),
            **known_of(ranks),
        },
    )
