"""The one owner of bin edges: width bins, mass bins, and the fixed grid of cells.

Bins are right-closed, (a, b], and 0 belongs to the first: where a mass bin ends at 0, it is [0, 0]. An edge k/m is the
correctly rounded quotient, rounded once more to the precision of the scores, so that 0.3 falls into the same bin in
float16, float32 and float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.dispatch import chunks

IndexArray = NDArray[np.intp]

GRID_ORDER = 100  # every k/m with m <= 100 is an edge of the grid
OCTAVE_PARTS = 32  # near 0 and 1 the grid has so many cells from one power of 2 to the next
FINEST = 24  # down to 2^-24 away from 0 and 1
MASS_SLACK = 2.0**-40  # rounding of a cumulative weight must not move an edge


def width_edges(m: int) -> FloatArray:
    """Return the m + 1 edges k/m."""
    return rounded(np.arange(m + 1) / m, "float64")


def bin_of(score: FloatArray, edges: FloatArray) -> IndexArray:
    """Return the bin number of each score: edges[b] < score <= edges[b + 1], and 0 in the first."""
    return np.searchsorted(edges[1:-1], score, side="left")


def mass_ends(cumulative: NDArray[Any], m: int) -> IndexArray:
    """Return the last score of each of at most m bins of equal weight, as places among sorted unique scores.

    Inner bin k ends at the first place whose cumulative weight c satisfies m c >= k W; whole-number weights are
    compared exactly. Places that repeat are dropped, so that tied scores are never split.
    """
    target, last = _targets(cumulative[-1], m), cumulative.size - 1
    return _ends(np.minimum(np.searchsorted(cumulative, target, side="left"), last), last)


def mass_edges(score: FloatArray, weight: NDArray[Any], m: int) -> FloatArray:
    """Return the edges of at most m bins of equal weight over sorted unique scores; the outer ones are 0 and 1.

    The inner ones are the scores at `mass_ends`, found without a column as long as the scores. If scores of 0 fill the
    first bin, its edges are 0 and 0.
    """
    total = weight[:0].sum()
    for _, cumulative in _cumulated(weight):
        total = cumulative[-1]
    target = _targets(total, m)
    last = weight.size - 1
    inner, found = np.full(target.size, last), 0
    for start, cumulative in _cumulated(weight):
        reached = int(np.searchsorted(target, cumulative[-1], side="right"))
        inner[found:reached] = start + np.searchsorted(cumulative, target[found:reached], side="left")
        found = max(found, reached)
    return np.concatenate(([0.0], score[_ends(inner, last)[:-1]], [1.0]))


def _targets(total: Any, m: int) -> NDArray[Any]:
    """Return the cumulative weights c at which inner bins end: m c >= k W, in the integers c >= ⌈k W / m⌉."""
    k = np.arange(1, m)
    return np.asarray(k * (total / m) * (1 - MASS_SLACK) if total.dtype.kind == "f" else -(-k * total // m))


def _cumulated(weight: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the start and the values of each chunk of numpy.cumsum(weight), bit for bit: it adds one by one."""
    before: Any = 0
    for part in chunks(weight.size):
        piece = weight[part].astype(np.cumsum(weight[:1]).dtype)
        piece[0] += before
        np.cumsum(piece, out=piece)
        before = piece[-1]
        yield part.start, piece


def _ends(inner: IndexArray, last: int) -> IndexArray:
    """Return the places without those that repeat; the last score ends the last bin."""
    return np.unique(np.append(inner, last))


def joined(edges: FloatArray, others: FloatArray) -> FloatArray:
    """Return all edges of two sets of bins; a first bin [0, 0] of one of them stays."""
    return np.concatenate(([0.0], np.union1d(edges[1:-1], others[1:-1]), [1.0]))


@cache
def grid_edges() -> FloatArray:
    """Return the edges of the grid's cells: every k/m, 1 <= m <= 100, and near 0 and 1 finer and finer ones.

    Between 0 and 1/100, where there is no k/m, these are 2^-k (1 + j/32), j = 0..31, from 2^-24 upwards, so that
    scores of rare events differ by 3 % at most within a cell; and the same before 1.
    """
    near_zero = fine_edges()
    return rounded(np.concatenate([[0.0], near_zero, _farey()[1:-1], 1 - near_zero[::-1], [1.0]]), "float64")


def fine_edges() -> FloatArray:
    """Return the edges between 0 and 1/100: all 2^-k (1 + j/32) from 2^-24 upwards, which float64 holds exactly."""
    octaves = 2.0 ** np.arange(-FINEST, 0)[:, None]
    edges = (octaves * (1 + np.arange(OCTAVE_PARTS) / OCTAVE_PARTS)).ravel()
    return edges[edges < 1 / GRID_ORDER]


def _farey() -> FloatArray:
    """Return all fractions k/m, 1 <= m <= 100, in order (a Farey sequence)."""
    a, b, c, d = 0, 1, 1, GRID_ORDER
    terms = [(a, b)]
    while (a, b) != (1, 1):
        k = (GRID_ORDER + b) // d
        a, b, c, d = c, d, k * c - a, k * d - b
        terms.append((a, b))
    numerators, denominators = np.array(terms).T
    return np.asarray(numerators / denominators)


@cache
def grid_uppers(dtype: str) -> FloatArray:
    """Return the upper edge of each cell as a score of this dtype sees it."""
    return rounded(grid_edges()[1:], dtype)


def grid_starts(m: int) -> IndexArray:
    """Return the first cell of each of m <= 100 width bins."""
    # k/m and its reduced fraction are the same real number, so their rounded quotients are equal.
    return np.searchsorted(grid_edges(), np.arange(m) / m)


def rounded(edges: FloatArray, dtype: str) -> FloatArray:
    """Return edges as scores of this dtype see them, read-only."""
    seen = edges.astype(dtype).astype(np.float64)
    seen.flags.writeable = False
    return seen
