"""Recalibration as scikit-learn's estimators: a transformer of probabilities, and a classifier around a classifier.

Import them from `calibrant.integrations.sklearn`, which loads this module when they are first used.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, MissingExtraError, shown
from calibrant.inputs.arrays import FloatArray, as_array, read_weights
from calibrant.inputs.probabilities import SUM_TOLERANCE, normalised, read_unlabelled, two_columns
from calibrant.integrations.sklearn import probabilities_of, refuse_without
from calibrant.recalibrating.recalibrate import recalibrate
from calibrant.recalibrating.recalibration import Recalibration

try:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        MetaEstimatorMixin,
        OneToOneFeatureMixin,
        TransformerMixin,
        clone,
    )
    from sklearn.model_selection import check_cv, cross_val_predict
    from sklearn.utils import check_array, column_or_1d, get_tags
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_consistent_length, check_is_fitted, has_fit_parameter, validate_data
except ImportError:
    raise MissingExtraError("recalibration inside scikit-learn", extra="sklearn") from None


class _Recalibrating(BaseEstimator):  # type: ignore[misc]
    """What both estimators share: the options of `recalibrate`, and how a map is fitted and applied."""

    def __init__(
        self,
        *,
        method: str = "auto",
        smoothing: str | None = None,
        ridge: float | tuple[float, float] | None = None,
        clip: float | None = None,
        inner: str = "logistic",
    ) -> None:
        self.method = method
        self.smoothing = smoothing
        self.ridge = ridge
        self.clip = clip
        self.inner = inner

    def _fit_map(self, y: NDArray[Any], P: FloatArray, sample_weight: Any) -> Recalibration:
        """Return the map of probabilities (n, K) of `classes_`; with two classes that of the second one."""
        options = {name: getattr(self, name) for name in ("method", "smoothing", "ridge", "clip", "inner")}
        labels = self.classes_.tolist()
        given = P[:, 1] if len(labels) == 2 else P
        return recalibrate(y, given, classes=labels, weights=sample_weight, **options)

    def _mapped(self, P: FloatArray) -> FloatArray:
        if P.shape[1] == 2:
            return two_columns(self.recalibration_.apply(P[:, 1]))
        return np.asarray(self.recalibration_.apply(P))

    def _checked_target(self, y: Any) -> NDArray[Any]:
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        labels = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)
        check_classification_targets(labels)
        return np.asarray(labels)


class ProbabilityRecalibrator(OneToOneFeatureMixin, TransformerMixin, _Recalibrating):  # type: ignore[misc]
    """Recalibrates probabilities that come from elsewhere: ``fit(P, y)`` on calibration rows, then ``transform(P)``.

    Parameters
    ----------
    method, smoothing, ridge, clip, inner
        As in `recalibrate`.

    Attributes
    ----------
    classes_
        The labels of y in ascending order, which is the order of the columns.
    recalibration_
        The map, a `Recalibration`.
    n_features_in_, feature_names_in_
        Number and names of the columns.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the map on probabilities X and outcomes y of calibration rows."""
        labels = self._checked_target(y)
        P = self._columns(X, reset=True)
        check_consistent_length(P, labels)
        self.classes_ = np.unique(labels)
        _refuse_one_class(self.classes_.tolist())
        expected = max(2, P.shape[1])
        if self.classes_.size != expected:
            columns = "1 column of probabilities belongs" if P.shape[1] == 1 else f"{P.shape[1]} columns belong"
            raise InputError(
                f"{columns} to {expected} classes; y has {self.classes_.size} classes: "
                f"{shown(self.classes_.tolist())}. Pass one column per class, in ascending order of the labels"
            )
        self.recalibration_ = self._fit_map(labels, _two_or_more(P), _read_sample_weight(sample_weight, labels.size))
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return recalibrated probabilities of the same shape."""
        check_is_fitted(self)
        P = self._columns(X, reset=False)
        found = self._mapped(_two_or_more(P))
        found = found[:, 1:] if P.shape[1] == 1 else found
        return found[:, 0] if _is_one_column(X) else found

    def _columns(self, X: Any, *, reset: bool) -> FloatArray:
        given = as_array(X, name="X")[:, None] if _is_one_column(X) else X
        return np.asarray(validate_data(self, given, dtype=np.float64, reset=reset))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False  # not any table of numbers, as for scikit-learn's calibrators
        return tags


def _summing_to_1(P: NDArray[Any]) -> FloatArray:
    """Return probabilities of a classifier, divided by their sums if rounding in lower precision takes them off 1."""
    near = np.abs(P.sum(axis=1, dtype=np.float64) - 1).max() <= SUM_TOLERANCE
    return P.astype(np.float64, copy=False) if near else normalised(P)


def _is_one_column(X: Any) -> bool:
    """Tell whether X is 1-D, whatever container it is."""
    return (X.ndim if hasattr(X, "ndim") else np.asarray(X).ndim) == 1


def _refuse_one_class(classes: Collection[Any]) -> None:
    if len(classes) == 1:
        raise InputError(f"recalibration needs rows of at least two classes; y has one class: {shown(*classes)}")


def _read_sample_weight(sample_weight: Any, n: int) -> FloatArray | None:
    if sample_weight is None:
        return None
    given = as_array(sample_weight, name="sample_weight")
    if not given.any():
        raise InputError("sample_weight must not be zero in every row; leave it out for equal weights")
    return read_weights(given, n)


def _two_or_more(P: FloatArray) -> FloatArray:
    """Return one column as two, and more columns checked: two of them are reduced to one later."""
    return two_columns(P[:, 0]) if P.shape[1] == 1 else read_unlabelled(P)


class RecalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, _Recalibrating):  # type: ignore[misc]
    """A classifier whose probabilities are recalibrated on rows that it was not fitted on.

    Parameters
    ----------
    estimator
        A classifier with `predict_proba`.
    method, smoothing, ridge, clip, inner
        As in `recalibrate`. ``"auto"`` leaves probabilities as they are unless a map is shown to help.
    cv
        How rows are split: a number of folds, a splitter of scikit-learn, or pairs of training and test rows, such as
        ``list(GroupKFold(5).split(X, y, groups))``; every row is tested once. The map is fitted on probabilities of
        rows that the classifier did not see, and the classifier is then fitted on all rows. ``"prefit"`` takes a fitted
        classifier as it is; X and y are then the calibration rows. ``FrozenEstimator(model)`` does the same.
    n_jobs
        Number of folds that are fitted at the same time.

    Attributes
    ----------
    classes_
        The labels of the classes.
    estimator_
        The fitted classifier.
    recalibration_
        The map, a `Recalibration`. With two classes it is the map of the probability of ``classes_[1]``.
    n_features_in_, feature_names_in_
        As the classifier has them.
    """

    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "auto",
        cv: Any = 5,
        smoothing: str | None = None,
        ridge: float | tuple[float, float] | None = None,
        clip: float | None = None,
        inner: str = "logistic",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(method=method, smoothing=smoothing, ridge=ridge, clip=clip, inner=inner)
        self.estimator = estimator
        self.cv = cv
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier and its map; with ``cv="prefit"`` the map alone."""
        labels = self._checked_target(y)
        check_consistent_length(X, labels)
        weights = _read_sample_weight(sample_weight, labels.size)
        if isinstance(self.cv, str) and self.cv == "prefit":
            self.estimator_, P = self.estimator, self._probabilities(self.estimator, X)
        else:
            P = self._fit_folds(X, labels, weights)
        self.classes_ = np.asarray(self.estimator_.classes_)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
            elif hasattr(self, name):  # of an earlier fit
                delattr(self, name)
        self.recalibration_ = self._fit_map(labels, P, weights)
        return self

    def _fit_folds(self, X: Any, y: NDArray[Any], weights: FloatArray | None) -> FloatArray:
        """Fit the classifier on all rows, and return the probabilities of each row by a fit without its fold."""
        count = Counter(y.tolist())
        _refuse_one_class(count)
        rarest, rows = min(count.items(), key=lambda one: one[1])
        if rows < 2:
            words = f"folds need at least 2 rows of every class; there is 1 of {shown(rarest)}"
            raise InputError(f"{words}. Pass more rows, or cv='prefit' with a classifier fitted on other rows")
        takes_weights = weights is not None and has_fit_parameter(self.estimator, "sample_weight")
        if weights is not None and not takes_weights:
            warnings.warn(
                f"{type(self.estimator).__name__} takes no sample_weight; the weights are used for the map only",
                stacklevel=3,
            )
        params = {"sample_weight": weights} if takes_weights else {}
        estimator = clone(self.estimator)
        refuse_without("predict_proba", estimator)
        P = cross_val_predict(
            estimator, X, y, cv=self._splits(X, y), method="predict_proba", n_jobs=self.n_jobs, params=params
        )
        self.estimator_ = clone(self.estimator).fit(X, y, **params)
        return _summing_to_1(P)

    def _splits(self, X: Any, y: NDArray[Any]) -> list[tuple[Any, Any]]:
        """Return training and test rows of each fold; refuse folds that do not test every row once."""
        splits = list(check_cv(self.cv, y, classifier=True).split(X, y))
        tested = np.bincount(np.concatenate([np.arange(y.size)[test] for _, test in splits]), minlength=y.size)
        row = int((tested != 1).argmax())
        if tested[row] != 1:
            raise InputError(
                f"cv must test every row once; row {row} is tested {tested[row]} times. For rows in time or repeated "
                "splits fit the classifier on some rows, and recalibrate it on others with cv='prefit'"
            )
        return splits

    def predict_proba(self, X: Any) -> FloatArray:
        """Return recalibrated probabilities (n, K) in the order of `classes_`."""
        check_is_fitted(self)
        return self._mapped(self._probabilities(self.estimator_, X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the largest recalibrated probability."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    @staticmethod
    def _probabilities(estimator: Any, X: Any) -> FloatArray:
        return _summing_to_1(probabilities_of(estimator, X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags
