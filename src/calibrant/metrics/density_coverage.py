"""Precision, recall, density and coverage of generated points."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from calibrant.errors import InputError
from calibrant.inputs import check_count, generator
from calibrant.inputs.points import PointSets, read_point_sets
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.ball_counts import BallCounts, ball_counts
from calibrant.primitives.distinct_points import distinct
from calibrant.primitives.neighbours import Neighbours
from calibrant.primitives.relabelled_balls import relabelled_counts
from calibrant.results.density_coverage import DensityCoverage, Relabelled

NAMES = ("precision", "recall", "density", "coverage")
SMALL = 2.0**-450  # squares of smaller coordinates lose digits


def density_coverage(y: Any, points: Any, *, k: int = 5, resamples: int = 0, rng: Any = 0) -> DensityCoverage:
    r"""Precision, recall, density and coverage: whether generated points lie where real ones do, and reach all of them.

    With R_k(x) the distance from x to the k-th nearest of the other points of its set, and closed balls
    :math:`B(x) = \{z : |z - x| \le R_k(x)\}`, for real points x_1, ..., x_n and generated points z_1, ..., z_m

    .. math::

        \text{precision} &= \tfrac1m \#\{j : z_j \in B(x_i) \text{ for some } i\}, &
        \text{density} &= \tfrac1{km} \#\{(i, j) : z_j \in B(x_i)\}, \\
        \text{recall} &= \tfrac1n \#\{i : x_i \in B(z_j) \text{ for some } j\}, &
        \text{coverage} &= \tfrac1n \#\{i : z_j \in B(x_i) \text{ for some } j\}.

    If both sets come from one law without ties, density is 1 on average, whatever the law, and

    .. math:: E\,\text{coverage} = 1 - \prod_{i=1}^{k} \frac{n - i}{n + m - i} .

    Parameters
    ----------
    y
        Real points (n, d).
    points
        Generated points (m, d).
    k
        Number of neighbours, less than n and m.
    resamples
        How often the pooled points are divided at random into sets of n and m, to see what the four numbers are if
        both sets come from one law. 0 for not at all; 199 give a range.
    rng
        A Generator or a whole number, for these divisions.

    Returns
    -------
    DensityCoverage
        `precision`, `recall`, `density`, `coverage`, `expected_coverage`, `expected_density` (1), `k`, `n`, `m`, and
        `relabelled`: for each of the four the mean, a range of 95 % and all values of the divisions, None without
        `resamples`.

    Notes
    -----
    Coverage under its expectation: real points are not reached, as when modes are missing. Density or precision low:
    generated points lie where no real ones do. Density can be above 1, where generated points crowd around real ones. A
    copy of the real set has precision, recall and coverage 1 and density (k + 1)/k, more where distances are tied: all
    four reward memorised points.

    Precision and recall have no expectation that holds for every law; ask for `resamples`. All four change with n, m,
    k and the number of coordinates, so that values compare only where these are equal. Distances are Euclidean:
    coordinates are not rescaled, and one with large units decides. For images and texts pass features.

    Every comparison is one of sums of squared differences in float64, so that a point on the edge of a ball is in it.
    Points that occur several times count as often: the other copies of a point are neighbours at distance 0, and a ball
    of radius 0 holds what equals its centre. Without ties prdc 0.2 gives the same numbers, and torch-fidelity 0.4.0 the
    same precision and recall. The balls of prdc are open: constant points have 0 there, and a copy has density 1.

    Up to 10 coordinates a tree finds the neighbours; above, products of matrices do, in time proportional to n·m. Both
    need memory proportional to (n + m)·k. Neighbours of the pooled points are looked for once, whatever `resamples` is:
    with 10,000 points each 100 divisions take about as long as five calls without.

    References
    ----------
    Kynkäänniemi et al. (2019), Improved precision and recall metric for assessing generative models; Naeem et al.
    (2020), Reliable fidelity and diversity metrics for generative models.

    Examples
    --------
    Real points 0, 1 and 3 have balls [-1, 1], [0, 2] and [1, 5]. The generated point 0.5 lies in two of them, and 9 in
    none. The ball of 0.5 is [-8, 9], which holds all real points.

    >>> density_coverage([[0.0], [1.0], [3.0]], [[0.5], [9.0]], k=1)
    DensityCoverage(precision=0.5, recall=1.0, density=1.0, coverage=0.6666666666666666, expected_coverage=0.5,
    expected_density=1.0, k=1, n=3, m=2, relabelled=None)
    """
    sets = read_point_sets(y, points)
    k, B, rng = _check_k(k, sets), check_count("resamples", resamples, least=0), generator(rng)
    X, Z = _measurable(sets)
    counts = np.array([ball_counts(_search(X), _search(Z), k)])
    precision, recall, density, coverage = _shares(counts, sets, k)[0].tolist()
    relabelled = None
    if B:
        drawn = _shares(relabelled_counts(np.concatenate([X, Z]), sets.n, k, B, rng), sets, k)
        relabelled = {name: Relabelled.of(draws) for name, draws in zip(NAMES, drawn.T, strict=True)}
    return DensityCoverage(
        precision=precision,
        recall=recall,
        density=density,
        coverage=coverage,
        expected_coverage=expected_coverage(sets.n, sets.m, k),
        expected_density=1.0,
        k=k,
        n=sets.n,
        m=sets.m,
        relabelled=relabelled,
    )


def expected_coverage(n: int, m: int, k: int) -> float:
    """Return the mean coverage of sets of n and m points from one law without ties.

    The ball of a real point is not hit if its k nearest among all others are real.

    >>> expected_coverage(3, 2, 1)
    0.5
    """
    return 1 - prod((n - i) / (n + m - i) for i in range(1, k + 1))


def _shares(counts: Any, sets: PointSets, k: int) -> FloatArray:
    """Return precision, recall, density and coverage of rows of counts as in `BallCounts`."""
    whole = BallCounts(precise=sets.m, recalled=sets.n, members=k * sets.m, covered=sets.n)
    return np.asarray(counts / np.array(whole))


def _search(points: FloatArray) -> Neighbours:
    found = distinct(points)
    return Neighbours(found.points, found.count)


def _measurable(sets: PointSets) -> tuple[FloatArray, FloatArray]:
    """Return both sets, in other units if all coordinates are so small that their squares have no digits."""
    largest = max(np.abs(part).max() for part in (sets.y, sets.points))
    if not 0 < largest < SMALL:
        return sets.y, sets.points
    exponent = np.frexp(largest)[1]
    return np.ldexp(sets.y, -exponent), np.ldexp(sets.points, -exponent)


def _check_k(k: Any, sets: PointSets) -> int:
    found = check_count("k", k)
    for name, many in (("y", sets.n), ("points", sets.m)):
        if many <= found:
            raise InputError(
                f"{name} must have more than k = {found} points, so that each has k neighbours; got {many}. "
                "Give more points, or a smaller k"
            )
    return found
