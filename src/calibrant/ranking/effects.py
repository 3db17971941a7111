"""What tests of ranks share: shift and spread in predictive standard deviations, results, bins of ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import pi, sqrt
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant.core.annotations import Rng
from calibrant.core.calls import POINTERS
from calibrant.core.catalogue import Entry, enter
from calibrant.core.dispatch import chunks
from calibrant.core.mean_interval import exact_limits
from calibrant.core.pvalues import holm
from calibrant.core.results import TestResult
from calibrant.core.summary import Summary
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.kinds import AnyRows
from calibrant.inputs.options import check_count, generator
from calibrant.inputs.rows import CdfRows, DistributionRows, QuantileRows
from calibrant.ranking.bands import BandTest, counts_test
from calibrant.ranking.counting import JUDGED, Ranked, equal_rows, legendre, marginal_ranks
from calibrant.ranking.summary import Ranks

SHIFT = sqrt(pi / 3)  # predictive standard deviations per mean of φ_1, Gaussian and to first order
SPREAD = pi / sqrt(15)  # log spread per mean of φ_2
CORRECTIONS = {"holm": "Holm", "bonferroni": "Bonferroni", "none": "not adjusted"}
SMALLEST_PVALUE = float(np.finfo(np.float64).tiny)  # stands for p-values that are too small for float64
MIN_ROWS_IN_WORDS = 20  # below which ranks have a band and no words
MAX_DEFAULT_BINS, MIN_DEFAULT_BINS = 20, 5
ROWS_PER_BIN = 20
EXPECTED_FOR_LIMIT = 5.0  # least expected count for which the chi-square limit is used
RESAMPLES = 999
BLOCK = 1 << 22  # simulated counts, or ranks, that are held at a time
TIE = 1e-10  # counts in another order may sum to a statistic that differs by its rounding


class Effect(NamedTuple):
    """Components of the ranks and what they mean, one entry per column.

    `shift` is in predictive standard deviations, positive if predictions are too high. `spread` is the factor that the
    predictive spread needs: above 1 if predictions are too narrow.
    """

    Z: FloatArray  # (K, C): Σ w φ_k(r) / sqrt(Σ w²), of mean 0 and variance 1 if ranks are uniform
    shift: FloatArray  # (C,)
    spread: FloatArray  # (C,), NaN if M = 1, where two ranks tell nothing of it


def rank_effect(ranks: Ranks) -> Effect:
    r"""Return the components Z of the ranks and the shift and spread that they stand for.

    With φ_k of `legendre` and n rows of weight 1,

    .. math:: Z_k = \frac1{\sqrt n} \sum_i \varphi_k(r_i), \qquad
              \text{shift} = -\sqrt{\pi/3}\, Z_1/\sqrt n, \qquad
              \text{spread} = \exp\bigl((\pi/\sqrt{15})\, Z_2/\sqrt n\bigr),

    exact to first order if predictions are Gaussian and draws many. With weights n is (Σw)²/Σw². For few draws or large
    errors see `normal_errors`, which has intervals too.
    """
    total, squares = ranks.weight[:, 0].sum(), ranks.weight2[:, 0].sum()
    phi = legendre(ranks.M)
    Z = phi @ ranks.weight / np.sqrt(squares)  # (K, C)
    root_n = float(total / np.sqrt(squares))
    shift = -SHIFT * Z[0] / root_n
    log_spread = SPREAD * Z[1] / root_n if len(phi) > 1 else np.full(ranks.C, np.nan)
    return Effect(Z, shift, np.exp(log_spread))


Multiplicity: TypeAlias = Literal["holm", "bonferroni", "none"]


@dataclass(frozen=True)
class RankTestOptions:
    """The options that every test of ranks has."""

    multiplicity: Multiplicity
    rng: Rng | None

    def __post_init__(self) -> None:
        check_rng(self.rng)


@dataclass(frozen=True)
class ResampledTestOptions(RankTestOptions):
    """The options of tests of ranks that simulate their null distribution, always or for few rows."""

    resamples: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("resamples", self.resamples)


TestOptionsT = TypeVar("TestOptionsT", bound=RankTestOptions)


def check_rng(rng: Rng | None) -> None:
    if rng is not None:
        generator(rng)


def count_ranks(rows: DistributionRows | QuantileRows | CdfRows, options: Any) -> Ranks:
    return Ranks.of_ranked(marginal_ranks(rows, options.rng), rows.w)


def refuse_unequal_weights(verb: str, ranks: Ranks) -> None:
    """Refuse weights that differ: only the smooth test has a null distribution for them."""
    if not ranks.has_equal_weights:
        words = "unequal weights, under which ranks have no known null distribution"
        raise InputError(f"{verb} refuses {words}; leave weights out, or use ranking.rank_smooth_test")


def refuse_one_row(verb: str, ranks: Ranks) -> None:
    if ranks.n == 1:
        raise NotApplicableError(
            f"{verb} needs more rows: one row has one rank, which tells nothing; at least {MIN_ROWS_IN_WORDS} rows"
        )


class ColumnTests(NamedTuple):
    """What a test found in each column: `columns` are details of each in their last axis, `shared` those of all.

    Where groups are tested too, they are the first axis.
    """

    statistic: FloatArray  # (C,) or (groups, C)
    pvalue: FloatArray  # of the same shape; NaN: not tested
    words: str
    columns: Mapping[str, Any]
    shared: Mapping[str, Any]


def enter_rank_test(
    verb: Callable[..., TestResult],
    options: type[TestOptionsT],
    test: Callable[[Any, TestOptionsT], ColumnTests],
    *,
    summarise: Callable[[Any, TestOptionsT], Summary] = count_ranks,
    reads: type[Summary] = Ranks,
    ranks_of: Callable[[Any], Ranks] = lambda summary: summary,
    weighted: bool = False,
) -> Entry[TestOptionsT, TestResult]:
    """Enter a test of the ranks of outcomes among draws, or of the cells of F(y).

    `test` reads a summary, of which `ranks_of` returns the ranks; unequal weights are refused unless it is `weighted`.
    """

    def finish(summary: Any, options: TestOptionsT) -> TestResult:
        ranks = ranks_of(summary)
        if not weighted:
            refuse_unequal_weights(verb.__name__, ranks)
        found = test(summary, options)
        tested = np.count_nonzero(~np.isnan(found.pvalue))
        unit = "p-values" if found.pvalue.ndim == 2 else "columns"
        several = found.pvalue.ndim == 2 or found.pvalue.size > 1
        words = f"; {tested:,} {unit}, {CORRECTIONS[options.multiplicity]}" if several else ""
        return rank_result(ranks, found, adjusted(found.pvalue, options.multiplicity), words)

    instead = dict.fromkeys(("intervals", "sets"), "Use coverage_test")
    shared = {"kind": "test", "predictions": JUDGED, "instead": instead, "unequal": True}
    return enter(Entry(verb, options, summarise, finish, reads=(reads,), **shared))  # type: ignore[arg-type]


def rank_result(ranks: Ranks, found: ColumnTests, pvalue: FloatArray, words: str) -> TestResult:
    """Return the result of a test of these ranks; `pvalue` is adjusted, in a way that the `words` say."""
    single, shape = ranks.single, found.statistic.shape
    effects = [rank_effect(part) for part in (ranks.groups if len(shape) == 2 else (ranks,))]
    shift, spread = (np.stack([getattr(effect, name) for effect in effects]) for name in ("shift", "spread"))
    return TestResult(
        statistic=shaped(found.statistic, single),
        pvalue=shaped(np.maximum(pvalue, SMALLEST_PVALUE), single),
        estimate=(shaped(shift.reshape(shape), single), shaped(spread.reshape(shape), single)),
        method=f"{found.words}; {ranks_in_words(ranks)}{words}",
        n=ranks.n,
        details={
            "names": ranks.names,
            "pvalue_each": shaped(np.maximum(found.pvalue, SMALLEST_PVALUE), single),
            "M": ranks.M,
            "tied": shaped(ranks.tied, single),
            **{name: shaped(values, single) for name, values in found.columns.items()},
            **found.shared,
        },
    )


def shaped(values: Any, single: bool) -> Any:
    """Return values (..., C) as they are, or without their last axis if one column came without one."""
    if not single:
        return values
    column = values[..., 0]
    return column.item() if column.ndim == 0 else column


def ranks_in_words(ranks: Ranks) -> str:
    return f"cells of F(y), {ranks.M + 1:,} of them" if ranks.cells else f"ranks among {ranks.M:,} draws"


def adjusted(pvalue: FloatArray, multiplicity: str) -> FloatArray:
    """Return p-values adjusted for their number; NaN is not counted."""
    if multiplicity == "holm":
        return holm(pvalue.ravel()).reshape(pvalue.shape)
    if multiplicity == "bonferroni":
        return np.asarray(np.minimum(1.0, pvalue * np.count_nonzero(~np.isnan(pvalue))))
    return pvalue


def band_test(ranks: Ranks) -> BandTest:
    """Return the smallest two-sided pointwise p-value γ of #{rank < j} ~ Binomial(n, j/(M + 1)) and P(γ* <= γ)."""
    return counts_test(below(ranks.counts, ranks.points), ranks.n, ranks.points / (ranks.M + 1))


def share_limits(k: float, n: float, rate: float) -> tuple[float, float]:
    low, high = exact_limits(np.array([float(k)]), np.array([float(n)]), 1 - rate)
    return float(low[0]), float(high[0])


def below(counts: NDArray[np.int64], points: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return #{rank < j} at the points j, (T, C), of counts (M + 1, C)."""
    return np.asarray(np.cumsum(counts, axis=0)[points - 1])


def stream_after_ties(rng: Any) -> np.random.Generator:
    """Return the random stream for what comes after ties were broken with the same `rng`; None counts as 0.

    A Generator continues where it stands. A whole number would start again with the very numbers that have broken the
    ties, so a child of its stream is taken.
    """
    source = generator(0 if rng is None else rng)
    return source if source is rng else source.spawn(1)[0]


def check_bins(bins: int | None) -> None:
    """Refuse what is not a number of bins; whether there are so many ranks is known later."""
    if bins is not None:
        check_count("bins", bins, least=2)


def number_of_bins(bins: int | None, n: int, M: int) -> int:
    """Return the number of bins that was asked for, at most M + 1. By default some 20 rows each, and 20 at most.

    It is the largest divisor of M + 1 between half of what these rules allow and all of it, else all of it.
    """
    m = M + 1
    if bins is None:
        start = min(MAX_DEFAULT_BINS, max(MIN_DEFAULT_BINS, n // ROWS_PER_BIN), m)
        return next((k for k in range(start, 0, -1) if m % k == 0 and 2 * k >= start), start)
    if bins > m:
        raise InputError(f"bins must be at most {m:,}, the number of ranks 0 to M = {M:,}; got {bins:,}")
    return int(bins)


def rank_bins(M: int, bins: int) -> NDArray[np.int64]:
    """Return how many of the ranks 0 to M fall into each bin; rank r falls into bin ((r + 1) bins - 1) // (M + 1).

    This is right-closed in (r + 1)/(M + 1). Bins that do not divide M + 1 differ by one rank.
    """
    return np.diff(_starts(M, bins), append=M + 1)


def bin_counts(counts: NDArray[Any], bins: int) -> NDArray[Any]:
    """Return counts of ranks (M + 1, C) summed over bins: (bins, C)."""
    return np.asarray(np.add.reduceat(counts, _starts(len(counts) - 1, bins), axis=0))


def chi2(
    counts: NDArray[np.int64], expected: FloatArray, rng: Any, *, resamples: int = RESAMPLES
) -> tuple[FloatArray, FloatArray]:
    """Return Σ_k (count_k - expected_k)² / expected_k of each column of counts (bins, C), and its p-value.

    Chi-square with bins - 1 degrees of freedom; if an expected count is below 5, simulated multinomial counts and
    (1 + #{T* >= T}) / (resamples + 1). Without `rng` the simulation starts from 0.
    """
    from scipy.special import chdtrc

    statistic = pearson(counts, expected)
    if is_large(expected):
        return statistic, np.maximum(chdtrc(expected.size - 1, statistic), SMALLEST_PVALUE)
    n = int(counts[:, 0].sum())
    share, stream = expected / expected.sum(), stream_after_ties(rng)
    extreme = np.zeros(statistic.size, np.int64)
    for part in chunks(resamples, max(1, BLOCK // expected.size)):
        size = part.stop - part.start
        redrawn = np.sort(pearson(stream.multinomial(n, share, size=size).T, expected))
        extreme += size - np.searchsorted(redrawn, statistic * (1 - TIE))
    return statistic, (1 + extreme) / (resamples + 1)


def is_large(expected: FloatArray) -> bool:
    return bool(expected.min() >= EXPECTED_FOR_LIMIT)


def pearson(counts: NDArray[np.int64], expected: FloatArray) -> FloatArray:
    return np.asarray(((counts - expected[:, None]) ** 2 / expected[:, None]).sum(axis=0))


def _starts(M: int, bins: int) -> NDArray[np.int64]:
    """Return the first rank of each bin: the least r with (r + 1) bins > k (M + 1)."""
    return np.arange(bins) * (M + 1) // bins


OptionsT = TypeVar("OptionsT")
RankArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RankEntry(Entry[OptionsT, RankArray]):
    """The entry of a verb that returns the rank of each row, and whose summary counts them."""

    rank: Callable[[Any, OptionsT], Ranked] = field(kw_only=True)

    def of_rows(self, rows: AnyRows, options: OptionsT) -> RankArray:
        return self.rank(rows, options).rank

    def of_summary(self, summary: Summary, options: OptionsT) -> RankArray:
        raise InputError(f"{self.name} needs outcomes and predictions; a summary no longer contains the single rows")


def enter_ranks(
    verb: Callable[..., RankArray],
    options: type[OptionsT],
    rank: Callable[[Any, OptionsT], Ranked],
    *,
    predictions: tuple[str, ...],
    instead: Mapping[str, str] | None = None,
) -> RankEntry[OptionsT]:
    """Enter a verb that returns ranks; `summarize` finds it by its name.

    An option with a value for each row must be cut by `rows.keep` in `rank`, which sees as many draws in every row.
    """

    def of_equal_rows(rows: Any, options: OptionsT) -> Ranked:
        rows, stream = equal_rows(rows, options.rng)  # type: ignore[attr-defined]  # they all have it
        changed = stream is not options.rng  # type: ignore[attr-defined]
        return rank(rows, replace(options, rng=stream) if changed else options)  # type: ignore[type-var]

    def summarise(rows: AnyRows, options: OptionsT) -> Ranks:
        return Ranks.of_ranked(of_equal_rows(rows, options), rows.w)

    def finish(summary: Ranks, options: OptionsT) -> RankArray:
        return entry.of_summary(summary, options)

    POINTERS[verb.__name__, "weights"] = (
        f"A rank belongs to one row; weights go to summarize({verb.__name__}, y, prediction, weights=...)"
    )
    entry = RankEntry(
        verb,
        options,
        summarise,
        finish,
        reads=(Ranks,),
        kind="ranks",
        predictions=predictions,
        instead=instead or {},
        rank=of_equal_rows,
        unequal=True,
    )
    enter(entry)
    return entry
