"""Rows dealt at random into parts that hold their share of both labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def stratified_folds(labels: NDArray[np.int64], F: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the number of a fold, 0 to F - 1, for each row; the rows of each label are shuffled and dealt in turn.

    Folds hold the same number of rows of a label, or one more in the first ones.

    >>> labels = np.array([0, 0, 0, 1, 1])
    >>> fold = stratified_folds(labels, 2, np.random.default_rng(0))
    >>> np.bincount(fold[labels == 0]), np.bincount(fold[labels == 1])
    (array([2, 1]), array([1, 1]))
    """
    fold = np.empty(labels.size, np.int64)
    for label in (0, 1):
        rows = rng.permutation(np.flatnonzero(labels == label))
        fold[rows] = np.arange(rows.size) % F
    return fold
