"""Folds, scores of rows before and after a map, and maps that are judged by rows they were not fitted on.

No row is predicted by a map that was fitted on it, on a row of its cluster, or on a later row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import CalibrantError, InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.groups import read_row_labels, read_times
from calibrant.inputs.options import check_count
from calibrant.inputs.rows import SetRows
from calibrant.recalibrating.class_maps import mixed
from calibrant.recalibrating.fitting import CalibrationRows
from calibrant.recalibrating.gain_limits import Units
from calibrant.recalibrating.mean_log_score import clipped
from calibrant.recalibrating.method import FitOptions
from calibrant.recalibrating.methods import METHODS, SCORES
from calibrant.recalibrating.recalibration import Recalibration
from calibrant.recalibrating.region_maps import places_of_outcomes

IDENTITY_NAME = "identity"
Numbers = NDArray[np.intp]
INNER_FOLDS = 5  # where the caller's fold labels leave one label, which cannot be divided
MAX_INNER_FOLDS = 10  # inside a training part; with as many as outer folds, fits would grow with their square


class Fold(NamedTuple):
    """The rows that a map is fitted on, and those that it predicts."""

    train: Numbers
    test: Numbers


@dataclass(frozen=True, eq=False)
class Dealing:
    """How rows are dealt to folds: at random, by whole clusters, in time order, or as the caller did."""

    n: int
    folds: int = 5  # with `time` the number of blocks that are predicted, by the blocks before them
    clusters: Numbers | None = None  # the number of each row's cluster
    time: Numbers | None = None  # the number of each row's time, in ascending order
    labels: Numbers | None = None  # the number of each row's fold, if the caller gave them

    @property
    def is_random(self) -> bool:
        """Whether another partition of the rows would be as good: not where each row or cluster is a fold."""
        units = self.n if self.clusters is None else int(self.clusters.max()) + 1
        return self.time is None and self.labels is None and self.folds < units

    def take(self, rows: Numbers) -> Dealing:
        clusters, time, labels = (_renumbered(codes, rows) for codes in (self.clusters, self.time, self.labels))
        if labels is not None:
            labels = labels % MAX_INNER_FOLDS if labels.max(initial=0) > 0 else None
        parts = INNER_FOLDS if self.labels is not None else min(self.folds, MAX_INNER_FOLDS)
        units = [len(rows)] + [int(codes.max(initial=-1)) + 1 for codes in (clusters, time) if codes is not None]
        return Dealing(len(rows), max(1, min(parts, *units)), clusters, time, labels)

    def partition(self, rng: np.random.Generator) -> Sequence[Fold]:
        if self.time is not None:
            return self._blocks()
        if self.labels is not None:
            return _of_labels(self.labels)
        if self.clusters is None:
            return _of_labels(_dealt(self.n, self.folds, rng))
        return _of_labels(_dealt(int(self.clusters.max()) + 1, self.folds, rng)[self.clusters])

    def _blocks(self) -> Sequence[Fold]:
        """Return each block of rows in time order, but the first, with all rows of earlier blocks.

        Equal times are in one block. A cluster belongs to the block of its first row; its rows in later blocks are left
        out.
        """
        assert self.time is not None
        order = np.argsort(self.time, kind="stable")
        first = np.searchsorted(self.time[order], self.time)  # in time order, the place of the first row of that time
        block = first * (self.folds + 1) // self.n
        if self.clusters is not None:
            earliest = np.full(int(self.clusters.max()) + 1, self.folds + 1)
            np.minimum.at(earliest, self.clusters, block)
            block = np.where(block == earliest[self.clusters], block, -1)
        used = np.unique(block[block >= 0])
        return [Fold(np.flatnonzero((block >= 0) & (block < k)), np.flatnonzero(block == k)) for k in used[1:]]


def _renumbered(codes: Numbers | None, rows: Numbers | slice) -> Numbers | None:
    return None if codes is None else np.unique(codes[rows], return_inverse=True)[1].astype(np.intp)


def _dealt(n: int, folds: int, rng: np.random.Generator) -> Numbers:
    label = np.empty(n, np.intp)
    label[rng.permutation(n)] = np.arange(n) % folds
    return label


def _of_labels(labels: Numbers) -> Sequence[Fold]:
    return [Fold(np.flatnonzero(labels != k), np.flatnonzero(labels == k)) for k in range(int(labels.max()) + 1)]


def read_dealing(
    n: int, folds: Any = 5, *, clusters: Any = None, time: Any = None, keep: NDArray[np.bool_] | None = None
) -> Dealing:
    """Take folds, clusters and times through the boundary; `keep` marks the rows of positive weight, n of them."""
    belongs = None if clusters is None else read_row_labels(clusters, n, name="clusters", keep=keep).code
    when = None if time is None else read_times(time, n, keep=keep)
    if folds is not None and not np.isscalar(folds):  # a label for each row
        rows = np.arange(n) if keep is None else np.flatnonzero(keep)
        return _given(read_row_labels(folds, n, name="folds", keep=keep).code, belongs, when, rows)
    number = check_count("folds", folds, least=2)
    units, needed, noun = n, number, "rows"
    if belongs is not None:
        units, noun = int(belongs.max()) + 1, "clusters"
    if when is not None:
        units, needed, noun = int(when.max()) + 1, number + 1, "different times"
    if units < needed:
        why = ", whose first block is predicted by none" if when is not None else ""
        raise InputError(
            f"{{folds=value}} needs at least {needed} {noun}{why}; got {units}. Use fewer folds or more {noun}",
            option="folds",
            value=number,
        )
    found = Dealing(n, number, belongs, when)
    if when is not None and not found.partition(np.random.default_rng(0)):
        raise InputError("time leaves no block that is predicted by an earlier one; clusters or equal times fill one")
    return found


def _given(labels: Numbers, clusters: Numbers | None, time: Numbers | None, rows: Numbers) -> Dealing:
    """Return the caller's own folds; refuse folds that divide a cluster. `rows` are the caller's row numbers."""
    number = int(labels.max()) + 1
    if time is not None:
        raise InputError("folds is a number where time is given, which decides what each block is predicted by")
    if number < 2:
        raise InputError("folds must have at least two different labels; got one", option="folds")
    if clusters is not None:
        different = np.unique(np.stack([clusters, labels]), axis=1)
        divided = np.bincount(different[0])[clusters] > 1
        if divided.any():
            raise InputError(
                "folds must not divide a cluster: {row} and other rows of its cluster have different folds. Leave "
                "folds out to deal whole clusters",
                row=int(rows[np.argmax(divided)]),
                option="folds",
            )
    return Dealing(len(labels), number, clusters, None, labels)


def scores_before(data: CalibrationRows, options: FitOptions) -> FloatArray:
    """Return the score of each row as it was predicted; probabilities are limited by clip= first, as in the map."""
    if data.kind == "sets":
        return _place_scores(data.rows, np.arange(data.columns))
    if options.clip is None:
        return _row_scores(data, options)
    limited = clipped if data.kind == "binary" else mixed
    return _row_scores(data.predicting(limited(data.prediction, options)), options)


def scores_after(found: Recalibration, data: CalibrationRows, options: FitOptions) -> FloatArray:
    """Return the score of each row after the map; log scores of smooth maps do not pass through rounded values."""
    if found.method == IDENTITY_NAME:
        return scores_before(data, options)
    parameters = found.of_rows(data.group)
    if data.kind == "sets":
        return _place_scores(data.rows, np.atleast_1d(parameters["column"]).astype(np.intp))
    if options.score == "log" and found.rule.log_scores is not None:
        return np.asarray(found.rule.log_scores(parameters, data.rows, found.options))
    return _row_scores(data.predicting(_applied(found, data)), options)


def _row_scores(data: CalibrationRows, options: FitOptions) -> FloatArray:
    """Return one score per row, (n,): the mean over levels, quantiles or coordinates."""
    assert options.score is not None
    entry = SCORES[data.kind][options.score]
    assert entry.row_scores is not None
    scores = np.asarray(entry.row_scores(data.rows.part(slice(None)), entry.usual), dtype=np.float64)
    return scores if scores.ndim == 1 else scores.mean(axis=1)


def _place_scores(rows: SetRows, column: NDArray[np.intp]) -> FloatArray:
    """Return the quantile score of the place of the outcome among nested sets, the mean over levels, (n,).

    Sets have no proper score of their own. The place is that of the first set that contains the outcome, L if none
    does; the set of level τ states a quantile τ of it. `column` is the set that is used for each level, L the full one.
    """
    levels = rows.prediction.levels
    if levels is None:
        raise InputError("sets without a nominal level cannot be recalibrated; pass Sets(mask, level)")
    order = np.argsort(levels)
    stated = np.append(np.argsort(order), levels.size)[column]
    apart = places_of_outcomes(rows, order)[:, None] - stated
    return np.asarray(np.maximum(levels * apart, (levels - 1) * apart).mean(axis=1))


def used_by(method: str, data: CalibrationRows, options: FitOptions) -> FitOptions:
    """Return the options with clip= only if the method uses it: some of the methods that `auto` compares do not."""
    return options if "clip" in METHODS[data.kind][method].uses else replace(options, clip=None)


Fitter = Callable[[CalibrationRows, Numbers], Recalibration]
"""From training rows, and their numbers among all rows, to a map."""


@dataclass(eq=False)
class CrossFitted:
    """Gains of rows under maps that were not fitted on them."""

    before: FloatArray  # score that the gain is over, (n,): as predicted, or after the common map of the fold
    gain: FloatArray  # score before less score after, (n,); NaN where no map predicts the row
    if_missed: FloatArray | None = None  # the same if the other outcome had happened; None if not asked for
    recalibrated: FloatArray | None = None  # the probabilities after the maps; None if not asked for
    chosen: list[str] = field(default_factory=list)  # the method of each fold; the identity where the fit was refused
    refusals: list[CalibrantError] = field(default_factory=list)
    rounded: int = 0  # number of rows inside (0, 1) that a map sends to exactly 0 or 1


def cross_fit(
    data: CalibrationRows,
    options: FitOptions,
    folds: Sequence[Fold],
    fit_map: Fitter,
    before: FloatArray,
    *,
    misses: bool = False,
    recalibrated: bool = False,
    over_common: bool = False,
) -> CrossFitted:
    """Fit a map on the training rows of each fold and judge it by the others.

    A fold in which the fit is refused keeps its predictions: its gains are 0. `misses` and `recalibrated` ask for the
    fields of the result that are otherwise None. `over_common` asks what the maps of groups gain over the common map.
    """

    def scores_without(found: Recalibration, test: CalibrationRows) -> FloatArray:
        return scores_after(found.common or found, test, options) if over_common else scores_before(test, options)

    found = CrossFitted(before.copy(), np.full(before.size, np.nan), np.zeros(before.size) if misses else None)
    if recalibrated:
        found.recalibrated = np.array(data.prediction)
    for fold in folds:
        test = data.take(fold.test)
        try:
            fitted_map = fit_map(data.take(fold.train), fold.train)
        except CalibrantError as refused:
            found.refusals.append(refused)
            found.chosen.append(IDENTITY_NAME)
            found.gain[fold.test] = 0.0
            continue
        found.chosen.append(fitted_map.method)
        found.before[fold.test] = scores_without(fitted_map, test)
        found.gain[fold.test] = found.before[fold.test] - scores_after(fitted_map, test, options)
        if found.recalibrated is not None:
            found.recalibrated[fold.test] = _applied(fitted_map, test)
        if found.if_missed is not None:
            other = replace(test, rows=replace(test.rows, y=1 - test.rows.y))
            with np.errstate(invalid="ignore"):  # misses at 0 and 1 cost infinitely much before and after
                after = scores_after(fitted_map, other, options)
                found.if_missed[fold.test] = scores_without(fitted_map, other) - after
            p, q = test.prediction, _applied(fitted_map, test)
            found.rounded += int(np.count_nonzero((p > 0) & (p < 1) & ((q == 0) | (q == 1))))
    return found


def _applied(found: Recalibration, data: CalibrationRows) -> Any:
    return found.rule.apply(found.of_rows(data.group), data.prediction, found.options)


def check_finite(scores: FloatArray, what: str, data: CalibrationRows, rows: Numbers | slice = slice(None)) -> None:
    """Refuse infinite scores of these rows: their mean is infinite, whatever the others are."""
    infinite = np.flatnonzero(~np.isfinite(scores))
    if not infinite.size:
        return
    if data.is_sample:
        raise NotApplicableError(f"the score of a row {what} is infinite, so no gain can be measured")
    remedy = "choose another score or method, or pass more rows"
    if data.kind in ("binary", "classes"):
        remedy = f"limit probabilities with clip= of recalibrate (--clip), {remedy}"
    raise NotApplicableError(
        f"the score of {{row}} {what} is infinite, so no gain can be measured; {remedy}",
        row=int(data.caller_rows[rows][infinite[0]]),
    )


def units_of(data: CalibrationRows, dealing: Dealing, rows: Numbers | slice = slice(None)) -> Units:
    w = np.array(data.rows.w[rows], dtype=np.float64) / float(np.max(data.rows.w))
    count = None if data.count is None else np.asarray(data.count[rows], dtype=np.float64)
    if count is not None:
        w = w / count
    clusters, time = (_renumbered(codes, rows) for codes in (dealing.clusters, dealing.time))
    if clusters is None or time is None:
        return Units(w, count, time if clusters is None else clusters, ordered=time is not None)
    earliest = np.full(int(clusters.max()) + 1, time.size)
    np.minimum.at(earliest, clusters, time)
    order = np.argsort(np.argsort(earliest, kind="stable"))
    return Units(w, count, order[clusters], ordered=True)
