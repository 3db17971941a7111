"""How the null distribution of a statistic is found: by its limit, or by redrawing outcomes from the predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant.core.annotations import Rng
from calibrant.core.bins import GRID_ORDER
from calibrant.core.grid import Grid
from calibrant.core.ordered import Ordered
from calibrant.core.pool import Pool, tie_ends
from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_count, generator
from calibrant.inputs.probabilities import Classes
from calibrant.inputs.rows import DrawnRows
from calibrant.progress import steps

Null: TypeAlias = Literal["auto", "asymptotic", "monte-carlo"]

MIN_INFORMATION = 25.0  # least, in rows' worth of it, for which null="auto" uses the limit of a distribution
MAX_ENTRIES_REDRAWN = 1_000  # with "auto" outcomes of more scores are redrawn from the mean scores of as many bins
NOISE = 4e-3  # per row, of n · SKCE: what differs by less than TIE · NOISE · n, some 20 roundings of each row, is a tie
TIE = 1e-12  # a replicate this close to the statistic counts as equal to it


@dataclass(frozen=True)
class NullOptions:
    """The options of tests whose null distribution is a limit or comes from redrawn outcomes."""

    null: Null
    resamples: int
    rng: Rng

    def __post_init__(self) -> None:
        object.__setattr__(self, "resamples", check_count("resamples", self.resamples))
        generator(self.rng)  # refuses what is neither a generator nor a seed

    def resolved(self, information: float) -> str:
        if self.null != "auto":
            return self.null
        return "asymptotic" if information >= MIN_INFORMATION else "monte-carlo"


@dataclass(frozen=True)
class RedrawOptions:
    """How many redraws or permutations are made, and by which random generator."""

    resamples: int
    rng: Rng

    def __post_init__(self) -> None:
        object.__setattr__(self, "resamples", check_count("resamples", self.resamples))
        generator(self.rng)  # refuses what is neither a generator nor a seed


def asymptotic_words(distribution: str, information: float) -> str:
    """Return how the p-value was found, with a warning where the limit cannot be trusted."""
    if information >= MIN_INFORMATION:
        return distribution
    return (
        f"{distribution}; only {information:.3g} rows' worth of information (25 wanted), so the level may not be kept"
    )


def monte_carlo_words(resamples: int) -> str:
    return f"{resamples} redraws of the outcomes"


@dataclass(frozen=True)
class RedrawnRows:
    """The entries from which outcomes are redrawn.

    `rows` are those of the summary; of a `Grid` the mean scores of its cells. With ``null="auto"`` they are pooled
    further where they are many (`pooled`). The statistic must then be taken on them too, to compare like with like.
    """

    rows: Ordered
    pooled: bool
    words: str

    @classmethod
    def of(cls, summary: Summary, options: NullOptions) -> RedrawnRows:
        words = monte_carlo_words(options.resamples)
        if isinstance(summary, Grid):
            rows, words = summary.ordered(), f"{words} from the mean score of each cell"
        elif isinstance(summary, Ordered):
            rows = summary
        else:
            raise SummaryError(
                f"a Monte Carlo null redraws outcomes from the scores, which {type(summary).__name__} does not keep; "
                'pass the rows or their Ordered summary, or choose null="asymptotic"'
            )
        if options.null != "auto" or rows.score.size <= MAX_ENTRIES_REDRAWN or is_sparse(rows.pool):
            return cls(rows, False, words)
        bins = rows.at_most(MAX_ENTRIES_REDRAWN, width_bins=GRID_ORDER)
        return cls(bins, True, f"{monte_carlo_words(options.resamples)} from the mean scores of {bins.score.size} bins")

    def pvalue(
        self,
        statistic: float,
        of_events: Callable[[NDArray[Any]], FloatArray],
        of_flips: Callable[[Flips], FloatArray],
        options: NullOptions,
        *,
        scale: float,
    ) -> float:
        """Return (1 + #{T* >= T}) / (B + 1), T* from outcomes redrawn with everything else fixed.

        `of_events` maps event counts (replicates, entries) to statistics that are large against calibration; `of_flips`
        does the same for replicates kept as flips, as those of rare events are. `scale` is the statistic's standard
        deviation: what differs by less than rounding of it is a tie.
        """
        B, rng, pool = options.resamples, generator(options.rng), self.rows.pool
        if is_sparse(pool):
            replicates = (of_flips(flips) for flips in redraw_flips(pool, B, rng))
        else:
            replicates = (of_events(events) for events in redraw_events(pool, B, rng))
        extreme = sum(int(np.count_nonzero(reaches(values, statistic, scale))) for values in replicates)
        return float(resampled_pvalue(extreme, B))


def reaches(redrawn: FloatArray, T: Any, scale: float = 0.0) -> NDArray[np.bool_]:
    """Tell which redrawn values are at least T; what differs by less than rounding of T or of `scale` is a tie."""
    if np.isnan(T).any() or np.isnan(redrawn).any():
        raise InputError(
            "the statistic is nan for these data or for redrawn ones; check the kernel, or the sample method of the "
            "predictive distribution"
        )
    finite = np.where(np.isfinite(T), T, 0.0)
    least = np.where(np.isfinite(T), finite - TIE * np.maximum(np.abs(finite), scale), T)
    return np.asarray(redrawn >= least)


def resampled_pvalue(extreme: Any, resamples: int) -> Any:
    """Return (1 + extreme) / (B + 1): the observed value is one of those it is compared with, so p is never 0."""
    return (1 + extreme) / (resamples + 1)


def pvalue_of_first(statistics: FloatArray, scale: float = 0.0) -> float:
    """Return the p-value of the first statistic, that of the data, among all: of the data and of redraws.

    >>> pvalue_of_first(np.array([2.0, 1.0, 2.0, 3.0]))
    0.75
    """
    extreme = int(np.count_nonzero(reaches(statistics[1:], statistics[0], scale)))
    return float(resampled_pvalue(extreme, statistics.size - 1))


def without_rounding(statistics: NDArray[Any]) -> NDArray[np.float32]:
    """Return statistics as float32, in which those that differ only by rounding are equal."""
    with np.errstate(over="ignore"):  # beyond float32 all are equally large
        return statistics.astype(np.float32)


def upper_counts(statistics: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each statistic and set how many sets have at least its value, itself included: (S, sets).

    Divided by the number of sets it is the p-value that each set has among all. Values that differ only by rounding are
    equal.

    >>> upper_counts(np.array([[3.0, 1.0, 3.0, 2.0]]))
    array([[2, 4, 2, 3]])
    """
    rounded = without_rounding(statistics)
    counts = np.empty(rounded.shape, np.int64)
    for row, values in zip(counts, rounded, strict=True):
        row[:] = values.size - np.searchsorted(np.sort(values), values, side="left")
    return counts


NUMBERS_AT_ONCE = 1 << 21  # drawn together: 16 MiB of float64


def redraw_events(pool: Pool, resamples: int, rng: np.random.Generator) -> Iterator[NDArray[Any]]:
    """Yield arrays (replicates, entries) of the number of events of each entry, `resamples` rows in all."""
    score, _, count, _ = pool
    single = bool((count == 1).all())
    size = max(1, NUMBERS_AT_ONCE // score.size)
    for start, stop in steps(resamples, size=size, label="redrawing outcomes"):
        if single:
            yield rng.random((stop - start, score.size)) < score
        else:  # all replicates of an entry together: NumPy prepares each binomial distribution once
            yield rng.binomial(count[:, None], score[:, None], size=(score.size, stop - start)).T


def redraw_labels(rows: Classes, resamples: int, rng: np.random.Generator) -> NDArray[Any]:
    """Return labels (resamples, n), each drawn from the prediction of its row, in the smallest type that holds them."""
    P = rows.P.astype(np.float64)
    cumulative = np.cumsum(P, axis=1)
    last = rows.K - 1 - np.argmax(P[:, ::-1] > 0, axis=1)  # the last class that can happen
    labels = np.empty((resamples, rows.n), dtype=np.min_scalar_type(rows.K - 1))
    for start, stop in steps(rows.n, size=256, label="redrawing outcomes"):
        for i in range(start, stop):
            u = rng.random(resamples) * cumulative[i, -1]
            labels[:, i] = np.minimum(np.searchsorted(cumulative[i], u, side="right"), last[i])
    return labels


def redraw_centre(rows: DrawnRows, rng: np.random.Generator) -> DrawnRows:
    """Return the rows from which redraws are made: one swap away for draws, the rows themselves otherwise.

    The data and redraws that are each one swap away from a common centre are exchangeable; redraws that are each one
    swap away from the data are not (Besag and Clifford 1989).
    """
    return rows.redrawn(rng) if rows.kind == "samples" else rows


POINTS_AT_ONCE = 1 << 20
SPARSE_SHARE = 1 / 8  # of the entries: fewer expected flips are cheaper to draw than outcomes


class Flips(NamedTuple):
    """Flips in the order of (replicate, entry), one for each row flipped, of `replicates` replicates."""

    replicate: NDArray[np.int64]
    entry: NDArray[np.int64]
    replicates: int


def flip_rates(pool: Pool) -> FloatArray:
    """Return the mean number of Poisson points of each entry."""
    return np.asarray(-pool.rows * np.log1p(-np.minimum(pool.score, 1 - pool.score)), dtype=np.float64)


def is_sparse(pool: Pool) -> bool:
    """Tell whether redraws are better kept as flips."""
    return float(flip_rates(pool).sum()) < SPARSE_SHARE * pool.score.size


def base_events(pool: Pool) -> NDArray[np.int64]:
    """Return the events of each entry when every outcome is the probable one."""
    return np.where(pool.score > 0.5, pool.rows, 0)


def flip_signs(pool: Pool) -> FloatArray:
    """Return what a flip adds to the weighted events: w where the probable outcome is 0, -w where it is 1."""
    return np.where(pool.score > 0.5, -pool.weight, pool.weight)


def redraw_flips(pool: Pool, resamples: int, rng: np.random.Generator) -> Iterator[Flips]:
    reach = np.cumsum(flip_rates(pool))
    total = float(reach[-1])
    size = max(1, int(POINTS_AT_ONCE // max(total, 1.0)))
    for start, stop in steps(resamples, size=size, label="redrawing outcomes"):
        points = rng.poisson(total, size=stop - start)
        replicate = np.repeat(np.arange(stop - start), points)
        entry = np.searchsorted(reach, rng.random(replicate.size) * total, side="right")
        entry = np.minimum(entry, reach.size - 1)  # a product that rounds up to the total
        row = rng.integers(0, pool.rows[entry])
        order = np.lexsort((row, entry, replicate))
        replicate, entry, row = replicate[order], entry[order], row[order]
        new = np.ones(order.size, dtype=bool)
        new[1:] = (np.diff(replicate) != 0) | (np.diff(entry) != 0) | (np.diff(row) != 0)
        yield Flips(replicate[new], entry[new], stop - start)


def flipped_sums(flips: Flips, change: FloatArray) -> FloatArray:
    sums = np.bincount(flips.replicate, change[flips.entry], minlength=flips.replicates)
    return np.asarray(sums, dtype=np.float64)


class FlippedWalks:
    """Highest and lowest point of the cumulative differences of replicates given by their flips.

    Without flips the walk falls while p <= 1/2 and rises after. Between two flips its extremes are at the ends, or at
    the turn.
    """

    def __init__(self, pool: Pool) -> None:
        ends = tie_ends(pool.score)
        self.group = np.concatenate(([0], np.cumsum(ends)[:-1]))  # of each entry: which different score it has
        steps_of_base = pool.weight * (base_events(pool) - pool.rows * pool.score)
        at_ends = np.cumsum(steps_of_base)[ends]
        self.base = np.concatenate(([0.0], at_ends))  # base[g + 1] is the walk at the end of group g
        self.turn = int(np.searchsorted(pool.score[ends], 0.5, side="right"))
        self.sign = flip_signs(pool)

    def extremes(self, flips: Flips) -> tuple[FloatArray, FloatArray]:
        """Return the highest and the lowest point of each replicate's walk."""
        count = flips.replicates
        sign, group = self.sign[flips.entry], self.group[flips.entry]
        # One row per replicate: no sum carries the rounding of the replicates before it.
        place = np.arange(sign.size) - np.searchsorted(flips.replicate, flips.replicate)
        laid_out = np.zeros((count, int(place.max(initial=0)) + 1))
        laid_out[flips.replicate, place] = sign
        passed = np.cumsum(laid_out, axis=1)[flips.replicate, place]
        # A flip is seen only at the end of its tied group: count all flips of the group after, none before.
        key = flips.replicate * (self.base.size + 1) + group
        after = passed[np.searchsorted(key, key, side="right") - 1] + self.base[group + 1]
        before = (passed - sign)[np.searchsorted(key, key, side="left")] + self.base[group]
        at_turn = self.base[self.turn] + np.bincount(flips.replicate, sign * (group < self.turn), minlength=count)
        at_end = self.base[-1] + np.bincount(flips.replicate, sign, minlength=count)
        high, low = np.maximum(np.maximum(at_turn, at_end), 0.0), np.minimum(np.minimum(at_turn, at_end), 0.0)
        for values in (after, before):
            np.maximum.at(high, flips.replicate, values)
            np.minimum.at(low, flips.replicate, values)
        return high, low
