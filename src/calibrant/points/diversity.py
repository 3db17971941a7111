"""Diversity of sets of points at many length scales: `vendi_profile` and `diversity_test`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Rng
from calibrant.core.catalogue import public
from calibrant.core.null import pvalue_of_first
from calibrant.core.results import Curve, TestResult
from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import FloatArray, unit_weights
from calibrant.inputs.options import check_count, check_positive, generator
from calibrant.kernels.kernel import Gaussian
from calibrant.kernels.median import MAX_MEDIAN_ROWS, point_order
from calibrant.kernels.pair_sums import centred, distance_tile, each_block, multiplies
from calibrant.points.inputs import PointSets, Repeats, check_names, random_part, read_point_sets, read_points
from calibrant.points.sums import Divisions, observed_division, permuted_sums, relabellings
from calibrant.points.vendi import diversity, read_order, similarity
from calibrant.progress import steps

FACTORS = tuple(2.0**-k for k in range(8))
"""Length scales, in units of the median distance."""
SUBSETS = 20  # of a set larger than those it is compared with, where the score of n points has no closed form
MAX_SETS = 100
ONE_SET = "points"  # the name of a set that is not in a mapping
NO_SPREAD = 1e-9  # of a logarithm: relabelled values this close differ by rounding only


@public
def vendi_profile(
    sets: ArrayLike | Mapping[str, ArrayLike], *, order: float = 2, bandwidths: ArrayLike | None = None, rng: Rng = 0
) -> Curve:
    r"""Vendi scores of sets of points at many length scales, comparable with each other.

    Each set is worth so many different points at each length scale σ of a Gaussian kernel (`vendi_score`). As σ falls,
    the score of n distinct points rises to n, and that of repeated points to the number of distinct ones. A set that
    falls behind the others at a small σ repeats itself, or nearly so; at the median distance this is not visible.

    Parameters
    ----------
    sets
        A mapping from names to sets of points (n, d), or one set.
    order
        Order of the score, as in `vendi_score`. Order 2 needs no eigenvalues.
    bandwidths
        Length scales σ, numbers above 0; None for the median distance of the pooled points times 1, 1/2, ..., 1/128.
        Each set has the same part in the pool.
    rng
        A Generator or a whole number: it draws the points of the median, and subsets for orders other than 2.

    Returns
    -------
    Curve
        `bandwidth` (T,), in decreasing order, and `score` (T, C) with one column per set. `details` has `names`,
        `order`, `points` (the number of points that each score is about) and `spread` (T, C), the standard deviation
        over subsets, 0 without them. ``.plot()`` draws one line per set.

    Examples
    --------
    Four distinct points, and two points that occur twice:

    >>> curve = vendi_profile({"distinct": [[0.0], [1.0], [2.0], [3.0]], "twice": [[0.0], [0.0], [3.0], [3.0]]})
    >>> curve.score[-1].round(6).tolist()
    [4.0, 2.0]
    """
    q, chance = read_order(order), generator(rng)
    given = _read_bandwidths(bandwidths)
    return profile(_read_sets(sets), q, given, chance)


def _read_bandwidths(bandwidths: ArrayLike | None) -> FloatArray | None:
    if bandwidths is None:
        return None
    found = [check_positive("bandwidths", each, "such as 1.0") for each in np.atleast_1d(np.asarray(bandwidths))]
    if not found:
        raise InputError("bandwidths must be a list of numbers above 0, such as [1.0, 0.5]; got none")
    return np.sort(found)[::-1]


def _read_sets(sets: ArrayLike | Mapping[str, ArrayLike]) -> dict[str, FloatArray]:
    """Return the sets by name, each sorted: random draws do not depend on the order of the rows."""
    if not isinstance(sets, Mapping):
        points = read_points(sets, ONE_SET, least=1)
        return {ONE_SET: points[point_order(points)]}
    if not 0 < len(sets) <= MAX_SETS:
        raise InputError(f"sets must contain 1 to {MAX_SETS} sets of points; got {len(sets):,}")
    found: dict[str, FloatArray] = {}
    first: object = None
    for name, given in sets.items():
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"names of sets must be texts; got {shown(name)}")
        points = read_points(given, f"sets[{name!r}]", least=1)
        if found and points.shape[1] != (d := next(iter(found.values())).shape[1]):
            raise InputError(
                f"all sets must have the same number of columns; {next(iter(found))!r} has {d} and {name!r} "
                f"{points.shape[1]}"
            )
        first = given if first is None else first
        check_names(first, given, f"sets[{name!r}]")
        found[name] = points[point_order(points)]
    return found


def profile(
    sets: Mapping[str, FloatArray], order: float, bandwidths: FloatArray | None, rng: np.random.Generator
) -> Curve:
    """Return the profile of sets that have been read; `bandwidths` are in decreasing order."""
    n = min(map(len, sets.values()))
    if bandwidths is None:
        share = min(max(1, MAX_MEDIAN_ROWS // len(sets)), *map(len, sets.values()))  # of the pool, the same of each set
        pool = np.concatenate([random_part(X, share, rng) for X in sets.values()])
        bandwidths = own_median(pool, rng) * np.array(FACTORS)
        method = "median distance of the pooled points, divided by powers of 2"
    else:
        method = "given length scales"
    found = [_scores(points, n, order, bandwidths, rng) for points in sets.values()]
    mean, sd = (np.stack(part, axis=1) for part in zip(*found, strict=True))
    details = {"names": tuple(sets), "order": order, "points": n, "spread": sd}
    method = f"Vendi scores of order {order:g}, Gaussian kernel, {n:,} points of each set; {method}"
    return Curve(
        "vendi_profile", {"bandwidth": bandwidths, "score": mean}, method, sum(map(len, sets.values())), details
    )


def own_median(points: FloatArray, rng: np.random.Generator) -> float:
    """Return the median distance of two of the points, their mean distance if it is 0, and 1 if all are equal."""
    found = similarity("gaussian", "median", points, rng)
    assert isinstance(found, Gaussian)
    return found.length


def _scores(
    points: FloatArray, n: int, order: float, bandwidths: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return the scores of n points of a set at all length scales, and their standard deviation over subsets."""
    if order == 2:
        return 1 / inverse_score(mean_squares(points, bandwidths), n), np.zeros(len(bandwidths))
    kernels = [Gaussian(float(sigma), "euclidean") for sigma in bandwidths]
    subsets = [random_part(points, n, rng) for _ in range(SUBSETS if len(points) > n else 1)]
    values = np.empty((len(subsets), len(kernels)))
    for k, _ in steps(values.size, size=1, label="scoring sets"):
        part, t = divmod(k, len(kernels))
        values[part, t] = diversity(subsets[part], unit_weights(n), kernels[t], order)
    return values.mean(axis=0), values.std(axis=0, ddof=1) if len(subsets) > 1 else np.zeros(len(kernels))


def inverse_score(mean: FloatArray, n: int) -> FloatArray:
    """Return 1/n + (1 - 1/n) m: the mean of K² over all pairs of n points, from its mean m over pairs i ≠ j."""
    return np.asarray(1 / n + (1 - 1 / n) * mean)


def mean_squares(points: FloatArray, bandwidths: FloatArray) -> FloatArray:
    """Return the mean of K² over pairs i < j of a set for each length scale; 0 for a single point.

    >>> mean_squares(np.array([[0.0], [0.0], [1e9]]), np.array([1.0])).round(6).tolist()
    [0.333333]
    """
    n, total = len(points), np.zeros(len(bandwidths))
    squares = [squared_gaussian(float(sigma)) for sigma in bandwidths]
    threads = not multiplies("euclidean", points.shape[1])
    blocks = each_block(distance_tile(points, "euclidean"), n, label="similarity of pairs", threads=threads)
    for rows, columns, d in blocks if n > 1 else ():
        for t, square in enumerate(squares):
            values = square.of_distance(d)
            total[t] += float((np.triu(values, 1) if rows == columns else values).sum())
    return total / max(1, n * (n - 1) // 2)


def squared_gaussian(sigma: float) -> Gaussian:
    return Gaussian(sigma / math.sqrt(2), "euclidean")


@public
def diversity_test(y: ArrayLike, points: ArrayLike, *, resamples: int = 199, rng: Rng = 0) -> TestResult:
    r"""Test whether generated points are less varied than real ones, each set in its own scale.

    Each set is centred and divided by the median distance of its points: a narrower set is not less varied. With the
    Gaussian kernel of length scale σ = 1, 1/2, ..., 1/128 and :math:`\overline{K^2}` its mean square over all pairs of
    a set, each point with itself included,

    .. math:: T_\sigma = \log \overline{K_\sigma^2}(\text{points}) - \log \overline{K_\sigma^2}(y)

    is the logarithm of the ratio of the Vendi scores of order 2. The points are divided at random into sets of the same
    sizes, B times; each T is standardised by its mean and standard deviation over all divisions, and the statistic is
    the largest of the eight, :math:`p = (1 + \#\{T_b \ge T\})/(B + 1)`. The same is done with all points in one scale,
    which is exact for sets of one distribution, and the larger p-value is taken.

    Parameters
    ----------
    y, points
        Real points (n, d), and generated points (m, d).
    resamples
        Number of random divisions, B.
    rng
        A Generator or a whole number: it draws the divisions, and 4,096 of more points for a median distance.

    Returns
    -------
    TestResult
        `statistic` is the largest standardised T. `estimate` is the smallest of the eight ratios of scores, points over
        y: below 1 if the points are less varied at that scale. The page of this verb lists `details`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> real, few = rng.normal(size=(100, 2)), np.repeat(rng.normal(size=(10, 2)), 10, axis=0)
    >>> found = diversity_test(real, few)
    >>> found.pvalue, round(float(found.details["finest_ratio"]), 2)  # ten of a hundred points are distinct
    (0.005, 0.1)
    """
    sets = read_point_sets(y, points)
    B, chance = check_count("resamples", resamples), generator(rng)
    found = less_varied(sets, B, chance)
    ratio = found.ratio
    return TestResult(
        statistic=found.statistic,
        pvalue=found.pvalue,
        estimate=float(ratio.min()),
        method=f"ratio of Vendi scores of order 2 at {len(FACTORS)} scales, {B:,} random divisions",
        n=sets.n + sets.m,
        details={
            "n": sets.n,
            "m": sets.m,
            "factor": np.array(FACTORS),
            "ratio": ratio,
            "finest_ratio": found.finest,
            "median_distance_y": found.scales[0],
            "median_distance_points": found.scales[1],
            "distinct_y": Repeats.of(sets.y).distinct,
            "distinct_points": Repeats.of(sets.points).distinct,
            "resamples": B,
        },
    )


class LessVaried(NamedTuple):
    """Whether the second of two sets is less varied than the first."""

    statistic: float
    pvalue: float
    ratio: FloatArray  # (8,), scores of the second set divided by those of the first, the coarsest scale first
    scales: tuple[float, float]  # median distances of both sets

    @property
    def finest(self) -> float:
        return float(self.ratio[-1])


def less_varied(sets: PointSets, resamples: int, rng: np.random.Generator) -> LessVaried:
    """Compare the order-2 scores of two sets at all length scales, each set in its own scale and both in one."""
    sides = [part[point_order(part)] for part in (sets.y, sets.points)]
    scales = [own_median(part, rng) for part in sides]
    V = np.concatenate([observed_division(sets.n, sets.m), relabellings(sets.n, sets.m, resamples, rng)])
    own = np.concatenate([centred(part) / scale for part, scale in zip(sides, scales, strict=True)])
    pooled = np.concatenate(sides)
    T, T_pooled = (_log_ratios(Z, V, sets) for Z in (own, centred(pooled) / own_median(pooled, rng)))
    largest = standardised(T).max(axis=0)
    p = max(pvalue_of_first(largest, scale=1.0), pvalue_of_first(standardised(T_pooled).max(axis=0), scale=1.0))
    return LessVaried(float(largest[0]), p, np.exp(-T[:, 0]), (scales[0], scales[1]))


def _log_ratios(Z: FloatArray, V: Divisions, sets: PointSets) -> FloatArray:
    """Return T (8, B) of all length scales for divisions V (B, N) of points Z; scores are those of min(n, m) points."""
    n, m, least = sets.n, sets.m, min(sets.n, sets.m)
    squares = [squared_gaussian(factor).of_distance for factor in FACTORS]
    sums = permuted_sums(distance_tile(Z, "euclidean"), V, squares)
    first = sums.a / (n * (n - 1))
    second = np.maximum(sums.s[:, None] - 2 * sums.b + sums.a, 0.0) / (m * (m - 1))
    return np.asarray(np.log(inverse_score(second, least)) - np.log(inverse_score(first, least)))


def standardised(T: FloatArray) -> FloatArray:
    """Return each row less its mean over all divisions, divided by its standard deviation; 0 if it does not vary."""
    sd = T.std(axis=1, keepdims=True)
    return np.asarray(np.where(sd > NO_SPREAD, (T - T.mean(axis=1, keepdims=True)) / np.maximum(sd, NO_SPREAD), 0.0))
