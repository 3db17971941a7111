"""`density_coverage`: precision, recall, density and coverage of generated points, from balls around points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, prod, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Rng
from calibrant.core.catalogue import public
from calibrant.core.results import ComparedValue, FrozenValue
from calibrant.core.tabular import Tabular
from calibrant.errors import InputError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_count, generator
from calibrant.points.inputs import Distinct, IntArray, PointSets, distinct, read_point_sets
from calibrant.points.neighbours import Counts, Neighbours
from calibrant.points.sums import Divisions, check_divisions, relabellings
from calibrant.progress import steps

NAMES = ("precision", "recall", "density", "coverage")
MIN_COORDINATE = 2.0**-450  # squares of smaller coordinates lose digits


@public
def density_coverage(
    y: ArrayLike, points: ArrayLike, *, k: int = 5, resamples: int = 0, rng: Rng = 0
) -> DensityCoverage:
    r"""Precision, recall, density and coverage: whether generated points lie where real ones do, and near all of them.

    With R_k(x) the distance from x to the k-th nearest of the other points of its set, and closed balls
    :math:`B(x) = \{z : |z - x| \le R_k(x)\}`, for real points x_1, ..., x_n and generated points z_1, ..., z_m

    .. math::

        \text{precision} &= \tfrac1m \#\{j : z_j \in B(x_i) \text{ for some } i\}, &
        \text{density} &= \tfrac1{km} \#\{(i, j) : z_j \in B(x_i)\}, \\
        \text{recall} &= \tfrac1n \#\{i : x_i \in B(z_j) \text{ for some } j\}, &
        \text{coverage} &= \tfrac1n \#\{i : z_j \in B(x_i) \text{ for some } j\}.

    If both sets come from one distribution without ties, density is 1 on average, and

    .. math:: E\,\text{coverage} = 1 - \prod_{i=1}^{k} \frac{n - i}{n + m - i} .

    Parameters
    ----------
    y, points
        Real points (n, d), and generated points (m, d).
    k
        Number of neighbours, less than n and m.
    resamples
        Number of random divisions of the pooled points into sets of n and m, which show the four numbers for sets of
        one distribution. 0 for none; 199 are enough for a range.
    rng
        A Generator or a whole number, for these divisions.

    Returns
    -------
    DensityCoverage
        `precision`, `recall`, `density`, `coverage`, `expected_coverage`, `expected_density` (1), `k`, `n`, `m`, and
        `relabelled`: for each of the four the mean, a range of 95 % and all values of the divisions, None without
        `resamples`.

    Examples
    --------
    Real points 0, 1 and 3 have balls [-1, 1], [0, 2] and [1, 5]. The generated point 0.5 lies in two of them, and 9 in
    none. The ball of 0.5 is [-8, 9], which contains all real points.

    >>> density_coverage([[0.0], [1.0], [3.0]], [[0.5], [9.0]], k=1)
    DensityCoverage(precision=0.5, recall=1.0, density=1.0, coverage=0.6666666666666666, expected_coverage=0.5,
    expected_density=1.0, k=1, n=3, m=2, relabelled=None)
    """
    sets = read_point_sets(y, points)
    k, B, chance = check_count("k", k), check_count("resamples", resamples, least=0), generator(rng)
    for name, many in (("y", sets.n), ("points", sets.m)):
        if many <= k:
            raise InputError(
                f"{name} must have more than k = {k} points, so that each has k neighbours; got {many}. "
                "Pass more points, or a smaller k"
            )
    X, Z = _measurable(sets)
    counts = np.array([ball_counts(_search(X), _search(Z), k)])
    precision, recall, density, coverage = _shares(counts, sets, k)[0].tolist()
    relabelled = None
    if B:
        drawn = _shares(relabelled_counts(np.concatenate([X, Z]), sets.n, k, B, chance), sets, k)
        relabelled = {name: Relabelled.of(draws) for name, draws in zip(NAMES, drawn.T, strict=True)}
    return DensityCoverage(
        precision=precision,
        recall=recall,
        density=density,
        coverage=coverage,
        expected_coverage=mean_coverage(sets.n, sets.m, k),
        expected_density=1.0,
        k=k,
        n=sets.n,
        m=sets.m,
        relabelled=relabelled,
    )


def mean_coverage(n: int, m: int, k: int) -> float:
    """Return the mean coverage of sets of n and m points from one distribution without ties.

    A real ball contains no generated point if the k nearest of all other points are real.

    >>> mean_coverage(3, 2, 1)
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
    """Return both sets, in other units if all coordinates are so small that their squares lose digits."""
    largest = max(np.abs(part).max() for part in (sets.y, sets.points))
    if not 0 < largest < MIN_COORDINATE:
        return sets.y, sets.points
    exponent = np.frexp(largest)[1]
    return np.ldexp(sets.y, -exponent), np.ldexp(sets.points, -exponent)


@dataclass(frozen=True, eq=False)
class Relabelled(ComparedValue, Tabular):
    """One of the four numbers over random divisions of the pooled points into two sets."""

    mean: float
    low: float
    high: float
    draws: NDArray[np.float64] = field(repr=False)

    @classmethod
    def of(cls, draws: NDArray[np.float64]) -> Relabelled:
        """Return mean and range of these values."""
        low, high = np.quantile(draws, [0.025, 0.975])
        return cls(float(draws.mean()), float(low), float(high), draws)


@dataclass(frozen=True)
class DensityCoverage(FrozenValue, Tabular):
    """Precision, recall, density and coverage, from balls that reach to the k-th neighbour in the same set."""

    precision: float
    recall: float
    density: float
    coverage: float
    expected_coverage: float
    expected_density: float
    k: int
    n: int
    m: int
    relabelled: Mapping[str, Relabelled] | None = None


class Balls(NamedTuple):
    """The points of one set that lie in balls around points of the other."""

    inside: Counts  # points of the other set in each ball
    hit: NDArray[np.bool_]  # for each distinct point of the other set, whether it lies in any ball


class BallCounts(NamedTuple):
    """The counts behind precision, recall, density and coverage."""

    precise: int  # generated points in any real ball
    recalled: int  # real points in any generated ball
    members: int  # pairs of a real ball and a generated point inside it
    covered: int  # real balls with a generated point inside


def balls(own: Neighbours, other: Neighbours, k: int, rows: IntArray) -> Balls:
    """Return which points of `other` lie in closed balls around rows of `own` that reach to their k-th neighbour."""
    R2 = own.radii(k, rows)
    inside, hit = np.zeros(len(rows), dtype=np.int64), np.zeros(len(other.points), dtype=bool)
    for i, j in other.inside(own.points[rows], R2):
        inside += np.bincount(i, weights=other.count[j], minlength=len(rows)).astype(np.int64)
        hit[j] = True
    return Balls(inside, hit)


def ball_counts(real: Neighbours, generated: Neighbours, k: int) -> BallCounts:
    """Return the counts of all balls of both sets; each set has more than k points.

    >>> line = lambda *x: Neighbours(np.array(x)[:, None], np.ones(len(x), dtype=np.int64))
    >>> ball_counts(line(0.0, 1.0, 3.0), line(0.5, 4.0), 1)
    BallCounts(precise=2, recalled=3, members=3, covered=3)
    """
    rows, back = real.order, generated.order
    inside, hit = balls(real, generated, k, rows)
    count = real.count[rows]
    return BallCounts(
        precise=int(generated.count[hit].sum()),
        recalled=int(real.count[balls(generated, real, k, back).hit].sum()),
        members=int((count * inside).sum()),
        covered=int(count[inside > 0].sum()),
    )


MAX_LISTED = 256  # entries of a list
MAX_ALL_LISTED = 32  # distinct points up to which each list has all of them
MAX_ENTRIES = 1 << 23  # of all lists
LABELS_TOGETHER = 1 << 16  # of all divisions that are counted together
LABEL = "relabelling points"


def relabelled_counts(pooled: FloatArray, n: int, k: int, resamples: int, rng: np.random.Generator) -> Counts:
    """Return the counts of `BallCounts` for random divisions into sets of n and N - n points, (resamples, 4).

    The divisions are of the sorted points, so the order of the rows does not matter.
    """
    check_divisions(resamples, 0)
    found, N = np.empty((resamples, 4), dtype=np.int64), len(pooled)
    lists = Lists(distinct(pooled), k, min(n, N - n) / N)
    for start, stop in steps(resamples, size=max(1, LABELS_TOGETHER // N), label=LABEL):
        found[start:stop] = lists.counts(relabellings(n, N - n, stop - start, rng))
    return found


def list_length(k: int, share: float) -> int:
    """Return how many neighbours contain k points of a set with this share, for all but one point in a million."""
    return ceil((k + 7 * sqrt(k * (1 - share)) + 4) / share)


class Lists:
    """The nearest of all pooled points for each of them, in increasing distance.

    Balls reach to the k-th neighbour in the same set; `share` is that of the smaller set.
    """

    def __init__(self, of: Distinct, k: int, share: float) -> None:
        self.of, self.k = of, k
        u = len(of.points)
        wanted = min(list_length(k, share), MAX_LISTED, MAX_ENTRIES // u)
        self.K = u - 1 if u - 1 <= max(wanted, MAX_ALL_LISTED) else wanted
        near = Neighbours(of.points, of.count).of_all(self.K)
        self.index, self.square = (np.ascontiguousarray(part.T) for part in (near.index, near.square))

    def counts(self, divisions: Divisions) -> Counts:
        """Return the counts of divisions (B, N) of the sorted points, 1 for the first set."""
        B, u = len(divisions), len(self.of.points)
        place = np.repeat(self.of.order, self.of.count[self.of.order]) + u * np.arange(B)[:, None]
        a = np.bincount(place.reshape(-1), weights=divisions.reshape(-1), minlength=B * u).astype(np.int64)
        b = np.tile(self.of.count, B) - a
        inside, hit = self._balls(a, b)
        back = self._balls(b, a)[1]
        counted = b * hit, a * back, a * inside, a * (inside > 0)
        return np.stack([each.reshape(B, u).sum(axis=1) for each in counted], axis=1)

    def _balls(self, own: Counts, other: Counts) -> tuple[Counts, NDArray[np.bool_]]:
        """Return the points of `other` in balls around points of `own`, for divisions one after another."""
        u = len(self.of.points)
        inside, hit = other.copy(), np.zeros(len(own), dtype=bool)
        at = np.flatnonzero(own)
        hit[at] = other[at] > 0
        seen = own[at] - 1
        R2 = np.where(seen >= self.k, 0.0, np.inf)
        for index, square in zip(self.index, self.square, strict=True):
            s = square[at % u]
            grows = s <= R2
            at, s, seen, R2 = at[grows], s[grows], seen[grows], R2[grows]
            near = at - at % u + index[at % u]
            met = other[near]
            inside[at] += met
            hit[near[met > 0]] = True
            seen += own[near]
            R2 = np.where((seen >= self.k) & np.isinf(R2), s, R2)
        if u - 1 > self.K:
            self._among_all(own, other, at, inside, hit)
        return inside, hit

    def _among_all(self, own: Counts, other: Counts, at: IntArray, inside: Counts, hit: NDArray[np.bool_]) -> None:
        """Search all points for balls whose list is too short, and enter what is inside."""
        u = len(self.of.points)
        for division in np.unique(at // u):
            part = slice(division * u, (division + 1) * u)
            mine, others = (np.flatnonzero(count[part]) for count in (own, other))
            rows = at[at // u == division]
            set_of_ball = Neighbours(self.of.points[mine], own[part][mine])
            other_set = Neighbours(self.of.points[others], other[part][others])
            found = balls(set_of_ball, other_set, self.k, np.searchsorted(mine, rows - part.start))
            inside[rows] = found.inside
            hit[part][others[found.hit]] = True
