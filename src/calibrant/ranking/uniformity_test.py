"""Tests of uniform ranks from their counts: the exact test of the simultaneous band, Neyman's and Pearson's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Outcomes, Quantities, Quantity, Rng
from calibrant.core.catalogue import public
from calibrant.core.dispatch import chunks
from calibrant.core.null import reaches, resampled_pvalue
from calibrant.core.results import TestResult
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.groups import read_row_labels
from calibrant.inputs.rows import CdfRows, DistributionRows, QuantileRows
from calibrant.ranking.counting import Forecast, legendre
from calibrant.ranking.effects import (
    BLOCK,
    ColumnTests,
    Multiplicity,
    RankTestOptions,
    ResampledTestOptions,
    band_test,
    bin_counts,
    check_bins,
    chi2,
    enter_rank_test,
    is_large,
    number_of_bins,
    rank_bins,
    rank_effect,
    stream_after_ties,
)
from calibrant.ranking.quantities import RankedBy, ranked_by
from calibrant.ranking.summary import Ranks

MIN_GROUP_ROWS = 20  # rows of a group that is tested
ROWS_FOR_LIMIT = 50  # rows below which the null distribution of the smooth statistic is simulated


@public
def uniformity_test(
    y: Outcomes | None,
    prediction: Forecast | None = None,
    *,
    multiplicity: Multiplicity = "holm",
    groups: ArrayLike | None = None,
    quantity: Quantities | None = None,
    covariates: ArrayLike | None = None,
    log_likelihood: Quantity | None = None,
    log_density_y: ArrayLike | None = None,
    draws: int | None = None,
    rng: Rng | None = None,
    weights: ArrayLike | None = None,
) -> TestResult:
    r"""Test whether outcomes fall evenly among what was predicted: whether their ranks are uniform.

    With n rows, M draws per row, m = M + 1 and ranks r from 0 to M (`ranks`), :math:`c_j = \#\{r < j\}` is
    Binomial(n, j/m) if predictions are calibrated. The statistic is the smallest two-sided pointwise p-value,

    .. math:: \gamma = 2 \min_j \min(P(B_j \le c_j), P(B_j \ge c_j)) ,

    and the p-value is the exact probability of one as small: at most 0.05 exactly when the curve of `ecdf_difference`
    leaves its 95 % band. It sees every kind of departure, and where it is.

    Parameters
    ----------
    y, prediction
        Outcomes and `Samples` (draws (n, M) or (n, M, D), those of row i in ``draws[i]``), a distribution, `Quantiles`
        or `CdfValues` (with y = None). Or `Ranks` in place of both, made by ``summarize("energy_ranks", y, samples)``
        or by ``Ranks.of(ranks, M)``. Without draws the ranks are those of F(y) among 1,000 cells.
    multiplicity
        How the p-values of several columns are adjusted: ``"holm"``, ``"bonferroni"`` or ``"none"``.
    groups
        Labels of rows: the test is made in each group and column, adjusted over all of them. A group of fewer than 20
        rows is listed and not tested (NaN).
    quantity, covariates, log_likelihood, log_density_y, draws
        What is ranked in place of the coordinates, and among how many draws: as in `ranks`.
    rng
        Generator or seed; needed for ties between outcome and draws, for jumps of a distribution function, and to
        choose draws.
    weights
        Refused unless all are equal.

    Returns
    -------
    TestResult
        Numbers, or arrays with one entry per coordinate; with `groups` the groups come first. `pvalue` is adjusted.
        `estimate` is (shift, spread): predictions are too high by `shift` predictive standard deviations, and their
        spread needs the factor `spread`, both for Gaussian predictions and small departures. `details` has `names`
        (of the columns), `pvalue_each`, `M`, `tied` (ranks drawn at random) and `where`, the t = j/m of γ; with groups
        also `groups` (labels) and `rows` (of each).

    Examples
    --------
    Three outcomes above their only draw: P(B >= 3) = 1/8 for B ~ Binomial(3, 1/2), and two sides.

    >>> from calibrant import Samples
    >>> found = uniformity_test([1.0, 2.0, 3.0], Samples([[0.0], [0.0], [0.0]]))
    >>> found.statistic, found.pvalue, found.details["where"]
    (0.25, 0.25, 0.5)

    Ranks 0 to 499 where 0 to 1,000 are possible:

    >>> from calibrant.summaries import Ranks
    >>> uniformity_test(Ranks.of(range(500), M=1000)).pvalue < 1e-100
    True
    """
    by = (quantity, covariates, log_likelihood, log_density_y, draws, rng)
    return UNIFORMITY_TEST(y, prediction, UniformityOptions(*by, multiplicity, groups), weights=weights)


@dataclass(frozen=True)
class UniformityOptions(RankTestOptions, RankedBy):
    groups: ArrayLike | None

    def __post_init__(self) -> None:
        RankTestOptions.__post_init__(self)
        RankedBy.__post_init__(self)


def _count_by_group(rows: DistributionRows | QuantileRows | CdfRows, options: UniformityOptions) -> Ranks:
    found, groups = ranked_by(rows, options), options.groups
    labels = None if groups is None else read_row_labels(groups, rows.n, keep=rows.keep)
    return Ranks.of_ranked(found, rows.w, labels=labels)


def band_found(ranks: Ranks) -> ColumnTests:
    found = band_test(ranks)
    words = "curve of the ranks against its simultaneous band; exact"
    return ColumnTests(found.gamma, found.pvalue, words, {"where": found.where}, {})


def _uniformity_found(ranks: Ranks, options: UniformityOptions) -> ColumnTests:
    """Return γ and its exact p-value for each group and column; small groups are listed and not tested."""
    groups = ranks.groups
    if not groups and options.groups is not None:
        raise InputError(
            "groups cannot be given with Ranks that were counted without them; pass Ranks.of(ranks, M, groups=...)"
        )
    if not groups:
        return band_found(ranks)
    gamma, raw, where = np.full((3, len(groups), ranks.C), np.nan)
    for g, part in enumerate(groups):
        if part.n >= MIN_GROUP_ROWS:
            gamma[g], raw[g], where[g] = band_test(part)
    if np.isnan(raw).all():
        most = max(part.n for part in groups)
        raise NotApplicableError(f"no group has {MIN_GROUP_ROWS} rows; the largest has {most}. Use larger groups")
    rows = np.array([part.n for part in groups])
    untested = np.count_nonzero(rows < MIN_GROUP_ROWS)
    few = f", {untested} of them too small to be tested" if untested else ""
    words = f"curve of the ranks against its simultaneous band, in each of {len(groups):,} groups{few}; exact"
    return ColumnTests(gamma, raw, words, {"where": where}, {"groups": ranks.labels, "rows": rows})


UNIFORMITY_TEST = enter_rank_test(uniformity_test, UniformityOptions, _uniformity_found, summarise=_count_by_group)


@public
def rank_smooth_test(
    y: Outcomes | None,
    prediction: Forecast | None = None,
    *,
    multiplicity: Multiplicity = "holm",
    resamples: int = 999,
    rng: Rng | None = None,
    weights: ArrayLike | None = None,
) -> TestResult:
    r"""Test the ranks of outcomes by four polynomials: bias, spread, skewness, tails (Neyman's smooth test).

    .. math:: S = Z_1^2 + \dots + Z_4^2, \qquad Z_k = \frac{\sum_i w_i \varphi_k(r_i)}{\sqrt{\sum_i w_i^2}}

    with orthonormal polynomials φ of the rank. If predictions are calibrated S is chi-square with 4 degrees of freedom
    in the limit of many rows (M of them if M < 4); for fewer than 50 rows its distribution is simulated.

    Signs: Z_1 < 0 predictions too high; Z_2 < 0 too wide, > 0 too narrow; Z_3 < 0 lower tail too short and upper too
    long; Z_4, after Z_2, < 0 tails too heavy or two modes averaged.

    Parameters
    ----------
    y, prediction, multiplicity
        As in `uniformity_test`.
    resamples
        Number of simulated sets of ranks, for fewer than 50 rows.
    rng
        Generator or seed; needed for ties between outcome and draws. Simulations without it start from 0.
    weights
        Importance weights.

    Returns
    -------
    TestResult
        As that of `uniformity_test`; `details` has `Z`, (4,) or (4, C), and `dof`.

    Examples
    --------
    Of 100 outcomes 60 lie above their only draw: S = (60 - 40)²/100.

    >>> from calibrant.summaries import Ranks
    >>> rank_smooth_test(Ranks.of([0] * 40 + [1] * 60, M=1)).statistic
    4.0
    """
    return SMOOTH_TEST(y, prediction, ResampledTestOptions(multiplicity, rng, resamples), weights=weights)


def smooth_found(ranks: Ranks, resamples: int, rng: Rng | None) -> ColumnTests:
    from scipy.special import chdtrc

    Z = rank_effect(ranks).Z
    S, K = (Z * Z).sum(axis=0), len(Z)
    rows = float(ranks.weight[:, 0].sum() ** 2 / ranks.weight2[:, 0].sum())
    columns, shared = {"Z": Z}, {"dof": K}
    if rows < ROWS_FOR_LIMIT and ranks.has_equal_weights:
        p = _simulated_pvalues(S, ranks.n, ranks.M, resamples, stream_after_ties(rng))
        return ColumnTests(
            S, p, f"smooth test of {K} polynomials; {resamples:,} simulated sets of ranks", columns, shared
        )
    words = f"smooth test of {K} polynomials; chi-square limit with {K} degree{'s' if K > 1 else ''} of freedom"
    if rows < ROWS_FOR_LIMIT:
        words += (
            f"; weights worth only {rows:.3g} equal rows ({ROWS_FOR_LIMIT} are needed), so the p-value is approximate"
        )
    return ColumnTests(S, np.asarray(chdtrc(K, S)), words, columns, shared)


def _simulated_pvalues(S: FloatArray, n: int, M: int, B: int, rng: np.random.Generator) -> FloatArray:
    phi, extreme = legendre(M), np.zeros(S.size, np.int64)
    for part in chunks(B, max(1, BLOCK // (4 * n))):
        rank = rng.integers(M + 1, size=(part.stop - part.start, n))
        drawn = (phi[:, rank].sum(axis=2) ** 2).sum(axis=0) / n
        extreme += [np.count_nonzero(reaches(drawn, s, 1.0)) for s in S]
    return np.asarray(resampled_pvalue(extreme, B))


SMOOTH_TEST = enter_rank_test(
    rank_smooth_test,
    ResampledTestOptions,
    lambda ranks, options: smooth_found(ranks, options.resamples, options.rng),
    weighted=True,
)


@public
def rank_chi2_test(
    y: Outcomes | None,
    prediction: Forecast | None = None,
    *,
    bins: int | None = None,
    multiplicity: Multiplicity = "holm",
    resamples: int = 999,
    rng: Rng | None = None,
    weights: ArrayLike | None = None,
) -> TestResult:
    r"""Test the histogram of the ranks of outcomes by Pearson's chi-square statistic.

    .. math:: \sum_k \frac{(n_k - e_k)^2}{e_k}

    with the count :math:`n_k` and the expected count :math:`e_k` of each bin of `rank_histogram`. Chi-square with
    bins - 1 degrees of freedom, or simulated if a bin expects fewer than 5 rows.

    Parameters
    ----------
    y, prediction, multiplicity, weights
        As in `uniformity_test`.
    bins
        Number of bins; None as in `rank_histogram`.
    resamples, rng
        As in `rank_smooth_test`; simulated where a bin expects fewer than 5 rows.

    Returns
    -------
    TestResult
        As that of `uniformity_test`; `details` has `counts`, `expected`, `bins` and `dof`.

    Examples
    --------
    Counts 40 and 60 where 50 are expected: 2 · 10²/50.

    >>> from calibrant.summaries import Ranks
    >>> rank_chi2_test(Ranks.of([0] * 40 + [1] * 60, M=1)).statistic
    4.0
    """
    return CHI2_TEST(y, prediction, Chi2Options(multiplicity, rng, resamples, bins), weights=weights)


@dataclass(frozen=True)
class Chi2Options(ResampledTestOptions):
    bins: int | None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bins(self.bins)


def chi2_found(ranks: Ranks, bins: int | None, resamples: int, rng: Rng | None) -> ColumnTests:
    k = number_of_bins(bins, ranks.n, ranks.M)
    counts = bin_counts(ranks.counts, k)
    expected = ranks.n * rank_bins(ranks.M, k) / (ranks.M + 1)
    T, p = chi2(counts, expected, rng, resamples=resamples)
    limit = f"chi-square limit with {k - 1} degree{'s' if k > 2 else ''} of freedom"
    how = limit if is_large(expected) else f"{resamples:,} simulated sets"
    shared = {"bins": k, "dof": k - 1, "expected": expected}
    return ColumnTests(T, p, f"histogram of {k} bins (Pearson); {how}", {"counts": counts}, shared)


CHI2_TEST = enter_rank_test(
    rank_chi2_test, Chi2Options, lambda ranks, options: chi2_found(ranks, options.bins, options.resamples, options.rng)
)
