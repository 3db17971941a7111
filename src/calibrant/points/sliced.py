"""Sliced Wasserstein distance: two sets of points compared along random directions, and its test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Rng
from calibrant.core.catalogue import public
from calibrant.core.dispatch import chunks
from calibrant.core.null import pvalue_of_first
from calibrant.core.results import TestResult
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_count, generator
from calibrant.kernels.median import point_order
from calibrant.kernels.pair_sums import centred
from calibrant.points.inputs import PointSets, read_point_sets
from calibrant.points.sums import Divisions, check_divisions, observed_division, relabellings
from calibrant.progress import steps

NUMBERS_AT_ONCE = 1 << 20  # projections held together


@public
def sliced_wasserstein(
    y: ArrayLike, points: ArrayLike, *, power: Literal[1, 2] = 2, directions: int = 200, rng: Rng = 0
) -> float:
    r"""Sliced Wasserstein distance: the mean over random directions of the distance between projections.

    .. math:: \frac1L \sum_{l=1}^{L} W_p^p (\theta_l^\top y, \theta_l^\top x), \qquad
              W_p^p = \int_0^1 |F^{-1}(u) - G^{-1}(u)|^p \, du

    with :math:`\theta_l` uniform on the unit sphere. No root is taken.

    Parameters
    ----------
    y, points
        Real points (n, d), and generated points (m, d).
    power
        p, 1 or 2.
    directions
        L. The random error of the mean falls as 1/√L. With one coordinate there is one direction, and the distance is
        exact.
    rng
        A Generator or a whole number, for the directions.

    Returns
    -------
    float
        0 for equal sets; in the unit of the coordinates to the power p.

    Examples
    --------
    On a line: a shift by 3, with power 2 and 1; and half of the points moved by 0, half by 2:

    >>> sliced_wasserstein([[0.0], [1.0]], [[3.0], [4.0]]), sliced_wasserstein([[0.0], [0.0]], [[3.0], [3.0]], power=1)
    (9.0, 3.0)
    >>> sliced_wasserstein([[1.0], [1.0]], [[1.0], [3.0], [1.0], [3.0]], power=1)
    1.0
    """
    sets = read_point_sets(y, points)
    p, L, chance = int(power), check_count("directions", directions) if sets.d > 1 else 1, generator(rng)
    Z, steps_of = _in_order(sets), QuantileSteps.of(sets.n, sets.m)
    total = 0.0
    for projected in _projections(Z, L, chance):
        a, b = (np.sort(part, axis=0) for part in (projected[: sets.n], projected[sets.n :]))
        total += float(steps_of.distances(a.T, b.T, p).sum())
    return total / L


@public
def sliced_wasserstein_test(
    y: ArrayLike,
    points: ArrayLike,
    *,
    power: Literal[1, 2] = 2,
    directions: int = 200,
    resamples: int = 199,
    rng: Rng = 0,
) -> TestResult:
    r"""Test whether two sets of points have one distribution, by their sliced Wasserstein distance.

    The pooled points are divided at random into sets of the same sizes, B times. The directions are drawn once, before
    any division, and the projections of the pooled points are sorted once. With T the distance of `sliced_wasserstein`,
    :math:`p = (1 + \#\{T_b \ge T\})/(B + 1)`, exact at any n and m.

    Parameters
    ----------
    y, points, power, directions
        As in `sliced_wasserstein`.
    resamples
        Number of random divisions, B.
    rng
        A Generator or a whole number, for the directions and the divisions.

    Returns
    -------
    TestResult
        `statistic` is the distance. `estimate` is the distance less the mean over the random divisions, which is what
        sets of one distribution have. `n` counts the points of both sets. `details` has `n`, `m`, `power`,
        `directions`, `resamples` and `expected`, that mean.

    Examples
    --------
    Of the 20 divisions of six points into three and three, 2 separate the groups, so p is about 2/20:

    >>> found = sliced_wasserstein_test([[0.0], [0.1], [0.2]], [[10.0], [10.1], [10.2]])
    >>> round(found.pvalue, 1), round(found.statistic, 6)
    (0.1, 100.0)
    """
    sets = read_point_sets(y, points)
    p, B, chance = int(power), check_count("resamples", resamples), generator(rng)
    check_divisions(B, sets.n + sets.m)
    L = check_count("directions", directions) if sets.d > 1 else 1
    V = np.concatenate([observed_division(sets.n, sets.m), relabellings(sets.n, sets.m, B, chance)])
    T = _of_divisions(sets, V, p, L, chance)
    expected = float(T[1:].mean())
    scale = max(float(np.abs(T).max()), expected)
    return TestResult(
        statistic=float(T[0]),
        pvalue=pvalue_of_first(T, scale),
        estimate=float(T[0]) - expected,
        method=f"sliced Wasserstein distance, power {p}, {L:,} direction{'s' if L > 1 else ''}, {B:,} random divisions",
        n=sets.n + sets.m,
        details={"n": sets.n, "m": sets.m, "power": p, "directions": L, "resamples": B, "expected": expected},
    )


def _in_order(sets: PointSets) -> FloatArray:
    """Return the pooled points, the first set first, each set sorted, centred: no offset costs digits."""
    parts = [part[point_order(part)] for part in (sets.y, sets.points)]
    return centred(np.concatenate(parts))


def _projections(Z: FloatArray, L: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Yield the projections (N, l) of all points on some of the L directions at a time."""
    N, d = Z.shape
    if d == 1:
        yield Z
        return
    size = max(1, NUMBERS_AT_ONCE // max(N, d))
    for start, stop in steps(L, size=size, label="projecting points"):
        theta = rng.standard_normal((stop - start, d))
        yield Z @ (theta / np.linalg.norm(theta, axis=1, keepdims=True)).T


class QuantileSteps(NamedTuple):
    """The steps on which the quantile functions of n and of m values are both constant.

    With n = 2 and m = 3 values they end at 1/3, 1/2, 2/3 and 1:

    >>> found = QuantileSteps.of(2, 3)
    >>> found.width.round(4).tolist(), found.first.tolist(), found.second.tolist()
    ([0.3333, 0.1667, 0.1667, 0.3333], [0, 0, 1, 1], [0, 1, 1, 2])
    """

    width: FloatArray
    first: NDArray[np.int64]  # the sorted value of the first set on each step
    second: NDArray[np.int64]

    @classmethod
    def of(cls, n: int, m: int) -> QuantileSteps:
        """Return the steps; their ends are whole multiples of 1/(nm)."""
        ends = np.union1d(np.arange(1, n + 1) * m, np.arange(1, m + 1) * n)
        starts = np.concatenate([[0], ends[:-1]])
        return cls((ends - starts) / (n * m), starts // m, starts // n)

    def distances(self, a: FloatArray, b: FloatArray, p: int) -> FloatArray:
        """Return W_p^p of sorted values, row by row of a (r, n) and b (r, m)."""
        gap = a[:, self.first] - b[:, self.second]
        return np.asarray((np.abs(gap) if p == 1 else gap * gap) @ self.width)


def _of_divisions(sets: PointSets, V: Divisions, p: int, L: int, rng: np.random.Generator) -> FloatArray:
    """Return the distance for each division V (B, N) of the pooled points."""
    Z, steps_of = _in_order(sets), QuantileSteps.of(sets.n, sets.m)
    total = np.zeros(len(V))
    parts = list(chunks(len(V), max(1, NUMBERS_AT_ONCE // len(Z))))
    for projected in _projections(Z, L, rng):
        for z in projected.T:
            order = np.argsort(z, kind="stable")
            values = z[order]
            for rows in parts:
                first = V[rows][:, order] == 1
                a, b = (
                    values[np.nonzero(side)[1]].reshape(len(first), size)
                    for side, size in ((first, sets.n), (~first, sets.m))
                )
                total[rows] += steps_of.distances(a, b, p)
    return total / L
