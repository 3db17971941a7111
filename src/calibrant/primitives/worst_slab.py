"""The slab of rows with the lowest coverage: exact along each direction, by Dinkelbach's method in whole numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.walk import tie_ends


class Slab(NamedTuple):
    """The rows with low <= v'x <= high; `hits` of its `rows` are covered."""

    direction: int  # which v
    low: float
    high: float
    hits: int
    rows: int

    def beats(self, other: Slab | None) -> bool:
        """Tell whether its coverage is lower, or the same over more rows."""
        if other is None:
            return True
        difference = self.hits * other.rows - other.hits * self.rows
        return difference < 0 or (difference == 0 and self.rows > other.rows)


def projected(features: FloatArray, v: FloatArray) -> FloatArray:
    """Return v'x of each row, the same number for equal rows: a product of matrices may round them differently."""
    total = np.zeros(len(features))
    for column, factor in zip(features.T, v, strict=True):
        if factor != 0:
            total += factor * column
    return total


def worst_slab(features: FloatArray, covered: NDArray[np.bool_], directions: Iterable[FloatArray], least: int) -> Slab:
    """Return the slab of lowest coverage over all directions and all slabs of at least so many rows.

    Rows of equal projection are never cut apart. Of slabs of equal coverage the one with most rows is returned, then
    that of the first direction, then the lowest. `features` has shape (n, D), least <= n.

    Examples
    --------
    >>> import numpy as np
    >>> x, c = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([True, False, True, True])
    >>> worst_slab(x, c, [np.ones(1)], 2)
    Slab(direction=0, low=0.0, high=1.0, hits=1, rows=2)
    """
    worst: Slab | None = None
    for number, v in enumerate(directions):
        found = _along(number, projected(features, v), covered, least, worst)
        if found is not None and found.beats(worst):
            worst = found
    if worst is None:
        raise ValueError("there is no direction")
    return worst


def _along(number: int, z: FloatArray, covered: NDArray[np.bool_], least: int, known: Slab | None) -> Slab | None:
    """Return the worst slab along one direction, None if it is no better than a known one.

    Slabs are runs of different projections i < .. <= j, with C_j - C_i hits among R_j - R_i rows (C, R: counts up to a
    projection). With the coverage p/q of some slab, a run that minimises G_j - G_i, G = q C - p R, has a lower one if
    the minimum is below 0, and none has if it is 0: then ties are settled.
    """
    order = np.argsort(z)
    z = z[order]
    last = np.flatnonzero(tie_ends(z))
    C = np.concatenate([[0], np.cumsum(covered[order])[last]])
    R = np.concatenate([[0], last + 1])
    j = np.searchsorted(R, least)  # the first end
    ends = np.arange(j, R.size)
    latest = np.searchsorted(R, R[j:] - least, side="right") - 1  # start of a run that ends there
    p, q = (known.hits, known.rows) if known else (int(C[-1]), int(R[-1]))
    while True:
        G = q * C - p * R
        highest = np.maximum.accumulate(G)
        value = G[j:] - highest[latest]
        at = int(np.argmin(value))
        if value[at] >= 0:
            break
        i = int(np.searchsorted(highest, highest[latest[at]]))  # the first start of the highest G
        p, q = int(C[ends[at]] - C[i]), int(R[ends[at]] - R[i])
    if value[at] > 0:
        return None
    end = ends[value == 0]
    start = np.searchsorted(highest, G[end])
    rows = R[end] - R[start]
    best = int(np.argmax(rows))  # the first of the longest is the lowest
    a, b = start[best], end[best]
    return Slab(number, float(z[R[a]]), float(z[R[b] - 1]), int(C[b] - C[a]), int(rows[best]))
