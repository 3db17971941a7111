"""Classifiers of `c2st` that need NumPy and SciPy only, by name: logistic, quadratic and stumps; and trees."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from calibrant.errors import MissingExtraError
from calibrant.inputs.arrays import FloatArray
from calibrant.points.nearest_neighbours import ColumnScale, Labels, NearestNeighbours

MAX_SCALED = 1e6  # standard deviations at which a coordinate is cut


class Logistic:
    r"""Logistic regression: the weights w and the intercept b with the smallest penalised log loss.

    .. math:: \sum_i \log(1 + e^{-s_i (x_i^\top w + b)}) + \tfrac12 |w|^2, \qquad s_i = \pm 1

    Columns are scaled as in `ColumnScale`. The minimum is unique; L-BFGS finds it at a cost of rows times columns per
    step, with more columns than rows too.

    >>> model = Logistic().fit(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1]))
    >>> (model.log_odds(np.array([[1.4], [1.5], [1.6]])).round(6) + 0.0).tolist()[1]
    0.0
    """

    def fit(self, X: FloatArray, labels: Labels) -> Logistic:
        """Find the weights."""
        from scipy.optimize import minimize
        from scipy.special import expit

        self._scale = ColumnScale(X, MAX_SCALED)
        Z, target = self._scale(X), labels.astype(np.float64)

        def loss(v: FloatArray) -> tuple[float, FloatArray]:
            w, b = v[1:], v[0]
            eta = Z @ w + b
            gap = expit(eta) - target
            value = float(np.logaddexp(0.0, eta).sum() - target @ eta + w @ w / 2)
            return value, np.concatenate([[gap.sum()], gap @ Z + w])

        start = np.zeros(1 + Z.shape[1])
        start[0] = _log_share(labels)
        found = minimize(
            loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500, "ftol": 1e-12, "gtol": 1e-7}
        )
        self.b, self.w = float(found.x[0]), found.x[1:]
        return self

    def log_odds(self, X: FloatArray) -> FloatArray:
        """Return the logarithm of the odds of label 1 at each point."""
        return np.asarray(self._scale(X) @ self.w + self.b)


class Quadratic:
    """Two normal distributions with diagonal covariances, one for each label.

    A variance is at least a millionth of that of both labels together.

    >>> model = Quadratic().fit(np.array([[-1.0], [1.0], [-2.0], [2.0]]), np.array([0, 0, 1, 1]))
    >>> bool(model.log_odds(np.array([[3.0]]))[0] > 0 > model.log_odds(np.array([[0.1]]))[0])
    True
    """

    MIN_VARIANCE = 1e-6

    def fit(self, X: FloatArray, labels: Labels) -> Quadratic:
        """Find means and variances of each column."""
        self._scale, self._start = ColumnScale(X, MAX_SCALED), _log_share(labels)
        Z = self._scale(X)
        sides = [Z[labels == label] for label in (0, 1)]
        self._means = [side.mean(axis=0) for side in sides]
        self._variances = [np.maximum(side.var(axis=0), self.MIN_VARIANCE) for side in sides]
        return self

    def log_odds(self, X: FloatArray) -> FloatArray:
        """Return the logarithm of the odds of label 1 at each point."""
        Z = self._scale(X)
        zero, one = (
            ((Z - mean) ** 2 / variance + np.log(variance)).sum(axis=1)
            for mean, variance in zip(self._means, self._variances, strict=True)
        )
        return np.asarray((zero - one) / 2 + self._start)


class Split(NamedTuple):
    """One stump: what is added to the log odds of points in cells up to `cell` of `column`, and of the others."""

    column: int
    cell: int
    below: float
    above: float


class Stumps:
    """Sixty rounds of boosting of the log loss by stumps, each a split of one column at one of its eighths.

    Every round takes the split that lowers the quadratic approximation of the loss most, and adds 0.4 of its Newton
    step, with 1 added to the sum of second derivatives of each side. Of more than 8 million numbers the first rows are
    used; rows come in random order.

    >>> X = np.arange(16.0)[:, None]
    >>> model = Stumps().fit(X, ((X[:, 0] > 4) & (X[:, 0] < 12)).astype(int))  # no straight line separates these
    >>> (model.log_odds(X)[[0, 8, 15]] > 0).tolist()
    [False, True, False]
    """

    ROUNDS, RATE, CELLS, RIDGE = 60, 0.4, 8, 1.0
    MAX_NUMBERS = 1 << 23

    def fit(self, X: FloatArray, labels: Labels) -> Stumps:
        """Find the stumps one after another."""
        from scipy.special import expit

        rows = max(2, self.MAX_NUMBERS // X.shape[1])
        X, labels = X[:rows], labels[:rows]
        self.edges = np.quantile(X, np.arange(1, self.CELLS) / self.CELLS, axis=0)  # (7, d)
        codes = self._cells(X)
        place = codes + self.CELLS * np.arange(X.shape[1])
        self.start, self.splits = _log_share(labels), list[Split]()
        F = np.full(len(X), self.start)
        for _ in range(self.ROUNDS):
            share = expit(F)
            found = self._best(place, labels - share, share * (1 - share))
            self.splits.append(found)
            F += np.where(codes[:, found.column] <= found.cell, found.below, found.above)
        return self

    def _best(self, place: Any, gradient: FloatArray, curvature: FloatArray) -> Split:
        d = place.shape[1]
        below, curved = (
            np.cumsum(
                np.bincount(place.reshape(-1), np.repeat(values, d), minlength=d * self.CELLS).reshape(d, self.CELLS),
                axis=1,
            )[:, :-1]
            for values in (gradient, curvature)
        )
        above, other = gradient.sum() - below, curvature.sum() - curved
        gain = below**2 / (curved + self.RIDGE) + above**2 / (other + self.RIDGE)
        column, cell = divmod(int(np.argmax(gain)), self.CELLS - 1)
        steps = [
            self.RATE * float(g[column, cell] / (h[column, cell] + self.RIDGE))
            for g, h in ((below, curved), (above, other))
        ]
        return Split(column, cell, *steps)

    def _cells(self, X: FloatArray) -> Any:
        """Return the cell, 0 to 7, of each number of each column; cells are closed on the right."""
        return sum((edge < X for edge in self.edges), np.zeros(X.shape, dtype=np.int64))

    def log_odds(self, X: FloatArray) -> FloatArray:
        """Return the logarithm of the odds of label 1 at each point."""
        found = np.full(len(X), self.start)
        for column, cell, below, above in self.splits:
            found += np.where(X[:, column] <= self.edges[cell, column], below, above)
        return found


def trees() -> Any:
    """Return a random forest of scikit-learn."""
    try:
        from sklearn.ensemble import RandomForestClassifier
    except ImportError:
        raise MissingExtraError('classifier="trees"', extra="sklearn") from None
    return RandomForestClassifier(n_estimators=200, min_samples_leaf=5)


def _log_share(labels: Labels) -> float:
    """Return the logarithm of the odds of label 1 among the rows of a fit, half a row added to each label."""
    ones = int(labels.sum())
    return math.log((ones + 0.5) / (labels.size - ones + 0.5))


NAMED: dict[str, Callable[[], Any]] = {
    "logistic": Logistic,
    "neighbours": NearestNeighbours,
    "quadratic": Quadratic,
    "stumps": Stumps,
    "trees": trees,
}
BEST = ("logistic", "neighbours", "quadratic", "stumps")
"""What ``classifier="best"`` means: all that need no other package, so that results do not depend on what is there."""
