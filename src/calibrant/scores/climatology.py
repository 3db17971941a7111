"""The score of climatology, the marginal distribution of the outcomes, row by row without the row's own outcome."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import chunks
from calibrant.inputs.arrays import FloatArray

MAX_ROWS_IN_PAIRS = 5000  # up to which all pairs of vectors are compared
RANDOM_PAIRS = 500_000  # above
MIN_PARTNERS = 20  # of a row, in random pairs
TILE = 512  # rows whose distances to all others are held at once


class Climatology(NamedTuple):
    """Scores k (n,) of each row, and their mean as the ratio of sums over pairs, G/2."""

    k: FloatArray
    mean: float


def climatology_of_numbers(y: FloatArray, w: FloatArray) -> Climatology:
    r"""Return the fair CRPS of the distribution of the other outcomes.

    .. math:: k_i = h_i - G/2, \qquad h_i = \frac{\sum_{j \ne i} w_j |y_i - y_j|}{W - w_i}, \qquad
        G = \frac{\sum_{i \ne j} w_i w_j |y_i - y_j|}{W^2 - \sum w^2}

    G is the unbiased Gini mean difference, and the mean of k is G/2 with equal weights: unbiased for the score of the
    true marginal distribution. One sort.

    Distances 1 and 3, 1 and 2, 3 and 2 of the outcomes 0, 1, 3:

    >>> climatology_of_numbers(np.array([0.0, 1.0, 3.0]), np.ones(3))
    Climatology(k=array([1. , 0.5, 1.5]), mean=1.0)
    """
    order = np.argsort(y, kind="stable")
    centre = y[order[len(y) // 2]]  # sums of large numbers would cancel
    z, v = y[order] - centre, w[order]
    below, sums = np.cumsum(v), np.cumsum(v * z)
    total = np.empty(len(y))
    total[order] = z * (2 * below - below[-1]) - 2 * sums + sums[-1]  # Σ_j w_j |y_i - y_j|
    return _of_sums(np.maximum(total, 0.0), w.sum() - w, w)


def climatology_of_vectors(y: FloatArray, w: FloatArray, rng: np.random.Generator) -> Climatology:
    """Return the same for the energy score, with Euclidean distances of vectors (n, D).

    Above 5,000 rows each is compared with a random choice of the others, which makes half a million pairs.
    """
    if len(y) > MAX_ROWS_IN_PAIRS:
        return _of_random_pairs(y, w, rng)
    from scipy.spatial.distance import cdist

    total = np.empty(len(y))
    for part in chunks(len(y), TILE):
        total[part] = cdist(y[part], y) @ w
    return _of_sums(total, w.sum() - w, w)


def _of_random_pairs(y: FloatArray, w: FloatArray, rng: np.random.Generator) -> Climatology:
    """Compare rows with those that follow at random distances in a random order."""
    n = len(y)
    partners = max(MIN_PARTNERS, -(-RANDOM_PAIRS // n))
    steps = 1 + rng.choice(n - 1, size=partners, replace=False)
    place: NDArray[np.intp] = np.empty(n, np.intp)
    order = rng.permutation(n)
    place[order] = np.arange(n)
    total, others = np.zeros(n), np.zeros(n)
    for step in steps.tolist():
        other = order[(place + step) % n]
        total += w[other] * np.sqrt(((y - y[other]) ** 2).sum(axis=1))
        others += w[other]
    return _of_sums(total, others, w)


def _of_sums(total: FloatArray, others: FloatArray, w: FloatArray) -> Climatology:
    """Return the scores, given sums of weighted distances to others and the weights of these."""
    half = float((w * total).sum() / (w * others).sum()) / 2
    return Climatology(total / others - half, half)
