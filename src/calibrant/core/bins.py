"""The one owner of bin edges: width bins, mass bins, and the fixed grid of cells.

Bins are right-closed, (a, b], and 0 belongs to the first bin; a mass bin that ends at 0 is [0, 0]. An edge k/m is the
correctly rounded quotient, rounded once more to the precision of the scores. So 0.3 falls into the same bin in float16,
float32 and float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.arrays import FloatArray, locked

IndexArray = NDArray[np.intp]

GRID_ORDER = 100  # every k/m with m <= 100 is an edge of the grid
OCTAVE_PARTS = 32  # cells from one power of 2 to the next, near 0 and 1
FINEST = 24  # the finest cells end 2^-24 away from 0 and 1
MASS_SLACK = 2.0**-40  # relative; the rounding error of a cumulative weight must not move an edge


def width_edges(m: int) -> FloatArray:
    """Return the m + 1 edges k/m."""
    return rounded(np.arange(m + 1) / m, "float64")


def bin_of(score: FloatArray, edges: FloatArray) -> IndexArray:
    """Return the bin number of each score: edges[b] < score <= edges[b + 1], and 0 in the first."""
    return np.searchsorted(edges[1:-1], score, side="left")


def mass_ends(cumulative: NDArray[Any], m: int) -> IndexArray:
    """Return the last score of each of at most m bins of equal weight, as indices of sorted unique scores.

    Inner bin k ends at the first score whose cumulative weight c satisfies m c >= k W; whole-number weights are
    compared exactly. Repeated indices are dropped, and tied scores are never split.
    """
    k, total, last = np.arange(1, m), cumulative[-1], cumulative.size - 1
    target = k * (total / m) * (1 - MASS_SLACK) if total.dtype.kind == "f" else -(-k * total // m)
    inner = np.minimum(np.searchsorted(cumulative, target, side="left"), last)
    return np.unique(np.append(inner, last))


def similar_bins(effective: float) -> int:
    """Return the number of ranges of similar scores for rows that count like so many equal ones: 2 n^(1/3), rounded.

    >>> [similar_bins(n) for n in (1, 300, 2_000, 20_000, 1_000_000)]
    [2, 13, 25, 54, 200]
    """
    return max(1, math.floor(2 * math.cbrt(effective) + 0.5))


def similar_ends(cumulative: NDArray[Any], m: int) -> IndexArray:
    """Return the last score of each range: every score if there are at most m, else those of `mass_ends`.

    Bins of equal weight would join a rare score with its neighbour.
    """
    return np.arange(cumulative.size) if cumulative.size <= m else mass_ends(cumulative, m)


def mass_edges(score: FloatArray, weight: NDArray[Any], m: int) -> FloatArray:
    """Return the edges of at most m bins of equal weight over sorted unique scores."""
    return edges_at(score, mass_ends(np.cumsum(weight), m))


def edges_at(score: FloatArray, ends: IndexArray) -> FloatArray:
    """Return the edges of bins that end at these sorted scores; the outer edges are 0 and 1.

    If scores of 0 fill the first bin, its edges are 0 and 0.
    """
    return np.concatenate(([0.0], score[ends[:-1]], [1.0]))


def joined_edges(edges: FloatArray, others: FloatArray) -> FloatArray:
    """Return all edges of two sets of bins; a first bin [0, 0] of either is kept."""
    return np.concatenate(([0.0], np.union1d(edges[1:-1], others[1:-1]), [1.0]))


@cache
def grid_edges() -> FloatArray:
    """Return the edges of the grid's cells: every k/m, 1 <= m <= 100, and finer edges near 0 and 1.

    Between 0 and 1/100, where there is no k/m, the edges are 2^-k (1 + j/32), j = 0..31, from 2^-24 upwards: scores of
    rare events differ by at most 3 % within a cell. The cells near 1 mirror them.
    """
    octaves = 2.0 ** np.arange(-FINEST, 0)[:, None]
    fine = (octaves * (1 + np.arange(OCTAVE_PARTS) / OCTAVE_PARTS)).ravel()  # exact in float64
    near_zero = fine[fine < 1 / GRID_ORDER]
    # k/m and its reduced fraction are the same real number, so their rounded quotients are equal.
    fractions = np.unique(np.concatenate([np.arange(m + 1) / m for m in range(1, GRID_ORDER + 1)]))
    return rounded(np.concatenate([[0.0], near_zero, fractions[1:-1], 1 - near_zero[::-1], [1.0]]), "float64")


@cache
def grid_uppers(dtype: str) -> FloatArray:
    """Return the upper edge of each cell, rounded to this dtype."""
    return rounded(grid_edges()[1:], dtype)


def grid_starts(m: int) -> IndexArray:
    """Return the first cell of each of m <= 100 width bins."""
    return np.searchsorted(grid_edges(), np.arange(m) / m)


def rounded(edges: FloatArray, dtype: str) -> FloatArray:
    """Return edges rounded to the precision of a dtype, as read-only float64."""
    return locked(edges.astype(dtype).astype(np.float64))


COLUMNS = ("n", "w", "w2", "wp", "wy", "w2y", "wv", "w2v", "wr2", "w2r2", "w2v2")
"""n rows, then sums of w, w², wp, wy, w²y, wv, w²v, wr², w²r², w²v² with v = p(1-p) and r = y - p."""


class SumPerBin:
    """The sum over each bin that has the name of the attribute, a name of `COLUMNS`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.row = COLUMNS.index(name)

    def __get__(self, table: BinTable, owner: type) -> FloatArray:
        return np.asarray(table.sums[self.row])


@dataclass(frozen=True, eq=False)
class BinTable:
    """Edges and sums of m bins, empty ones included.

    `lower` edges do not belong to the bins (except 0, which belongs to the first), `upper` edges do.
    """

    edges: FloatArray  # m + 1
    sums: FloatArray  # (11, m), rows named by COLUMNS

    w, w2, wp, wy, w2y = SumPerBin(), SumPerBin(), SumPerBin(), SumPerBin(), SumPerBin()
    wv, w2v, wr2, w2r2, w2v2 = SumPerBin(), SumPerBin(), SumPerBin(), SumPerBin(), SumPerBin()

    @property
    def lower(self) -> FloatArray:
        """Lower edges."""
        return self.edges[:-1]

    @property
    def upper(self) -> FloatArray:
        """Upper edges."""
        return self.edges[1:]

    @property
    def count(self) -> NDArray[np.int64]:
        """Rows per bin."""
        return np.asarray(self.sums[0], np.int64)

    @property
    def rise(self) -> FloatArray:
        """Σw(1 - p) of events per bin: the most that Σwr can rise from row to row."""
        return np.asarray((self.wr2 + self.wv + self.wy - self.wp) / 2)  # r² + v is |r|

    @property
    def fall(self) -> FloatArray:
        """Σwp of non-events per bin: the most that Σwr can fall from row to row."""
        return np.asarray((self.wr2 + self.wv - self.wy + self.wp) / 2)

    @property
    def share(self) -> FloatArray:
        """Share of the weight per bin, f_b."""
        return np.asarray(self.w / self.w.sum())

    @property
    def mean_predicted(self) -> FloatArray:
        """Mean score per bin, NaN where there are no rows."""
        return _quotient(self.wp, self.w)

    @property
    def mean_observed(self) -> FloatArray:
        """Observed frequency per bin, NaN where there are no rows."""
        return _quotient(self.wy, self.w)

    @property
    def gap(self) -> FloatArray:
        """Observed frequency minus mean score per bin, 0 where there are no rows."""
        return np.asarray(np.nan_to_num(_quotient(self.wy - self.wp, self.w)))

    def event_spread(self, centre: FloatArray) -> FloatArray:
        """Return Σw²(y - c)² per bin around the value c of each bin."""
        return np.asarray(self.w2y * (1 - centre) ** 2 + (self.w2 - self.w2y) * centre**2)


def _quotient(sums: FloatArray, weight: FloatArray) -> FloatArray:
    return np.asarray(np.divide(sums, weight, out=np.full(weight.shape, np.nan), where=weight > 0))
