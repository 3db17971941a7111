"""Distances between two rows, given by their numbers.

A distance here is a function of index arrays that broadcast: i of shape (a, 1) and j of shape (1, b) give a tile,
i and j of shape (m,) give m pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.inputs.weights import FloatArray
from calibrant.kernels.kernel import PairedDistance

Rows = NDArray[np.intp]
Distance = Callable[[Rows, Rows], FloatArray]

SCIPY_NAMES = {"tv": "cityblock", "l1": "cityblock", "euclidean": "euclidean"}


@dataclass(frozen=True, eq=False)
class LineDistance:
    """|x - x'| of numbers."""

    x: FloatArray

    def __call__(self, i: Rows, j: Rows) -> FloatArray:
        """Return the distances of rows i and j."""
        return np.abs(self.x[i] - self.x[j])


@dataclass(frozen=True, eq=False)
class VectorDistance:
    """Euclidean, L1 or half the L1 ("tv") distance of vectors (n, c)."""

    X: FloatArray
    name: str

    def __call__(self, i: Rows, j: Rows) -> FloatArray:
        """Return the distances of rows i and j."""
        if is_tile(i, j):
            from scipy.spatial.distance import cdist

            d = cdist(self.X[i[:, 0]], self.X[j[0]], SCIPY_NAMES[self.name])
        elif self.name == "euclidean":
            with np.errstate(over="ignore"):  # as far as infinity: the kernel is 0 there
                d = np.sqrt(np.square(self.X[i] - self.X[j]).sum(axis=-1))
        else:
            d = np.abs(self.X[i] - self.X[j]).sum(axis=-1)
        return np.asarray(d / 2 if self.name == "tv" else d)


@dataclass(frozen=True, eq=False)
class OwnDistance:
    """The distance of a user's function of m points and m others."""

    points: NDArray[Any]
    function: PairedDistance

    def __call__(self, i: Rows, j: Rows) -> FloatArray:
        """Return the distances of rows i and j."""
        first, second = (rows.reshape(-1) for rows in np.broadcast_arrays(i, j))
        found = np.asarray(self.function(self.points[first].copy(), self.points[second].copy()))
        if found.shape != first.shape or found.dtype.kind not in "fiub":
            raise InputError(
                f"the distance must return one real number per pair: expected shape {first.shape}, got shape "
                f"{found.shape} and type {found.dtype}"
            )
        bad = ~(np.isfinite(found) & (found >= 0))
        if bad.any():
            at = int(np.argmax(bad))
            raise InputError(
                f"a distance must be finite and at least 0; rows {int(first[at])} and {int(second[at])} "
                f"have {shown(found[at])}"
            )
        return found.reshape(np.broadcast_shapes(i.shape, j.shape)).astype(np.float64)


def is_tile(i: Rows, j: Rows) -> bool:
    """Tell whether i and j are a column and a row, so that every row of i meets every row of j."""
    return i.ndim == 2 and j.ndim == 2 and i.shape[1] == 1 and j.shape[0] == 1


def distance_of_points(points: NDArray[Any], distance: str | PairedDistance) -> Distance:
    """Return a named or own distance of numbers (n,) or vectors (n, c)."""
    if callable(distance):
        own = OwnDistance(points, distance)
        _check_symmetry(own, len(points))
        return own
    return LineDistance(points) if points.ndim == 1 else VectorDistance(points, distance)


def _check_symmetry(distance: Distance, n: int, most: int = 48) -> None:
    rows = np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))
    d = distance(rows[:, None], rows[None, :])
    off = np.abs(d - d.T) > 1e-10 * np.maximum(np.abs(d), np.abs(d.T))
    if off.any():
        a, b = (int(k) for k in np.argwhere(off)[0])
        raise InputError(
            f"a distance must be symmetric; rows {int(rows[a])} and {int(rows[b])} have {d[a, b]:.6g} one way "
            f"and {d[b, a]:.6g} the other"
        )
    if d.diagonal().any():
        a = int(np.argmax(d.diagonal() != 0))
        raise InputError(
            f"a distance must be 0 between a point and itself; row {int(rows[a])} has {d[a, a]:.6g}. "
            "It gets m points and m others and returns one number per pair"
        )
