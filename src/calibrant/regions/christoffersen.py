"""Christoffersen's tests of hits in time order: independence, and coverage with independence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Labels, Outcomes, Rng
from calibrant.core.catalogue import Entry, enter, public
from calibrant.core.null import RedrawOptions
from calibrant.core.results import TestResult
from calibrant.core.summary import Summary
from calibrant.errors import InputError, NotApplicableError, SummaryError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.groups import Label, RowLabels, label_order, read_row_labels
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.options import DIGITS, generator
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.sets import Sets
from calibrant.progress import steps
from calibrant.regions.coverage_test import Null, chi_square_sf, least_tied, likelihood_ratio
from calibrant.regions.hits import REGIONS, CoveredRows, HitTable, RowGroups, check_one_level, check_testable


@public
def christoffersen_test(
    y: Outcomes,
    prediction: Intervals | Sets | Quantiles | None = None,
    *,
    method: Literal["conditional", "independence"] = "conditional",
    null: Null = "exact",
    series: RowGroups | None = None,
    resamples: int = 999,
    rng: Rng = 0,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
) -> TestResult:
    r"""Christoffersen's test of conditional coverage: right coverage, and misses that do not depend on the row before.

    Rows are in time order. The test of independence compares a first-order Markov chain of hits and misses with
    independent ones: with :math:`n_{ij}` transitions from i to j (0 a hit, 1 a miss) and :math:`\ell` the maximal log
    likelihood,

    .. math:: LR_{ind} = 2\,[\ell(\pi_{01}, \pi_{11}) - \ell(\pi)], \qquad LR_{cc} = LR_{ind} + LR_{uc},

    where :math:`LR_{uc}` is the statistic of `kupiec_test` for rows 2 to n.

    Parameters
    ----------
    y, prediction, classes
        As in `coverage`, with one level and the rows in time order; `Sets` need a level.
    weights
        Refused unless all are equal: the order of rows has no weighted form.
    method
        ``"conditional"`` for :math:`LR_{cc}`, coverage and independence at once; ``"independence"`` for
        :math:`LR_{ind}`.
    null
        ``"exact"``: for independence every order of the misses is equally likely, for conditional coverage every row
        is a miss with probability 1 - level. Or ``"asymptotic"``: chi-square with 1 (independence) or 2 degrees of
        freedom, which is used beyond 10,000 rows in any case.
    series
        Labels of several series, each in time order; no transition crosses from one to the next. The null distribution
        is then simulated.
    resamples, rng
        Number of simulations with several series; Generator or seed.

    Returns
    -------
    TestResult
        `estimate` is the coverage. `details` have `transitions`, ((hit to hit, hit to miss), (miss to hit, miss to
        miss)).

    Examples
    --------
    Hits and misses in turn: 2 of the 20 orders of three misses among six rows are like this.

    >>> from calibrant import Intervals
    >>> y, predicted = [0.0, 9.0, 0.0, 9.0, 0.0, 9.0], Intervals([-1.0] * 6, [3.0] * 6, 0.5)
    >>> found = christoffersen_test(y, predicted, method="independence")
    >>> found.details["transitions"], round(found.pvalue, 9)
    (((0, 3), (2, 0)), 0.1)
    """
    options = ChristoffersenOptions(resamples, rng, method, null, series)
    return CHRISTOFFERSEN_TEST(y, prediction, options, weights=weights, classes=classes)


@dataclass(frozen=True, eq=False)
class ChristoffersenOptions(RedrawOptions):
    method: Literal["conditional", "independence"]
    null: Null
    series: RowGroups | None


def _hits_in_order(rows: CoveredRows, options: ChristoffersenOptions) -> Hits:
    table = HitTable.of(rows)
    check_testable("christoffersen_test", table)
    check_one_level("christoffersen_test", table.levels.size)
    if rows.keep is not None:
        raise InputError(
            "christoffersen_test looks at rows that follow each other, and a row of weight 0 leaves a gap; {row} has "
            "weight 0. Drop such rows first if those around them do follow each other",
            row=int(np.argmin(rows.keep)),
        )
    labels = None if options.series is None else read_row_labels(options.series, rows.n, name="series")
    return Hits.of(rows.covered[:, 0], float(table.levels[0]), table.kind, labels, float(rows.w[0]))


def _christoffersen(hits: Hits, options: ChristoffersenOptions) -> TestResult:
    miss, series, level, n = hits.hits == 0, hits.series, hits.level, hits.n
    seen = transitions_of(miss, series)
    n00, n01, n10, n11 = (int(count) for count in seen)
    if n00 + n01 + n10 + n11 == 0:
        raise NotApplicableError(f"christoffersen_test needs a row that follows another; got {n} single rows")
    independence = options.method == "independence"

    def ratio(t: Transitions) -> FloatArray:
        return independence_ratio(t) if independence else conditional_ratio(t, level)

    T, B = float(ratio(seen)), options.resamples
    if options.null == "asymptotic" or n > MAX_EXACT_ROWS:
        df = 1 if independence else 2
        why = "" if options.null == "asymptotic" else f" beyond {MAX_EXACT_ROWS:,} rows"
        pvalue = chi_square_sf(T, df)
        how = f"chi-square limit with {df} degree{'s' if df > 1 else ''} of freedom{why}"
    elif (series != series[0]).any():
        rng = generator(options.rng)
        drawn = _permuted(miss, series, B, rng) if independence else _bernoulli(n, 1 - level, B, rng)
        redrawn = (ratio(transitions_of(misses, series)) for misses in drawn)
        pvalue = (1 + sum(int(np.count_nonzero(values >= least_tied(T))) for values in redrawn)) / (B + 1)
        how = f"{B} permutations within series" if independence else f"{B} redraws of the misses"
    elif independence:
        pvalue, how = _reached(n, int(np.count_nonzero(miss)), ratio, T), "exact given the misses"
    else:
        k = np.arange(n + 1)
        logs = log_choose(n, k) + k * np.log1p(-level) + (n - k) * np.log(level)
        likely = logs > logs.max() - NEGLIGIBLE_LOG
        reached = [_reached(n, misses, ratio, T) for misses in k[likely].tolist()]
        pvalue = float(np.exp(logs[likely]) @ reached + np.exp(logs[~likely]).sum())
        how = "exact"
    about = "Markov chain of misses against independence" if independence else "coverage and independence of misses"
    details, estimate = {"level": level, "transitions": ((n00, n01), (n10, n11))}, int(np.count_nonzero(~miss)) / n
    return TestResult(T, min(1.0, pvalue), estimate, f"{about} (Christoffersen); {how}", n, details)


@dataclass(frozen=True, eq=False, repr=False)
class Hits(Summary):
    """Hits as 0 and 1, in the order in which the rows came.

    `series` is the series each row belongs to, as a number among `names`, which ascend. Rows of one series need not be
    adjacent. Merging puts one batch after the other, so a series continues in the next batch. All rows have one weight.
    Memory grows with the rows: two numbers each.
    """

    grows = True
    hits: NDArray[np.int64]  # (n,)
    level: float
    kind: str  # of the prediction, such as "Intervals"; "": no rows yet
    series: NDArray[np.int64]  # (n,)
    names: tuple[Label, ...]
    weight: float = 1.0
    named: bool = False  # series were given

    @classmethod
    def of(
        cls, covered: NDArray[np.bool_], level: float, kind: str, labels: RowLabels | None = None, weight: float = 1.0
    ) -> Self:
        """Keep which rows were covered; without labels all belong to one series."""
        code, names = (np.zeros(covered.size), ("",)) if labels is None else labels
        return cls(covered.astype(np.int64), level, kind, code.astype(np.int64), names, weight, labels is not None)

    def merged(self, other: Self) -> Self:
        if self.weight != other.weight or self._key != other._key:
            mine, theirs = (f"{each.kind} at {each.level:g} of weight {each.weight:g}" for each in (self, other))
            raise SummaryError(f"hits of {mine} do not merge with hits of {theirs}")
        if self.named != other.named:
            raise SummaryError("make both summaries of hits with series=, or both without: they do not merge")
        names = list(dict.fromkeys([*self.names, *other.names]))
        names = [names[k] for k in label_order(names)]
        place = {name: k for k, name in enumerate(names)}
        moved = [np.array([place[name] for name in one.names], dtype=np.int64)[one.series] for one in (self, other)]
        hits = np.concatenate([self.hits, other.hits])
        return replace(self, hits=hits, series=np.concatenate(moved), names=tuple(names))

    @property
    def _key(self) -> tuple[str, float]:
        return self.kind, round(self.level, DIGITS)

    @property
    def n(self) -> int:
        return int(self.series.size)


MAX_EXACT_ROWS = 10_000  # beyond that the chi-square limit is used
MAX_NUMBERS_AT_ONCE = 1 << 22  # of random numbers in memory
NEGLIGIBLE_LOG = 100.0  # natural logarithms below the likeliest: rarer cases count as extreme and are not enumerated


class Transitions(NamedTuple):
    """Numbers of transitions: hit to hit, hit to miss, miss to hit, miss to miss; any shape."""

    n00: NDArray[np.int64]
    n01: NDArray[np.int64]
    n10: NDArray[np.int64]
    n11: NDArray[np.int64]


def transitions_of(miss: NDArray[np.bool_], series: NDArray[np.int64]) -> Transitions:
    """Count the transitions of misses (..., n) within series; none goes from one series to the next."""
    order = np.argsort(series, kind="stable")
    within = np.diff(series[order]) == 0
    ordered = miss[..., order]
    a, b = ordered[..., :-1] & within, ordered[..., 1:] & within
    n11 = np.count_nonzero(a & b, axis=-1)
    n10, n01 = np.count_nonzero(a, axis=-1) - n11, np.count_nonzero(b, axis=-1) - n11
    total = np.count_nonzero(within)
    return Transitions(*(np.asarray(n) for n in (total - n01 - n10 - n11, n01, n10, n11)))


def independence_ratio(t: Transitions) -> FloatArray:
    """Return twice the log likelihood that a chain of first order gains over independence."""
    from scipy.special import kl_div

    N = np.maximum(t.n00 + t.n01 + t.n10 + t.n11, 1)
    after_hit, after_miss = t.n00 + t.n01, t.n10 + t.n11
    hits, misses = t.n00 + t.n10, t.n01 + t.n11
    expected = (after_hit * hits, after_hit * misses, after_miss * hits, after_miss * misses)
    return np.asarray(2 * sum(kl_div(seen, product / N) for seen, product in zip(t, expected, strict=True)))


def conditional_ratio(t: Transitions, level: float) -> FloatArray:
    """Return the same plus Kupiec's statistic of the rows that follow another one."""
    hits = t.n00 + t.n10
    return np.asarray(independence_ratio(t) + likelihood_ratio(hits, hits + t.n01 + t.n11, level))


class RunDistribution(NamedTuple):
    """Transitions that occur with non-negligible probability given the misses, and the rest of the probability."""

    transitions: Transitions
    probability: FloatArray
    rest: float


def run_distribution(n: int, k: int) -> RunDistribution:
    """Return the distribution of the transitions of k misses in n rows, every order equally likely.

    With r runs of misses and s runs of hits, r - 1 <= s <= r + 1, there are C(k-1, r-1) C(n-k-1, s-1) orders for each
    kind of first row: a first row that is a miss starts one run of misses without a transition into it.
    """
    if k in (0, n):
        none, all_rows = np.zeros(1, np.int64), np.full(1, n - 1)
        transitions = Transitions(none, none, none, all_rows) if k else Transitions(all_rows, none, none, none)
        return RunDistribution(transitions, np.ones(1), 0.0)
    h = n - k
    runs = np.arange(1, k + 1)
    r = np.concatenate([runs] * 4)
    s = np.concatenate([runs - 1, runs, runs, runs + 1])
    first_miss = np.repeat([1, 1, 0, 0], k)
    possible = (s >= 1) & (s <= h)
    r, s, first_miss = r[possible], s[possible], first_miss[possible]
    logs = log_choose(k - 1, r - 1) + log_choose(h - 1, s - 1)
    mass = np.exp(logs - logs.max())
    mass /= mass.sum()
    likely = logs > logs.max() - NEGLIGIBLE_LOG
    r, s, first_miss = r[likely], s[likely], first_miss[likely]
    t = Transitions(n00=h - s, n01=r - first_miss, n10=s - (1 - first_miss), n11=k - r)
    return RunDistribution(t, mass[likely], float(mass[~likely].sum()))


def _reached(n: int, k: int, ratio: Callable[[Transitions], FloatArray], T: float) -> float:
    found = run_distribution(n, k)
    return float(found.probability[ratio(found.transitions) >= least_tied(T)].sum()) + found.rest


def log_choose(a: int, b: NDArray[np.int64]) -> FloatArray:
    from scipy.special import gammaln

    return np.asarray(gammaln(a + 1.0) - gammaln(b + 1.0) - gammaln(a - b + 1.0))


def _permuted(
    miss: NDArray[np.bool_], series: NDArray[np.int64], B: int, rng: np.random.Generator
) -> Iterator[NDArray[np.bool_]]:
    order = np.argsort(series, kind="stable")
    for start, stop in steps(B, size=max(1, MAX_NUMBERS_AT_ONCE // miss.size), label="permuting misses within series"):
        keys = np.lexsort([rng.random((stop - start, miss.size)), np.broadcast_to(series, (stop - start, miss.size))])
        drawn = np.empty((stop - start, miss.size), dtype=bool)
        drawn[:, order] = miss[keys]
        yield drawn


def _bernoulli(n: int, share: float, B: int, rng: np.random.Generator) -> Iterator[NDArray[np.bool_]]:
    for start, stop in steps(B, size=max(1, MAX_NUMBERS_AT_ONCE // n), label="redrawing misses"):
        yield rng.random((stop - start, n)) < share


CHRISTOFFERSEN_TEST = enter(
    Entry(
        christoffersen_test,
        ChristoffersenOptions,
        _hits_in_order,
        _christoffersen,
        reads=(Hits,),
        kind="test",
        predictions=REGIONS,
    )
)
