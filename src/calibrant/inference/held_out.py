"""A classifier fitted to some rows, and what it says of others."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.inputs.laws.parameters import read_numbers, refuse_where
from calibrant.inputs.weights import FloatArray

Labels = NDArray[np.int64]

SLACK = 1e-6  # by which a probability may leave [0, 1]
TIE = 1e-12  # a score this close to the threshold is on it


class HeldOut(NamedTuple):
    """Rows that a classifier has not seen."""

    scores: FloatArray
    """Its probability of label 1."""
    labels: Labels
    """What they are."""
    threshold: float
    """The share of label 1 among the rows it was fitted to."""

    @property
    def hits(self) -> FloatArray:
        """Whether each row is on its side of the threshold, 1 or 0; a row on the threshold is half a hit."""
        side = np.where(np.abs(self.scores - self.threshold) <= TIE, 0.0, np.sign(self.scores - self.threshold))
        return np.asarray((1 + side * (2 * self.labels - 1)) / 2)


def check_classifier(classifier: Any) -> None:
    """Refuse what cannot be fitted or tells no probabilities."""
    if isinstance(classifier, type):
        raise InputError(
            f"classifier must be an object with fit and predict_proba; got the class {classifier.__name__}. "
            f"Pass {classifier.__name__}()"
        )
    missing = [name for name in ("fit", "predict_proba") if not callable(getattr(classifier, name, None))]
    if missing:
        raise InputError(
            "classifier must be an object with fit(X, labels) and predict_proba(X), such as those of scikit-learn; "
            f"got {shown(classifier)} without {' and '.join(missing)}"
        )


def held_out(
    classifier: Any, Z: FloatArray, labels: Labels, held: NDArray[np.bool_], rng: np.random.Generator
) -> HeldOut:
    """Fit a fresh copy of the classifier to the rows that are not held out, and return what it says of those that are.

    It sees both in random order, so that their places tell it nothing.
    """
    train, test = (rng.permutation(np.flatnonzero(part)) for part in (~held, held))
    model = _fresh(classifier, rng)
    model.fit(Z[train], labels[train])
    scores = _probabilities(model, model.predict_proba(Z[test]), test.size, type(classifier).__name__)
    return HeldOut(scores, labels[test], float(labels[train].mean()))


def _fresh(classifier: Any, rng: np.random.Generator) -> Any:
    """Return a copy that may be changed; one of scikit-learn's kind is unfitted, and its chance comes from `rng`."""
    if hasattr(classifier, "__sklearn_clone__"):
        model = classifier.__sklearn_clone__()
    else:
        try:
            model = copy.deepcopy(classifier)
        except Exception as error:
            raise InputError(
                f"classifier {type(classifier).__name__} cannot be copied ({error}), and only copies are fitted, so "
                "that yours stays as it is. Make copy.deepcopy(classifier) work"
            ) from error
    if model is not classifier and callable(getattr(model, "get_params", None)):
        unset = [name for name, value in model.get_params().items() if _is_seed(name) and value is None]
        if unset:
            model.set_params(**{name: int(rng.integers(1 << 31)) for name in sorted(unset)})
    return model


def _is_seed(name: str) -> bool:
    return name == "random_state" or name.endswith("__random_state")


def _probabilities(model: Any, given: Any, rows: int, name: str) -> FloatArray:
    """Return the column of label 1, checked."""
    what = f"predict_proba of {name}"
    found = read_numbers(given, what)
    if found.shape != (rows, 2):
        raise InputError(
            f"{what} must return an array of shape ({rows}, 2), the probabilities of label 0 and 1 of each row; "
            f"got shape {found.shape}"
        )
    column = 1
    if (classes := getattr(model, "classes_", None)) is not None:
        places = np.flatnonzero(np.asarray(classes) == 1)
        if np.size(classes) != 2 or places.size != 1:
            raise InputError(
                f"{name} was fitted to labels 0 and 1, and its classes_ must be these; got {shown(classes)}"
            )
        column = int(places[0])
    scores = found[:, column].astype(np.float64)
    bad = ~((scores >= -SLACK) & (scores <= 1 + SLACK))  # NaN is bad
    refuse_where(bad, scores, f"{what} must return probabilities", "Check what it returns for finite rows")
    return scores
