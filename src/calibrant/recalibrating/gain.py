"""`recalibration_gain`: how much a map would lower a proper score on new rows, measured out of sample, with limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Labels
from calibrant.core.catalogue import public
from calibrant.core.grid import Grid
from calibrant.core.summary import Summary
from calibrant.core.tabular import Tabular
from calibrant.core.words import number as written
from calibrant.errors import InputError, SummaryError
from calibrant.inputs.arrays import FloatArray, locked
from calibrant.inputs.cdf_values import CdfValues
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.groups import Label
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.kinds import KINDS
from calibrant.inputs.options import check_choice, check_count, check_level, generator
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.sets import Sets
from calibrant.progress import steps
from calibrant.recalibrating.choice import fit_chosen
from calibrant.recalibrating.cross_fitting import (
    CrossFitted,
    Dealing,
    Numbers,
    check_finite,
    cross_fit,
    read_dealing,
    scores_after,
    scores_before,
    units_of,
)
from calibrant.recalibrating.fitting import (
    CalibrationRows,
    check_method,
    fit,
    read_calibration,
    read_parts,
    refuse_fair,
)
from calibrant.recalibrating.gain_limits import GainLimits, Units, gain_limits, refusal, unseen_misses
from calibrant.recalibrating.mean_log_score import clipped, logit
from calibrant.recalibrating.method import FitOptions
from calibrant.recalibrating.methods import METHODS, SCORES
from calibrant.recalibrating.recalibration import Recalibration

MAX_ROWS_REPEATED = 20_000  # up to which several partitions are tried
REPEATS = 4
MAX_REPEATS, MAX_GAINS = 1000, 10**8  # gains of rows, one for each repeat, that are held
MIN_PARTS = 5
MAX_ROWS_NAMED = 5


class GroupGain(NamedTuple):
    """The gain in the rows of one group; each has limits of its own."""

    group: Label
    n: int
    before: float
    estimate: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class RecalibrationGain(Tabular):
    """What a map does to a proper score on rows it was not fitted on."""

    before: float
    after: float
    estimate: float
    low: float
    high: float
    level: float
    share: float
    in_sample: float
    row_gain: FloatArray = field(repr=False)
    method: str
    score: str
    n: int
    chosen: tuple[str, ...]
    note: str
    by_group: tuple[GroupGain, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "row_gain", locked(self.row_gain))

    def __repr__(self) -> str:
        limits = f", low={self.low:.4g}, high={self.high:.4g}" if math.isfinite(self.low) else ""
        return (
            f"RecalibrationGain({self.method}, {self.score} score {self.before:.4g} -> {self.after:.4g}: "
            f"estimate={self.estimate:.4g}{limits}; n={self.n})"
        )


@public
def recalibration_gain(
    y: ArrayLike | Sequence[Grid],
    prediction: ArrayLike | Intervals | Sets | Quantiles | Distribution | CdfValues | None = None,
    *,
    score: str | None = None,
    method: str = "auto",
    folds: int | ArrayLike = 5,
    repeats: int | None = None,
    clusters: Any = None,
    time: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    level: float = 0.95,
    groups: Any = None,
    baseline: Literal["predictions", "common"] = "predictions",
    smoothing: str | None = None,
    ridge: float | tuple[float, float] | None = None,
    clip: float | None = None,
    inner: str = "logistic",
    classes: Labels | None = None,
    pos_label: object = None,
    rng: int | np.random.Generator = 0,
) -> RecalibrationGain:
    r"""Measure out of sample how much recalibration lowers a proper score.

    Rows are dealt to folds. The map that is applied to a fold was fitted on the other folds, and the gain of row i is
    its score before less its score after. The estimate is their mean,

    .. math:: M = \frac{1}{W} \sum_i w_i \bigl(S(p_i, y_i) - S(m_{-i}(p_i), y_i)\bigr).

    Parameters
    ----------
    y, prediction, weights, classes, pos_label, groups, smoothing, ridge, clip, inner
        As in `recalibrate`. In place of both a list of at least five `Grid` summaries of different rows: these are
        merged into `folds` folds, and every row has the mean score of its cell.
    score
        ``"log"`` (default) or ``"brier"`` for probabilities, ``"interval"``, ``"quantile"``, ``"crps"`` for samples,
        ``"log"`` (default) or ``"crps"`` for distributions. Several levels or coordinates are averaged.
    method
        As in `recalibrate`; ``"auto"`` repeats its whole choice on the training rows of each fold, in at most 10 folds.
    baseline
        With ``groups=`` of probabilities, what the gain is over: the predictions, or ``"common"``, the map of all
        groups together.
    folds
        Number of folds, or the fold of each row.
    repeats
        Number of random partitions; by default 4 up to 20,000 rows and 1 beyond. 1 where chance does not deal the rows.
    clusters
        Label of each row's cluster. Whole clusters are dealt to folds, and limits count clusters, not rows.
    time
        Time of each row. Rows are cut into ``folds + 1`` blocks in time order, and each is predicted by the map of all
        earlier ones. With `clusters` a cluster belongs to the block of its first row; its later rows are left out.
    level
        Confidence level.
    rng
        Seed or generator that deals the rows.

    Examples
    --------
    Twenty rows say 0.8 and three of five happen, in each fold alike. Every map changes 0.8 to 0.6, and the score falls
    from -0.6 ln 0.8 - 0.4 ln 0.2 to -0.6 ln 0.6 - 0.4 ln 0.4:

    >>> fold = [k // 5 for k in range(20)]
    >>> found = recalibration_gain([1, 1, 1, 0, 0] * 4, [0.8] * 20, method="temperature", folds=fold)
    >>> round(found.before, 4), round(found.after, 4), round(found.estimate, 4)
    (0.7777, 0.673, 0.1046)
    >>> found.low, found.note[:55]
    (-inf, 'No limits: the mean gain depends on 17.1 effective rows')
    """
    options = FitOptions(score, smoothing, ridge, clip, inner)  # type: ignore[arg-type]
    dealing: Dealing | None = None
    if _is_summary(y):
        data, dealing = _read_summaries(y, prediction, folds, weights, clusters, time)
    else:
        given = {"weights": weights, "classes": classes, "pos_label": pos_label, "groups": groups}
        data = read_calibration(y, prediction, **given, verb="recalibration_gain")
    options = check_method(data, method, options)
    _check_scored(data, method, options)
    check_choice("baseline", baseline, "predictions", "common")
    over_common = baseline == "common"
    if over_common and (data.groups is None or data.kind != "binary"):
        raise InputError("{baseline='common'} is for {groups=} of one probability per row", option="baseline")
    if dealing is None:
        dealing = read_dealing(data.n, folds, clusters=clusters, time=time, keep=data.keep)
    plan = Plan(method, dealing, _repeats(repeats, dealing, data.n), check_level(level), generator(rng), over_common)
    return measured_gain(data, options, plan).gain


class Plan(NamedTuple):
    """What is fitted, how rows are dealt and how often, and the level of the limits."""

    method: str
    dealing: Dealing
    repeats: int
    level: float
    rng: np.random.Generator
    over_common: bool = False  # whether the gain is that of maps of groups over the common map


class GainAndMap(NamedTuple):
    """The gain, the map that was fitted on all rows, and the cross-fitted rows of the first partition."""

    gain: RecalibrationGain
    fitted_map: Recalibration
    first: CrossFitted


@dataclass(eq=False)
class PlannedFits:
    """Fits the planned method on training rows; `auto` makes its whole choice on them.

    `uncompared` counts the fits with too few rows for `auto` to compare anything.
    """

    plan: Plan
    options: FitOptions
    uncompared: int = 0

    def __call__(self, train: CalibrationRows, rows: Numbers | None = None) -> Recalibration:
        """Return the map of training rows with these numbers; None stands for all rows."""
        if self.plan.method != "auto":
            return fit(train, self.plan.method, self.options)
        dealing = self.plan.dealing if rows is None else self.plan.dealing.take(rows)
        chosen = fit_chosen(train, self.options, dealing, self.plan.rng)
        self.uncompared += not chosen.compared
        return chosen


def measured_gain(data: CalibrationRows, options: FitOptions, plan: Plan, *, recalibrated: bool = False) -> GainAndMap:
    """Fit a map on all rows, judge maps of the same method by rows they were not fitted on, and find limits.

    `recalibrated` asks for the cross-fitted probabilities.
    """
    before, fits = scores_before(data, options), PlannedFits(plan, options)
    check_finite(before, "as predicted", data)
    fitted_map = fits(data)
    misses = data.kind == "binary" and options.score == "log"
    partitions = [plan.dealing.partition(plan.rng) for _ in range(plan.repeats)]
    passes: list[CrossFitted] = []
    for r, _ in steps(plan.repeats, size=1, label="recalibration, partitions of the rows"):
        first = {"misses": misses and r == 0, "recalibrated": recalibrated and r == 0}
        asked = {**first, "over_common": plan.over_common}
        passes.append(cross_fit(data, options, partitions[r], fits, before, **asked))
        _check_refused(passes[-1], len(partitions[r]))
    gains = np.stack([one.gain for one in passes])
    rows = np.flatnonzero(~np.isnan(gains[0]))
    check_finite(gains[:, rows].min(axis=0), "after the map", data, rows)
    all_before = scores_after(fitted_map.common or fitted_map, data, options) if plan.over_common else before
    in_sample = all_before - scores_after(fitted_map, data, options)
    found = CrossFittedGains(
        data,
        options,
        passes,
        rows,
        gains[:, rows],
        units_of(data, plan.dealing, rows),
        units_of(data, plan.dealing).mean(in_sample),
        sum(len(one.refusals) for one in passes) + fits.uncompared,
    )
    low, high, notes = found.limits(plan)
    row_gain = np.full(data.rows.n if data.keep is None else data.keep.size, np.nan)
    row_gain[data.caller_rows] = gains.mean(axis=0)
    mean_before, estimate = found.before_and_gain()
    gain = RecalibrationGain(
        before=mean_before,
        after=mean_before - estimate,
        estimate=estimate,
        low=low,
        high=high,
        level=plan.level,
        share=estimate / mean_before if mean_before > 0 else math.nan,
        in_sample=found.in_sample,
        row_gain=row_gain if data.count is None else np.zeros(0),
        method=plan.method,
        score=str(options.score),
        n=data.n,
        chosen=tuple(name for one in passes for name in one.chosen),
        note=" ".join(f"{sentence}." for sentence in (*notes, *found.remarks(before))),
        by_group=tuple(found.of_group(g, plan, in_sample) for g in range(len(data.groups or ()))),
    )
    return GainAndMap(gain, fitted_map, passes[0])


class CrossFittedGains(NamedTuple):
    """The gains of the rows that some map predicts, and what their limits depend on besides."""

    data: CalibrationRows
    options: FitOptions
    passes: list[CrossFitted]  # one for each repeat
    rows: Numbers  # (m,), those that are predicted
    d: FloatArray  # gains (R, m) of each repeat and predicted row
    units: Units
    in_sample: float  # the gain on all rows of the map that was fitted on them
    without_map: int  # the number of folds in which nothing could be fitted

    def before_and_gain(self) -> tuple[float, float]:
        before = np.mean([one.before[self.rows] for one in self.passes], axis=0)
        return self.units.mean(before), self.units.mean(self.d.mean(axis=0))

    def of_group(self, group: int, plan: Plan, in_sample: FloatArray) -> GroupGain:
        """Return the gain in one group, given that of each row under the map that was fitted on all of them."""
        data, mine = self.data, self.data.group[self.rows] == group
        every = np.flatnonzero(data.group == group)
        label = (data.groups or ())[group]
        if not mine.any():
            return GroupGain(label, every.size, math.nan, math.nan, -math.inf, math.inf)
        found = self._replace(
            rows=self.rows[mine],
            d=self.d[:, mine],
            units=units_of(data, plan.dealing, self.rows[mine]),
            in_sample=units_of(data, plan.dealing, every).mean(in_sample[every]),
        )
        low, high, _ = found.limits(plan)
        return GroupGain(label, every.size, *found.before_and_gain(), low, high)

    def limits(self, plan: Plan) -> tuple[float, float, list[str]]:
        """Return the limits, or infinite ones and why."""
        if not self.d.any() and self.in_sample == 0:  # the identity everywhere
            return 0.0, 0.0, []
        limits = gain_limits(self.d, self.in_sample, self.units, plan.level, chosen=plan.method == "auto")
        why = self._why_no_limits(limits)
        if why is None:
            return limits.low, limits.high, []
        said = [f"No limits: {why}"]
        if self.data.count is None and not self.data.is_sample:
            rows = self.data.caller_rows[self.rows][self.units.heaviest(self.d.mean(axis=0))[:MAX_ROWS_NAMED]]
            said.append(f"The rows that carry the mean are {', '.join(map(str, rows))}, counted from 0")
        of_probabilities = self.options.score == "log" and self.data.kind in ("binary", "classes")
        limited = ", limit probabilities with clip= of recalibrate (--clip), or use the Brier score"
        remedy = limited if of_probabilities and not self.data.is_sample else ""
        return -math.inf, math.inf, [*said, f"Use more rows{remedy}"]

    def _why_no_limits(self, limits: GainLimits) -> str | None:
        """Say why limits are not given; None if they are.

        A fold without a map hides a loss: if the only event is in such a fold, all others gain from a map that says
        less. In calibrated data with one event such limits are above 0.
        """
        if self.data.count is not None and not np.allclose(self.units.w, self.units.w[0]):
            return "limits need equal weights where rows were counted in cells"
        if self.without_map:
            return (
                "rows of folds in which no map could be fitted keep their predictions, which hides what they would lose"
            )
        why = refusal(limits, self.units)
        if why is None and self.data.kind == "binary" and self.options.score == "log":
            return self._unseen(limits.high - limits.mean)
        return why

    def _unseen(self, half: float) -> str | None:
        """Say why misses that were not seen forbid limits of the log score; None if they do not."""
        data, rows, if_missed = self.data, self.rows, self.passes[0].if_missed
        p = clipped(data.prediction[rows], self.options)
        if ((p == 0) | (p == 1)).any():
            return "the log score of a miss at 0 or 1 is infinite; limit them with clip= of recalibrate (--clip)"
        assert if_missed is not None
        missed = (data.rows.y[rows] == (p < 0.5)) & (p != 0.5)
        count = np.ones(p.size) if data.count is None else np.asarray(data.count[rows], dtype=np.float64)
        unseen = unseen_misses(logit(p), missed, if_missed[rows], count)
        if unseen <= half:
            return None
        return (
            f"misses of confident predictions that these rows cannot exclude would change the mean gain by up to "
            f"{written(unseen)}, more than the width of the limits"
        )

    def remarks(self, before: FloatArray) -> list[str]:
        """Return what should be known besides the limits."""
        data, passes, said = self.data, self.passes, []
        refused = [refusal for one in passes for refusal in one.refusals]
        if refused:
            folds = sum(len(one.chosen) for one in passes)
            why = str(refused[0]).partition(". ")[0]  # without the remedy, which is for a fit on all rows
            said.append(
                f"{len(refused)} of {folds} folds keep their predictions, because the fit was refused there: {why}"
            )
        if passes[0].rounded:
            said.append(f"{passes[0].rounded} rows inside (0, 1) become exactly 0 or 1")
        if self.options.clip is not None:
            w, given = data.rows.w, scores_before(data, replace(self.options, clip=None))
            unclipped, clipped_first = (written(float(np.average(scores, weights=w))) for scores in (given, before))
            if float(w @ given) < float(w @ before) and unclipped != clipped_first:
                said.append(
                    f"Clipping alone raises the mean score from {unclipped} to {clipped_first}, and the gain is that "
                    "over the clipped predictions"
                )
        if data.count is not None:
            said.append("Rows were counted in cells, and their scores are those of the mean of their cell")
        return [sentence.rstrip(".") for sentence in said]


def _check_refused(found: CrossFitted, folds: int) -> None:
    if 2 * len(found.refusals) > folds:
        raise found.refusals[0].within(
            f"no gain: the fit is refused in {len(found.refusals)} of {folds} folds, first as "
        )


def _check_scored(data: CalibrationRows, method: str, options: FitOptions) -> None:
    if not SCORES[data.kind]:
        words = KINDS[data.kind].words
        raise InputError(
            f"{words} have no proper score. Measure a gain on the probabilities or distributions behind them"
        )
    refuse_fair(options)
    if method == "auto" or options.score != "log":
        return
    rules = {"method": (method, METHODS[data.kind][method])}
    if "inner" in METHODS[data.kind][method].uses:
        rules["inner"] = (options.inner, METHODS["binary"][options.inner])
    for option, (name, rule) in rules.items():
        if rule.reaches_ends:
            raise InputError(
                f"{{{option}=name}} gives probabilities of 0 and 1, whose log score is infinite on new rows; use "
                f"{{{option}='venn-abers'}}, or {{score='brier'}}",
                name=name,
            )


def _repeats(repeats: int | None, dealing: Dealing, n: int) -> int:
    if repeats is None:
        return REPEATS if dealing.is_random and n <= MAX_ROWS_REPEATED else 1
    number, most = check_count("repeats", repeats), max(1, min(MAX_REPEATS, MAX_GAINS // n))
    if number > most:
        raise InputError(f"repeats must be at most {most:,} with {n:,} rows; got {number:,}", option="repeats")
    if number > 1 and not dealing.is_random:
        given = "time" if dealing.time is not None else "given folds" if dealing.labels is not None else "folds of one"
        raise InputError(f"repeats must be 1 with {given}: chance does not deal the rows", option="repeats")
    return number


def _is_summary(y: Any) -> bool:
    return isinstance(y, Summary) or (isinstance(y, (list, tuple)) and bool(y) and isinstance(y[0], Summary))


def _read_summaries(y: Any, prediction: Any, folds: Any, *others: Any) -> tuple[CalibrationRows, Dealing]:
    if isinstance(y, Summary):
        raise SummaryError(f"a gain needs a list of at least {MIN_PARTS} summaries; one gives a map, not a gain")
    if prediction is not None or any(other is not None for other in others):
        raise InputError("leave prediction=, weights=, clusters= and time= out: summaries replace the rows")
    number = check_count("folds", folds, least=2)
    least = max(MIN_PARTS, number)
    if len(y) < least:
        raise SummaryError(f"a gain with folds={number} needs at least {least} summaries; got {len(y)}")
    for part in y:
        if not isinstance(part, Grid):
            got = type(part).__name__
            raise SummaryError(f"a gain needs summaries of kind Grid; got {got}. Make them with summarize('ece', y, p)")
    merged = [sum(y[k + number :: number], start=y[k]) for k in range(number)]
    data, part = read_parts(merged)
    return data, Dealing(part.size, number, labels=part)
