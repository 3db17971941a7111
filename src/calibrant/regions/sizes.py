"""Widths of intervals and sizes of sets: their summary, groups of about equal size, and the coverage of each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Labels, Outcomes
from calibrant.core.bins import IndexArray, mass_ends
from calibrant.core.catalogue import Entry, enter, public
from calibrant.core.ordered import Ordered
from calibrant.core.pool import CountArray, largest_bound, pool_rows, tie_starts, tolerance_of
from calibrant.core.summary import Summary
from calibrant.errors import InputError, NotApplicableError, SummaryError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.options import MAX_BINS, as_number, check_count
from calibrant.inputs.rows import IntervalRows, SetRows
from calibrant.inputs.sets import Sets

SizeBins: TypeAlias = int | Sequence[tuple[float, float]] | None
"""How sizes are grouped: a number of groups of equal weight, ranges (low, high), or None for the default."""
EmptySets = Literal["merge", "own"]


@public
def size_stratified_coverage(
    y: Outcomes,
    prediction: Intervals | Sets | None = None,
    *,
    bins: SizeBins = None,
    summary: Literal["min", "violation"] = "min",
    empty: EmptySets = "merge",
    min_count: int = 1,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
) -> float | FloatArray:
    r"""Lowest coverage among groups of rows whose intervals or sets are about equally large (SSC).

    With the groups g of rows by width or set size,

    .. math:: \mathrm{SSC} = \min_g \hat c_g, \qquad \hat c_g = \frac{\sum_{i \in g} w_i c_i}{\sum_{i \in g} w_i},

    :math:`c_i` being 1 if row i is covered; with ``summary="violation"`` it is :math:`\max_g |\hat c_g - level|`.

    Parameters
    ----------
    y, prediction, weights, classes
        As in `coverage`, which also returns a number or one for each level: `Intervals` or `Sets`.
    bins
        A whole number m: groups of equal count, each ending at the sorted size of rank ⌈k n/m⌉. Rows of one size stay
        together, so there may be fewer groups. A list of ranges ``[(low, high), ...]``, bounds included: these
        groups; rows outside are left out. None: 3 for intervals, one group per size for sets.
    summary
        "min", or "violation", which needs a level.
    empty
        "merge" takes empty sets and sets of one label as one group; "own" keeps the empty sets apart, whose coverage is
        0 by construction.
    min_count
        Groups of fewer rows are left out.

    Examples
    --------
    The two narrow intervals cover one outcome of two, the wide ones both:

    >>> from calibrant import Intervals
    >>> forecast = Intervals([0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 4.0, 5.0], 0.9)
    >>> size_stratified_coverage([0.5, 2.0, 2.0, 2.0], forecast, bins=2)
    0.5
    """
    options = SizeStratifiedOptions(bins, summary, empty, min_count)
    return SIZE_STRATIFIED_COVERAGE(y, prediction, options, weights=weights, classes=classes)


@dataclass(frozen=True)
class SizeStratifiedOptions:
    bins: SizeBins
    summary: Literal["min", "violation"]
    empty: EmptySets
    min_count: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", read_size_bins(self.bins))
        check_count("min_count", self.min_count)


def sizes_of(rows: IntervalRows | SetRows, options: object) -> Sizes:
    return Sizes.of(rows)


def _lowest_coverage(sizes: Sizes, options: SizeStratifiedOptions) -> float | FloatArray:
    values = []
    for k in range(sizes.L):
        table, groups = sizes.groups(k, options.bins, options.empty)
        count = groups.sums(table.rows)
        kept = count >= options.min_count
        if not kept.any():
            raise NotApplicableError(
                f"no group has min_count={options.min_count} rows; the largest has {count.max()}. "
                "Lower min_count or use fewer bins"
            )
        c = groups.sums(table.hit_weight)[kept] / groups.sums(table.weight)[kept]
        values.append(float(c.min() if options.summary == "min" else np.abs(c - sizes.level(k)).max()))
    return sizes.per_level(values)


EQUAL_WEIGHTS = 1e-12  # sums of weights that differ by less than this share of the total are equal


class SizeColumns(NamedTuple):
    """One entry per size, ascending, sizes that differ by rounding taken as one.

    Without weights all columns but the first are whole numbers.
    """

    size: FloatArray
    rows: CountArray  # how many
    hits: CountArray  # rows whose outcome is covered
    weight: NDArray[Any]  # Σw
    hit_weight: NDArray[Any]  # Σwc


@dataclass(frozen=True, eq=False, repr=False)
class Sizes(Summary):
    """For each level, the rows sorted by size as an `Ordered`: a score is a size, an event a covered outcome.

    Sizes are kept as they came. Which of them are tied is decided when all rows are together, from the largest finite
    bound of each level and eps of the bounds' dtype. `kind` is "Intervals" or "Sets", `K` the number of labels, 0 for
    intervals; `levels` is empty if there are none. Without outcomes (`judged` is False) there are no events.
    """

    grows = True
    kind: str
    K: int
    levels: FloatArray
    single: bool
    eps: float
    largest: FloatArray
    parts: tuple[Ordered, ...]
    judged: bool = True

    @classmethod
    def of(cls, rows: IntervalRows | SetRows) -> Self:
        """Sort these rows by size, level by level."""
        judged = rows.y.ndim == 1  # else there are no outcomes
        sizes = rows.sizes
        covered = rows.covered if judged else np.zeros(sizes.shape, dtype=np.bool_)
        columns = zip(sizes.T, covered.T, strict=True)
        parts = tuple(Ordered(*pool_rows(covered, size, rows.w), "float64") for size, covered in columns)
        if isinstance(rows, IntervalRows):
            intervals = rows.prediction
            largest = largest_bound(intervals.lower, intervals.upper)
            return cls("Intervals", 0, intervals.levels, intervals.single, intervals.eps, largest, parts, judged)
        sets = rows.prediction
        levels = np.zeros(0) if sets.levels is None else sets.levels
        return cls("Sets", sets.K, levels, sets.single, 0.0, np.zeros(len(parts)), parts, judged)

    def merged(self, other: Self) -> Self:
        if self._words != other._words or self.single != other.single:
            raise SummaryError(f"sizes of {self._words} do not merge with sizes of {other._words}")
        if self.judged != other.judged:
            raise SummaryError("sizes with outcomes do not merge with sizes without; make both with the same verb")
        return replace(
            self,
            eps=max(self.eps, other.eps),
            largest=np.maximum(self.largest, other.largest),
            parts=tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)),
        )

    @property
    def n(self) -> int:
        return self.parts[0].n if self.parts else 0

    @property
    def L(self) -> int:
        """Number of levels."""
        return len(self.parts)

    def median(self, k: int) -> float:
        """Return the size with half of the weight on either side, the mean of two where the weights split evenly."""
        size, below = self.parts[k].unique_scores, np.cumsum(self.parts[k].weight_by_score)
        half, slack = below[-1] / 2, EQUAL_WEIGHTS * below[-1]
        low = size[np.searchsorted(below, half - slack, side="left")]
        high = size[np.searchsorted(below, half + slack, side="right")]
        return float(low / 2 + high / 2)  # one or both may be infinite, and their sum may be too large

    def tied(self, k: int) -> SizeColumns:
        """Return the columns of level number k, tied sizes pooled."""
        if not self.judged:
            raise SummaryError("this summary of sizes was made without outcomes; make it with the verb that reads it")
        ordered = self.parts[k]
        size = ordered.unique_scores
        starts = tie_starts(size, float(tolerance_of(self.largest[k], self.eps)))
        counts = ordered.by_score(ordered.count), ordered.by_score(ordered.events)
        columns = (*counts, ordered.weight_by_score, ordered.event_weight_by_score)
        if starts.size == size.size:
            return SizeColumns(size, *columns)
        return SizeColumns(size[starts], *(np.add.reduceat(column, starts) for column in columns))

    def groups(self, k: int, bins: SizeBins = None, empty: EmptySets = "merge") -> tuple[SizeColumns, SizeGroups]:
        """Return the columns of level number k, and the groups of sizes."""
        tied = self.tied(k)
        return tied, size_groups(tied.size, tied.weight, K=self.K, bins=bins, empty=empty)

    def level(self, k: int) -> float:
        """Return nominal coverage number k; sets may have none."""
        if not self.levels.size:
            raise NotApplicableError("these sets have no level to compare coverage with; pass Sets(mask, level)")
        return float(self.levels[k])

    def per_level(self, values: list[float]) -> float | FloatArray:
        """Return one number per level as the caller gets it: a float for a prediction of one level."""
        return values[0] if self.single else np.array(values)

    @property
    def _words(self) -> str:
        labels = f" of {self.K} labels" if self.K else ""
        levels = ", ".join(f"{level:.10g}" for level in self.levels)
        return f"{self.kind}{labels} " + (f"at level {levels}" if levels else f"with {self.L} columns without a level")


DEFAULT_INTERVAL_GROUPS = 3


class SizeGroups(NamedTuple):
    """Groups in ascending order: sizes from `low` to `high`, both included, which stand at places begin <= i < end."""

    low: FloatArray
    high: FloatArray
    begin: IndexArray
    end: IndexArray

    def sums(self, column: NDArray[Any]) -> NDArray[Any]:
        places = np.stack([self.begin, self.end], axis=1).ravel()
        total: NDArray[Any] = np.add.reduceat(np.append(column, column[:1]), places)[::2]
        return np.where(self.begin < self.end, total, 0)


def size_groups(size: FloatArray, weight: NDArray[Any], *, K: int, bins: SizeBins, empty: EmptySets) -> SizeGroups:
    """Put different sizes, in ascending order, into groups; rows of one size stay together.

    `weight` is that of the rows of each size, K the number of labels, 0 for intervals. `bins` is a whole number m, for
    at most m groups of equal weight: group k ends at the first size up to which the rows weigh k/m of all; or ranges
    (low, high), bounds included, and sizes outside belong to none; or None for three groups of intervals, and one group
    for each possible size of a set. `empty="merge"` takes empty sets and sets of one label together.
    """
    if isinstance(bins, Sequence):
        return _of_ranges(size, *_limits_of_ranges(bins, K))
    merged = bool(K) and empty == "merge"
    if K and bins is None:
        high = np.arange(1.0 if merged else 0.0, K + 1)
        return _of_ranges(size, np.append(0.0, high[1:]), high)
    tied = np.maximum(size, 1.0) if merged else size
    last_of_tie = np.append(np.flatnonzero(np.diff(tied)), size.size - 1)
    cumulative = np.cumsum(weight)[last_of_tie]
    ends = last_of_tie[mass_ends(cumulative, DEFAULT_INTERVAL_GROUPS if bins is None else bins)]
    starts = np.concatenate([[0], ends[:-1] + 1])
    return SizeGroups(size[starts], size[ends], starts, ends + 1)


def _of_ranges(size: FloatArray, low: FloatArray, high: FloatArray) -> SizeGroups:
    end = np.searchsorted(size, high, side="right")
    begin = np.maximum(np.searchsorted(size, low, side="left"), np.append(0, end[:-1]))  # a shared limit counts once
    return SizeGroups(low, high, begin, np.maximum(begin, end))


def read_size_bins(bins: Any) -> SizeBins:
    """Return checked groups of sizes: None, a whole number, or a tuple of ranges (low, high)."""
    if bins is None:
        return None
    if isinstance(bins, np.ndarray) and bins.ndim:
        bins = bins.tolist()
    if not isinstance(bins, Sequence) or isinstance(bins, str | bytes):
        if check_count("bins", bins) > MAX_BINS:
            raise InputError(f"bins must be at most {MAX_BINS:,}; got {shown(bins)}")
        return int(bins)
    pairs = [tuple(pair) if isinstance(pair, Sequence | np.ndarray) else (pair,) for pair in bins]
    bad = [pair for pair in pairs if len(pair) != 2 or not 0 <= as_number(pair[0]) <= as_number(pair[1])]
    if bad or not pairs:
        given = "an empty list" if not pairs else shown(bad[0] if len(bad[0]) != 1 else bad[0][0])
        raise InputError(
            "bins must be a whole number or a list of ranges (low, high) with 0 <= low <= high, such as "
            f"[(0, 1), (2, 3)]; got {given}"
        )
    return tuple((float(low), float(high)) for low, high in pairs)


def _limits_of_ranges(ranges: Sequence[tuple[float, float]], K: int) -> tuple[FloatArray, FloatArray]:
    """Return the limits of ascending ranges; ranges of widths may share a limit, which belongs to the lower one."""
    for (low, high), (next_low, next_high) in pairwise(ranges):
        if next_low < high or (next_low == high and (K or low == high)):
            raise InputError(
                f"ranges of bins must ascend and share no size; ({low:g}, {high:g}) comes before "
                f"({next_low:g}, {next_high:g})"
            )
    low, high = np.array(ranges, dtype=np.float64).T
    return low, high


SIZE_STRATIFIED_COVERAGE = enter(
    Entry(
        size_stratified_coverage,
        SizeStratifiedOptions,
        sizes_of,
        _lowest_coverage,
        reads=(Sizes,),
        predictions=("intervals", "sets"),
        range=(0.0, 1.0),
        perfect=1.0,
        mean=True,
    )
)
