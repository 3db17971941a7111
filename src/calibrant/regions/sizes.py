"""Widths of intervals or sizes of sets in order, with how many rows of each are covered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.core.bins import IndexArray, mass_ends
from calibrant.core.decorators import metric
from calibrant.core.kinds import AnyRows
from calibrant.core.ordered import Ordered
from calibrant.core.pool import CountArray, Pool, largest_bound, pool_entries, tie_ends, tie_starts, tolerance_of
from calibrant.core.summary import Summary
from calibrant.errors import InputError, NotApplicableError, SummaryError, shown
from calibrant.inputs.arrays import FloatArray, is_unit, unit_weights
from calibrant.inputs.options import MOST_BINS, as_number, check_choice, check_count
from calibrant.inputs.rows import IntervalRows, SetRows


def pool_sizes(size: FloatArray, covered: NDArray[np.bool_], w: FloatArray) -> Pool:
    """Return the rows of each different (size, weight), events being covered outcomes; sizes are at least 0 or inf."""
    if is_unit(w):
        return _packed(size, covered)
    return pool_entries(Pool(size + 0.0, w, np.ones(size.size, np.int64), covered.astype(np.int64)))


def _packed(size: FloatArray, covered: NDArray[np.bool_]) -> Pool:
    """Pool rows of weight 1 by one sort of whole numbers that carry the size and whether the row is covered.

    The bits of a float64 of at least 0, taken as a whole number, order like the number; the sign bit makes room.
    """
    key: NDArray[Any] = size.astype(np.float64).view(np.uint64)
    key <<= 1  # also drops the sign of -0.0
    key |= covered
    key.sort()
    hits = (key & 1).view(np.int64)
    key >>= 1
    sorted_size = key.view(np.float64)
    last = np.flatnonzero(tie_ends(sorted_size))
    count = np.diff(last, prepend=-1)
    starts = last - count + 1
    return Pool(sorted_size[last], unit_weights(last.size), count, np.add.reduceat(hits, starts))


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
    intervals; `levels` is empty where none is known.
    """

    COUNTS: ClassVar[tuple[str, ...]] = ("K",)
    POSITIVE: ClassVar[tuple[str, ...]] = ("eps", "largest")
    kind: str
    K: int
    levels: FloatArray
    single: bool
    eps: float
    largest: FloatArray
    parts: tuple[Ordered, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.parts) != self.largest.size or self.levels.size not in (0, len(self.parts)):
            raise SummaryError("the parts of Sizes must be one per level")

    @classmethod
    def of(cls, rows: IntervalRows | SetRows) -> Self:
        """Sort these rows by size, level by level."""
        columns = zip(rows.sizes.T, rows.covered.T, strict=True)
        parts = tuple(Ordered(*pool_sizes(size, covered, rows.w), "float64") for size, covered in columns)
        if isinstance(rows, IntervalRows):
            intervals = rows.prediction
            largest = largest_bound(intervals.lower, intervals.upper)
            return cls("Intervals", 0, intervals.levels, intervals.single, intervals.eps, largest, parts)
        sets = rows.prediction
        levels = np.zeros(0) if sets.levels is None else sets.levels
        return cls("Sets", sets.K, levels, sets.single, 0.0, np.zeros(len(parts)), parts)

    @classmethod
    def zero(cls) -> Self:
        """Return the summary of no rows, of no levels."""
        return cls("", 0, np.zeros(0), True, 0.0, np.zeros(0), ())

    def merged(self, other: Self) -> Self:
        """Merge level by level."""
        if not self.parts or not other.parts:
            return other if not self.parts else self
        if self._words != other._words or self.single != other.single:
            raise SummaryError(f"sizes of {self._words} do not merge with sizes of {other._words}")
        return type(self)(
            self.kind,
            self.K,
            self.levels,
            self.single,
            max(self.eps, other.eps),
            np.maximum(self.largest, other.largest),
            tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)),
        )

    @property
    def grows(self) -> bool:
        """Whether it takes more room the more rows it is of."""
        return True

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.parts[0].n if self.parts else 0

    @property
    def L(self) -> int:
        """Number of levels."""
        return len(self.parts)

    def tied(self, k: int) -> SizeColumns:
        """Return the columns of level number k, tied sizes pooled."""
        ordered = self.parts[k]
        size = ordered.unique_scores
        starts = tie_starts(size, float(tolerance_of(self.largest[k], self.eps)))
        columns = (
            ordered.by_score(ordered.count),
            ordered.by_score(ordered.events),
            ordered.weight_by_score,
            ordered.event_weight_by_score,
        )
        if starts.size == size.size:
            return SizeColumns(size, *columns)
        return SizeColumns(size[starts], *(np.add.reduceat(column, starts) for column in columns))

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

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> Self:
        """Build from decoded values, reading the nested summaries."""
        parts = tuple(Ordered.from_bytes(part) for part in values.get("parts", ()))
        return super()._checked({**values, "parts": parts})


GROUPS = 3  # of intervals, unless the caller says otherwise


class SizeGroups(NamedTuple):
    """Groups in ascending order: sizes from `low` to `high`, both included, which stand at places begin <= i < end."""

    low: FloatArray
    high: FloatArray
    begin: IndexArray
    end: IndexArray

    def sums(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return the sums of a column over the sizes of each group, 0 for groups without any."""
        places = np.stack([self.begin, self.end], axis=1).ravel()
        total: NDArray[Any] = np.add.reduceat(np.append(column, column[:1]), places)[::2]
        return np.where(self.begin < self.end, total, 0)


def size_groups(size: FloatArray, weight: NDArray[Any], *, K: int, bins: Any, empty: str) -> SizeGroups:
    """Put sizes into groups; rows of one size stay together.

    Parameters
    ----------
    size, weight
        Different sizes in ascending order, and the weight of the rows of each.
    K
        Number of labels, 0 for intervals.
    bins
        A whole number m: at most m groups of equal weight; group k ends at the first size up to which the rows weigh
        k/m of all. A list of ranges (low, high), bounds included: these groups, and sizes outside belong to none. None:
        three groups of equal weight for intervals, one per possible size for sets.
    empty
        "merge" takes empty sets and sets of one label together, "own" does not; ranges are taken as given.

    Examples
    --------
    >>> import numpy as np
    >>> found = size_groups(np.array([1.0, 2.0, 5.0]), np.array([3, 1, 2]), K=0, bins=2, empty="merge")
    >>> found.low, found.high, found.sums(np.array([3, 1, 2]))
    (array([1., 2.]), array([1., 5.]), array([3, 3]))
    """
    check_choice("empty", empty, "merge", "own")
    if isinstance(bins, Sequence | np.ndarray) and not isinstance(bins, str | bytes):
        return _of_ranges(size, *_read_ranges(bins, K))
    if bins is not None and check_count("bins", bins) > MOST_BINS:
        raise InputError(f"bins must be at most {MOST_BINS:,}; got {bins}")
    merged = bool(K) and empty == "merge"
    if K and bins is None:
        low = np.arange(0.0 if not merged else 1.0, K + 1)
        high = low.copy()
        low[0] = 0.0
        return _of_ranges(size, low, high)
    return _of_equal_weight(size, weight, GROUPS if bins is None else bins, merged)


def _of_equal_weight(size: FloatArray, weight: NDArray[Any], m: int, merged: bool) -> SizeGroups:
    tied = np.maximum(size, 1.0) if merged else size
    last_of_tie = np.append(np.flatnonzero(np.diff(tied)), size.size - 1)
    cumulative = np.cumsum(weight)[last_of_tie]
    ends = last_of_tie[mass_ends(cumulative, m)]
    starts = np.concatenate([[0], ends[:-1] + 1])
    return SizeGroups(size[starts], size[ends], starts, ends + 1)


def _of_ranges(size: FloatArray, low: FloatArray, high: FloatArray) -> SizeGroups:
    end = np.searchsorted(size, high, side="right")
    begin = np.maximum(np.searchsorted(size, low, side="left"), np.append(0, end[:-1]))  # a shared limit counts once
    return SizeGroups(low, high, begin, np.maximum(begin, end))


def _read_ranges(bins: Any, K: int) -> tuple[FloatArray, FloatArray]:
    """Return the limits of ranges in ascending order; those of widths may share a limit, which the lower one holds."""
    pairs = [tuple(pair) if isinstance(pair, Sequence | np.ndarray) else (pair,) for pair in bins]
    example = "[(0, 1), (2, 3)]"
    if not pairs:
        raise InputError(f"bins must name at least one range, such as {example}; got an empty list")
    for pair in pairs:
        if len(pair) != 2 or not 0 <= as_number(pair[0]) <= as_number(pair[1]):
            raise InputError(
                f"bins must be a whole number or a list of ranges (low, high) with 0 <= low <= high, such as "
                f"{example}; got {shown(pair if len(pair) != 1 else pair[0])}"
            )
    for (low, high), (next_low, next_high) in pairwise(pairs):
        if next_low < high or (next_low == high and (K or low == high)):
            raise InputError(
                f"ranges of bins must ascend and share no size; ({low}, {high}) comes before ({next_low}, {next_high})"
            )
    low, high = np.array(pairs, dtype=np.float64).T
    return low, high


def _summarise(rows: AnyRows, **_: Any) -> Sizes:
    return Sizes.of(rows)  # type: ignore[arg-type]  # it judges intervals and sets alone


@metric(
    reads=(Sizes,),
    summarise=_summarise,
    predictions=("intervals", "sets"),
    range=(0.0, 1.0),
    perfect=1.0,
    mean=True,
)
def size_stratified_coverage(
    sizes: Sizes, *, bins: Any = None, summary: str = "min", empty: str = "merge", min_count: int = 1
) -> float | FloatArray:
    r"""Lowest coverage among groups of rows whose intervals or sets are about equally large (SSC).

    With the groups g of rows by width or set size,

    .. math:: \mathrm{SSC} = \min_g \hat c_g, \qquad \hat c_g = \frac{\sum_{i \in g} w_i c_i}{\sum_{i \in g} w_i},

    :math:`c_i` being 1 if row i is covered; with ``summary="violation"`` it is :math:`\max_g |\hat c_g - level|`.

    Parameters
    ----------
    y, prediction, weights, classes
        As in `coverage`: `Intervals` or `Sets`.
    bins
        A whole number m: groups of equal count, each ending at the sorted size of rank ⌈k n/m⌉. Rows of one size stay
        together, so that fewer groups may come out. A list of ranges ``[(low, high), ...]``, bounds included: these
        groups; rows outside are left out. None: 3 for intervals, one group per size for sets.
    summary
        "min", or "violation", which needs a level.
    empty
        "merge" takes empty sets and sets of one label as one group; "own" keeps the empty sets apart, whose coverage is
        0 by construction.
    min_count
        Groups of fewer rows are left out.

    Returns
    -------
    float or ndarray
        A number for one level, an array in the order of the levels for several.

    Notes
    -----
    A predictor whose size tells how hard a row is covers rows of every size alike. The lowest coverage of many small
    groups is low by chance alone: read it with the table ``coverage_curve(..., groups="size")`` and its intervals, or
    test with ``coverage_test(..., method="groups")``. Widths that differ by rounding, as those of split-conformal
    intervals do, are one width; with a single width there is one group and the value is the coverage.

    References
    ----------
    Angelopoulos and Bates (2021), A gentle introduction to conformal prediction; for "violation" Angelopoulos, Bates,
    Jordan and Malik (2021), Uncertainty sets for image classifiers using conformal prediction.

    Examples
    --------
    The two narrow intervals cover one outcome of two, the wide ones both:

    >>> from calibrant import Intervals
    >>> forecast = Intervals([0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 4.0, 5.0], 0.9)
    >>> size_stratified_coverage([0.5, 2.0, 2.0, 2.0], forecast, bins=2)
    0.5
    """
    check_choice("summary", summary, "min", "violation")
    least = check_count("min_count", min_count)
    values = []
    for k in range(sizes.L):
        table = sizes.tied(k)
        groups = size_groups(table.size, table.weight, K=sizes.K, bins=bins, empty=empty)
        count = groups.sums(table.rows)
        kept = count >= least
        if not kept.any():
            raise NotApplicableError(
                f"no group has min_count={least} rows; the largest has {count.max()}. Lower min_count or use fewer bins"
            )
        c = groups.sums(table.hit_weight)[kept] / groups.sums(table.weight)[kept]
        values.append(float(c.min() if summary == "min" else np.abs(c - sizes.level(k)).max()))
    return sizes.per_level(values)
