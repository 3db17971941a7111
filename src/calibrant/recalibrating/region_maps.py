"""Maps of regions: intervals that are moved or stretched, sets that take another level, quantiles that are moved.

All of them rest on the conformal quantile: among exchangeable rows the nonconformity score of a new row is at most the
k-th smallest of n calibration scores, k = ⌈(n + 1) level⌉, with probability k/(n + 1) or more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray, locked, refuse_where
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.options import DIGITS
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.rows import IntervalRows, QuantileRows, SetRows
from calibrant.inputs.sets import Sets
from calibrant.recalibrating.method import Fit, FitOptions, Method, Parameter, Parameters, RowsCompared

LARGEST = float(np.finfo(np.float64).max)
LIKELY_ALPHA = 0.2  # levels up to this one are more often a share of misses than nominal coverage


def conformal_quantile(scores: FloatArray, w: FloatArray, level: float) -> float:
    """Return the smallest e with Σ w 1{score <= e} >= level (W + max w), infinite if there is none.

    With equal weights that is the ⌈(n + 1) level⌉-th smallest score. The product is rounded to 1e-10 first, because
    100 · 0.29 is 28.999999999999996. Whatever row comes next counts as much as the heaviest one (Tibshirani et al.
    2019).

    >>> conformal_quantile(np.array([3.0, 1.0, 2.0, 4.0]), np.ones(4), 0.8)
    4.0
    >>> conformal_quantile(np.array([3.0, 1.0, 2.0, 4.0]), np.ones(4), 0.9)
    inf
    """
    if not scores.size:  # a group may have no rows in a fold
        return math.inf
    share = w / w.max()
    target = round(level * (float(share.sum()) + 1), DIGITS)
    if (share == 1).all():
        k = max(1, math.ceil(target))
        return float(np.partition(scores, k - 1)[k - 1]) if k <= scores.size else math.inf
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(share[order]).round(DIGITS)
    place = int(np.searchsorted(reached, target))
    return float(scores[order[place]]) if place < scores.size else math.inf


def rows_needed(level: float) -> int:
    """Return the least number of rows of equal weight whose conformal quantile is finite: ⌈level/(1 - level)⌉.

    >>> rows_needed(0.9), rows_needed(0.95)
    (9, 19)
    """
    return math.ceil(round(level / (1 - level), DIGITS))


def _too_few(level: float, w: FloatArray, what: str, nominal: float | None = None) -> str:
    """Say that there are too few rows for a finite quantile at `level`, which the level `nominal` takes."""
    rows = f"are {w.size} rows" if w.size != 1 else "is 1 row"
    unequal = "" if (w == w[:1]).all() else " of unequal weight"
    return (
        f"level {level if nominal is None else nominal:.10g} takes at least {rows_needed(level)} rows of equal weight; "
        f"there {rows}{unequal}, so {what}"
    )


def _per_level(values: Any, single: bool) -> Any:
    return values[0] if single else np.array(values)


# Intervals


def fit_shift(rows: IntervalRows, options: FitOptions) -> Fit:
    """Fit δ, the conformal quantile of max(lower - y, y - upper) (Romano, Patterson, Candès 2019)."""
    scores = np.maximum(*_beyond_each_end(rows))
    return _fit_shifts(rows, {"shift": scores}, rows.prediction.levels, "intervals reach from -inf to inf")


def fit_shift_each_end(rows: IntervalRows, options: FitOptions) -> Fit:
    """Fit a shift of each end, the conformal quantiles of lower - y and y - upper at (1 + level)/2."""
    scores = dict(zip(("lower_shift", "upper_shift"), _beyond_each_end(rows), strict=True))
    each = (1 + rows.prediction.levels) / 2
    return _fit_shifts(rows, scores, each, "bounds are infinite", "; the method shift takes one-sided ones")


def _beyond_each_end(rows: IntervalRows) -> tuple[FloatArray, FloatArray]:
    y = rows.y[:, None]
    return rows.prediction.lower - y, y - rows.prediction.upper


def _fit_shifts(rows: IntervalRows, scores: Mapping[str, FloatArray], each: FloatArray, *refused: str) -> Fit:
    """Fit the conformal quantiles of scores (n, L) at the levels `each`."""
    ivs, said = rows.prediction, _level_or_alpha(rows)
    found: dict[str, list[float]] = {name: [] for name in scores}
    for j, (level, at) in enumerate(zip(ivs.levels.tolist(), each.tolist(), strict=True)):
        for name, column in scores.items():
            found[name].append(conformal_quantile(column[:, j], rows.w, at))
        shifts = [column[-1] for column in found.values()]
        if -math.inf in shifts:
            raise _refuse_unbounded(level, *refused)
        if math.inf in shifts:
            said.append(_too_few(at, rows.w, "its intervals become infinite", level))
    return Fit({name: _per_level(values, ivs.single) for name, values in found.items()}, warnings=tuple(said))


def _refuse_unbounded(level: float, what: str, remedy: str = "") -> NotApplicableError:
    return NotApplicableError(
        f"so many {what} at level {level:.10g} that the outcomes do not determine a shift. Pass rows with finite "
        f"bounds{remedy}"
    )


def _level_or_alpha(rows: IntervalRows) -> list[str]:
    """Ask about levels that look like a share of misses: intervals of level 0.1 that cover 0.9 of the outcomes."""
    covered = np.average(rows.covered, axis=0, weights=rows.w).tolist() if rows.n else rows.prediction.levels.tolist()
    return [
        f"level {level:.10g} is nominal coverage, and these intervals cover {share:.1%} of the outcomes; pass "
        f"{1 - level:.10g} if {level:.10g} is the share that may lie outside (alpha)"
        for level, share in zip(rows.prediction.levels.tolist(), covered, strict=True)
        if level <= LIKELY_ALPHA and abs(share - (1 - level)) < abs(share - level)
    ]


def apply_shifts(parameters: Parameters, prediction: Intervals, options: FitOptions) -> Intervals:
    """Return the intervals with both ends moved outward; both become the middle where they would cross."""
    shifts = list(parameters.values())  # one for both ends, or one each; (L,), or (n, L) of groups
    down, up = np.atleast_1d(shifts[0]), np.atleast_1d(shifts[-1])
    with np.errstate(over="ignore", invalid="ignore"):
        lower = np.minimum(prediction.lower - down, LARGEST)
        upper = np.maximum(prediction.upper + up, -LARGEST)
        middle = prediction.lower / 2 + prediction.upper / 2 + (up / 2 - down / 2)
    crossed = lower > upper
    return _nested(prediction, np.where(crossed, middle, lower), np.where(crossed, middle, upper))


def fit_scale(rows: IntervalRows, options: FitOptions) -> Fit:
    """Fit δ, the conformal quantile of |y - c|/h for the middle c and the half width h of each interval."""
    ivs, found, said = rows.prediction, [], _level_or_alpha(rows)
    middle, half = _middle_and_half(ivs)
    for j, level in enumerate(ivs.levels.tolist()):
        distance = np.abs(rows.y - middle[:, j])
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            scores = np.where(distance == 0, 0.0, distance / half[:, j])
        scale = conformal_quantile(scores, rows.w, level)
        if scale == math.inf:
            few = conformal_quantile(np.zeros(rows.n), rows.w, level) == math.inf
            missed = np.count_nonzero(np.isinf(scores))
            said.append(
                _too_few(level, rows.w, "its intervals become infinite")
                if few
                else f"{missed} of {rows.n} intervals of level {level:.10g} have no width and miss the outcome, which "
                "no scale can repair, so the intervals become infinite; the method shift widens them too"
            )
        found.append(scale)
    return Fit({"scale": _per_level(found, ivs.single)}, warnings=tuple(said))


def apply_scale(parameters: Parameters, prediction: Intervals, options: FitOptions) -> Intervals:
    """Return c ± δh; an infinite δ gives (-inf, inf) on every row."""
    scale = np.atleast_1d(parameters["scale"])
    middle, half = _middle_and_half(prediction)
    with np.errstate(over="ignore", invalid="ignore"):
        reach = np.where(np.isinf(scale), np.inf, scale * half)
        return _nested(prediction, middle - reach, middle + reach)


def _middle_and_half(prediction: Intervals) -> tuple[FloatArray, FloatArray]:
    """Return the middles and half widths (n, L) of intervals with finite bounds; refuse others."""
    axes = ("row", "column") if prediction.levels.size > 1 else ("row",)
    remedy = "An infinite interval has no middle; the method shift takes infinite bounds"
    for name in ("lower", "upper"):
        bound = getattr(prediction, name)
        refuse_where(np.isinf(bound), bound, f"{name} must be finite for scale", remedy, axes=axes)
    half_low, half_high = prediction.lower / 2, prediction.upper / 2  # halves first: a width may exceed float64
    return half_low + half_high, half_high - half_low


def _nested(prediction: Intervals, lower: FloatArray, upper: FloatArray) -> Intervals:
    """Return the intervals with these bounds, widened until those of higher levels contain those of lower ones."""
    order = np.argsort(prediction.levels)
    low, high = np.empty_like(lower, order="F"), np.empty_like(upper, order="F")
    low[:, order] = np.minimum.accumulate(lower[:, order], axis=1)
    high[:, order] = np.maximum.accumulate(upper[:, order], axis=1)
    return prediction._with(lower=locked(low), upper=locked(high))


_SHIFT = Parameter("L", low=-LARGEST, infinite=True, single=True)

SHIFT = Method(fit_shift, apply_shifts, {"shift": _SHIFT}, ("groups",), lambda levels: levels, compared=RowsCompared())
SHIFT_EACH_END = Method(
    fit_shift_each_end,
    apply_shifts,
    {"lower_shift": _SHIFT, "upper_shift": _SHIFT},
    ("groups",),
    lambda levels: 2 * levels,
)
SCALE = Method(
    fit_scale,
    apply_scale,
    {"scale": Parameter("L", low=0.0, infinite=True, single=True)},
    ("groups",),
    lambda levels: levels,
    compared=RowsCompared(),
)


# Sets


def fit_relevel(rows: SetRows, options: FitOptions) -> Fit:
    """Fit for each level the column of sets that covers as often as the level says; L stands for the full set.

    The nonconformity score of a row is the place of the first of its nested sets that contains the outcome.
    """
    sets = rows.prediction
    if sets.levels is None:
        raise InputError("relevel needs the nominal level of the sets; pass Sets(mask, level)")
    order = np.argsort(sets.levels)
    _refuse_not_nested(sets, order)
    place = places_of_outcomes(rows, order).astype(np.float64)
    columns, said = [*order.tolist(), sets.levels.size], []
    found = []
    for level in sets.levels.tolist():
        k = conformal_quantile(place, rows.w, level)
        if k == math.inf:
            said.append(_too_few(level, rows.w, "its sets become full"))
        elif k == sets.levels.size:
            said.append(
                f"sets of level {level:g} become full: they contain every label, because no sets that were given "
                "contain the outcome as often as that"
            )
        found.append(columns[int(min(k, sets.levels.size))])
    if sets.levels.size == 1:
        said.append(
            "sets of one level can only stay as they are or become full, because a mask has no scores to tune; "
            "recalibrate the probabilities and build the sets again"
        )
    return Fit({"column": _per_level(found, sets.single)}, warnings=tuple(said))


def places_of_outcomes(rows: SetRows, order: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the place of the first set of each row that contains the outcome, L if none does.

    `order` gives the columns of sets by rising level.
    """
    hits = rows.covered[:, order]
    return np.where(hits.any(axis=1), hits.argmax(axis=1), order.size)


def _refuse_not_nested(sets: Sets, order: NDArray[np.intp]) -> None:
    rising = sets.mask[:, :, order]
    lost = (rising[:, :, :-1] & ~rising[:, :, 1:]).any(axis=1)
    if lost.any() and sets.levels is not None:
        row, j = (int(i) for i in np.argwhere(lost)[0])
        low, high = sets.levels[order[j]], sets.levels[order[j + 1]]
        raise InputError(
            f"relevel needs nested sets; {{row}} has a label in its set of level {low:.10g} that is not in its set of "
            f"level {high:.10g}. Add the labels of lower levels to the sets of higher ones",
            row=row,
        )


def apply_relevel(parameters: Parameters, prediction: Sets, options: FitOptions) -> Sets:
    column = np.atleast_1d(parameters["column"]).astype(np.intp)
    n, K, L = prediction.mask.shape
    mask = np.ones((n, K, L), dtype=np.bool_)
    kept = np.flatnonzero(column < L)
    mask[:, :, kept] = prediction.mask[:, :, column[kept]]
    return prediction._with(mask=locked(mask))


def _check_columns(parameters: Parameters) -> None:
    column = np.atleast_1d(parameters["column"])
    if (column > column.size).any():
        raise InputError(f"column must be at most {column.size}, the number of levels; got {column.tolist()}")


RELEVEL = Method(
    fit_relevel,
    apply_relevel,
    {"column": Parameter("L", low=0.0, whole=True, single=True)},
    (),
    lambda levels: levels,
    check=_check_columns,
    compared=RowsCompared(),
)


# Quantiles


def fit_quantile_shift(rows: QuantileRows, options: FitOptions) -> Fit:
    """Fit for each level τ a conformal quantile of y - q, outward. Central intervals then cover.

    P(y <= q + δ) is at least τ for τ >= ½, and at most τ for lower levels.
    """
    found, said = [], []
    for j, level in enumerate(rows.prediction.levels.tolist()):
        outward = 1.0 if level >= 0.5 else -1.0
        share = level if outward > 0 else 1 - level
        scores = rows.y - rows.prediction.values[:, j]
        shift = outward * conformal_quantile(outward * scores, rows.w, share)
        if math.isinf(shift):
            if conformal_quantile(np.zeros(rows.n), rows.w, share) < math.inf:
                raise _refuse_unbounded(level, "quantiles are infinite")
            said.append(_too_few(share, rows.w, "its quantiles become infinite", level))
        found.append(shift)
    return Fit({"shift": _per_level(found, rows.prediction.single)}, warnings=tuple(said))


def apply_quantile_shift(parameters: Parameters, prediction: Quantiles, options: FitOptions) -> Quantiles:
    """Return the shifted quantiles, sorted in each row: that never raises their score (Chernozhukov et al. 2010)."""
    shift = np.broadcast_to(np.atleast_1d(parameters["shift"]), prediction.values.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.where(np.isinf(shift), shift, prediction.values + shift)
    return prediction._with(values=locked(np.asfortranarray(np.sort(values, axis=1))))


QUANTILE_SHIFT = Method(
    fit_quantile_shift,
    apply_quantile_shift,
    {"shift": Parameter("L", infinite=True, single=True)},
    (),
    lambda levels: levels,
    compared=RowsCompared(),
)
