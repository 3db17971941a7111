"""Tests of uniform ranks."""

from __future__ import annotations

from typing import Any, cast

from calibrant.core.decorators import calibration_test
from calibrant.core.kinds import AnyRows
from calibrant.core.results import TestResult
from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError
from calibrant.inputs.arrays import is_unit
from calibrant.inputs.groups import read_row_labels
from calibrant.inputs.options import check_choice, check_count
from calibrant.inputs.rows import DistributionRows
from calibrant.inputs.samples import Samples
from calibrant.ranking.counting import marginal_ranks
from calibrant.ranking.covariates import ExchangedRanks, KeptRanks, RankCovariates, covariate_columns
from calibrant.ranking.effects import CORRECTIONS, adjusted, own_stream, rank_result
from calibrant.ranking.summary import GroupedRanks, Ranks, WithRanks
from calibrant.ranking.uniformity_methods import (
    METHODS,
    ON_COUNTS,
    column_test,
    exchange_pvalues,
    grouped,
    permuted_score,
    score,
)

AGAINST_COVARIATES = ("score", "permutation")


def summarise(
    rows: AnyRows, *, method: Any, multiplicity: Any, groups: Any, covariates: Any, resamples: Any, bins: Any, rng: Any
) -> Summary:
    """Count the ranks, and keep beside them what the options need."""
    _check_options(method, multiplicity, groups=groups, covariates=covariates, bins=bins)
    B = check_count("resamples", resamples)
    given = cast(DistributionRows, rows)
    if method != "smooth" and not (is_unit(rows.w) or rows.w.min() == rows.w.max()):
        raise InputError(_WEIGHTS)
    if method in AGAINST_COVARIATES and covariates is None:
        raise InputError(
            f'method="{method}" needs {{covariates=}}, what the predictions were made from', option="covariates"
        )
    if multiplicity == "exchange":
        if not (isinstance(given, DistributionRows) and isinstance(given.distribution, Samples)):
            raise InputError('multiplicity="exchange" takes draws in the place of outcomes: it needs Samples')
        return ExchangedRanks.of(given, B, rng)
    found = marginal_ranks(given, rng)
    if groups is not None:
        return GroupedRanks.of_ranked(found, rows.w, read_row_labels(groups, rows.n, keep=given.keep))
    if covariates is not None:
        x = covariate_columns(covariates, rows.n, given.keep)
        kind = KeptRanks if method == "permutation" else RankCovariates
        return kind.of_ranked(found, rows.w, x)
    return Ranks.of_ranked(found, rows.w)


@calibration_test(
    reads=(Ranks, GroupedRanks, RankCovariates, KeptRanks, ExchangedRanks),
    summarise=summarise,
    predictions=("samples", "distributions", "quantiles", "cdf"),
    by_group=lambda options: (
        options["method"] in (None, "band") and options["covariates"] is None and options["multiplicity"] != "exchange"
    ),
    instead={"intervals": "Use coverage_test", "sets": "Use coverage_test"},
)
def uniformity_test(
    summary: Summary,
    *,
    method: str | None = None,
    multiplicity: str = "holm",
    groups: Any = None,
    covariates: Any = None,
    resamples: int = 999,
    bins: int | None = None,
    rng: Any = None,
) -> TestResult:
    r"""Test whether outcomes fall evenly among what was predicted: whether their ranks are uniform.

    With n rows, M draws per row, m = M + 1 and ranks r of 0 to M (`ranks`):

    ``"band"``, the default
        :math:`c_j = \#\{r < j\}` is Binomial(n, j/m). The statistic is the smallest two-sided pointwise p-value,
        :math:`\gamma = 2 \min_j \min(P(B_j \le c_j), P(B_j \ge c_j))`, and p the exact probability of one as small:
        at most 0.05 exactly when the curve of `ecdf_difference` leaves its 95 % band. Sees everything, and where.
    ``"smooth"``
        :math:`S = Z_1^2 + \dots + Z_4^2`, :math:`Z_k = \sum_i w_i \varphi_k(r_i) / \sqrt{\sum_i w_i^2}` with
        orthonormal polynomials φ of the rank: bias, spread, skewness, tails (Neyman 1937). Chi-square with 4 degrees
        of freedom (M < 4: M), simulated for fewer than 50 rows. More power than the band for a wrong spread.
    ``"chi2"``
        Pearson's statistic of `bins` bins as in `rank_histogram`; chi-square, or simulated if a bin expects fewer than
        5 rows.
    ``"ks"``, ``"cvm"``, ``"ad"``
        Kolmogorov-Smirnov (exact), Cramér-von Mises and Anderson-Darling (limit laws) of u = (r + V)/m, V uniform and
        drawn with `rng`. They see location, and spread only weakly.
    ``"piet"``
        For values that depend on each other, such as those of leave-one-out: the p-values 2 min(u, 1 - u) combined by
        the Cauchy rule, :math:`T = \frac1n \sum \tan((\frac12 - p_i)\pi)`. Sees the ends of the range alone.
    ``"score"``, the default with `covariates`
        :math:`T = \sum_{k=1,2} |\varphi_k(r)^\top Q|^2`, Q an orthonormal basis of the centred covariates:
        chi-square with 2q degrees of freedom, q their rank, if ranks are uniform and unrelated to the covariates. Sees
        forecasts that ignore what they could have known.
    ``"permutation"``, with `covariates`
        The same T, ranks permuted against covariates: tests "unrelated" alone.

    Parameters
    ----------
    y, prediction
        Outcomes and `Samples` (draws (n, M) or (n, M, D), those of row i in ``draws[i]``), a law, `Quantiles` or
        `CdfValues` (with y = None); or `Ranks`, which come from ``summarize(energy_ranks, y, samples)`` and its kin, in
        the place of both. Without draws the ranks are those of F(y) among 1,000 cells.
    weights
        Importance weights, for ``"smooth"`` only; others refuse unequal ones.
    method
        One of the above. None: ``"band"``, with covariates ``"score"``.
    multiplicity
        How p-values of several columns are adjusted: ``"holm"``, ``"bonferroni"``, ``"none"``; or ``"exchange"`` for
        ``"band"``, ``"smooth"`` and ``"chi2"`` of `Samples`: `resamples` times a random member of each row, outcome or
        draw, takes the outcome's place, and each statistic is compared with the largest of all columns. Exact whatever
        the dependence of the columns.
    groups
        Labels of rows: ``"band"`` in each group and column, adjusted over all of them. A group of fewer than 20 rows is
        listed and not tested (NaN).
    covariates
        Numbers (n,) or (n, q) that the predictions were made from.
    resamples
        Exchanged sets, permutations or simulated sets of ranks.
    bins
        With ``"chi2"``: number of bins; None as in `rank_histogram`.
    rng
        A Generator or a whole number; needed for ties between outcome and draws, jumps of a distribution function, and
        by the methods of u. Simulations without it start from 0. To add up batches with ``"exchange"`` pass one
        Generator to all.

    Returns
    -------
    TestResult
        Numbers, or arrays with one entry per coordinate; with `groups` the groups come first. `pvalue` is adjusted.
        `estimate` is (shift, spread): predictions are too high by `shift` predictive standard deviations, and their
        spread needs the factor `spread`, both for Gaussian predictions and small departures. `details` has `names`
        (of the columns), `pvalue_each`, `M` and `tied` (ranks decided by chance). ``"band"`` has `where`, the t = j/m
        of γ; ``"smooth"`` `Z` and `dof`; ``"chi2"`` `counts`, `expected`, `bins` and `dof`; ``"score"`` and
        ``"permutation"`` `dof`. With groups there are `groups` (labels) and `rows` (of each).

    Notes
    -----
    Signs of Z: Z_1 < 0 predictions too high; Z_2 < 0 too wide, > 0 too narrow; Z_3 < 0 lower tail too short and upper
    too long; Z_4, after Z_2, < 0 tails too heavy or two modes averaged. r/M is not uniform, nor is (r + 1/2)/m: a
    Kolmogorov-Smirnov test of r/M rejects 98 % of calibrated sets of 1,000 rows with M = 20.

    Rows must be independent, except for ``"piet"``. The same rule for order statistics (POT) and for the empirical
    distribution function (PRIT) is not offered: of independent calibrated sets they reject 6 to 7 % and, with 1,000
    rows, 5.8 % at 5 %. Draws of a Markov chain must be thinned first. Uniform ranks do not make a good forecast:
    climatology passes all but ``"score"``, ``"permutation"`` and `groups`. Not rejecting is no proof: `explain` has
    intervals of shift and spread for any size and any number of draws, and the smallest that so many rows could have
    seen.

    Examples
    --------
    Three outcomes above their only draw: P(B >= 3) = 1/8 for B ~ Binomial(3, 1/2), and two sides.

    >>> from calibrant import Samples
    >>> found = uniformity_test([1.0, 2.0, 3.0], Samples([[0.0], [0.0], [0.0]]))
    >>> found.statistic, found.pvalue, found.details["where"]
    (0.25, 0.25, 0.5)

    Ranks 0 to 499 where 0 to 1,000 are possible:

    >>> from calibrant import Ranks
    >>> uniformity_test(Ranks.of(range(500), M=1000)).pvalue < 1e-100
    True
    """
    _check_options(method, multiplicity, groups=groups, covariates=covariates, bins=bins)
    B = check_count("resamples", resamples)
    _check_summary(summary, method, multiplicity, groups=groups, covariates=covariates)
    if isinstance(summary, GroupedRanks):
        return grouped(summary, multiplicity)
    ranks = summary if isinstance(summary, Ranks) else cast(WithRanks, summary).ranks
    if isinstance(summary, RankCovariates):
        found = score(summary)
    elif isinstance(summary, KeptRanks):
        found = permuted_score(summary, B, own_stream(rng))
    else:
        found = column_test(ranks, method or "band", bins=bins, resamples=B, rng=rng)
    if multiplicity != "exchange":
        correction = CORRECTIONS[multiplicity] if ranks.C > 1 else ""
        return rank_result(ranks, found, adjusted(found.pvalue, multiplicity), correction)
    exchanged = cast(ExchangedRanks, summary)
    pvalue = exchange_pvalues(exchanged, method or "band", found.statistic, bins)
    return rank_result(ranks, found, pvalue, f"largest of all in {len(exchanged.tables):,} exchanged sets")


_WEIGHTS = (
    "uniformity_test refuses unequal weights: counts of weighted ranks have no known law; "
    'leave weights out, or use method="smooth"'
)


def _check_options(method: Any, multiplicity: Any, *, groups: Any, covariates: Any, bins: Any) -> None:
    """Refuse unknown words, and options that do not go together."""
    check_choice("method", method, None, *METHODS, *AGAINST_COVARIATES)
    check_choice("multiplicity", multiplicity, *CORRECTIONS, "exchange")
    if groups is not None and covariates is not None:
        raise InputError("groups= and covariates= are two tests; make one call with each")
    if groups is not None and method not in (None, "band"):
        raise InputError(f'groups= belongs to method="band"; got method={method!r}')
    if covariates is not None and method not in (None, *AGAINST_COVARIATES):
        raise InputError(f'covariates= belongs to method="score" and "permutation"; got method={method!r}')
    if bins is not None and method != "chi2":
        raise InputError(f'bins= belongs to method="chi2"; got method={method!r}')
    if multiplicity == "exchange":
        other = "groups" if groups is not None else "covariates" if covariates is not None else None
        if other or method not in (None, *ON_COUNTS):
            got = f"{other}=" if other else f"method={method!r}"
            listed = ", ".join(f'"{name}"' for name in ON_COUNTS)
            raise InputError(f'multiplicity="exchange" belongs to the methods {listed} of all rows; got {got}')


def _check_summary(summary: Summary, method: Any, multiplicity: Any, *, groups: Any, covariates: Any) -> None:
    """Refuse what a summary does not tell."""
    name = type(summary).__name__
    of_covariates = isinstance(summary, RankCovariates | KeptRanks)
    for option, value, fits in (
        ("groups", groups, isinstance(summary, GroupedRanks)),
        ("covariates", covariates, of_covariates),
    ):
        if value is not None and not fits:
            kind = "GroupedRanks" if option == "groups" else "RankCovariates"
            raise InputError(
                f"{option} cannot be given with {name}, which has counted rows without them; "
                f"pass {kind}.of(ranks, M, {option}), made of the ranks"
            )
    if multiplicity == "exchange" and not isinstance(summary, ExchangedRanks):
        raise SummaryError(f'multiplicity="exchange" needs the draws, which {name} does not hold; {_make(method)}')
    told = ("score" if isinstance(summary, RankCovariates) else "permutation",) if of_covariates else METHODS
    told = ("band",) if isinstance(summary, GroupedRanks) else told
    if method is not None and method not in told:
        raise SummaryError(f"{name} does not hold what method={method!r} needs; {_make(method)}")
    equal = (summary if isinstance(summary, Ranks) else cast(WithRanks, summary).ranks).has_equal_weights
    if not equal and (method != "smooth" or multiplicity == "exchange"):
        raise InputError(_WEIGHTS)


def _make(method: Any) -> str:
    return f'pass outcomes and predictions, or summarize("uniformity_test", y, prediction, method={method!r}, ...)'
