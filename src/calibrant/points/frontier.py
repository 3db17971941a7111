"""Precision against recall of generated points: the curve of Sajjadi et al. (2018), from clusters of points."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Rng
from calibrant.core.catalogue import public
from calibrant.core.dispatch import chunks
from calibrant.core.results import Curve
from calibrant.errors import InputError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_count, generator
from calibrant.kernels.median import point_order
from calibrant.kernels.pair_sums import squared_distances
from calibrant.points.inputs import read_point_sets
from calibrant.progress import steps

ANGLES = 201
RUNS = 10  # of the clustering, over which the curve is averaged
DIVISIONS = 20  # of each run, for the curve of one distribution
LLOYD_STEPS = 20
MAX_CLUSTERS = 1000
DISTANCES_HELD = 1 << 21
F_WEIGHT = 8.0  # of the summaries of Sajjadi et al.


@public
def precision_recall_curve(y: ArrayLike, points: ArrayLike, *, clusters: int = 20, rng: Rng = 0) -> Curve:
    r"""Precision against recall of generated points, the trade-off curve of two distributions.

    The pooled points are divided into K clusters by k-means. With p_k and q_k the shares of the real and of the
    generated points in cluster k, and a slope λ from 0 to ∞,

    .. math:: \text{precision}(\lambda) = \sum_k \min(\lambda p_k, q_k), \qquad
              \text{recall}(\lambda) = \sum_k \min(p_k, q_k / \lambda).

    A point (recall r, precision a) on the curve means that a share r of the real distribution and a share a of the
    generated one are the same distribution. Generated points of poor quality lower the left end; missing modes move the
    right end.

    Parameters
    ----------
    y, points
        Real points (n, d), and generated points (m, d).
    clusters
        K, at most the number of points of both sets. More clusters show finer differences, and more chance.
    rng
        A Generator or a whole number: it draws the first centres of ten runs of k-means, over which the curve is
        averaged, and the random divisions behind the expected curve.

    Returns
    -------
    Curve
        `recall` and `precision`, (201,), and `expected_recall` and `expected_precision`, the curve of two sets of one
        distribution. The page of this verb lists `details`.

    Examples
    --------
    Real points are at 0 and 10, generated ones all at 0: half of the real distribution is covered, and all that is
    generated is real.

    >>> curve = precision_recall_curve([[0.0], [0.0], [10.0], [10.0]], [[0.0]] * 4, clusters=2)
    >>> [round(float(value), 6) for value in (curve.recall.max(), curve.precision.max(), curve.overlap)]
    [0.5, 1.0, 0.5]
    """
    sets = read_point_sets(y, points)
    K, chance, most = check_count("clusters", clusters, least=2), generator(rng), min(sets.n + sets.m, MAX_CLUSTERS)
    if most < K:
        raise InputError(
            f"clusters must be at most {most:,}, with {sets.n + sets.m:,} points of both sets together; got {K:,}"
        )
    Z = np.concatenate([part[point_order(part)] for part in (sets.y, sets.points)])
    Z = Z - Z[:1]  # the clusters do not depend on the rounding of a mean
    slopes = np.tan(np.linspace(0, np.pi / 2, ANGLES + 2)[1:-1])[::-1]  # decreasing: recall increases
    real = np.arange(len(Z)) < sets.n
    found, expected, overlap = np.zeros((2, ANGLES)), np.zeros((2, ANGLES)), 0.0
    for _ in steps(RUNS, size=1, label="clustering points"):
        cluster = k_means(Z, K, chance)
        ours, theirs = np.bincount(cluster[real], minlength=K), np.bincount(cluster[~real], minlength=K)
        found += _frontier(ours / sets.n, theirs / sets.m, slopes) / RUNS
        overlap += float(np.minimum(ours / sets.n, theirs / sets.m).sum()) / RUNS
        both = ours + theirs
        for first in chance.multivariate_hypergeometric(both, sets.n, size=DIVISIONS, method="marginals"):
            expected += _frontier(first / sets.n, (both - first) / sets.m, slopes) / (RUNS * DIVISIONS)
    return Curve(
        "precision_recall",
        dict(zip(("recall", "precision", "expected_recall", "expected_precision"), (*found, *expected), strict=True)),
        f"{K} clusters by k-means, {RUNS} runs; expected: {RUNS * DIVISIONS} random divisions",
        sets.n + sets.m,
        {
            "clusters": K,
            "overlap": overlap,
            "f_recall": float(_f_scores(found, F_WEIGHT).max()),
            "f_precision": float(_f_scores(found, 1 / F_WEIGHT).max()),
        },
    )


def _frontier(p: FloatArray, q: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return recall and precision (2, slopes).

    >>> _frontier(np.array([0.5, 0.5]), np.array([1.0, 0.0]), np.array([2.0, 1.0])).tolist()
    [[0.5, 0.5], [1.0, 0.5]]
    """
    recall = np.minimum(p, q / slopes[:, None]).sum(axis=1)
    precision = np.minimum(slopes[:, None] * p, q).sum(axis=1)
    return np.stack([recall, precision])


def _f_scores(curve: FloatArray, weight: float) -> FloatArray:
    """Return the F-scores of all points of a curve, recall counted `weight` times as much as precision."""
    recall, precision = curve
    total = weight**2 * precision + recall
    return np.asarray((1 + weight**2) * precision * recall / np.where(total > 0, total, 1.0))


def k_means(Z: FloatArray, K: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the cluster, 0 to K - 1, of each point, by Lloyd's algorithm from centres of k-means++.

    A cluster may be empty, for example if there are fewer than K distinct points.

    >>> found = k_means(np.array([[0.0], [0.1], [9.0], [9.1]]), 2, np.random.default_rng(0))
    >>> bool(found[0] == found[1] != found[2] == found[3])
    True
    """
    centres = _first_centres(Z, K, rng)
    cluster = _nearest(Z, centres)
    for _ in range(LLOYD_STEPS):
        many = np.bincount(cluster, minlength=K)
        sums = np.stack([np.bincount(cluster, column, minlength=K) for column in Z.T], axis=1)
        centres = np.where(many[:, None] > 0, sums / np.maximum(many, 1)[:, None], centres)
        moved = _nearest(Z, centres)
        if np.array_equal(moved, cluster):
            break
        cluster = moved
    return cluster


def _first_centres(Z: FloatArray, K: int, rng: np.random.Generator) -> FloatArray:
    """Return K of the points, each drawn in proportion to its squared distance to those before it."""
    chosen = [int(rng.integers(len(Z)))]
    square = np.full(len(Z), np.inf)
    for _ in range(K - 1):
        square = np.minimum(square, squared_distances(Z, Z[chosen[-1:]])[:, 0])
        reach = np.cumsum(square)
        at = np.searchsorted(reach, rng.random() * reach[-1], side="right") if reach[-1] > 0 else 0
        chosen.append(int(min(at, len(Z) - 1)))
    return Z[chosen]


def _nearest(Z: FloatArray, centres: FloatArray) -> NDArray[np.intp]:
    parts = chunks(len(Z), max(1, DISTANCES_HELD // len(centres)))
    return np.concatenate([squared_distances(Z[rows], centres).argmin(axis=1) for rows in parts])
