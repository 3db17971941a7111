"""The classifier that `c2st` uses unless it is given another one."""

from __future__ import annotations

import math

import numpy as np

from calibrant.inputs.points import HUGE
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.nearest_shares import Labels, nearest_shares


class NearestNeighbours:
    """Probability of label 1 at a point: its share among the k = round(√N) nearest of the N points it was fitted to.

    Columns are divided by their standard deviation over these points, both labels together; columns in which they are
    all equal count for nothing. Ties are shared, see `nearest_shares`.

    >>> model = NearestNeighbours().fit(np.array([[0.0], [1.0], [8.0], [9.0]]), np.array([0, 0, 1, 1]))
    >>> model.k, model.predict_proba(np.array([[2.0], [7.0]]))
    (2, array([[1., 0.],
               [0., 1.]]))
    """

    def fit(self, X: FloatArray, labels: Labels) -> NearestNeighbours:
        """Keep the points, scaled."""
        self.k = number_of_neighbours(len(X))
        self._mean, self._unit = X.mean(axis=0), _deviation(X)
        self._X, self._labels = self._scaled(X), labels
        return self

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return the probabilities of label 0 and 1, (rows, 2)."""
        share = nearest_shares(self._X, self._labels, self._scaled(X), self.k)
        return np.stack([1 - share, share], axis=1)

    def _scaled(self, X: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):  # far outside of all points, where any distance is as good
            return np.asarray(np.clip((X - self._mean) / self._unit, -HUGE, HUGE))


def _deviation(X: FloatArray) -> FloatArray:
    """Return the standard deviation of each column, infinite for one without any: divided by it, the column is 0."""
    centred = X - X.mean(axis=0)
    largest = np.abs(centred).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)  # divided out first, so that no square is too large or too small
    found = np.maximum(unit * (centred / unit).std(axis=0), np.finfo(float).smallest_subnormal)
    return np.where(X.max(axis=0) > X.min(axis=0), found, np.inf)


def number_of_neighbours(N: int) -> int:
    """Return k, of how many neighbours the labels are counted among N points."""
    return round(math.sqrt(N))
