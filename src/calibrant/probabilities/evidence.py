"""What an audit knows of one probability per row: evidence on all rows, ranges of scores, groups and classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.core.binned import similar_table
from calibrant.core.bins import BinTable
from calibrant.core.evidence import (
    ABOVE_0,
    ALL_ROWS,
    POWER,
    SMALL_GROUP,
    Error,
    Evidence,
    Family,
    Needed,
    Note,
    Subject,
    Whole,
    note,
    rows_needed,
)
from calibrant.core.findings import Setting
from calibrant.core.grid import Grid
from calibrant.core.limits import MAX_TIMES, Limits
from calibrant.core.null import MAX_ENTRIES_REDRAWN, MIN_INFORMATION, resampled_pvalue
from calibrant.core.ordered import Ordered
from calibrant.core.pvalues import is_floor
from calibrant.core.results import Curve, TestResult
from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.probabilities import Classes
from calibrant.probabilities.clusters import MIN_EQUAL_CLUSTERS, Clusters
from calibrant.probabilities.group_test import GROUP_RESAMPLES, GroupFindings
from calibrant.probabilities.power import smallest_constant
from calibrant.probabilities.size import (
    Size,
    frequency_limits,
    information,
    ranges_off,
    rms_if_no_event,
    times_needed,
)

SHARE_OF_REGIONS = 0.5  # of the error rate, for ranges of scores; the limits of the size have the rest
LIMITS_ALONE = "normal upper limit"
ADVICE, ADVICE_CERTAIN = "recalibrate", "recalibrate steps"


def region_level(setting: Setting) -> float:
    return 1 - SHARE_OF_REGIONS * (1 - setting.family_level)


def whole_evidence(
    scores: Ordered | Grid,
    size: Size | None,
    cutoff: Limits,
    test: TestResult,
    setting: Setting,
    *,
    subject: Subject,
    shown: tuple[Evidence, ...] = (),
    needed: Callable[[float], Needed | None] | None = None,
) -> Whole:
    """Return what is known of all rows: the size of their error, ranges of scores that can decide, the cutoff error.

    Without limits of the root mean square error (`size` is None) the size is the cutoff error. Neither that nor the
    error of the mean bounds all errors. `shown` are ranges of scores that decide nothing.
    """
    quantity, limits = ("cutoff_error", cutoff) if size is None else (size.quantity, size.limits)
    all_rows = similar_table(scores, 1)
    never, always = (None, None) if size is None else certain_errors(all_rows)
    total = Evidence(
        subject,
        quantity,
        limits.estimate,
        *limits.at(setting.level, "both"),
        scores.n,
        test="calibration_test",
        pvalue=float(setting.adjusted(test.pvalue)),
        mean=float(all_rows.mean_predicted[0]) if subject == ALL_ROWS else None,
        never=never,
        always=always,
        explanation=shown,
    )
    exact = setting.clusters is None and scores.has_equal_weights
    return Whole(
        total,
        ranges=range_evidence(scores, 1 - region_level(setting)) if exact else (),
        beside=() if size is None else threshold(subject, cutoff, setting, scores.n),
        similar=None if size is None or size.how == "mean" else size.ranges,
        bounded=size is not None and size.how != "mean",
        needed=needed,
    )


def certain_errors(all_rows: BinTable) -> tuple[float, float]:
    """Return the root mean square error that there is if no event happens, √(Σwp²/W), and if no non-event does."""
    w, wp, wv = (float(column[0]) for column in (all_rows.w, all_rows.wp, all_rows.wv))
    return rms_if_no_event(wp / w, wv / w), rms_if_no_event(1 - wp / w, wv / w)


def threshold(subject: Subject, cutoff: Limits, setting: Setting, n: int) -> tuple[Evidence, ...]:
    """Return the upper limit of the cutoff error; none where it says nothing."""
    high = cutoff.at(setting.level, "both")[1]
    return (Evidence(subject, "cutoff_error", cutoff.estimate, 0.0, high, n, test=LIMITS_ALONE),) if high < 1 else ()


def notes_on_size(whole: Whole, scores: Ordered | Grid, setting: Setting) -> list[Note]:
    found = [note("threshold", most=each.high, level=setting.level) for each in whole.beside]
    if whole.total.quantity == "mean_error":
        table = similar_table(scores, 1)
        limits = tuple(float(limit[0]) for limit in frequency_limits(table, 1 - setting.level))
        predicted, observed = float(table.mean_predicted[0]), float(table.mean_observed[0])
        given = {"n": scores.n, "level": setting.level, "limits": limits, "predicted": predicted, "observed": observed}
        found.append(Note("mean alone", given))
    return found


def advice(summary: Ordered) -> list[Note]:
    """Return which maps could mend these predictions; none if all of them are labels."""
    certain = (summary.score == 0) | (summary.score == 1)
    return [] if certain.all() else [note(ADVICE_CERTAIN if certain.any() else ADVICE, only="miscalibrated")]


def range_evidence(scores: Ordered | Grid, rate: float) -> tuple[Evidence, ...]:
    """Return the observed frequency of each range of scores whose limits leave out the mean score."""
    return tuple(
        Evidence(
            Subject("scores", low=each.low, high=each.high),
            "frequency",
            each.happens,
            each.least,
            each.most,
            each.rows,
            each.stated,
            "limits that hold in tenths and twentieths of the rows together",
        )
        for each in ranges_off(scores, rate)
    )


def bin_evidence(curve: Curve) -> tuple[Evidence, ...]:
    """Return the observed frequency of each bin that leaves its simultaneous band; rows of unequal weights."""
    found = []
    for b in np.flatnonzero(curve.outside).tolist():
        follows_zeros = b > 0 and curve.upper[b - 1] == 0  # a bin of zeros alone
        lower = ABOVE_0 if follows_zeros else float(curve.lower[b])
        subject = Subject("scores", low=lower, high=float(curve.upper[b]))
        numbers = float(curve.mean_observed[b]), math.nan, math.nan, int(curve.count[b]), float(curve.mean_predicted[b])
        found.append(Evidence(subject, "frequency", *numbers, "simultaneous band of bins"))
    return tuple(found)


def rows_to_pass(
    scores: Ordered | Grid, setting: Setting, clusters: tuple[Clusters, float] | None = None
) -> Callable[[float], Needed | None] | None:
    """Return the number of such rows or clusters that pass a tolerance 4 times in 5 if they are calibrated.

    Clusters come with the factor by which they enlarge the noise. None if predictions are 0 or 1, or as good as
    that: no number is enough.
    """
    if information(scores) < MIN_INFORMATION / MAX_TIMES:
        return None
    cells = scores.at_most(MAX_ENTRIES_REDRAWN) if isinstance(scores, Ordered) else scores
    least, effective, noise, number = MIN_INFORMATION / information(scores), scores.effective, 1.0, scores.n
    things = "rows" if clusters is None else "clusters"
    if clusters is not None:
        known, noise = clusters
        least = max(MIN_INFORMATION / known.information, MIN_EQUAL_CLUSTERS / known.equal)
        effective, number = known.equal, known.number

    def needed(tolerance: float) -> Needed | None:
        times = times_needed(cells, tolerance, (1 - setting.level) / 2, effective, noise)
        return Needed(rows_needed(number * max(times, least)), things) if times < MAX_TIMES else None

    return needed


# ---------------------------------------------------------------- groups and classes

TEST = "smaller p-value of Kuiper's and Cox's statistic, adjusted for all of them"
LIMITS = "limits that cover in all of them together"


def group_family(found: GroupFindings, setting: Setting, noun: Literal["group", "class"]) -> Family:
    """Return the size of the error of each group or class, the most surprising first, and which way it is off.

    The limits must have been found with the error rate of this family, (1 - level) / families.
    """
    pvalue = setting.adjusted(found.pvalue_adjusted)
    floor = float(setting.adjusted(resampled_pvalue(0, GROUP_RESAMPLES)))
    evidence = []
    for g in surprising_first(found):
        subject, rows = Subject(noun, name=found.names[g]), int(found.n[g])
        bias, bias_low, bias_high = (float(x[g]) for x in (found.bias, found.bias_low, found.bias_high))
        way = Evidence(subject, "bias", bias, bias_low, bias_high, rows, test=LIMITS)
        error, low, high = (float(x[g]) for x in (found.estimate, found.low, found.high))
        p, mean = None if math.isnan(pvalue[g]) else float(pvalue[g]), float(found.predicted[g])
        bounded = p is not None and is_floor(p, floor)
        quantity = found.quantity[g] if found.quantity else "cutoff_error"
        size = Evidence(subject, quantity, error, low, high, rows, test=TEST, pvalue=p, at_floor=bounded, mean=mean)
        size = replace(size, never=float(found.never[g]) or None)
        if quantity != "rms_error":  # it bounds no other errors
            size = replace(size, error=Error(error, low, high, math.inf))
        evidence.append(replace(size, explanation=(way,)) if math.isfinite(bias_low) else size)
    tested = int(np.count_nonzero(~np.isnan(found.pvalue_adjusted)))
    return Family({"group": "groups", "class": "classes"}[noun], tuple(evidence), tested, small_passes=True)


def surprising_first(found: GroupFindings) -> list[int]:
    """Return the order of the groups in tables: by adjusted p-value, lower limit of the error, p-value, statistic."""
    order: list[int] = np.lexsort([-found.statistic, found.pvalue, -found.low, found.pvalue_adjusted]).tolist()
    return order


def stated_low(found: GroupFindings, setting: Setting) -> FloatArray:
    rejected = setting.adjusted(found.pvalue_adjusted) < 1 - setting.level
    return np.where(rejected, np.maximum(found.low, ABOVE_0), np.where(np.isnan(found.pvalue), found.low, 0.0))


# ---------------------------------------------------------------- what to keep in mind

SIMULATED = 999  # data sets with an error behind the note on power
MAX_ROUNDED_SCORES = 101  # different scores that rounding to two decimals leaves


def caveats(summary: Ordered, setting: Setting, *, pooled: bool, infinite: bool) -> list[Note]:
    """Return what to keep in mind about these rows.

    `pooled` says whether an entry is a cell in which rows were counted, `infinite` whether the log score is infinite.
    """
    n, unique = summary.n, int(summary.unique_scores.size)
    events = int(summary.events.sum())
    rare = min(events, n - events)
    found = []
    if rare < SMALL_GROUP:
        found.append(note("few events", rare=rare, n=n, kind="events" if events <= n - events else "non-events"))
    if pooled:
        found.append(note("cells", unique=unique))
    elif unique < n / 2:
        found.append(note("tied", unique=unique, n=n))
        if unique > MAX_ROUNDED_SCORES and setting.clusters is None and not setting.class_names:
            found.append(note("tied rows?"))
    if summary.effective < 0.9 * n:
        found.append(note("weights", n=n, effective=round(summary.effective)))
    if infinite:
        misses = summary.count - summary.events
        ruled_out = int(summary.events[summary.score == 0].sum() + misses[summary.score == 1].sum())
        found.append(note("infinite") if pooled else note("ruled out", ruled_out=ruled_out))
    return [*found, *_power(summary, setting)]


def _power(summary: Ordered, setting: Setting) -> list[Note]:
    """Return which constant error, up or down, would have been found 4 times in 5, by simulation on these scores."""
    level = setting.family_level
    if setting.clusters is not None or resampled_pvalue(0, SIMULATED) > 1 - level or summary.walk.variance == 0:
        return []
    try:
        error = smallest_constant(summary, level=level, target=POWER, resamples=SIMULATED, rng=setting.rng)
    except NotApplicableError:
        return [note("no power")]
    return [note("power", error=error)]


# ---------------------------------------------------------------- likely mistakes of the user

MIN_ROWS_ASKED = 10
SURE = 5.0  # standard errors by which the other reading must fit better
MAX_CLASSES_MATCHED = 500


def questions_on_event(summary: Ordered) -> list[Note]:
    if summary.n < MIN_ROWS_ASKED:
        return []
    if bool(((summary.score == 0) | (summary.score == 1)).all()):
        return [note("labels?", n=summary.n)]
    brier = difference = variance = 0.0
    for p, w, rows, events in summary.pool.pieces():
        misses = rows - events
        brier += float((w * (events * (1 - p) ** 2 + misses * p**2)).sum())
        # Brier score of p less that of 1 - p, row by row: (1 - 2p) for an event, 2p - 1 for none.
        difference += float((w * (events - misses) * (1 - 2 * p)).sum())
        variance += float((w**2 * rows * (1 - 2 * p) ** 2).sum())
    if difference <= SURE * math.sqrt(variance):
        return []
    other = (brier - difference) / summary.total_weight
    brier /= summary.total_weight
    return [note("other outcome?", brier=brier, other=other)]


def questions_on_classes(rows: Classes, names: tuple[str, ...]) -> list[Note]:
    from scipy.optimize import linear_sum_assignment

    if rows.n < MIN_ROWS_ASKED:
        return []
    if bool((rows.P.max(axis=1) == 1).all()):
        return [note("class labels?", n=rows.n)]
    if rows.K > MAX_CLASSES_MATCHED:
        return []
    of_label = np.zeros((rows.K, rows.K))
    np.add.at(of_label, rows.y, rows.w[:, None] * rows.P)
    column = linear_sum_assignment(of_label, maximize=True)[1]
    moved = np.flatnonzero((column != np.arange(rows.K)) & (of_label.sum(axis=1) > 0))
    if moved.size == 0 or not _fits_better(rows, column):
        return []
    k = int(moved[0])
    return [note("column order?", a=names[k], b=names[int(column[k])], moved=moved.size, K=rows.K)]


def _fits_better(rows: Classes, column: FloatArray) -> bool:
    """Tell whether the probability of what happened is clearly higher if classes are matched with these columns."""
    every = np.arange(rows.n)
    d = rows.w * (rows.P[every, column[rows.y]].astype(np.float64) - rows.P[every, rows.y])
    return bool(d.sum() > SURE * np.sqrt((d**2).sum()))


SCORE_RANGES = 20


def score_errors(y: NDArray[Any], p: NDArray[np.floating[Any]]) -> FloatArray:
    """Return y - p less its mean over rows of similar score: what is wrong with scores is no dependence of rows."""
    order = np.argsort(p, kind="stable")
    code = np.empty(p.size, np.intp)
    code[order] = np.arange(p.size) * min(SCORE_RANGES, max(1, p.size // MIN_ROWS_ASKED)) // p.size
    errors = y - p.astype(np.float64)
    return np.asarray(errors - (np.bincount(code, errors) / np.bincount(code))[code])


MIN_SHARE_IN_BLOCKS = 0.1  # of the pairs of neighbouring rows, beyond what chance gives
DEVIATIONS = 6.0  # beyond what chance gives
SORTED_TURNS = 0.1  # of the runs: random order turns at two thirds of them


def questions_on_dependence(p: NDArray[np.floating[Any]]) -> list[Note]:
    """Ask whether rows depend on each other, if scores repeat in neighbouring rows more than chance explains."""
    share = _share_in_blocks(p)
    return [] if share is None else [note("clusters?", share=share)]


def _share_in_blocks(p: NDArray[np.floating[Any]]) -> float | None:
    """Return the share of rows with the score of the row before; None if chance or a sorted order explains it.

    >>> _share_in_blocks(np.repeat([0.2, 0.7, 0.4, 0.3, 0.9, 0.6], 4)), _share_in_blocks(np.repeat([0.2, 0.7, 0.9], 8))
    (0.782608695652174, None)
    """
    n = p.size
    if n < 2 * MIN_ROWS_ASKED:
        return None
    same = int(np.count_nonzero(p[1:] == p[:-1]))
    count = np.unique(p, return_counts=True)[1].astype(np.float64)
    expected = float((count * (count - 1)).sum()) / n
    if same - expected < max(MIN_SHARE_IN_BLOCKS * n, DEVIATIONS * math.sqrt(expected + 1)):
        return None
    rising = np.diff(p[np.append(True, p[1:] != p[:-1])]) > 0  # from one block to the next
    if np.count_nonzero(rising[1:] != rising[:-1]) < SORTED_TURNS * rising.size:
        return None
    return same / (n - 1)
