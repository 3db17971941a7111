"""`c2st`: the two-sample test by a classifier."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Rng
from calibrant.core.null import reaches, resampled_pvalue
from calibrant.core.results import TestResult
from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import FloatArray, read_numbers, refuse_where
from calibrant.inputs.options import check_count, generator
from calibrant.points.inputs import PointSets, distinct, read_point_sets, repeated
from calibrant.points.nearest_neighbours import NearestNeighbours, number_of_neighbours
from calibrant.points.rank_sum import auc, rank_sum_test
from calibrant.progress import steps

Labels = NDArray[np.int64]

PROBABILITY_SLACK = 1e-6  # by which a probability may leave [0, 1]
THRESHOLD_TIE = 1e-12  # a score this close to the threshold is on it
DISTRIBUTIONS = {
    "exact": "exact distribution of the rank sum",
    "saddlepoint": "saddlepoint approximation of the rank sum",
}


class Classifier(Protocol):
    """A classifier with the two methods of scikit-learn's classifiers that `c2st` calls."""

    def fit(self, X: FloatArray, labels: Labels, /) -> object:
        """Learn from points (rows, d) and labels 0 and 1."""

    def predict_proba(self, X: FloatArray, /) -> ArrayLike:
        """Return the probabilities of label 0 and 1, (rows, 2)."""


def c2st(
    y: ArrayLike,
    points: ArrayLike,
    *,
    classifier: Classifier | None = None,
    folds: int | None = None,
    resamples: int = 199,
    rng: Rng | None = None,
) -> TestResult:
    r"""Test whether two sets of points have one distribution, by a classifier that tries to tell them apart.

    Half of each set, drawn at random, fits the classifier; it scores the other half. With the scores s of held-out
    rows of the points and t of held-out rows of y the statistic is

    .. math:: \mathrm{AUC} = P(s > t) + \tfrac12 P(s = t).

    If both sets come from one distribution, the labels of held-out rows are in random order given their scores, for any
    classifier. The p-value is that of Mann and Whitney's rank sum, ties included: the probability of an AUC at least as
    large. The test is one-sided: a classifier that is wrong more often than right has learned nothing.

    Parameters
    ----------
    y
        Real points (n, d), two or more.
    points
        Other points (m, d), say generated ones.
    classifier
        An object with ``fit(X, labels)`` and ``predict_proba(X)``, which returns (rows, 2); labels are 0 for y and 1
        for points. Copies are fitted, the given object is not changed; a `random_state` of scikit-learn that is None
        gets a number from `rng`. Default: the share of the points among the k nearest of the N rows of the fit,
        k = round(√N), with columns divided by their standard deviation over these rows. Rows as far away as the k-th
        share the remaining places.
    folds
        F, from 2 to the smaller of n and m: every row is scored once, by a classifier fitted to the other F - 1 folds.
        None for two halves.
    resamples
        With folds: number B of permutations of the labels, each with F new fits.
    rng
        A Generator or a whole number. Required, because a random split decides the value.

    Returns
    -------
    TestResult
        `statistic` is the AUC on held-out rows, with folds the mean of the AUC of each fold. `estimate` is the balanced
        accuracy, the mean of the shares of y and of the points that are recognised: a row counts as one of the points
        if its score is above their share among the fitted rows, and as half of each if it is equal. 0.5 is no
        information, and expected under equal distributions, also if n and m differ; 1 is perfect. `n` is n + m.
        `details` has `n`, `m`, `held_out` (rows of y and of the points that were scored), `null` (``"exact"``,
        ``"saddlepoint"`` or
        ``"permutation"``), `k` of the default classifier (with folds that of the smallest fit), `folds` and
        `resamples` if there are folds, and shares of repetitions: `repeated_y` and `repeated_points` (rows that equal
        an earlier one of their set), `repeated_values_y` and `repeated_values_points` (the same of single numbers, mean
        over columns), `shared_rows` (rows of the points that are also rows of y).

    Notes
    -----
    Check the repetitions first. Points that are rounded, or copied from a few, while y is not, can be told apart by
    that alone. The test is right to reject then, but this may not be the difference that was meant.

    A small p-value says that the distributions differ, not where. A large one says that this classifier, fitted to half
    of the rows, found no difference. Rows must be independent; successive draws of a Markov chain are not.

    With folds the classifiers share rows, and their scores depend on each other: a binomial test of the accuracy at
    level 0.05 rejects equal distributions 6 to 9 % of the time (n = m = 100, 5 and 10 folds, three classifiers, 400
    repeats each), and so does a rank test of all scores. sbi 0.27.0, whose `c2st` is the accuracy over folds, has no
    p-value. Here labels are permuted, split and fitted again, :math:`p = (1 + \#\{T_b \ge T\}) / (B + 1)`: exact, at
    the cost of F (B + 1) fits. The AUC is computed within folds, because scores of different fits are not comparable.

    The order of rows does not matter. The p-value is exact up to about 110 held-out rows (many more with few distinct
    scores), then a saddlepoint approximation. Its relative error was at most 0.011 down to p-values of 1e-7, except for
    sets of fewer than 10 held-out rows (up to 0.06) and for a few scores that occur nearly equally often (0.1 at
    p = 0.01). It is never 0.

    References
    ----------
    Lopez-Paz and Oquab (2017), Revisiting classifier two-sample tests; Friedman (2003), On multivariate goodness-of-fit
    and two-sample testing.

    Examples
    --------
    Two rows of each set are held out and separated without error. One of the six labellings of them does so:

    >>> result = c2st([[0.0], [1.0], [2.0], [3.0]], [[11.0], [12.0], [13.0], [14.0]], rng=0)
    >>> result.statistic, result.estimate, round(result.pvalue, 4)
    (1.0, 1.0, 0.1667)
    """
    sets = read_point_sets(y, points)
    model = NearestNeighbours() if classifier is None else classifier
    check_classifier(model)
    B = check_count("resamples", resamples)
    F = None if folds is None else _read_folds(folds, sets)
    if rng is None:
        raise InputError(
            "c2st splits the rows at random, which decides its value; pass rng=0, or any other whole number or "
            "Generator, to make the call repeatable"
        )
    Z, labels = _ordered(sets)
    test = (
        _by_halves(model, Z, labels, generator(rng)) if F is None else _by_folds(model, Z, labels, F, B, generator(rng))
    )
    return replace(test, details={"n": sets.n, "m": sets.m, **test.details, **repeated(sets)._asdict()})


def _read_folds(folds: int, sets: PointSets) -> int:
    F, most = check_count("folds", folds, least=2), min(sets.n, sets.m)
    if most < F:
        raise InputError(
            f"folds must be at most {most}, so that each contains a row of both sets; got {shown(folds)} with {sets.n} "
            f"rows of y and {sets.m} of points"
        )
    return F


def _ordered(sets: PointSets) -> tuple[FloatArray, Labels]:
    """Return all rows in sorted order, and label 1 for those of the points."""
    labels = np.repeat(np.array([0, 1]), [sets.n, sets.m])
    Z = sets.pooled
    order = np.lexsort((labels, distinct(Z).rank))
    return Z[order], labels[order]


def _by_halves(model: Any, Z: FloatArray, labels: Labels, rng: np.random.Generator) -> TestResult:
    held = stratified_folds(labels, 2, rng) == 0
    part = held_out(model, Z, labels, held, rng)
    found = rank_sum_test(part.scores, part.labels)
    words, details = _described(model, labels.size - part.labels.size)
    return TestResult(
        statistic=found.auc,
        pvalue=found.pvalue,
        estimate=_balanced_accuracy([part]),
        method=f"classifier two-sample test; {words} fitted to one half, {DISTRIBUTIONS[found.null]}",
        n=labels.size,
        details={"held_out": _sizes(part.labels), "null": found.null, **details},
    )


def _by_folds(model: Any, Z: FloatArray, labels: Labels, F: int, B: int, rng: np.random.Generator) -> TestResult:
    parts = _cross_validated(model, Z, labels, F, rng)
    T, extreme = _mean_auc(parts), 0
    for _ in steps(B, size=1, label="refitting the classifier"):
        redrawn = _mean_auc(_cross_validated(model, Z, rng.permutation(labels), F, rng))
        extreme += bool(reaches(np.array(redrawn), T))
    words, details = _described(model, labels.size - max(part.labels.size for part in parts))
    return TestResult(
        statistic=T,
        pvalue=float(resampled_pvalue(extreme, B)),
        estimate=_balanced_accuracy(parts),
        method=f"classifier two-sample test; {words} in {F} folds, {B} permutations of the labels",
        n=labels.size,
        details={"held_out": _sizes(labels), "null": "permutation", "folds": F, "resamples": B, **details},
    )


def _cross_validated(
    model: Any, Z: FloatArray, labels: NDArray[Any], F: int, rng: np.random.Generator
) -> list[HeldOut]:
    fold = stratified_folds(labels, F, rng)
    return [held_out(model, Z, labels, fold == f, rng) for f in range(F)]


def _mean_auc(parts: list[HeldOut]) -> float:
    return float(np.mean([auc(part.scores, part.labels) for part in parts]))


def _balanced_accuracy(parts: list[HeldOut]) -> float:
    hits, labels = (np.concatenate([getattr(part, name) for part in parts]) for name in ("hits", "labels"))
    return float((hits[labels == 0].mean() + hits[labels == 1].mean()) / 2)


def _sizes(labels: Labels) -> tuple[int, int]:
    return int(np.count_nonzero(labels == 0)), int(np.count_nonzero(labels == 1))


def _described(model: Any, fitted: int) -> tuple[str, dict[str, int]]:
    """Return the classifier in words, and the details of the default one."""
    if not isinstance(model, NearestNeighbours):
        return type(model).__name__, {}
    k = number_of_neighbours(fitted)
    return f"nearest neighbours (k = {k})", {"k": k}


class HeldOut(NamedTuple):
    """Rows that a classifier has not seen."""

    scores: FloatArray
    """The predicted probabilities of label 1."""
    labels: Labels
    """The true labels."""
    threshold: float
    """The share of label 1 among the rows of the fit."""

    @property
    def hits(self) -> FloatArray:
        """Whether each row is on the right side of the threshold, 1 or 0; on the threshold it is half a hit."""
        side = np.where(
            np.abs(self.scores - self.threshold) <= THRESHOLD_TIE, 0.0, np.sign(self.scores - self.threshold)
        )
        return np.asarray((1 + side * (2 * self.labels - 1)) / 2)


def check_classifier(classifier: object) -> None:
    """Refuse an object that has no fit or no predict_proba."""
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
    """Fit a fresh copy of the classifier to the other rows, and return its scores of the held-out rows.

    Both are in random order, so their positions carry no information.
    """
    train, test = (rng.permutation(np.flatnonzero(part)) for part in (~held, held))
    model = _fresh(classifier, rng)
    model.fit(Z[train], labels[train])
    scores = _probabilities(model, model.predict_proba(Z[test]), test.size, type(classifier).__name__)
    return HeldOut(scores, labels[test], float(labels[train].mean()))


def _fresh(classifier: Any, rng: np.random.Generator) -> Any:
    """Return a copy of the classifier; copies of scikit-learn's are unfitted, with seeds from `rng`."""
    if hasattr(classifier, "__sklearn_clone__"):
        model = classifier.__sklearn_clone__()
    else:
        try:
            model = copy.deepcopy(classifier)
        except Exception as error:
            raise InputError(
                f"classifier {type(classifier).__name__} cannot be copied ({error}), and only copies are "
                "fitted. Make copy.deepcopy(classifier) work"
            ) from error
    if model is not classifier and callable(getattr(model, "get_params", None)):
        unset = [
            name
            for name, value in model.get_params().items()
            if name.split("__")[-1] == "random_state" and value is None
        ]
        if unset:
            model.set_params(**{name: int(rng.integers(1 << 31)) for name in sorted(unset)})
    return model


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
    bad = ~((scores >= -PROBABILITY_SLACK) & (scores <= 1 + PROBABILITY_SLACK))  # NaN is bad
    refuse_where(bad, scores, f"{what} must return probabilities", "Check what it returns for finite rows")
    return scores


def stratified_folds(labels: NDArray[np.int64], F: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the fold, 0 to F - 1, of each row; the rows of each label are shuffled and dealt in turn.

    Folds contain the same number of rows of a label, or one more in the first ones.

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
