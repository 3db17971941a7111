"""`c2st`: the two-sample test by one classifier, or by the best of several."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Rng
from calibrant.core.catalogue import public
from calibrant.core.dispatch import chunks
from calibrant.core.null import pvalue_of_first, reaches, resampled_pvalue
from calibrant.core.results import TestResult
from calibrant.errors import InputError, refuse_choice, shown
from calibrant.inputs.arrays import FloatArray, read_numbers, refuse_where
from calibrant.inputs.options import check_count, generator
from calibrant.points.classifiers import BEST, NAMES, Labels, Neighbours, named, number_of_neighbours
from calibrant.points.inputs import PointSets, distinct, read_point_sets, repeated
from calibrant.points.rank_sum import auc, rank_sum_test, standard_ranks
from calibrant.points.sums import check_divisions, relabellings
from calibrant.progress import steps

PROBABILITY_SLACK = 1e-6  # by which a probability may leave [0, 1]
THRESHOLD_TIE = 1e-12  # a score this close to the threshold is on it
SCORE_DIGITS = 10  # of the largest one, to which log odds are compared
LABEL_PERMUTATIONS, REFITS = 999, 199  # where resamples is None
NUMBERS_AT_ONCE = 1 << 20  # labels multiplied together


class Classifier(Protocol):
    """A classifier with the two methods of scikit-learn's classifiers that `c2st` calls."""

    def fit(self, X: FloatArray, labels: Labels, /) -> object:
        """Learn from points (rows, d) and labels 0 and 1."""

    def predict_proba(self, X: FloatArray, /) -> ArrayLike:
        """Return the probabilities of label 0 and 1, (rows, 2)."""


ClassifierName: TypeAlias = Literal["logistic", "neighbours", "quadratic", "stumps", "trees"]


@public
def c2st(
    y: ArrayLike,
    points: ArrayLike,
    *,
    classifier: Literal["best"] | ClassifierName | Classifier | tuple[ClassifierName | Classifier, ...] = "best",
    folds: int | None = None,
    resamples: int | None = None,
    rng: Rng | None = None,
) -> TestResult:
    r"""Test whether two sets of points have one distribution, by classifiers that try to tell them apart.

    Half of each set, drawn at random, fits each classifier once; it scores the other half. With the scores s of
    held-out rows of the points and t of held-out rows of y,

    .. math:: \mathrm{AUC} = P(s > t) + \tfrac12 P(s = t).

    If both sets come from one distribution, the labels of held-out rows are in random order given their scores, for any
    classifier. The p-value of one classifier is that of Mann and Whitney's rank sum, ties included: the probability of
    an AUC at least as large. For several classifiers each AUC is divided by its standard deviation over permutations,
    ties included, :math:`z = (\mathrm{AUC} - \tfrac12) / \mathrm{sd}`; the largest z is compared with that of B shared
    permutations of the held-out labels, :math:`p = (1 + \#\{z_b \ge z\}) / (B + 1)`, which is exact given the scores.
    The test is one-sided: a classifier that is wrong more often than right has learned nothing.

    Parameters
    ----------
    y
        Real points (n, d), two or more.
    points
        Other points (m, d), say generated ones.
    classifier
        ``"best"`` for the first four of ``"logistic"``, ``"neighbours"``, ``"quadratic"``, ``"stumps"`` and
        ``"trees"``, classifiers of scikit-learn that the page of this verb describes; one name; an object with
        ``fit(X, labels)`` and ``predict_proba(X)``, which returns (rows, 2); or a tuple of names and objects. Labels
        are 0 for y and 1 for points.

        Copies of objects are fitted, the given object is not changed; a `random_state` of scikit-learn that is None
        gets a number from `rng`.
    folds
        F, from 2 to the smaller of n and m: every row is scored once, by a classifier fitted to the other F - 1 folds.
        None for two halves.
    resamples
        Number B of permutations of the held-out labels, 999 if None; not used for one classifier and halves. With
        folds: the number of permutations of all labels, each with F new fits of each classifier, 199 if None.
    rng
        A Generator or a whole number. Required, because a random split decides the value.

    Returns
    -------
    TestResult
        `statistic` is the AUC on held-out rows, with folds the mean of the AUC of each fold; of several classifiers
        that of the one with the largest z, which this choice biases upwards. `estimate` is its balanced accuracy, the
        mean of the shares of y and of the points that are recognised. `n` is n + m. The page of this verb lists
        `details`.

    Examples
    --------
    Two rows of each set are held out and separated without error. One of the six labellings of them does so:

    >>> result = c2st([[0.0], [1.0], [2.0], [3.0]], [[11.0], [12.0], [13.0], [14.0]], classifier="neighbours", rng=0)
    >>> result.statistic, result.estimate, round(result.pvalue, 4)
    (1.0, 1.0, 0.1667)
    """
    sets = read_point_sets(y, points)
    models = read_classifiers(classifier)
    B = check_count("resamples", (LABEL_PERMUTATIONS if folds is None else REFITS) if resamples is None else resamples)
    F, most = None if folds is None else check_count("folds", folds, least=2), min(sets.n, sets.m)
    if F is not None and most < F:
        raise InputError(
            f"folds must be at most {most}, so that each contains a row of both sets; got {F} with {sets.n} rows of y "
            f"and {sets.m} of points"
        )
    if rng is None:
        raise InputError(
            "c2st splits the rows at random, which decides its value; pass rng=0, or any other whole number or "
            "Generator, to make the call repeatable"
        )
    chance, (Z, labels) = generator(rng), _ordered(sets)
    rows = models, Z, labels
    found = _by_halves(*rows, B, chance) if F is None else _by_folds(*rows, F, B, chance)
    names, best = list(models), found.best
    details: dict[str, Any] = {"classifier": names[best], "null": found.null, "held_out": found.held_out}
    details |= {"folds": F} if F is not None else {}
    details |= {"resamples": B} if found.null == "permutation" else {}
    words = names[0] if len(models) == 1 else f"best of {', '.join(names)}"
    if any(isinstance(model, Neighbours) for model in models.values()):
        details["k"] = number_of_neighbours(found.fitted)
        words = f"nearest neighbours (k = {details['k']})" if len(models) == 1 else words
    if len(models) > 1:
        details["auc"] = dict(zip(models, found.areas, strict=True))
        details["pvalue_unadjusted"] = dict(zip(models, found.pvalues, strict=True))
    return TestResult(
        statistic=found.areas[best],
        pvalue=found.pvalue,
        estimate=_balanced_accuracy(found.parts),
        method=f"classifier two-sample test; {words}{found.how}",
        n=sets.n + sets.m,
        details={"n": sets.n, "m": sets.m, **details, **repeated(sets)._asdict()},
    )


class Found(NamedTuple):
    """Areas and p-values of each classifier alone, the best one, and its p-value that allows for this choice."""

    areas: list[float]
    pvalues: list[float]
    best: int
    pvalue: float
    parts: list[HeldOut]  # scored by the best one
    held_out: tuple[int, int]
    fitted: int
    null: str
    how: str


def read_classifiers(classifier: object) -> dict[str, Any]:
    """Return the classifiers by name; equal names of several objects get numbers."""
    if isinstance(classifier, str) and classifier == "best":
        classifier = BEST
    several = classifier if isinstance(classifier, tuple) else (classifier,)
    if not several:
        raise InputError("classifier must name at least one classifier; got an empty tuple")
    found: dict[str, Any] = {}
    for given in several:
        if isinstance(given, str):
            if given not in NAMES:
                raise refuse_choice("classifier", given, ("best", *NAMES))
            name, model = given, named(given)
        else:
            check_classifier(given)
            name, model = type(given).__name__, given
        many = sum(known.partition(" ")[0] == name for known in found)
        found[f"{name} {many + 1}" if many else name] = model
    return found


def _ordered(sets: PointSets) -> tuple[FloatArray, Labels]:
    """Return all rows in sorted order, and label 1 for those of the points."""
    labels = np.repeat(np.array([0, 1]), [sets.n, sets.m])
    Z = sets.pooled
    order = np.lexsort((labels, distinct(Z).rank))
    return Z[order], labels[order]


def _by_halves(models: dict[str, Any], Z: FloatArray, labels: Labels, B: int, rng: np.random.Generator) -> Found:
    held = stratified_folds(labels, 2, rng) == 0
    if len(models) > 1:
        check_divisions(B, int(np.count_nonzero(held)))
    parts = held_out(models, Z, labels, held, rng)
    alone = [rank_sum_test(part.scores, part.labels) for part in parts]
    best, p, null = 0, alone[0].pvalue, alone[0].null
    how = f" fitted to one half, {null} {'distribution' if null == 'exact' else 'approximation'} of the rank sum"
    if len(models) > 1:
        best, p = _largest(parts, B, rng)
        null, how = "permutation", f", fitted to one half; {B:,} permutations of the held-out labels"
    areas, pvalues = [each.auc for each in alone], [each.pvalue for each in alone]
    fitted, sizes = labels.size - parts[0].labels.size, _sizes(parts[0].labels)
    return Found(areas, pvalues, best, p, [parts[best]], sizes, fitted, null, how)


def _largest(parts: Sequence[HeldOut], B: int, rng: np.random.Generator) -> tuple[int, float]:
    """Return which classifier has the largest standardised AUC, and its p-value by permutations of the labels."""
    labels = parts[0].labels
    ranks = np.stack([standard_ranks(part.scores, labels) for part in parts], axis=1)  # (rows, classifiers)
    observed = labels @ ranks
    m = int(labels.sum())
    V = relabellings(m, labels.size - m, B, rng)
    parts_of = chunks(B, max(1, NUMBERS_AT_ONCE // labels.size))
    permuted = np.concatenate([(V[some].astype(np.float64) @ ranks).max(axis=1) for some in parts_of])
    extreme = int(np.count_nonzero(reaches(permuted, observed.max(), scale=1.0)))
    return int(np.argmax(observed)), float(resampled_pvalue(extreme, B))


def _by_folds(models: dict[str, Any], Z: FloatArray, labels: Labels, F: int, B: int, rng: np.random.Generator) -> Found:
    parts = _cross_validated(models, Z, labels, F, rng)
    check_divisions(B, 0)
    T = np.empty((B + 1, len(models)))
    T[0] = _mean_auc(parts)
    for b, _ in steps(B, size=1, label="refitting the classifier"):
        T[b + 1] = _mean_auc(_cross_validated(models, Z, rng.permutation(labels), F, rng))
    sd = T.std(axis=0)
    standard = T if len(models) == 1 else (T - T.mean(axis=0)) / np.where(sd > 0, sd, 1.0)
    best, pvalues = int(np.argmax(standard[0])), [pvalue_of_first(column) for column in T.T]
    fitted, of_best = labels.size - max(part[0].labels.size for part in parts), [part[best] for part in parts]
    p, how = pvalue_of_first(standard.max(axis=1)), f" in {F} folds, {B} permutations of the labels"
    return Found(T[0].tolist(), pvalues, best, p, of_best, _sizes(labels), fitted, "permutation", how)


def _cross_validated(
    models: dict[str, Any], Z: FloatArray, labels: NDArray[Any], F: int, rng: np.random.Generator
) -> list[list[HeldOut]]:
    fold = stratified_folds(labels, F, rng)
    return [held_out(models, Z, labels, fold == f, rng) for f in range(F)]


def _mean_auc(parts: list[list[HeldOut]]) -> FloatArray:
    return np.asarray(np.mean([[auc(part.scores, part.labels) for part in fold] for fold in parts], axis=0))


def _balanced_accuracy(parts: list[HeldOut]) -> float:
    hits, labels = (np.concatenate([getattr(part, name) for part in parts]) for name in ("hits", "labels"))
    return float((hits[labels == 0].mean() + hits[labels == 1].mean()) / 2)


def _sizes(labels: Labels) -> tuple[int, int]:
    return int(np.count_nonzero(labels == 0)), int(np.count_nonzero(labels == 1))


class HeldOut(NamedTuple):
    """Rows that a classifier has not seen."""

    scores: FloatArray  # the predicted probabilities of label 1, or their log odds
    labels: Labels
    threshold: float  # the share of label 1 among the rows of the fit, or its log odds

    @property
    def hits(self) -> FloatArray:
        """Whether each row is on the right side of the threshold, 1 or 0; on the threshold it is half a hit."""
        side = np.where(
            np.abs(self.scores - self.threshold) <= THRESHOLD_TIE, 0.0, np.sign(self.scores - self.threshold)
        )
        return np.asarray((1 + side * (2 * self.labels - 1)) / 2)


def check_classifier(classifier: object) -> None:
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
    models: dict[str, Any], Z: FloatArray, labels: Labels, held: NDArray[np.bool_], rng: np.random.Generator
) -> list[HeldOut]:
    """Fit a fresh copy of each classifier to the other rows, and return its scores of the held-out rows.

    Both are in random order, the same for all classifiers, so their positions carry no information.
    """
    train, test = (rng.permutation(np.flatnonzero(part)) for part in (~held, held))
    share = float(labels[train].mean())
    found = []
    for given in models.values():
        model = _fresh(given, rng)
        model.fit(Z[train], labels[train])
        if hasattr(model, "log_odds"):  # a probability would round to 1 in many dimensions
            scores, threshold = _without_rounding(model.log_odds(Z[test])), float(np.log(share / (1 - share)))
        else:
            scores = _probabilities(model, model.predict_proba(Z[test]), test.size, type(given).__name__)
            threshold = share
        found.append(HeldOut(scores, labels[test], threshold))
    return found


def _without_rounding(scores: FloatArray) -> FloatArray:
    """Return scores in which those of equal points are equal: sums of products depend on where a row stands."""
    unit = float(np.abs(scores).max()) or 1.0
    return np.asarray(np.round(scores / unit, SCORE_DIGITS) * unit)


def _fresh(classifier: Any, rng: np.random.Generator) -> Any:
    """Return a copy of the classifier; copies of scikit-learn's are unfitted, with seeds from `rng`."""
    clone = getattr(classifier, "__sklearn_clone__", None)
    try:
        model = copy.deepcopy(classifier) if clone is None else clone()
    except Exception as problem:
        raise InputError(
            "classifier must be an object that copy.deepcopy or sklearn.base.clone can copy, because each fit needs a "
            f"fresh one; copying {shown(classifier)} failed: {problem}"
        ) from problem
    if model is not classifier and callable(getattr(model, "get_params", None)):
        given = sorted(model.get_params().items(), key=lambda item: item[0])
        unset = [name for name, value in given if name.split("__")[-1] == "random_state" and value is None]
        if unset:
            model.set_params(**{name: int(rng.integers(1 << 31)) for name in unset})
    return model


def _probabilities(model: Any, given: Any, rows: int, name: str) -> FloatArray:
    what = f"predict_proba of {name}"
    found = read_numbers(given, what)
    if found.shape != (rows, 2):
        raise InputError(
            f"{what} must return an array of shape ({rows}, 2), the probabilities of label 0 and 1 of each row; "
            f"got shape {found.shape}"
        )
    classes = getattr(model, "classes_", None)
    if classes is not None and not np.array_equal(classes, [0, 1]):
        raise InputError(f"{name} was fitted to labels 0 and 1, and its classes_ must be these; got {shown(classes)}")
    scores = found[:, 1].astype(np.float64)
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
