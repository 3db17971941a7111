"""Ranks of vectors among their draws, all coordinates at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, log2
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant.core.annotations import Outcomes, Rng
from calibrant.core.catalogue import public
from calibrant.core.dispatch import takes_fast_double_sum
from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.rows import DistributionRows
from calibrant.inputs.samples import Samples
from calibrant.ranking.counting import Ranked, counts_among
from calibrant.ranking.effects import RankArray, check_rng, enter_ranks
from calibrant.ranking.members import DRAWN, Members, Scale, Score, check_scale, coordinate_scale, member_ranks

Method: TypeAlias = Literal["mean_distance", "band_depth", "average", "multivariate", "spanning_tree"]
METHODS = {
    "mean_distance": "mean distance",
    "band_depth": "band depth",
    "average": "average rank",
    "multivariate": "multivariate rank",
    "spanning_tree": "spanning tree",
}
OF_DISTANCES = ("mean_distance", "spanning_tree")
OUTWARD = ("mean_distance", "band_depth", "spanning_tree")
DIGITS = 53
NEVER = -(1 << 20)  # an exponent below that of every number


@public
def joint_ranks(
    y: Outcomes,
    prediction: Samples | None = None,
    *,
    method: Method = "mean_distance",
    scale: Scale = "pooled",
    rng: Rng | None = None,
) -> RankArray:
    r"""Rank of a vector among its draws, all coordinates at once: uniform on 0 to M if they are exchangeable.

    The outcome :math:`z_0 = y` and its draws :math:`z_1, \dots, z_M` get a score f that treats these m = M + 1 members
    alike, and the rank is :math:`\#\{j : f(z_j) < f(z_0)\}`, ties at random.

    =================  ==================================================  =======================
    method             f(z_i)                                              a high rank is
    =================  ==================================================  =======================
    ``mean_distance``  :math:`\sum_j \lVert z_i - z_j \rVert`              an outlying outcome
    ``band_depth``     :math:`-\sum_d (m - R_d)(R_d - 1)`                  an outlying outcome
    ``average``        :math:`\sum_d R_d`                                  large values
    ``multivariate``   #{j : z_j ≤ z_i in every coordinate}                large values
    ``spanning_tree``  minus the length of the shortest tree without z_i   an outlying outcome
    =================  ==================================================  =======================

    with :math:`R_d` the rank of z_i among the members in coordinate d, from 1, mean ranks for ties.

    Parameters
    ----------
    y
        Outcomes (n, D), vectors of two coordinates or more.
    prediction
        `Samples` of draws (n, M, D), those of row i in ``draws[i]``.
    method
        One of the above.
    scale
        What coordinates are divided by, for ``"mean_distance"`` and ``"spanning_tree"``; the others do not depend on
        it. ``"pooled"``: the standard deviation of all outcomes and draws of all rows; None: nothing; or an array (D,).
    rng
        Generator or seed that decides between tied scores; needed as soon as there are ties. ``"average"``,
        ``"multivariate"`` and ``"band_depth"`` have many, few draws make more.

    Returns
    -------
    ndarray of int64, shape (n,)

    Examples
    --------
    The outcome is the far corner of a triangle with sides 3, 4 and 5, its distances add up to 5 + 4. Those of the draws
    add up to 5 + 3 and 4 + 3, less than that.

    >>> from calibrant import Samples
    >>> joint_ranks([[3.0, 4.0]], Samples([[[0.0, 0.0], [3.0, 0.0]]]), scale=None)
    array([2])
    """
    return JOINT_RANKS(y, prediction, JointOptions(method, scale, rng))


@dataclass(frozen=True)
class JointOptions:
    method: Method
    scale: Scale
    rng: Rng | None

    def __post_init__(self) -> None:
        check_scale(self.scale)
        check_rng(self.rng)


def _ranked(rows: DistributionRows, options: JointOptions) -> Ranked:
    method, scale = options.method, options.scale
    if rows.distribution.shape in ((), (1,)):
        raise NotApplicableError(
            "joint_ranks judges vectors of two coordinates or more, and these outcomes have one. Use ranks"
        )
    members = Members.of(rows)
    if method not in OF_DISTANCES and isinstance(scale, str):
        scale = None  # it would change nothing
    score = pre_rank(method, members, coordinate_scale(scale, members))
    found = member_ranks(score, members.n, options.rng, M=members.M, size=members.size, what=f"the {METHODS[method]}")
    return found._replace(outward=method in OUTWARD)


JOINT_RANKS = enter_ranks(joint_ranks, JointOptions, _ranked, predictions=("samples",), instead=DRAWN)


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


Whole = NDArray[np.float64]
"""Whole numbers below 2^53, whose sums are exact."""


def distance_sums(z: FloatArray, scale: FloatArray, *, fast: bool = False) -> Whole:
    """Return Σ_j |z_i - z_j| of each member of rows z (r, m, D), (r, m), in a unit of its own for each row.

    Coordinates are divided by `scale`, (D,). `fast` asks for the compiled body.
    """
    x = unit_cube(z, scale)
    if not fast:
        return reference_sums(x, unit_of(x))
    from calibrant.ranking.loops import compiled_sums

    return np.asarray(compiled_sums(x, unit_of(x)))


def reference_sums(x: FloatArray, unit: float) -> Whole:
    columns = np.ascontiguousarray(x.transpose(2, 1, 0))  # rows last, to add them up together
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
    """Return rows of members (r, m, D) over `scale`, moved and divided by a power of two to lie in [0, 1].

    Powers of two are taken out one by one, so numbers near the ends of float64 are not lost.
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


def tree_lengths(z: FloatArray, scale: FloatArray) -> Whole:
    """Return the length of the shortest tree that joins all members of a row but one, (r, m), by the one left out.

    Whole numbers of a small unit: it does not matter which of several shortest trees is found.

    >>> lengths = tree_lengths(np.array([[[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]]]), np.ones(2))
    >>> lengths / lengths[0, 2] * 5  # left with sides 4, 3 and 5 of the triangle
    array([[4., 3., 5.]])
    """
    x = unit_cube(z, scale)
    unit = unit_of(x)
    return np.stack([_without_each(row, unit) for row in x])


def _without_each(x: FloatArray, unit: float) -> Whole:
    """Grow (Prim) the trees of one row, one for each member that is left out, side by side."""
    m = len(x)
    distance = whole_distances(x.T[:, :, None], x.T[:, None, :], unit)  # (m, m)
    tree = np.arange(m)
    start = np.where(tree == 0, 1, 0) if m > 1 else tree
    reach = distance[start].copy()  # (m trees, m members): from the tree to each member
    joined = np.eye(m, dtype=bool)
    joined[tree, start] = True
    lengths = np.zeros(m)
    for _ in range(m - 2):
        reach[joined] = np.inf
        nearest = reach.argmin(axis=1)
        lengths += reach[tree, nearest]
        joined[tree, nearest] = True
        np.minimum(reach, distance[nearest], out=reach)
    return lengths


Integers = NDArray[np.signedinteger[Any]]


def doubled_ranks(z: FloatArray) -> Integers:
    """Return 2R, R the rank of each member among its row in each coordinate, from 1, the mean rank of ties."""
    less, equal = counts_among(z.transpose(0, 2, 1))
    return (2 * less + equal + 2).transpose(0, 2, 1)


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
        is_below = columns[0, j] <= columns[0]
        for x in columns[1:]:
            is_below &= x[j] <= x
        count += is_below
    return np.ascontiguousarray(count.T)
