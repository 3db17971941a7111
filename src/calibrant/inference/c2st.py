"""The two-sample test by a classifier."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.inference.held_out import HeldOut, Labels, check_classifier, held_out
from calibrant.inference.nearest_neighbours import NearestNeighbours, number_of_neighbours
from calibrant.inference.null import reaches, resampled_pvalue
from calibrant.inputs import check_count, generator
from calibrant.inputs.points import PointSets, read_point_sets
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.distinct_points import distinct
from calibrant.primitives.rank_sum import auc, rank_sum_test
from calibrant.primitives.repeated import repeated
from calibrant.primitives.stratified_folds import stratified_folds
from calibrant.progress import steps
from calibrant.results import TestResult

LAWS = {"exact": "exact law of the rank sum", "saddlepoint": "saddlepoint law of the rank sum"}


def c2st(
    y: Any, points: Any, *, classifier: Any = None, folds: int | None = None, resamples: int = 199, rng: Any = None
) -> TestResult:
    r"""Test whether two sets of points have the same law, by a classifier that tries to tell them apart.

    Half of each set, drawn at random, fits the classifier; it scores the other half. With the scores s of held-out
    rows of the points and t of held-out rows of y the statistic is

    .. math:: \mathrm{AUC} = P(s > t) + \tfrac12 P(s = t).

    If both sets come from one law, the labels of held-out rows are in random order given their scores, whatever the
    classifier, so that the p-value is that of Mann and Whitney's rank sum, ties included: the probability of an AUC at
    least as large. One-sided: a classifier that is wrong more often than right has learned nothing.

    Parameters
    ----------
    y
        Real points (n, d), two or more.
    points
        Other points (m, d), say generated ones.
    classifier
        An object with ``fit(X, labels)`` and ``predict_proba(X)``, which returns (rows, 2); labels are 0 for y and 1
        for points. Copies are fitted, yours stays as it is; a `random_state` of scikit-learn that is None gets a
        number from `rng`. Default: the share of the points among the k nearest of the N rows it was fitted to, k =
        round(√N), columns divided by their standard deviation over these rows. Rows as far away as the k-th share what
        is left of the k places.
    folds
        F, from 2 to the smaller of n and m: every row is scored once, by a classifier fitted to the other F - 1 parts.
        None: halves.
    resamples
        With folds: number of times that the labels are permuted and everything is done again, B.
    rng
        Generator or seed. Needed: a random split decides the value.

    Returns
    -------
    TestResult
        `statistic` is the AUC on held-out rows, with folds the mean of the AUC of each fold. `estimate` is the balanced
        accuracy, the mean of the shares of y and of the points that are recognised: a row counts as one of the points
        if its score is above their share among the fitted rows, and as half of each if it is equal. 0.5 is no
        information and expected under equal laws, also if n and m differ; 1 is perfect. `n` is n + m. `details` has
        `n`, `m`, `held_out` (rows of y and of the points that were scored), `null` (``"exact"``, ``"saddlepoint"`` or
        ``"permutation"``), `k` of the default classifier (with folds that of the smallest fit), `folds` and
        `resamples` if there are folds, and shares of repetitions: `repeated_y` and `repeated_points` (rows that equal
        an earlier one of their set), `repeated_values_y` and `repeated_values_points` (the same of single numbers, mean
        over columns), `shared_rows` (rows of the points that are also rows of y).

    Notes
    -----
    Look at the repetitions first. Points that are rounded, or copied from a few, where y is not, may be told apart
    by that alone, and the test is right to say so, though it may not be what was meant.

    A small p-value says that the laws differ, not where. A large one says that this classifier, fitted to half of the
    rows, sees nothing. Rows must be independent: neighbours of a Markov chain are not.

    With folds the classifiers share rows, so that their scores depend on each other: a binomial test of the accuracy
    at level 0.05 rejects 6 to 9 % of equal laws (n = m = 100, 5 and 10 folds, three classifiers, 400 repeats each), and
    a rank test of all scores as many. sbi 0.27.0, whose `c2st` is the accuracy over folds, has no p-value. Here labels
    are permuted, then split and fitted anew, :math:`p = (1 + \#\{T_b \ge T\}) / (B + 1)`: exact, at the price of
    F (B + 1) fits. The AUC is taken within folds because scores of different fits do not compare.

    The order of rows changes nothing. The p-value is exact up to about 110 held-out rows (many more with few different
    scores), then a saddlepoint approximation: its relative error was at most 0.011 down to p-values of 1e-7, but for
    sets of fewer than 10 held-out rows (up to 0.06) and a few scores that occur nearly equally often (0.1 at p = 0.01).
    It is never 0.

    References
    ----------
    Lopez-Paz and Oquab (2017), Revisiting classifier two-sample tests; Friedman (2003), On multivariate goodness-of-fit
    and two-sample testing.

    Examples
    --------
    Two rows of each set are held out, and told apart without a mistake. One of the six ways to label them does so:

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
            "Generator, so that the call can be repeated"
        )
    Z, labels = _ordered(sets)
    test = (
        _by_halves(model, Z, labels, generator(rng)) if F is None else _by_folds(model, Z, labels, F, B, generator(rng))
    )
    return replace(test, details={"n": sets.n, "m": sets.m, **test.details, **repeated(sets)._asdict()})


def _read_folds(folds: Any, sets: PointSets) -> int:
    F, most = check_count("folds", folds, least=2), min(sets.n, sets.m)
    if most < F:
        raise InputError(
            f"folds must be at most {most}, so that each holds a row of both sets; got {shown(folds)} with {sets.n} "
            f"rows of y and {sets.m} of points"
        )
    return F


def _ordered(sets: PointSets) -> tuple[FloatArray, Labels]:
    """Return all rows in an order that does not depend on theirs, and 1 for those of the points."""
    labels = np.repeat(np.array([0, 1]), [sets.n, sets.m])
    Z = sets.pooled
    order = np.lexsort((labels, distinct(Z).rank))
    return Z[order], labels[order]


def _by_halves(model: Any, Z: FloatArray, labels: Labels, rng: np.random.Generator) -> TestResult:
    held = stratified_folds(labels, 2, rng) == 0
    part = held_out(model, Z, labels, held, rng)
    found, fitted = rank_sum_test(part.scores, part.labels), labels.size - part.labels.size
    return TestResult(
        statistic=found.auc,
        pvalue=found.pvalue,
        estimate=_balanced_accuracy([part]),
        method=f"classifier two-sample test; {_words(model, fitted)} fitted to one half, {LAWS[found.null]}",
        n=labels.size,
        details={"held_out": _sizes(part.labels), "null": found.null, **_neighbours(model, fitted)},
    )


def _by_folds(model: Any, Z: FloatArray, labels: Labels, F: int, B: int, rng: np.random.Generator) -> TestResult:
    parts = _cross_validated(model, Z, labels, F, rng)
    T, redrawn = _mean_auc(parts), np.empty(B)
    for b, _ in steps(B, size=1, label="refitting the classifier"):
        redrawn[b] = _mean_auc(_cross_validated(model, Z, rng.permutation(labels), F, rng))
    fitted = labels.size - max(part.labels.size for part in parts)
    details = {"held_out": _sizes(labels), "null": "permutation", "folds": F, "resamples": B}
    return TestResult(
        statistic=T,
        pvalue=float(resampled_pvalue(int(np.count_nonzero(reaches(redrawn, T))), B)),
        estimate=_balanced_accuracy(parts),
        method=f"classifier two-sample test; {_words(model, fitted)} in {F} folds, {B} permutations of the labels",
        n=labels.size,
        details={**details, **_neighbours(model, fitted)},
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


def _neighbours(model: Any, fitted: int) -> dict[str, int]:
    return {"k": number_of_neighbours(fitted)} if isinstance(model, NearestNeighbours) else {}


def _words(model: Any, fitted: int) -> str:
    if isinstance(model, NearestNeighbours):
        return f"nearest neighbours (k = {number_of_neighbours(fitted)})"
    return type(model).__name__
