"""Calibration in scikit-learn: scorers for its searches, a display of the reliability curve, and recalibration.

Scorers and display do not import scikit-learn until scikit-learn itself asks for it: any estimator that has
`predict_proba` and `classes_` is accepted. The estimators that recalibrate import it when they are first used.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.core.catalogue import Entry, entries, find
from calibrant.core.results import Curve
from calibrant.errors import InputError, MissingExtraError, shown
from calibrant.inputs.arrays import as_array
from calibrant.probabilities.reliability_curve import reliability_curve

if TYPE_CHECKING:
    from calibrant.integrations.sklearn_estimators import ProbabilityRecalibrator, RecalibratedClassifier

__all__ = ["ProbabilityRecalibrator", "RecalibratedClassifier", "ReliabilityDisplay", "Scorer", "scorer"]


def __getattr__(name: str) -> Any:
    if name not in ("ProbabilityRecalibrator", "RecalibratedClassifier"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from calibrant.integrations import sklearn_estimators

    return getattr(sklearn_estimators, name)


def scorer(metric: Any = "ece", **options: Any) -> Scorer:
    """Return a scorer for `cross_val_score`, `GridSearchCV` and whatever else takes ``scoring=``.

    Parameters
    ----------
    metric
        A verb that returns one number, or its name.
    **options
        Options of the verb.

    Returns
    -------
    Scorer
        Called as ``scorer(estimator, X, y, sample_weight=None)``. Greater is better, as scikit-learn wants it: errors
        come with a minus sign.

    Examples
    --------
    >>> scorer("ece", bins=10)
    scorer('ece', bins=10)

    ``cross_val_score(model, X, y, scoring=scorer("brier_score"))`` gives the Brier score of each fold, negated.
    """
    entry = find(metric)
    if not _is_number(entry):
        numbers = ", ".join(sorted(name for name, other in entries().items() if _is_number(other)))
        raise InputError(f"a scorer needs a metric that is one number ({numbers}); {_instead(entry)}")
    entry.parse(options)
    return Scorer(entry.verb, options, sign=1 if entry.perfect == entry.range[1] else -1)


class Scorer:
    """A metric as scikit-learn calls it; made by `scorer`."""

    def __init__(self, metric: Callable[..., Any], options: Mapping[str, Any], *, sign: int) -> None:
        self.metric = metric
        self.options = dict(options)
        self.sign = sign
        self._weights_requested: bool | str | None = None

    def __call__(self, estimator: Any, X: Any, y: Any, *, sample_weight: Any = None) -> float:
        """Return the metric of the estimator's probabilities for X, such that greater is better."""
        prediction = probabilities_of(estimator, X)
        if prediction.ndim == 2 and prediction.shape[1] == 2:
            prediction = prediction[:, 1]
        value = self.metric(y, prediction, weights=sample_weight, classes=estimator.classes_, **self.options)
        return self.sign * float(value)

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"scorer({self.metric.__name__!r}{options})"

    def set_score_request(self, *, sample_weight: bool | str | None) -> Self:
        """Ask scikit-learn's metadata routing for weights: True, False, or the name they are passed by."""
        self._weights_requested = sample_weight
        return self

    def get_metadata_routing(self) -> Any:
        """Tell scikit-learn's metadata routing what was asked for."""
        try:
            from sklearn.utils.metadata_routing import MetadataRequest
        except ImportError:
            raise MissingExtraError("metadata routing", extra="sklearn") from None
        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self._weights_requested)
        return request

    def _accept_sample_weight(self) -> bool:
        """Answer what searches over several metrics ask every scorer (scikit-learn 1.7) when they get weights."""
        return True


class ReliabilityDisplay:
    """A reliability `curve` as one of scikit-learn's displays; `plot` draws it on `ax_` of `figure_`."""

    def __init__(self, curve: Curve, *, name: str | None = None) -> None:
        self.curve = curve
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the reliability curve of a fitted classifier.

        Parameters
        ----------
        estimator, X, y
            A classifier with `predict_proba`, and rows it was not fitted on.
        sample_weight
            Importance weights.
        pos_label
            The class whose probability is judged: ``classes_[1]`` of two; with more classes it must be named.
        name
            Title; by default the estimator's class.
        ax
            Matplotlib axes; new ones if None.
        **options
            Options of `reliability_curve`, such as `bins` or `strategy`.
        """
        P, classes = probabilities_of(estimator, X), list(estimator.classes_)
        if pos_label is None:
            if len(classes) != 2:
                raise InputError(
                    f"{type(estimator).__name__} has {len(classes)} classes. Name one with pos_label= to judge it "
                    "against the rest, or judge the most probable class: "
                    "ReliabilityDisplay.from_predictions(*top_label(y, P, classes=estimator.classes_))"
                )
            pos_label = classes[1]
        elif pos_label not in classes:
            known = shown(np.asarray(estimator.classes_).tolist())
            raise InputError(f"pos_label must be one of {known}; got {shown(pos_label)}")
        return cls.from_predictions(
            y,
            P[:, classes.index(pos_label)],
            sample_weight=sample_weight,
            pos_label=pos_label,
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
            **options,
        )

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        p: Any,
        *,
        sample_weight: Any = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the reliability curve of outcomes and probabilities; the parameters are those of `from_estimator`."""
        curve = reliability_curve(y, p, weights=sample_weight, pos_label=pos_label, **options)
        return cls(curve, name=name).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on Matplotlib axes (new ones if None)."""
        self.ax_ = self.curve.plot(ax)
        self.figure_ = self.ax_.figure
        if self.name is not None:
            self.ax_.set_title(self.name)
        return self


def probabilities_of(estimator: Any, X: Any) -> NDArray[Any]:
    """Return what `predict_proba` says, as an array; refuse estimators without it."""
    for needed in ("predict_proba", "classes_"):
        refuse_without(needed, estimator)
    return as_array(estimator.predict_proba(X), name="predict_proba(X)")


def refuse_without(needed: str, estimator: Any) -> None:
    """Refuse an estimator that lacks a method or attribute that classifiers with probabilities have."""
    if not hasattr(estimator, needed):
        raise InputError(
            f"calibration is about probabilities of classes, and {type(estimator).__name__} has no {needed}; "
            "fit a classifier that predicts probabilities, or wrap it in sklearn.calibration.CalibratedClassifierCV"
        )


def _is_number(entry: Entry[Any, Any]) -> bool:
    returns = inspect.signature(entry.verb).return_annotation
    number = entry.kind == "metric" and returns in ("float", float, inspect.Signature.empty)
    return number and bool({"binary", "classes"} & set(entry.predictions))


def _instead(entry: Entry[Any, Any]) -> str:
    if entry.kind == "test":
        return f"{entry.name} is a test: call {entry.name}(y, p) on rows that no fold was fitted on"
    if entry.kind == "curve":
        return f"{entry.name} is a curve: draw one with ReliabilityDisplay.from_estimator"
    return f"{entry.name} has several numbers: call {entry.name}(y, p), or score one of the metrics above"
