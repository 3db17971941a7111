"""The canonical notion of the expected calibration error: the whole probability vector is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant.core.bins import IndexArray
from calibrant.core.kept_rows import KeptRows
from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_bins, check_choice, check_count
from calibrant.inputs.probabilities import Binary, Classes, two_columns
from calibrant.probabilities.simplex_cells import CellSums, SimplexCells, sums_by_cell


@dataclass(frozen=True)
class MedianVariance:
    """Bins of the simplex by median variance splits, for ``ece(notion="canonical", bins=MedianVariance())``.

    All rows form one set at first. The set with the largest variance of a component is cut at the median of that
    component, until no part could be cut without falling below `minsize` rows, or there are `maxbins` bins. There are
    many bins where there are many predictions, whatever the number of classes. Rows are counted without their weights,
    and equal predictions always share a bin. All rows are needed at once.

    Parameters
    ----------
    minsize
        Smallest number of rows in a bin, at least 1.
    maxbins
        Largest number of bins, at least 1; None for no limit.

    References
    ----------
    Widmann, Lindsten and Zachariah, Calibration tests in multi-class classification, NeurIPS 2019.

    Examples
    --------
    >>> MedianVariance(minsize=5)
    MedianVariance(minsize=5, maxbins=None)
    """

    minsize: int = 10
    maxbins: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "minsize", check_count("minsize", self.minsize))
        if self.maxbins is not None:
            object.__setattr__(self, "maxbins", check_count("maxbins", self.maxbins))


TIE = 1e-12  # component variances this close are equal; those of two columns differ only by rounding


class Tree(NamedTuple):
    """Nodes are sets of rows, 0 is all rows, a child has a larger number than its parent."""

    leaf: IndexArray  # (rows,) the smallest set with the row
    parent: IndexArray  # (nodes,) -1 for the root
    below: IndexArray  # (nodes,) the child below the cut; the one above it comes next; -1 where there is no cut
    priority: FloatArray  # (nodes,) largest component variance, -1 for sets too small to be queued


def median_variance_bins(P: FloatArray, minsize: int, maxbins: int | None) -> IndexArray:
    """Return the bin number of each row; neither the order of the rows nor their weights matter.

    A set is cut at its upper median v[⌊size/2⌋] in the first component of largest variance; rows equal to the cut
    belong to the upper part. A set is a bin if a part would have fewer than `minsize` rows. The set of largest variance
    is cut next, the oldest among equal ones, until there are `maxbins` bins.
    """
    tree = _grown(P, minsize)
    bins = tree.leaf if maxbins is None else _joined(tree, maxbins)[tree.leaf]
    return np.unique(bins, return_inverse=True)[1]


def _grown(P: FloatArray, minsize: int) -> Tree:
    n = P.shape[0]
    rows = np.lexsort(P.T)  # sums of rows in this order do not depend on the order they came in
    leaf = np.zeros(n, np.intp)
    parents, belows, priorities = [np.array([-1])], [], []
    nodes, sizes = 1, np.array([n])
    while sizes.size:
        first = nodes - sizes.size  # the numbers of this level's sets are first, first + 1, ..
        queued = np.flatnonzero(sizes >= 2 * minsize)
        rows = rows[np.repeat(sizes >= 2 * minsize, sizes)]
        owner = np.repeat(np.arange(queued.size), sizes[queued])
        priority, is_above = _cut(P[rows], sizes[queued], owner)
        above = np.bincount(owner, is_above, minlength=queued.size).astype(np.intp)
        parts = np.stack([sizes[queued] - above, above], axis=1)

        split = parts.min(axis=1) >= minsize
        child = nodes + 2 * (np.cumsum(split) - 1)
        belows.append(_placed(np.where(split, child, -1), queued, sizes.size))
        priorities.append(_placed(priority, queued, sizes.size))
        parents.append(np.repeat(first + queued[split], 2))

        going = split[owner]
        rows, owner, is_above = rows[going], owner[going], is_above[going]
        leaf[rows] = child[owner] + is_above
        rows = rows[np.argsort(leaf[rows], kind="stable")]
        sizes = parts[split].reshape(-1)
        nodes += sizes.size
    return Tree(leaf, np.concatenate(parents), np.concatenate(belows), np.concatenate(priorities))


def _cut(S: FloatArray, sizes: IndexArray, owner: IndexArray) -> tuple[FloatArray, IndexArray]:
    """Return the priority of each set, and for each of its rows 1 where it is not below the cut."""
    if not sizes.size:
        return np.zeros(0), np.zeros(0, np.intp)
    starts = np.cumsum(sizes) - sizes
    mean = np.add.reduceat(S, starts, axis=0) / sizes[:, None]
    variance = np.add.reduceat((S - mean[owner]) ** 2, starts, axis=0) / (sizes - 1)[:, None]
    largest = variance.max(axis=1)
    component = (variance >= (largest * (1 - TIE))[:, None]).argmax(axis=1)
    value = np.take_along_axis(S, component[owner][:, None], axis=1)[:, 0]
    median = value[np.lexsort((value, owner))][starts + sizes // 2]
    return largest, (value >= median[owner]).astype(np.intp)


def _placed(values: NDArray[Any], places: IndexArray, size: int) -> NDArray[Any]:
    """Return an array of this size with the values at their places, and -1 elsewhere."""
    found = np.full(size, -1, values.dtype)
    found[places] = values
    return found


def _joined(tree: Tree, maxbins: int) -> IndexArray:
    """Return for each node the bin that has its rows when there are at most maxbins bins."""
    cut = np.zeros(tree.parent.size, bool)
    bins, arrived = 1, 0
    queue = [(-float(tree.priority[0]), 0, 0)]
    while queue and bins < maxbins:
        node = heappop(queue)[-1]
        below = int(tree.below[node])
        if below < 0:
            continue
        cut[node] = True
        bins += 1
        for part in (below, below + 1):
            if tree.priority[part] >= 0:
                arrived += 1
                heappush(queue, (-float(tree.priority[part]), arrived, part))
    holder = np.arange(tree.parent.size)
    for node in range(1, tree.parent.size):  # a parent comes before its children
        if not cut[tree.parent[node]]:
            holder[node] = holder[tree.parent[node]]
    return holder


Distance: TypeAlias = Literal["tv", "euclidean", "squared-euclidean"] | Callable[[FloatArray, FloatArray], float]

DISTANCES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "tv": lambda gap: np.abs(gap).sum(axis=1) / 2,
    "euclidean": lambda gap: np.sqrt((gap * gap).sum(axis=1)),
    "squared-euclidean": lambda gap: (gap * gap).sum(axis=1),
}
"""Distances of two points of the simplex as functions of their difference, one per row."""

DEFAULTS = {"strategy": "width", "norm": "l1", "debias": False, "average": None}


def check_canonical(bins: Any, distance: Any, **others: Any) -> None:
    """Refuse options that belong to notions of one probability per row."""
    for name, value in others.items():
        if value is not DEFAULTS[name] and not (isinstance(value, str) and value == DEFAULTS[name]):
            raise InputError(
                f"notion='canonical' is shaped by bins= and distance= alone; leave {name} out; got {shown(value)}"
            )
    if isinstance(bins, str):
        raise InputError(
            f"bins={bins!r} is for one probability per row; with notion='canonical' bins must be a whole number "
            "or MedianVariance(minsize, maxbins)"
        )
    if bins is MedianVariance:
        raise InputError("bins is the class MedianVariance itself; write MedianVariance(), with brackets")
    if not isinstance(bins, MedianVariance):
        check_bins(bins, "width")
    if not callable(distance):
        check_choice("distance", distance, *DISTANCES)


def summarise_canonical(rows: Binary | Classes, bins: int | MedianVariance) -> Summary:
    """Return cells of width bins, or all rows where the bins depend on all of them."""
    return KeptRows.of(rows) if isinstance(bins, MedianVariance) else SimplexCells.of(rows, int(bins))


def canonical_error(summary: Summary, bins: int | MedianVariance, distance: Any) -> float:
    """Return Σ_c f_c d(mean prediction, class frequencies) over cells, f_c the share of the weight."""
    cells = _median_variance_cells(summary, bins) if isinstance(bins, MedianVariance) else _width_cells(summary, bins)
    share = cells.w / cells.w.sum()
    return float((share * _distances(cells, distance)).sum())


def _width_cells(summary: Summary, bins: int) -> CellSums:
    if not isinstance(summary, SimplexCells) or summary.bins != bins:
        held = f"{summary.bins} bins" if isinstance(summary, SimplexCells) else type(summary).__name__
        raise SummaryError(
            f"notion='canonical' with bins={bins} needs cells of these bins; this summary holds {held}. "
            f"Make it with summarize('ece', y, prediction, notion='canonical', bins={bins})"
        )
    return summary.sums


def _median_variance_cells(summary: Summary, bins: MedianVariance) -> CellSums:
    if not isinstance(summary, KeptRows):
        raise SummaryError(
            f"bins={bins} needs all rows; this summary is of kind {type(summary).__name__}. "
            f"Make it with summarize('ece', y, prediction, notion='canonical', bins={bins})"
        )
    if summary.n < bins.minsize:
        raise InputError(
            f"bins of at least {bins.minsize} rows need at least that many; got {summary.n}. "
            f"Use MedianVariance(minsize={summary.n}) or fewer"
        )
    # Two columns are judged by the second, as one probability per row is: rounding of the first decides nothing.
    rows = summary.rows
    assert isinstance(rows, (Binary, Classes))
    if isinstance(rows, Classes) and rows.K > 2:
        P = rows.P.astype(np.float64, copy=False)
    else:
        P = two_columns(rows.p if isinstance(rows, Binary) else rows.P[:, 1])
    place = median_variance_bins(P, bins.minsize, bins.maxbins)
    return sums_by_cell(place, int(place.max()) + 1, rows.y, P, rows.w)


def _distances(cells: CellSums, distance: Any) -> FloatArray:
    w = cells.w[:, None]
    if isinstance(distance, str):
        return DISTANCES[distance]((cells.wy - cells.wp) / w)
    means, frequencies = cells.wp / w, cells.wy / w
    return np.array([_called(distance, p, q) for p, q in zip(means, frequencies, strict=True)])


def _called(distance: Callable[[FloatArray, FloatArray], Any], p: FloatArray, q: FloatArray) -> float:
    d = np.asarray(distance(p, q))
    if d.ndim or d.dtype.kind not in "iuf" or not 0 <= d < np.inf:
        raise InputError(
            "distance must return one finite number of at least 0 for a mean prediction and class frequencies; "
            f"got {shown(d.item() if not d.ndim else d)} for {shown(p.tolist())} and {shown(q.tolist())}"
        )
    return float(d)
