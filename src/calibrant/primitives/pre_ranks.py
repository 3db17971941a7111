"""Scores of the members of a row by which vectors are put into an order: pre-ranks.

Each treats the members alike and returns whole numbers, so that ties are ties.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.dispatch import takes_fast_double_sum
from calibrant.primitives.member_distances import distance_sums
from calibrant.primitives.member_ranks import Score
from calibrant.primitives.members import Members
from calibrant.primitives.spanning_tree import tree_lengths

Integers = NDArray[np.signedinteger[Any]]


def doubled_ranks(z: FloatArray) -> Integers:
    """Return 2R, R the rank of each member among its row in each coordinate, from 1, the mean rank of ties.

    >>> doubled_ranks(np.array([[[7.0], [5.0], [7.0], [9.0]]]))[0, :, 0]
    array([5, 2, 5, 8])
    """
    order = np.argsort(z, axis=1)
    x = np.take_along_axis(z, order, axis=1)
    m = z.shape[1]
    place = np.arange(1, m + 1)[None, :, None]
    differs = x[:, 1:] != x[:, :-1]
    first = np.broadcast_to(place, z.shape).copy()  # of the tie that a place belongs to
    first[:, 1:][~differs] = 0
    last = np.broadcast_to(place, z.shape).copy()
    last[:, :-1][~differs] = m
    np.maximum.accumulate(first, axis=1, out=first)
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    found = np.empty(z.shape, np.int64)
    np.put_along_axis(found, order, first + last, axis=1)
    return found


def average(z: FloatArray) -> Integers:
    """Return Σ_d 2R_d: low for small values."""
    return np.asarray(doubled_ranks(z).sum(axis=2))


def band_depth(z: FloatArray) -> Integers:
    """Return -4 Σ_d (m - R_d)(R_d - 1): high for members that few pairs of others enclose."""
    R = doubled_ranks(z)
    return np.asarray(-((2 * z.shape[1] - R) * (R - 2)).sum(axis=2))


def multivariate(z: FloatArray) -> Integers:
    """Return #{j : z_j <= z_i in every coordinate}: low for small values."""
    columns = np.ascontiguousarray(z.transpose(2, 1, 0))  # (D, m, r)
    count = np.zeros(columns.shape[1:], np.int32)
    for j in range(columns.shape[1]):
        holds = columns[0, j] <= columns[0]
        for x in columns[1:]:
            holds &= x[j] <= x
        count += holds
    return np.ascontiguousarray(count.T)


def pre_rank(method: str, members: Members, scale: FloatArray) -> Score:
    """Return the score of a method; which body computes it is decided by the size of the whole work."""
    fast = takes_fast_double_sum(members.M + 1, members.n * members.D)
    found: dict[str, Callable[[FloatArray], NDArray[Any]]] = {
        "mean_distance": lambda z: distance_sums(z, scale, fast=fast),
        "band_depth": band_depth,
        "average": average,
        "multivariate": multivariate,
        "spanning_tree": lambda z: -tree_lengths(z, scale),
    }
    score = found[method]
    return lambda part: score(members.block(part))
