"""Tests of coverage by counting hits: exact binomial, Kupiec's likelihood ratio, and all levels at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Alternative, Labels, Outcomes, Rng
from calibrant.core.catalogue import Entry, enter, public
from calibrant.core.null import RedrawOptions
from calibrant.core.pvalues import beta_binomial_tails, binomial_tails, bonferroni, two_sided
from calibrant.core.results import TestResult
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.options import check_count, generator
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.sets import Sets
from calibrant.progress import steps
from calibrant.regions.hits import (
    REGIONS,
    CoveredRows,
    HitTable,
    RowGroups,
    check_one_level,
    check_testable,
    hits_of,
    not_nested,
)

Null = Literal["exact", "asymptotic"]


@public
def coverage_test(
    y: Outcomes,
    prediction: Intervals | Sets | Quantiles | None = None,
    *,
    alternative: Alternative = "two-sided",
    calibration_size: int | None = None,
    groups: RowGroups | None = None,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
) -> TestResult:
    r"""Test whether outcomes are covered as often as the level says, by the exact binomial distribution.

    The number k of hits among n rows is Binomial(n, c) for the level c. The two-sided p-value
    :math:`\min(1, 2 \min(P(K \le k), P(K \ge k)))` is below 0.05 exactly when c lies outside the 95 % Clopper-Pearson
    interval. With several levels or groups it is the smallest of their p-values times their number (Bonferroni).

    Parameters
    ----------
    y, prediction, classes
        As in `coverage`; `Sets` need a level.
    weights
        Refused unless all are equal: the exact distribution has no weighted form.
    alternative
        ``"less"`` if only too low a coverage counts, ``"greater"`` if only too high a coverage counts.
    calibration_size
        Number m of calibration scores of a split-conformal predictor. Given these, its coverage is
        Beta(j, m + 1 - j), j = ⌈(m + 1) c⌉ (Vovk 2012), and the number of hits is beta-binomial.
    groups
        Labels of rows: is some group covered too often or too rarely?

    Returns
    -------
    TestResult
        `statistic` is k, and `estimate` the coverage. With several groups or levels `statistic` is their smallest
        p-value, `estimate` the coverage of all rows at the level that has it, and `details` tell the `level`, the
        `group` and its `coverage`.

    Examples
    --------
    Three of four outcomes inside where half are expected: 2 P(K >= 3) = 2 · 5/16.

    >>> from calibrant import Intervals
    >>> found = coverage_test([0.0, 1.0, 2.0, 9.0], Intervals([-1.0] * 4, [3.0] * 4, 0.5))
    >>> found.statistic, found.estimate, found.pvalue
    (3.0, 0.75, 0.625)
    """
    options = CoverageTestOptions(alternative, calibration_size, groups)
    return COVERAGE_TEST(y, prediction, options, weights=weights, classes=classes)


@dataclass(frozen=True, eq=False)
class CoverageTestOptions:
    alternative: Alternative
    calibration_size: int | None
    groups: RowGroups | None

    def __post_init__(self) -> None:
        if self.calibration_size is not None:
            check_count("calibration_size", self.calibration_size)


def _exact(table: HitTable, options: CoverageTestOptions) -> TestResult:
    check_testable("coverage_test", table)
    m = options.calibration_size
    columns = (table.hits, table.count, table.nominal, table.hits_inside)
    lines = zip(*(column.tolist() for column in columns), strict=True)
    pvalues = [hit_pvalue(k, n, c, options.alternative, m, inside=inside) for k, n, c, inside in lines]
    worst = int(np.argmin(pvalues))
    level, n = float(table.nominal[worst]), table.n
    hits = int(table.hits[table.level == table.level[worst]].sum())
    distribution = "binomial" if m is None else f"beta-binomial, {m:,} calibration scores"
    words = f"{distribution}, {options.alternative}"
    if not table.grouped and len(pvalues) == 1:
        return TestResult(float(hits), pvalues[0], hits / n, f"number of hits; {words}", n, {"level": level})
    L = table.levels.size
    details: dict[str, Any] = {"level": level, "coverage": float(table.coverage[worst])}
    if L > 1:
        details["levels"] = L
    if table.grouped:
        details |= {"groups": len(pvalues) // L, "group": table.group[worst]}
    tested = " and ".join(word for word, several in (("groups", table.grouped), ("levels", L > 1)) if several)
    how = f"smallest p-value of {len(pvalues):,} {tested}, times their number (Bonferroni); {words}"
    return TestResult(pvalues[worst], bonferroni(pvalues), hits / n, how, n, details)


def hit_pvalue(
    k: int, n: int, level: float, alternative: Alternative, calibration_size: int | None, *, inside: int | None = None
) -> float:
    """Return the p-value of k hits among n rows; `alternative` says on which side of the level the coverage may lie.

    With `calibration_size` m the coverage itself is Beta(j, m + 1 - j), j = ⌈(m + 1) level⌉: that of split conformal
    prediction given its calibration set (Vovk 2012). Of the hits `inside` do not lie on the edge, None: all of them;
    calibrated predictions then have P(inside) <= level <= P(hit).
    """
    inner = k if inside is None else inside
    if calibration_size is None:
        low, high = float(binomial_tails(k, n, level)[0]), float(binomial_tails(inner, n, level)[1])
    else:
        a, b = conformal_beta(calibration_size, level)
        low, high = beta_binomial_tails(k, n, a, b)
        high = high if inner == k else beta_binomial_tails(inner, n, a, b)[1]
    if alternative == "two-sided":
        return float(two_sided(low, high))
    return low if alternative == "less" else high


def conformal_beta(m: int, level: float) -> tuple[int, int]:
    """Return the parameters of the beta distribution of the coverage, given m calibration scores."""
    j = max(1, math.ceil(round((m + 1) * level, 10)))  # 100 · 0.55 is 55.00000000000001
    if j > m:
        needed = math.ceil(round(level / (1 - level), 10))
        if math.ceil(round(needed * level, 10)) < needed:  # the quotient was rounded up
            needed -= 1
        raise NotApplicableError(
            f"{m} calibration scores are too few for level {shown(level)}: the conformal interval is infinite and "
            f"covers every outcome. At least {needed} are needed"
        )
    return j, m + 1 - j


COVERAGE_TEST = enter(
    Entry(coverage_test, CoverageTestOptions, hits_of, _exact, reads=(HitTable,), kind="test", predictions=REGIONS)
)


@public
def kupiec_test(
    y: Outcomes,
    prediction: Intervals | Sets | Quantiles | None = None,
    *,
    null: Null = "exact",
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
) -> TestResult:
    r"""Kupiec's test of unconditional coverage: the likelihood ratio of the observed coverage against the level.

    With k hits among n rows, level c and :math:`\hat c = k/n`,

    .. math:: LR = 2\,[k \ln(\hat c/c) + (n - k) \ln((1 - \hat c)/(1 - c))].

    Parameters
    ----------
    y, prediction, classes
        As in `coverage`, with one level; `Sets` need a level.
    weights
        Refused unless all are equal: the likelihood ratio has no weighted form.
    null
        ``"exact"``: :math:`P(LR(K) \ge LR)` with K ~ Binomial(n, c); or ``"asymptotic"``: chi-square with 1 degree of
        freedom.

    Returns
    -------
    TestResult
        `statistic` is LR, `estimate` the coverage.

    Examples
    --------
    Three of four outcomes inside where half are expected: 2 (3 ln 1.5 + ln 0.5) = 1.046, which every number of hits
    but 2 reaches.

    >>> from calibrant import Intervals
    >>> found = kupiec_test([0.0, 1.0, 2.0, 9.0], Intervals([-1.0] * 4, [3.0] * 4, 0.5))
    >>> round(found.statistic, 3), round(found.pvalue, 9)
    (1.046, 0.625)
    """
    return KUPIEC_TEST(y, prediction, KupiecOptions(null), weights=weights, classes=classes)


@dataclass(frozen=True)
class KupiecOptions:
    null: Null


def _kupiec(table: HitTable, options: KupiecOptions) -> TestResult:
    check_testable("kupiec_test", table)
    check_one_level("kupiec_test", table.levels.size)
    k, n, level = int(table.hits.sum()), table.n, float(table.levels[0])
    statistic, pvalue = kupiec_pvalue(k, n, level, options.null)
    how = "exact" if options.null == "exact" else "chi-square limit with 1 degree of freedom"
    words = f"likelihood ratio of coverage (Kupiec); {how}"
    return TestResult(statistic, pvalue, k / n, words, n, {"level": level})


KUPIEC_TEST = enter(
    Entry(kupiec_test, KupiecOptions, hits_of, _kupiec, reads=(HitTable,), kind="test", predictions=REGIONS)
)

TIE = 1e-9  # statistics that differ by less, relative to those above 1, are tied


def least_tied(statistic: float) -> float:
    return statistic - TIE * max(1.0, statistic)


def likelihood_ratio(k: Any, n: Any, level: float) -> FloatArray:
    """Return 2[k ln(k/nc) + (n-k) ln((n-k)/n(1-c))], 0 ln 0 = 0: twice the log likelihood lost by the level c."""
    from scipy.special import kl_div

    k, n = np.asarray(k, np.float64), np.asarray(n, np.float64)
    return np.asarray(2 * (kl_div(k, n * level) + kl_div(n - k, n * (1 - level))))


def kupiec_pvalue(k: int, n: int, level: float, null: str) -> tuple[float, float]:
    """Return Kupiec's statistic and its p-value, exact: P(LR(K) >= LR), K ~ Binomial(n, level)."""
    T = float(likelihood_ratio(k, n, level))
    if null == "asymptotic":
        return T, chi_square_sf(T, 1)
    least = least_tied(T)
    middle = math.floor(n * level)  # LR falls up to it and rises after it

    def reached(j: int) -> bool:
        return float(likelihood_ratio(j, n, level)) >= least

    below = last_true(reached, 0, middle)
    above = n - last_true(lambda j: reached(n - j), 0, n - middle - 1)
    low = float(binomial_tails(below, n, level)[0]) if below >= 0 else 0.0
    high = float(binomial_tails(above, n, level)[1]) if above <= n else 0.0
    return T, min(1.0, low + high)


def chi_square_sf(x: float, df: int) -> float:
    from scipy.special import gammaincc

    return float(gammaincc(df / 2, max(x, 0.0) / 2))


def last_true(is_true: Callable[[int], bool], low: int, high: int) -> int:
    """Return the last number from low to high for which it is true, if it is up to some point; low - 1 if never."""
    low -= 1
    while low < high:
        j = (low + high + 1) // 2
        low, high = (j, high) if is_true(j) else (low, j - 1)
    return low


@public
def multinomial_coverage_test(
    y: Outcomes,
    prediction: Intervals | Sets | Quantiles | None = None,
    *,
    null: Null = "exact",
    resamples: int = 999,
    rng: Rng = 0,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
) -> TestResult:
    r"""Test several nested levels, or quantiles, in one statistic: Pearson's test of the rows between them.

    The levels :math:`c_1 < \dots < c_L` divide the rows into L + 1 cells: the rings between neighbouring intervals or
    sets, or the stretches :math:`(q_{k-1}, q_k]` between quantiles. With :math:`n_k` rows in cell k,

    .. math:: X^2 = \sum_{k=1}^{L+1} \frac{(n_k - e_k)^2}{e_k}, \qquad e_k = n (c_k - c_{k-1}).

    Parameters
    ----------
    y, prediction, classes
        As in `coverage`. The prediction at a lower level must lie within that at a higher one in every row.
    weights
        Refused unless all are equal: the counts have no weighted form.
    null
        ``"exact"``: chi-square with L degrees of freedom if every :math:`e_k` is at least 5, else simulated counts; or
        ``"asymptotic"``: chi-square.
    resamples, rng
        Number of simulated counts; Generator or seed.

    Returns
    -------
    TestResult
        `statistic` is X², `estimate` the largest distance of a coverage from its level; `details` have `counts`,
        `expected`, `coverage` and `df`.

    Examples
    --------
    One of four outcomes below the median, three above: (1 - 2)²/2 + (3 - 2)²/2 = 1.

    >>> from calibrant import Quantiles
    >>> multinomial_coverage_test([0.0, 2.0, 2.0, 2.0], Quantiles([1.0] * 4, 0.5)).statistic
    1.0
    """
    options = MultinomialOptions(resamples, rng, null)
    return MULTINOMIAL_COVERAGE_TEST(y, prediction, options, weights=weights, classes=classes)


@dataclass(frozen=True)
class MultinomialOptions(RedrawOptions):
    null: Null


def _hits_of_nested_levels(rows: CoveredRows, options: MultinomialOptions) -> HitTable:
    bad = not_nested(rows)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            "multinomial_coverage_test counts rows between nested levels; "
            "{row} is not nested: its prediction at a lower level reaches beyond that at a higher one",
            row=row if rows.keep is None else int(np.flatnonzero(rows.keep)[row]),
        )
    return HitTable.of(rows)


SMALLEST_EXPECTED_COUNT = 5.0  # for which the chi-square limit is used
MAX_COUNTS_AT_ONCE = 1 << 22  # simulated counts in memory


def _pearson(table: HitTable, options: MultinomialOptions) -> TestResult:
    check_testable("multinomial_coverage_test", table)
    if not table.nested:
        raise InputError(
            "multinomial_coverage_test counts rows between nested levels; some rows of this summary are not nested"
        )
    if has_ties(table):
        tied = table.hits - table.hits_inside
        worst = int(np.argmax(tied))
        edge = "equal the quantile" if table.kind == "Quantiles" else "lie on a bound of the interval"
        raise NotApplicableError(
            f"multinomial_coverage_test counts rows between levels, but {tied[worst]:,} of {table.count[worst]:,} "
            f"outcomes {edge} of level {shown(float(table.nominal[worst]))}. Use coverage_test, which allows for them"
        )
    n, L = table.n, table.levels.size
    hits = np.bincount(table.level, table.hits, minlength=L).astype(np.int64)
    order = np.argsort(table.levels)
    counts = np.diff(hits[order], prepend=0, append=n)
    share = np.diff(table.levels[order], prepend=0.0, append=1.0)
    expected = n * share
    T = float(_distance(counts, expected))
    if options.null == "asymptotic" or expected.min() >= SMALLEST_EXPECTED_COUNT:
        pvalue, how = chi_square_sf(T, L), f"chi-square limit with {L} degree{'s' if L > 1 else ''} of freedom"
    else:
        pvalue, how = _simulated(T, expected, share, n, options), f"{options.resamples} simulated counts"
    columns = {"counts": counts, "expected": expected, "coverage": hits / n}
    details = {**{name: tuple(values.tolist()) for name, values in columns.items()}, "df": L}
    estimate = float(np.abs(hits / n - table.levels).max())
    return TestResult(T, pvalue, estimate, f"rows between nested levels (Pearson); {how}", n, details)


def _simulated(T: float, expected: FloatArray, share: FloatArray, n: int, options: MultinomialOptions) -> float:
    B, rng, extreme = options.resamples, generator(options.rng), 0
    for start, stop in steps(B, size=MAX_COUNTS_AT_ONCE // share.size, label="simulating counts"):
        drawn = rng.multinomial(n, share / share.sum(), size=stop - start)
        extreme += int(np.count_nonzero(_distance(drawn, expected) >= least_tied(T)))
    return (1 + extreme) / (B + 1)


def _distance(counts: NDArray[np.int64], expected: FloatArray) -> FloatArray:
    return np.asarray(((counts - expected) ** 2 / expected).sum(axis=-1))


def has_ties(table: HitTable) -> bool:
    """Tell whether outcomes lie on quantiles or bounds, as counts do: rows between levels are then not clear cells."""
    return not np.array_equal(table.inside, table.wc)


MULTINOMIAL_COVERAGE_TEST = enter(
    Entry(
        multinomial_coverage_test,
        MultinomialOptions,
        _hits_of_nested_levels,
        _pearson,
        reads=(HitTable,),
        kind="test",
        predictions=REGIONS,
    )
)
