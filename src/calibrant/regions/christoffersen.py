"""Christoffersen's tests of hits in time order: independence, and coverage with independence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Labels, Outcomes, Rng
from calibrant.core.catalogue import Entry, enter, public
from calibrant.core.results import TestResult
from calibrant.core.summary import Summary
from calibrant.errors import InputError, NotApplicableError, SummaryError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.groups import Label, label_order, read_row_labels
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.options import DIGITS, check_choice, check_count, generator
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.sets import Sets
from calibrant.progress import steps
from calibrant.regions.coverage_test import Null, chi_square_sf, least_tied, likelihood_ratio
from calibrant.regions.hits import CoveredRows, RowGroups, check_one_level, check_testable


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

    Notes
    -----
    The chi-square limit of the test of independence does not hold its level: at nominal 5 % it rejects with probability
    0.084 for 250 rows at level 0.9.

    References
    ----------
    Christoffersen (1998), Evaluating interval forecasts.

    Examples
    --------
    Hits and misses in turn: 2 of the 20 orders of three misses among six rows are like this.

    >>> from calibrant import Intervals
    >>> y, predicted = [0.0, 9.0, 0.0, 9.0, 0.0, 9.0], Intervals([-1.0] * 6, [3.0] * 6, 0.5)
    >>> found = christoffersen_test(y, predicted, method="independence")
    >>> found.details["transitions"], round(found.pvalue, 9)
    (((0, 3), (2, 0)), 0.1)
    """
    options = ChristoffersenOptions(method, null, series, resamples, rng)
    return CHRISTOFFERSEN_TEST(y, prediction, options, weights=weights, classes=classes)


@dataclass(frozen=True, eq=False)
class ChristoffersenOptions:
    """The options of `christoffersen_test`."""

    method: Literal["conditional", "independence"]
    null: Null
    series: RowGroups | None
    resamples: int
    rng: Rng

    def __post_init__(self) -> None:
        check_choice("method", self.method, "conditional", "independence")
        check_choice("null", self.null, "exact", "asymptotic")
        check_count("resamples", self.resamples)
        generator(self.rng)


def _hits_in_order(rows: CoveredRows, options: ChristoffersenOptions) -> Hits:
    check_testable("christoffersen_test", rows)
    if rows.keep is not None:
        raise InputError(
            "christoffersen_test looks at rows that follow each other, and a row of weight 0 leaves a gap; {row} has "
            "weight 0. Drop such rows first if those around them do follow each other",
            row=int(np.argmin(rows.keep)),
        )
    levels = rows.prediction.levels
    assert levels is not None  # checked above
    check_one_level("christoffersen_test", levels.size)
    labels = None if options.series is None else read_row_labels(options.series, rows.n, name="series")
    code, names = (None, ("",)) if labels is None else labels
    return Hits.of(rows.covered, levels, type(rows.prediction).__name__, code, names, float(rows.w[0]))


def _christoffersen(hits: Hits, options: ChristoffersenOptions) -> TestResult:
    check_one_level("christoffersen_test", hits.levels.size)
    miss, level = hits.hits[:, 0] == 0, float(hits.levels[0])
    n00, n01, n10, n11 = (int(count) for count in transitions_of(miss, hits.series))
    if n00 + n01 + n10 + n11 == 0:
        raise NotApplicableError(f"christoffersen_test needs a row that follows another; got {hits.n} single rows")
    if options.method == "independence":
        found = _independence(miss, hits.series, options)
        words = "Markov chain of misses against independence (Christoffersen)"
    else:
        found = _conditional(miss, hits.series, level, options)
        words = "coverage and independence of misses (Christoffersen)"
    return TestResult(
        statistic=found.statistic,
        pvalue=found.pvalue,
        estimate=int(np.count_nonzero(~miss)) / miss.size,
        method=f"{words}; {found.how}",
        n=hits.n,
        details={"level": level, "transitions": ((n00, n01), (n10, n11))},
    )


@dataclass(frozen=True, eq=False, repr=False)
class Hits(Summary):
    """Hits (n, L) as 0 and 1, one column per level, in the order in which the rows came.

    `series` is the series each row belongs to, as a number among `names`, which ascend. Rows of one series need not be
    adjacent. Merging puts one batch after the other, so a series continues in the next batch. All rows have one weight.
    Memory grows with the rows: n (L + 1) numbers.
    """

    COUNTS: ClassVar[tuple[str, ...]] = ("hits", "series")
    POSITIVE: ClassVar[tuple[str, ...]] = ("weight",)
    hits: NDArray[np.int64]  # (n, L)
    levels: FloatArray  # (L,)
    kind: str  # of the prediction, such as "Intervals"; "": no rows yet
    series: NDArray[np.int64]  # (n,)
    names: tuple[Label, ...]
    weight: float = 1.0
    named: bool = False  # series were given

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hits.shape != (self.series.size, self.levels.size):
            raise SummaryError("the hits must have one row per series number and one column per level")

    def check_values(self) -> None:
        """Refuse hits other than 0 and 1, and series without a name."""
        super().check_values()
        if (self.hits > 1).any() or (self.series >= max(1, len(self.names))).any():
            raise SummaryError("the hits of a Hits must be 0 and 1, of series that have a name")

    @classmethod
    def of(
        cls,
        covered: NDArray[np.bool_],
        levels: FloatArray,
        kind: str,
        series: NDArray[np.intp] | None = None,
        names: tuple[Label, ...] = ("",),
        weight: float = 1.0,
    ) -> Self:
        """Keep which rows were covered; without `series` all belong to one."""
        code = np.zeros(len(covered), np.int64) if series is None else series.astype(np.int64)
        return cls(np.ascontiguousarray(covered, dtype=np.int64), levels, kind, code, names, weight, series is not None)

    @classmethod
    def zero(cls) -> Self:
        """Return no rows, of no levels."""
        return cls(np.zeros((0, 0), np.int64), np.zeros(0), "", np.zeros(0, np.int64), ())

    def merged(self, other: Self) -> Self:
        """Return the rows of both, one after the other."""
        if not self.n or not other.n:
            return other if not self.n else self
        if self.kind != other.kind or not np.array_equal(self.levels.round(DIGITS), other.levels.round(DIGITS)):
            raise SummaryError(
                f"hits of {self.kind} at {self.levels.tolist()} do not merge with hits of {other.kind} "
                f"at {other.levels.tolist()}"
            )
        if self.weight != other.weight:
            raise SummaryError(
                f"hits of weight {self.weight:g} do not merge with hits of weight {other.weight:g}: "
                "tests of their order need equal weights"
            )
        if self.named != other.named:
            raise SummaryError(
                "hits of named series do not merge with hits of rows without. "
                "Make both summaries with series=, or both without"
            )
        names = list(dict.fromkeys([*self.names, *other.names]))
        names = [names[k] for k in label_order(names)]
        place = {name: k for k, name in enumerate(names)}
        moved = (np.array([place[name] for name in one.names], dtype=np.int64)[one.series] for one in (self, other))
        return type(self)(
            np.concatenate([self.hits, other.hits]),
            self.levels,
            self.kind,
            np.concatenate([*moved]),
            tuple(names),
            self.weight,
            self.named,
        )

    @property
    def grows(self) -> bool:
        """Whether memory grows with the number of rows."""
        return True

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.series.size)


MAX_EXACT_ROWS = 10_000  # beyond that the chi-square limit is used
MAX_NUMBERS_AT_ONCE = 1 << 22  # of random numbers in memory
NEGLIGIBLE_LOG = 100.0  # natural logarithms below the likeliest: rarer cases count as extreme without a look


class Transitions(NamedTuple):
    """Numbers of transitions: hit to hit, hit to miss, miss to hit, miss to miss; any shape."""

    n00: NDArray[np.int64]
    n01: NDArray[np.int64]
    n10: NDArray[np.int64]
    n11: NDArray[np.int64]


class Found(NamedTuple):
    """Statistic, p-value, and how the null distribution was found."""

    statistic: float
    pvalue: float
    how: str


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
    terms = (
        kl_div(t.n00, after_hit * hits / N),
        kl_div(t.n01, after_hit * misses / N),
        kl_div(t.n10, after_miss * hits / N),
        kl_div(t.n11, after_miss * misses / N),
    )
    return np.asarray(2 * sum(terms))


def conditional_ratio(t: Transitions, level: float) -> FloatArray:
    """Return the same plus Kupiec's statistic of the rows that follow another one."""
    hits = t.n00 + t.n10
    return np.asarray(independence_ratio(t) + likelihood_ratio(hits, hits + t.n01 + t.n11, level))


def _independence(miss: NDArray[np.bool_], series: NDArray[np.int64], options: ChristoffersenOptions) -> Found:
    """Test whether misses are independent of the row before, given their number."""
    T = float(independence_ratio(transitions_of(miss, series)))
    n, k = miss.size, int(np.count_nonzero(miss))
    if options.null == "asymptotic" or n > MAX_EXACT_ROWS:
        return Found(T, chi_square_sf(T, 1), _limit_words(options.null, 1))
    if _has_several(series):
        B, rng = options.resamples, generator(options.rng)
        extreme = sum(
            int(np.count_nonzero(independence_ratio(transitions_of(drawn, series)) >= least_tied(T)))
            for drawn in _permuted(miss, series, B, rng)
        )
        return Found(T, (1 + extreme) / (B + 1), f"{B} permutations within series")
    distribution = run_distribution(n, k, _log_factorials(n))
    return Found(
        T, min(1.0, _reached(distribution, independence_ratio(distribution.transitions), T)), "exact given the misses"
    )


def _conditional(
    miss: NDArray[np.bool_], series: NDArray[np.int64], level: float, options: ChristoffersenOptions
) -> Found:
    """Test coverage and independence at once."""
    T = float(conditional_ratio(transitions_of(miss, series), level))
    n = miss.size
    if options.null == "asymptotic" or n > MAX_EXACT_ROWS:
        return Found(T, chi_square_sf(T, 2), _limit_words(options.null, 2))
    if _has_several(series):
        B, rng = options.resamples, generator(options.rng)
        extreme = sum(
            int(np.count_nonzero(conditional_ratio(transitions_of(drawn, series), level) >= least_tied(T)))
            for drawn in _bernoulli(n, 1 - level, B, rng)
        )
        return Found(T, (1 + extreme) / (B + 1), f"{B} redraws of the misses")
    logs = _log_factorials(n)
    misses = np.arange(n + 1)
    log_mass = logs[n] - logs[misses] - logs[n - misses] + misses * np.log1p(-level) + (n - misses) * np.log(level)
    pvalue = 0.0
    for k, log in enumerate(log_mass.tolist()):
        share = 1.0
        if log > log_mass.max() - NEGLIGIBLE_LOG:
            distribution = run_distribution(n, k, logs)
            share = _reached(distribution, conditional_ratio(distribution.transitions, level), T)
        pvalue += float(np.exp(log)) * share
    return Found(T, min(1.0, pvalue), "exact")


class RunDistribution(NamedTuple):
    """Transitions that occur with non-negligible probability given the misses, and the rest of the probability."""

    transitions: Transitions
    probability: FloatArray
    rest: float


def run_distribution(n: int, k: int, log_factorials: FloatArray) -> RunDistribution:
    """Return the distribution of the transitions of k misses in n rows, every order equally likely.

    With r runs of misses and s runs of hits, r - 1 <= s <= r + 1, there are C(k-1, r-1) C(n-k-1, s-1) orders for each
    kind of first row: a first row that is a miss starts one run of misses without a transition into it.
    """
    if k in (0, n):
        at = [np.array([n - 1 if state == (k == n) else 0]) for state in (0, 1)]
        none = np.zeros(1, np.int64)
        return RunDistribution(Transitions(at[0], none, none, at[1]), np.ones(1), 0.0)
    h = n - k
    runs = np.arange(1, k + 1)
    r = np.concatenate([runs] * 4)
    s = np.concatenate([runs - 1, runs, runs, runs + 1])
    first_miss = np.repeat([1, 1, 0, 0], k)
    possible = (s >= 1) & (s <= h)
    r, s, first_miss = r[possible], s[possible], first_miss[possible]

    def log_choose(a: int, b: NDArray[np.int64]) -> FloatArray:
        return np.asarray(log_factorials[a] - log_factorials[b] - log_factorials[a - b])

    logs = log_choose(k - 1, r - 1) + log_choose(h - 1, s - 1)
    mass = np.exp(logs - logs.max())
    mass /= mass.sum()
    likely = logs > logs.max() - NEGLIGIBLE_LOG
    r, s, first_miss = r[likely], s[likely], first_miss[likely]
    t = Transitions(n00=h - s, n01=r - first_miss, n10=s - (1 - first_miss), n11=k - r)
    return RunDistribution(t, mass[likely], float(mass[~likely].sum()))


def _reached(distribution: RunDistribution, statistics: FloatArray, T: float) -> float:
    return float(distribution.probability[statistics >= least_tied(T)].sum()) + distribution.rest


def _log_factorials(n: int) -> FloatArray:
    from scipy.special import gammaln

    return np.asarray(gammaln(np.arange(n + 1) + 1.0))


def _has_several(series: NDArray[np.int64]) -> bool:
    return bool((series != series[0]).any())


def _limit_words(null: Null, df: int) -> str:
    why = "" if null == "asymptotic" else f" beyond {MAX_EXACT_ROWS:,} rows"
    return f"chi-square limit with {df} degree{'s' if df > 1 else ''} of freedom{why}"


def _permuted(
    miss: NDArray[np.bool_], series: NDArray[np.int64], B: int, rng: np.random.Generator
) -> Iterator[NDArray[np.bool_]]:
    """Yield batches (replicates, n) of misses permuted within their series."""
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
        predictions=("intervals", "sets", "quantiles"),
    )
)
