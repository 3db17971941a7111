"""Classifiers of `c2st` by name: those of scikit-learn, fitted to columns that are divided by their deviation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import MissingExtraError
from calibrant.inputs.arrays import FloatArray

Labels = NDArray[np.int64]

MAX_SCALED = 1e6  # standard deviations at which a coordinate is cut
MIN_VARIANCE = 1e-6  # what the quadratic classifier adds to each variance, in units of the largest


def _deviation(X: FloatArray) -> FloatArray:
    """Return the standard deviation of each column; infinite for a constant column, which becomes 0 when divided."""
    centred = X - X.mean(axis=0)
    largest = np.abs(centred).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)  # divided out first: no square overflows or underflows
    with np.errstate(under="ignore"):
        found = np.maximum(unit * (centred / unit).std(axis=0), np.finfo(float).smallest_subnormal)
    return np.where(X.max(axis=0) > X.min(axis=0), found, np.inf)


class Scaled:
    """A classifier of scikit-learn; `make` returns it for a number of rows.

    Columns are taken less their mean and divided by their standard deviation over the points of the fit, both labels
    together; constant ones become 0, and numbers far outside of all these points are cut.
    """

    def __init__(self, make: Callable[[int], Any]) -> None:
        self.make = make

    def fit(self, X: FloatArray, labels: Labels) -> Scaled:
        """Find the scale, and fit the classifier. If all points are equal there is nothing to learn."""
        self._mean, self._unit = X.mean(axis=0), _deviation(X)
        Z = self._scale(X)
        self._model = self.make(len(X)).fit(Z, labels) if Z.any() else None
        return self

    def _scale(self, X: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", under="ignore"):  # far outside all points, or hardly apart
            return np.asarray(np.clip((X - self._mean) / self._unit, -MAX_SCALED, MAX_SCALED))


class LogOdds(Scaled):
    """One whose scores are log odds: a probability would round to 1 in many dimensions."""

    def log_odds(self, X: FloatArray) -> FloatArray:
        if self._model is None:
            return np.zeros(len(X))
        Z = self._scale(X)
        if hasattr(self._model, "decision_function"):
            return np.asarray(self._model.decision_function(Z))
        joint = self._model.predict_joint_log_proba(Z)
        return np.asarray(joint[:, 1] - joint[:, 0])


class Shares(Scaled):
    """One whose scores are shares of label 1, such as in the leaves of trees."""

    def predict_proba(self, X: FloatArray) -> FloatArray:
        if self._model is None:
            return np.full((len(X), 2), 0.5)
        return np.asarray(self._model.predict_proba(self._scale(X)))


class Neighbours(Shares):
    """One whose scores are shares of label 1 among the nearest points."""


def number_of_neighbours(N: int) -> int:
    return round(math.sqrt(N))


def named(name: str) -> Any:
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.naive_bayes import GaussianNB
        from sklearn.neighbors import KNeighborsClassifier
    except ImportError:
        raise MissingExtraError(f"classifier={name!r}", extra="sklearn") from None
    match name:
        case "logistic":
            return LogOdds(lambda N: LogisticRegression(tol=1e-6, max_iter=10_000))
        case "neighbours":
            return Neighbours(lambda N: KNeighborsClassifier(number_of_neighbours(N)))
        case "quadratic":
            return LogOdds(lambda N: GaussianNB(var_smoothing=MIN_VARIANCE))
        case "stumps":
            boosting = {"learning_rate": 0.4, "max_iter": 60, "max_depth": 1, "max_bins": 8, "l2_regularization": 1.0}
            return LogOdds(
                lambda N: HistGradientBoostingClassifier(
                    **boosting, min_samples_leaf=1, early_stopping=False, random_state=0
                )
            )
        case _:
            return Shares(lambda N: RandomForestClassifier(n_estimators=200, min_samples_leaf=5))


BEST = ("logistic", "neighbours", "quadratic", "stumps")
"""What ``classifier="best"`` means."""
NAMES = (*BEST, "trees")
