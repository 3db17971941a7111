"""Distances between the members of a row, as whole numbers of a small unit.

Whole numbers add up to the same sum in any order. So members that change places change their scores with them to the
last digit, ties of scores are ties, and a rank by such a score is exactly uniform if the members are exchangeable.
"""

from __future__ import annotations

from math import ceil, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray

Whole = NDArray[np.float64]
"""Whole numbers below 2^53, whose sums are exact."""

DIGITS = 53
NEVER = -(1 << 20)  # an exponent below that of every number


def distance_sums(z: FloatArray, scale: FloatArray, *, fast: bool = False) -> Whole:
    """Return Σ_j |z_i - z_j| of each member of rows z (r, m, D), (r, m), in a unit of its own for each row.

    Coordinates are divided by `scale`, (D,). `fast` asks for the compiled body.

    >>> z = np.array([[[0.0, 0.0], [3.0, 4.0], [0.0, 2.0]]])
    >>> sums = distance_sums(z, np.ones(2))
    >>> (sums / sums[0, 0] * 7).round(6)
    array([[7.      , 8.605551, 5.605551]])
    """
    x = unit_cube(z, scale)
    return np.asarray((_fast() if fast else reference_sums)(x, unit_of(x)))


def reference_sums(x: FloatArray, unit: float) -> Whole:
    """Return the sums, member by member."""
    columns = np.ascontiguousarray(x.transpose(2, 1, 0))  # rows last, so that they are added up together
    m, r = columns.shape[1:]
    sums = np.zeros((m, r))
    for i in range(m - 1):
        q = whole_distances(columns[:, i + 1 :], columns[:, i : i + 1], unit)
        sums[i] += q.sum(axis=0)
        sums[i + 1 :] += q
    return np.ascontiguousarray(sums.T)


def whole_distances(x: FloatArray, other: FloatArray, unit: float) -> Whole:
    """Return |x - other| over the first axis in units of 1/unit, rounded.

    Coordinates are added up one by one: a sum over an axis takes them in an order that depends on the shape.
    """
    square = np.zeros(np.broadcast_shapes(x.shape, other.shape)[1:])
    for a, b in zip(x, other, strict=True):
        step = a - b
        step *= step
        square += step
    distance = np.sqrt(square, out=square)
    distance *= unit
    return np.rint(distance, out=distance)


def unit_cube(z: FloatArray, scale: FloatArray) -> FloatArray:
    """Return rows of members (r, m, D) over `scale`, moved and divided by a power of two so that they lie in [0, 1].

    Powers of two are taken out one by one, so that numbers near the ends of float64 are not lost.
    """
    low, high = z.min(axis=1, keepdims=True), z.max(axis=1, keepdims=True)
    width = high / 2 - low / 2  # halves, as the difference may be beyond float64
    wide, (mantissa, exponent) = np.frexp(width)[1], np.frexp(scale)
    power = np.where(width > 0, wide - exponent, NEVER)  # of the widths over the scale, (r, 1, D)
    most = power.max(axis=2, keepdims=True)
    x = np.ldexp(z / 2 - low / 2, -wide) / mantissa  # in [0, 2]
    return np.asarray(np.ldexp(x, power - most - 1))


def unit_of(x: FloatArray) -> float:
    """Return the number of units in 1, a power of two: a sum of m distances is below 2^53."""
    m, D = x.shape[1:]
    return 2.0 ** (DIGITS - ceil(log2(m)) - ceil(log2(D) / 2))


def _fast() -> Any:
    from calibrant.primitives.member_distances_fast import compiled_sums  # imports Numba

    return compiled_sums
