"""The canonical notion of the expected calibration error: the whole probability vector is judged.

Rows are grouped into cells of the simplex: products of width bins, or bins by median variance splits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant.core.bins import IndexArray, bin_of, rounded, width_edges
from calibrant.core.kept_rows import KeptRows
from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_bins, check_choice, check_count
from calibrant.inputs.probabilities import Binary, Classes, two_columns

KeyArray = NDArray[np.int64]


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


def median_variance_bins(P: FloatArray, minsize: int, maxbins: int | None) -> IndexArray:
    """Return the bin number of each row; neither the order of the rows nor their weights matter.

    A set is cut at its upper median v[⌊size/2⌋] in the first component of largest variance; rows equal to the cut
    belong to the upper part. A set is a bin if a part would have fewer than `minsize` rows. The set of largest variance
    is cut next, the oldest among equal ones, until there are `maxbins` bins.
    """
    queue: list[tuple[float, int, int, IndexArray]] = []  # negative variance, age, component, rows
    bins, found, age = np.zeros(len(P), np.intp), 1, 0

    parts = [np.lexsort(P.T)]  # sums of rows in this order do not depend on the order they came in
    while True:
        for rows in parts:
            if rows.size >= 2 * minsize:
                variance = P[rows].var(axis=0, ddof=1)
                largest = float(variance.max())
                component = int(np.argmax(variance >= largest * (1 - TIE)))
                heappush(queue, (-largest, age, component, rows))
                age += 1
        if not queue or found == maxbins:
            return bins
        _, _, component, rows = heappop(queue)
        value = P[rows, component]
        above = value >= np.partition(value, rows.size // 2)[rows.size // 2]
        parts = [rows[~above], rows[above]]
        if min(part.size for part in parts) < minsize:
            parts = []
            continue
        bins[parts[1]] = found
        found += 1


class CellSums(NamedTuple):
    """Sums over the rows of each of c cells."""

    rows: NDArray[np.int64]  # (c,)
    w: FloatArray  # (c,) Σw
    wp: FloatArray  # (c, K) Σwp
    wy: FloatArray  # (c, K) Σw e_y


def bin_numbers(P: NDArray[np.floating[Any]], m: int) -> KeyArray:
    """Return the width bin of every component, an array of the shape of P; edges are compared in its dtype."""
    edges = rounded(width_edges(m), P.dtype.name)
    keys = np.empty(P.shape, np.int64)
    for k in range(P.shape[1]):
        keys[:, k] = bin_of(P[:, k].astype(np.float64, copy=False), edges)
    return keys


def distinct(keys: KeyArray) -> tuple[KeyArray, IndexArray]:
    """Return the different rows of keys in lexicographic order, and the place of each row among them."""
    order = np.lexsort(keys.T[::-1])
    new = np.ones(len(keys), bool)
    new[1:] = (np.diff(keys[order], axis=0) != 0).any(axis=1)
    place = np.empty(len(keys), np.intp)
    place[order] = np.cumsum(new) - 1
    return keys[order[new]], place


def sums_by_cell(
    place: IndexArray, cells: int, y: NDArray[Any], P: NDArray[np.floating[Any]], w: FloatArray
) -> CellSums:
    K = P.shape[1]

    def summed(column: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(place, column, minlength=cells), dtype=np.float64)

    wp = np.empty((cells, K))
    for k in range(K):
        wp[:, k] = summed(w * P[:, k])
    wy: FloatArray = np.bincount(place * K + y, w, minlength=cells * K).astype(np.float64).reshape(cells, K)
    return CellSums(np.bincount(place, minlength=cells), summed(w), wp, wy)


@dataclass(frozen=True, eq=False, repr=False)
class SimplexCells(Summary):
    """One entry per cell that contains rows, in the order of the keys: the numbers of the width bins of its components.

    A vector is put into its cell in its own precision. With two classes the key is that of the second class alone, and
    (1 - p, p) has the same cell as p.
    """

    grows = True
    bins: int
    keys: KeyArray  # (c, K), or (c, 1) for two classes
    count: KeyArray  # (c,)
    w: FloatArray  # (c,)
    wp: FloatArray  # (c, K)
    wy: FloatArray  # (c, K)

    def __post_init__(self) -> None:
        super().__post_init__()
        c, K = self.wp.shape if self.wp.ndim == 2 else (-1, -1)
        shapes = [array.shape for array in (self.keys, self.count, self.w, self.wy)]
        if shapes != [(c, 1 if K == 2 else K), (c,), (c,), (c, K)]:
            raise SummaryError(f"the columns of SimplexCells must belong to the same cells; got shapes {shapes}")

    @classmethod
    def of(cls, rows: Binary | Classes, m: int) -> Self:
        """Return the cells of these rows with m width bins per component."""
        judged = P = rows.prediction.reshape(rows.n, -1)
        if P.shape[1] <= 2:
            judged, P = P[:, -1:], two_columns(P[:, -1])
        keys, place = distinct(bin_numbers(judged, m))
        return cls(m, keys, *sums_by_cell(place, keys.shape[0], rows.y, P, rows.w))

    @classmethod
    def zero(cls) -> Self:
        none, nothing = np.zeros(0), np.zeros((0, 0))
        return cls(0, nothing.astype(np.int64), none.astype(np.int64), none, nothing, nothing)

    def merged(self, other: Self) -> Self:
        if (self.bins, self.K) != (other.bins, other.K):
            raise SummaryError(
                f"cells of {self.bins} bins and {self.K} classes do not merge with "
                f"cells of {other.bins} bins and {other.K} classes"
            )
        keys, place = distinct(np.concatenate([self.keys, other.keys]))

        def added(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
            total = np.zeros((len(keys), *a.shape[1:]), a.dtype)
            np.add.at(total, place, np.concatenate([a, b]))
            return total

        return type(self)(self.bins, keys, *(added(a, b) for a, b in zip(self.sums, other.sums, strict=True)))

    @property
    def n(self) -> int:
        return int(self.count.sum())

    @property
    def K(self) -> int:
        """Number of classes."""
        return int(self.wp.shape[1])

    @property
    def sums(self) -> CellSums:
        """The sums of the cells."""
        return CellSums(self.count, self.w, self.wp, self.wy)


Distance: TypeAlias = Literal["tv", "euclidean", "squared-euclidean"] | Callable[[FloatArray, FloatArray], float]

DISTANCES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "tv": lambda gap: np.abs(gap).sum(axis=1) / 2,
    "euclidean": lambda gap: np.sqrt((gap * gap).sum(axis=1)),
    "squared-euclidean": lambda gap: (gap * gap).sum(axis=1),
}
"""Distances of two points of the simplex as functions of their difference, one per row."""

DEFAULTS = {"strategy": "width", "norm": "l1", "debias": False, "average": None}


def check_canonical(bins: Any, distance: Any, **others: Any) -> None:
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
        check_bins(bins)
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
            f"notion='canonical' with bins={bins} needs cells of these bins; this summary has {held}. "
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
    P = rows.simplex
    if P.shape[1] == 2:
        P = two_columns(P[:, 1])
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
