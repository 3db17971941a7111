"""Tests of coverage."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from calibrant.core.decorators import calibration_test
from calibrant.core.kinds import AnyRows
from calibrant.core.null import reaches
from calibrant.core.pvalues import bonferroni
from calibrant.core.results import TestResult
from calibrant.core.summary import Summary
from calibrant.errors import InputError, NotApplicableError, SummaryError
from calibrant.inputs.arrays import FloatArray, is_unit
from calibrant.inputs.groups import read_row_labels
from calibrant.inputs.options import check_choice, check_count, generator
from calibrant.inputs.rows import QuantileRows
from calibrant.regions import coverage_methods as coverage_markov
from calibrant.regions.coverage_curve import CoveredRows
from calibrant.regions.coverage_hsic import hsic_permutations
from calibrant.regions.coverage_methods import hit_pvalue, joint, kupiec_pvalue
from calibrant.regions.hits import Hits, HitTable, first_not_nested
from calibrant.regions.sizes import Sizes

IN_ORDER = ("independence", "conditional")
METHODS = ("binomial", "kupiec", *IN_ORDER, "joint", "groups", "hsic")
OWNERS = {
    "alternative": ("binomial",),
    "null": ("kupiec", *IN_ORDER, "joint"),
    "calibration_size": ("binomial", "groups"),
    "groups": ("groups",),
    "series": IN_ORDER,
}
"""Which methods an option that is not at its default belongs to."""


def summarise(rows: AnyRows, *, method: str, groups: Any, series: Any, **options: Any) -> Summary:
    """Keep the order of the hits for tests that look at it, else count them."""
    given = cast(CoveredRows, rows)
    _check_options(method, groups=groups, series=series, **options)
    if method == "groups" and groups is None:
        raise InputError('method="groups" needs groups=, the labels of rows')
    _check_rows(given, method)
    if method == "hsic":
        if isinstance(given, QuantileRows):
            raise InputError('method="hsic" needs Intervals or Sets, which have a size')
        return Sizes.of(given)
    if method in IN_ORDER:
        labels = None if series is None else read_row_labels(series, rows.n, name="series", keep=given.keep)
        code, names = (None, ("",)) if labels is None else labels
        levels = cast(FloatArray, given.prediction.levels)
        return Hits.of(given.covered, levels, type(given.prediction).__name__, code, names, float(given.w[0]))
    return HitTable.of(given, None if groups is None else read_row_labels(groups, rows.n, keep=given.keep))


@calibration_test(
    reads=(HitTable, Hits, Sizes),
    summarise=summarise,
    predictions=("intervals", "sets", "quantiles"),
    perfect=0.0,
    by_group=lambda options: options["method"] == "groups",
)
def coverage_test(
    summary: Summary,
    *,
    method: str = "binomial",
    alternative: str = "two-sided",
    null: str = "exact",
    calibration_size: int | None = None,
    groups: Any = None,
    series: Any = None,
    resamples: int = 999,
    rng: Any = 0,
) -> TestResult:
    r"""Test whether outcomes are covered as often as the level says, and independently of each other.

    With k hits among n rows, level c and :math:`\hat c = k/n`:

    ``"binomial"``
        k is Binomial(n, c). Two-sided: :math:`p = \min(1, 2 \min(P(K \le k), P(K \ge k)))`, which is below 0.05 exactly
        when c lies outside the 95 % Clopper-Pearson interval.
    ``"kupiec"``
        :math:`LR = 2[k \ln(\hat c/c) + (n - k) \ln((1 - \hat c)/(1 - c))]` (Kupiec 1995); exact
        :math:`P(LR(K) \ge LR)`, or chi-square with 1 degree of freedom.
    ``"independence"``
        Rows in time order: the likelihood ratio of a first-order Markov chain of misses against independence
        (Christoffersen 1998). Exact: every order of the misses is equally likely; or chi-square (1).
    ``"conditional"``
        The same plus Kupiec's ratio of rows 2 to n: coverage and independence at once. Exact, or chi-square (2).
    ``"joint"``
        Several nested levels: Pearson's X² of the rows between neighbouring levels (of quantiles: between neighbouring
        quantiles) against n times the difference of the levels. Chi-square with L degrees of freedom if every expected
        count is at least 5, else simulated counts.
    ``"groups"``
        The smallest two-sided binomial p-value of the groups, times their number.
    ``"hsic"``
        `coverage_hsic`, dependence between size and coverage, with permuted hits.

    Parameters
    ----------
    y, prediction, classes
        As in `coverage`. One level, several for ``"joint"``; `Sets` need a level.
    weights
        Refused unless all are equal: an exact law has no weighted form.
    method
        One of the above.
    alternative
        With ``"binomial"``: ``"less"`` if only too low a coverage counts, ``"greater"`` if only too high.
    null
        ``"exact"``, or ``"asymptotic"`` for the chi-square law of ``"kupiec"``, ``"independence"``, ``"conditional"``
        and ``"joint"``. Beyond 10,000 rows independence and conditional use it anyway.
    calibration_size
        With ``"binomial"`` and ``"groups"``: number m of calibration scores of a split-conformal predictor. Given
        these, its coverage is Beta(j, m + 1 - j), j = ⌈(m + 1) c⌉ (Vovk 2012), and hits are beta-binomial.
    groups
        With ``"groups"``: labels of rows.
    series
        With ``"independence"`` and ``"conditional"``: labels of several series, each in time order; no transition
        crosses from one to the next. The law is then simulated.
    resamples, rng
        Permutations or redraws where a law is simulated.

    Returns
    -------
    TestResult
        `statistic` as above (``"binomial"``: k); `estimate` is the coverage, for ``"joint"`` the largest distance of a
        coverage from its level. `details`: ``"independence"`` and ``"conditional"`` have `transitions`
        ((hit to hit, hit to miss), (miss to hit, miss to miss)), ``"joint"`` `counts`, `expected`, `coverage` and `df`,
        ``"groups"`` the `group` with the smallest p-value and its `coverage`.

    Notes
    -----
    The chi-square laws do not hold their level: at nominal 5 % that of Kupiec rejects a right model with probability
    0.133 (n = 20, level 0.9) or 0.095 (n = 250, level 0.99). A split-conformal predictor has coverage `level` on
    average over calibration sets only; with 100 scores and 2,000 rows the plain binomial test rejects 65 % of valid
    ones: pass `calibration_size`. Rows must be independent for all but the two tests of order. Not rejecting is no
    proof.

    Examples
    --------
    Three of four outcomes inside where half are wanted: 2 P(K >= 3) = 2 · 5/16.

    >>> from calibrant import Intervals
    >>> found = coverage_test([0.0, 1.0, 2.0, 9.0], Intervals([-1.0] * 4, [3.0] * 4, 0.5))
    >>> found.statistic, found.estimate, found.pvalue
    (3.0, 0.75, 0.625)

    Hits and misses in turn: 2 of the 20 orders of three misses among six rows are like this.

    >>> y, predicted = [0.0, 9.0, 0.0, 9.0, 0.0, 9.0], Intervals([-1.0] * 6, [3.0] * 6, 0.5)
    >>> found = coverage_test(y, predicted, method="independence")
    >>> found.details["transitions"], round(found.pvalue, 9)
    (((0, 3), (2, 0)), 0.1)
    """
    _check_options(
        method, alternative=alternative, null=null, calibration_size=calibration_size, groups=groups, series=series
    )
    B, chance = check_count("resamples", resamples), generator(rng)
    if method == "hsic":
        return _hsic(_of_kind(summary, Sizes, method), B, chance)
    if method in IN_ORDER:
        return _in_order(_of_kind(summary, Hits, method), method, null, B, chance)
    table = _of_kind(summary, HitTable, method)
    if not table.has_equal_weights:
        raise InputError(_WEIGHTS)
    if np.isnan(table.levels).any():
        raise InputError(_NO_LEVEL)
    if method == "joint":
        return _joint(table, null, B, chance)
    _check_one_level(table.levels.size, method)
    if method == "groups":
        return _groups(table, calibration_size)
    return _counts(table, method, alternative, null, calibration_size)


def _counts(table: HitTable, method: str, alternative: str, null: str, m: int | None) -> TestResult:
    k, n, level = int(table.hits.sum()), table.n, float(table.levels[0])
    if method == "kupiec":
        statistic, pvalue = kupiec_pvalue(k, n, level, null)
        how = "exact" if null == "exact" else "chi-square limit with 1 degree of freedom"
        words = f"likelihood ratio of coverage (Kupiec); {how}"
    else:
        statistic, pvalue = float(k), hit_pvalue(k, n, level, alternative, m)
        distribution = "binomial" if m is None else f"beta-binomial, {m:,} calibration scores"
        words = f"number of hits; {distribution}, {alternative}"
    return TestResult(statistic, pvalue, k / n, words, n, {"level": level})


def _groups(table: HitTable, m: int | None) -> TestResult:
    level = float(table.levels[0])
    pvalues = [
        hit_pvalue(k, n, level, "two-sided", m) for k, n in zip(table.hits.tolist(), table.count.tolist(), strict=True)
    ]
    worst = int(np.argmin(pvalues))
    return TestResult(
        statistic=pvalues[worst],
        pvalue=bonferroni(pvalues),
        estimate=int(table.hits.sum()) / table.n,
        method=f"smallest p-value of {len(pvalues):,} groups, times their number (Bonferroni)",
        n=table.n,
        details={
            "level": level,
            "groups": len(pvalues),
            "group": table.group[worst],
            "coverage": float(table.coverage[worst]),
        },
    )


def _joint(table: HitTable, null: str, B: int, rng: np.random.Generator) -> TestResult:
    if not table.nested:
        raise InputError('method="joint" counts rows between nested levels; some rows of this summary are not nested')
    L = table.levels.size
    hits = np.zeros(L, np.int64)
    np.add.at(hits, table.level, table.hits)
    found = joint(hits, table.levels, table.n, null, B, rng)
    coverage = hits / table.n
    return TestResult(
        statistic=found.statistic,
        pvalue=found.pvalue,
        estimate=float(np.abs(coverage - table.levels).max()),
        method=f"rows between nested levels (Pearson); {found.how}",
        n=table.n,
        details={
            "counts": tuple(found.counts.tolist()),
            "expected": tuple(found.expected.tolist()),
            "coverage": tuple(coverage.tolist()),
            "df": L,
        },
    )


def _in_order(summary: Hits, method: str, null: str, B: int, rng: np.random.Generator) -> TestResult:
    _check_one_level(summary.levels.size, method)
    miss, level = summary.hits[:, 0] == 0, float(summary.levels[0])
    t = coverage_markov.transitions_of(miss, summary.series)
    if sum(int(count) for count in t) == 0:
        raise NotApplicableError(f'method="{method}" needs a row that follows another; got {summary.n} rows alone')
    if method == "independence":
        found = coverage_markov.independence(miss, summary.series, null, B, rng)
        words = "Markov chain of misses against independence (Christoffersen)"
    else:
        found = coverage_markov.conditional(miss, summary.series, level, null, B, rng)
        words = "coverage and independence of misses (Christoffersen)"
    n00, n01, n10, n11 = (int(count) for count in t)
    return TestResult(
        statistic=found.statistic,
        pvalue=found.pvalue,
        estimate=int(np.count_nonzero(~miss)) / miss.size,
        method=f"{words}; {found.how}",
        n=summary.n,
        details={"level": level, "transitions": ((n00, n01), (n10, n11))},
    )


def _hsic(summary: Sizes, B: int, rng: np.random.Generator) -> TestResult:
    _check_one_level(summary.L, "hsic")
    T, replicates = hsic_permutations(summary, 0, resamples=B, rng=rng)
    hits, level = int(summary.parts[0].events.sum()), summary.level(0)
    return TestResult(
        statistic=T,
        pvalue=(1 + int(np.count_nonzero(reaches(replicates, T)))) / (B + 1),
        estimate=hits / summary.n,
        method=f"dependence of coverage on size (HSIC); {B} permutations of the hits",
        n=summary.n,
        details={"level": level},
    )


_WEIGHTS = "coverage_test refuses unequal weights: exact laws of hits have no weighted form; leave weights out"
_NO_LEVEL = "coverage_test compares with a nominal level, which these sets do not have; pass Sets(mask, level)"


def _check_options(method: Any, **given: Any) -> None:
    """Refuse unknown words, and options that the method has no use for."""
    check_choice("method", method, *METHODS)
    if "alternative" in given:
        check_choice("alternative", given["alternative"], "two-sided", "less", "greater")
    if "null" in given:
        check_choice("null", given["null"], "exact", "asymptotic")
    if given.get("calibration_size") is not None:
        check_count("calibration_size", given["calibration_size"])
    for name, methods in OWNERS.items():
        value = given.get(name)
        default = value is None or (isinstance(value, str) and value in ("two-sided", "exact"))
        if not default and method not in methods:
            listed = " and ".join(f'"{word}"' for word in methods)
            raise InputError(f"{name}= belongs to method {listed}; got method={method!r}")


def _check_rows(rows: CoveredRows, method: str) -> None:
    if not (is_unit(rows.w) or rows.w.min() == rows.w.max()):
        raise InputError(_WEIGHTS)
    if rows.prediction.levels is None:
        raise InputError(_NO_LEVEL)
    if method in IN_ORDER and rows.keep is not None:
        raise InputError(
            'method="{method}" looks at rows that follow each other, and a row of weight 0 leaves a gap; {row} has '
            "weight 0. Drop such rows first if those around them do follow each other",
            method=method,
            row=int(np.argmin(rows.keep)),
        )
    if method != "joint":
        _check_one_level(rows.prediction.levels.size, method)
        return
    row = first_not_nested(rows)
    if row is not None:
        row = row if rows.keep is None else int(np.flatnonzero(rows.keep)[row])
        raise InputError(
            'method="joint" counts rows between nested levels; '
            "{row} is not nested: its prediction at a lower level reaches beyond that at a higher one",
            row=row,
        )


def _check_one_level(L: int, method: str) -> None:
    if L > 1:
        raise InputError(
            f'method="{method}" tests one level at a time; got {L}. Choose one with prediction.at(level), '
            'or use method="joint"'
        )


def _of_kind(summary: Summary, kind: Any, method: str) -> Any:
    if not isinstance(summary, kind):
        raise SummaryError(
            f'method="{method}" reads a summary of kind {kind.__name__}; got {type(summary).__name__}. '
            f'Make one with summarize("coverage_test", y, prediction, method="{method}")'
        )
    return summary
