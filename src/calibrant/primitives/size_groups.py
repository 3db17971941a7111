"""Groups of rows by the width of their interval or the size of their set."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.inputs.options import MOST_BINS, as_number, check_choice, check_count
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.bins import IndexArray, mass_ends

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
