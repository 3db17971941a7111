"""`compare_predictions`: two or more predictions of the same rows, by the differences of their scores or errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.auditing.interval import Prediction
from calibrant.core.annotations import Labels
from calibrant.core.binned import bin_table
from calibrant.core.bins import bin_of, rounded
from calibrant.core.catalogue import Entry, find
from calibrant.core.kinds import part_of
from calibrant.core.mean_interval import MIN_DECIDING_ROWS, check_unseen_losses
from calibrant.core.null import MIN_INFORMATION
from calibrant.core.ordered import Ordered
from calibrant.core.pvalues import holm
from calibrant.core.results import Comparison, Pair
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray, as_array, is_unit, read_numbers, read_weights
from calibrant.inputs.options import check_level
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.inputs.rows import RegionRows

ROUNDING = 1e-24  # relative, of a sum of squares that is 0 but for rounding
MIN_DECIDING_ROWS_SKILL = 10.0  # the same for a ratio of means
SERIES_SHARE = 0.41  # of n^(2/3): the cosine transforms whose mean square is the long-run variance
MIN_SERIES_ROWS = 50
MIN_BIN_ROWS = 3  # so that a bin without one of its rows still has a pair
SQUARED = {"norm": "l2-squared", "debias": True, "strategy": "mass"}


def compare_predictions(
    y: ArrayLike,
    predictions: Mapping[str, Prediction] | Sequence[Prediction],
    *,
    metric: Callable[..., Any] | str = "brier_score",
    level: float = 0.95,
    time: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: Any = None,
    **options: Any,
) -> Comparison:
    r"""Compare predictions of the same rows: which is better, and by how much.

    For a metric that is a mean of row scores, with the differences d of the scores of two models,

    .. math:: \bar d \pm t \, s, \qquad s^2 = \frac{m}{m - 1} \frac{\sum w^2 (d - \bar d)^2}{W^2}, \quad
        m = \frac{W^2}{\sum w^2},

    with Student's t of m - 1 degrees of freedom. For `ece` it is the difference of the debiased squared l2 errors, with
    its jackknife variance.

    Parameters
    ----------
    y, weights, classes, pos_label
        As in `ece` and `coverage`.
    predictions
        A mapping from names to predictions, or a list of predictions, which are then called "a", "b" and so on.
    metric
        A mean of row scores, such as `brier_score`, `log_score`, `crps`, `interval_score` or `coverage`; or `ece`,
        which compares calibration alone.
    level
        Confidence level of all limits together.
    time
        For a series: numbers that put the rows in order. The variance then allows for dependent differences (Diebold
        and Mariano 1995).
    **options
        Options of the metric.

    Returns
    -------
    Comparison
        `values` of each model and `pairs`, one for each two of them: `difference` (first less second), its limits, its
        p-value, adjusted by Holm's method, and `skill`, 1 - first/second, with limits for scores that are at least 0.
        Print it, or use `sentences`.

    Notes
    -----
    Standard errors of two separate means ignore that rows that are hard for one model are hard for the other; the
    differences do not. Limits are those of all pairs together (Bonferroni).

    A lower Brier or log score is not better calibration: these scores also reward predictions that separate the
    outcomes better. Of two calibrated models the sharper one wins. ``metric="ece"`` compares calibration alone; its
    difference is one of squared errors, in mass bins of each model's own scores.

    With `time` the long-run variance is the mean square of the first 0.41 n^(2/3) cosine transforms of d, and the
    degrees of freedom are their number (Lazarus et al. 2018). Differences of which a few rows carry the mean are
    refused: no interval of such a mean covers.

    Examples
    --------
    Model b is closer to each of 60 outcomes, by differences of the squared error of 0.16 - 0.04 or 0.09 - 0.01:

    >>> import numpy as np
    >>> y = np.tile([0, 1], 30)
    >>> a, b = np.tile([0.4, 0.7], 30), np.tile([0.2, 0.9], 30)
    >>> found = compare_predictions(y, {"a": a, "b": b})
    >>> round(found.pairs[0].difference, 12), round(found.pairs[0].low, 4), round(found.pairs[0].high, 4)
    (0.1, 0.0948, 0.1052)
    """
    level, named = check_level(level), _named(predictions)
    entry, given = find(metric), {"weights": weights, "classes": classes, "pos_label": pos_label}
    if entry.name == "ece":
        _check_ece_options(options, time)
        options = {**SQUARED, **options}
    completed = entry.parse(options)
    rows = {name: entry.read(y, prediction, **given) for name, prediction in named.items()}
    _check_alike(rows)
    n = next(iter(rows.values())).n
    if entry.name == "ece":
        terms = {name: _squared_error(part, completed) for name, part in rows.items()}
    else:
        terms = {name: _row_scores(entry, part, completed) for name, part in rows.items()}
    w = np.asarray(next(iter(rows.values())).w)
    order = None if time is None else _order(time, w, weights)
    couples = list(combinations(named, 2))
    rate = (1 - level) / len(couples)
    pairs = [_pair(first, second, terms, w, order, rate) for first, second in couples]
    if entry.name == "log_score":
        for pair in pairs:
            for name in (pair.first, pair.second):
                check_unseen_losses(rows[name], 1 - rate, (pair.high - pair.low) / 2, clip=completed.clip)
    adjusted = holm(np.array([pair.pvalue for pair in pairs]))
    return Comparison(
        metric=entry.name,
        names=tuple(named),
        values=tuple(float(np.average(terms[name], weights=w)) for name in named),
        pairs=tuple(replace(pair, pvalue=float(p)) for pair, p in zip(pairs, adjusted, strict=True)),
        level=level,
        method=_method(entry.name, len(pairs), order is not None),
        n=n,
    )


def _check_ece_options(options: Mapping[str, Any], time: Any) -> None:
    fixed = {"norm", "debias", "notion"} & options.keys()
    if fixed or isinstance(options.get("bins"), str):
        raise NotApplicableError(
            "ece is compared by the debiased squared l2 error of a fixed number of bins; leave "
            f"{', '.join(sorted(fixed)) or 'the rule for bins'} out"
        )
    if time is not None:
        raise NotApplicableError("differences of ece are compared for independent rows only; leave time out")


def _named(predictions: Any) -> dict[str, Prediction]:
    if isinstance(predictions, Mapping):
        named = {str(name): prediction for name, prediction in predictions.items()}
    elif isinstance(predictions, (list, tuple)):
        named = {chr(ord("a") + k) if k < 26 else str(k): prediction for k, prediction in enumerate(predictions)}
    else:
        raise InputError(
            f"predictions must be a mapping from names to predictions, or a list of them; got {shown(predictions)} "
            f"({type(predictions).__name__})"
        )
    if len(named) < len(predictions):
        raise InputError(f"the names of predictions must be different as texts; got {shown(list(predictions))}")
    if len(named) < 2:
        raise InputError(f"compare_predictions needs two predictions or more of the same rows; got {len(named)}")
    return named


def _check_alike(rows: Mapping[str, Any]) -> None:
    """Refuse predictions of different kinds, numbers of classes or levels: their scores have different scales."""
    (first, one), *others = rows.items()
    for name, other in others:
        alike = type(one) is type(other)
        if alike and isinstance(one, RegionRows):
            alike = np.array_equal(one.prediction.levels, other.prediction.levels)
        elif alike and isinstance(one, Classes):
            alike = one.K == other.K
        if not alike:
            raise InputError(
                f"predictions must be of one kind, with the same classes and levels, to be compared; {first!r} and "
                f"{name!r} are not"
            )


def _order(time: Any, w: FloatArray, weights: Any) -> NDArray[np.intp]:
    """Return the rows in the order of time; the variance of a series is known for equal weights only."""
    when = as_array(time, name="time")
    when = when.astype(np.int64).astype(np.float64) if when.dtype.kind in "mM" else read_numbers(time, "time")
    keep = None if weights is None else read_weights(weights, len(when)) > 0
    when = when if keep is None or when.ndim != 1 else when[keep]
    n = w.size
    if when.shape != (n,):
        raise InputError(f"time must have one number for each of the {n} rows; got shape {when.shape}")
    if not np.isfinite(when).all():
        row = int(np.flatnonzero(~np.isfinite(when))[0])
        raise InputError("time must be finite numbers; {row} is {value}", row=row, value=float(when[row]))
    if not is_unit(w) and w.min() != w.max():
        raise NotApplicableError("a comparison in time needs equal weights; leave weights or time out")
    if n < MIN_SERIES_ROWS:
        raise NotApplicableError(f"a comparison in time needs {MIN_SERIES_ROWS} rows; got {n}")
    return np.argsort(when, kind="stable")


def _row_scores(entry: Entry[Any, Any], rows: Any, options: Any) -> FloatArray:
    """Return the score of each row, (n,)."""
    if entry.row_scores is None:
        raise NotApplicableError(
            f"{entry.name} cannot be compared: it is not a mean of row scores. Compare a proper score such as "
            "brier_score or log_score, or calibration alone with metric='ece'"
        )
    scores = np.asarray(entry.row_scores(part_of(rows, slice(None)), options), dtype=np.float64)
    scores = scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 1 else scores
    if scores.ndim == 2:
        raise InputError(f"{entry.name} has {scores.shape[1]} levels here; compare one, such as intervals.at(0.9)")
    infinite = np.flatnonzero(~np.isfinite(scores))
    if infinite.size:
        raise NotApplicableError(
            f"{entry.name} of row {infinite[0]} is infinite, so its mean has no standard error; use clip= if the "
            "metric has it"
        )
    return scores


def _squared_error(rows: Any, options: Any) -> FloatArray:
    """Return jackknife values of the debiased squared l2 error, whose mean is the error and whose spread its variance.

    With θ of all n rows and θ_i of all but row i, the value of row i is θ + (n - 1)(θ̄ - θ_i).
    """
    if not isinstance(rows, Binary):
        raise InputError(
            "compare_predictions(metric='ece') judges one probability per row; reduce class probabilities first"
        )
    if not is_unit(rows.w) and rows.w.min() != rows.w.max():
        raise NotApplicableError("differences of ece are compared for equal weights only; leave weights out")
    information = float((rows.p * (1 - rows.p)).sum(dtype=np.float64))
    if information < MIN_INFORMATION:
        raise NotApplicableError(
            f"a comparison of ece needs Σp(1 - p) >= {MIN_INFORMATION:g}; got {information:.3g}. Use more rows"
        )
    p, r = rows.p.astype(np.float64), rows.y - rows.p.astype(np.float64)
    edges = bin_table(Ordered.of(rows), bins=options.bins, strategy=options.strategy).edges
    bin_number = bin_of(p, rounded(edges, rows.p.dtype.name))
    count = np.bincount(bin_number, minlength=edges.size - 1).astype(np.float64)
    fewest = count[count > 0].min()
    if fewest < MIN_BIN_ROWS:
        raise NotApplicableError(
            f"a comparison of ece needs {MIN_BIN_ROWS} rows in each bin; got {fewest:.0f}. Use fewer bins"
        )
    total, square = (np.bincount(bin_number, column, minlength=count.size) for column in (r, r * r))
    with np.errstate(invalid="ignore", divide="ignore"):
        pairs = np.nan_to_num((total**2 - square) / (count - 1))  # n_b times the mean over pairs of rows
    k, n = count[bin_number], r.size
    without = ((total[bin_number] - r) ** 2 - (square[bin_number] - r * r)) / (k - 2)
    theta = pairs.sum() / n
    left = (n * theta - pairs[bin_number] + without) / (n - 1)
    return np.asarray(theta + (n - 1) * (left.mean() - left))


def _pair(
    first: str, second: str, terms: Mapping[str, FloatArray], w: FloatArray, order: NDArray[np.intp] | None, rate: float
) -> Pair:
    """Compare two models by Student's t of their differences."""
    a, b = terms[first], terms[second]
    difference, low, high, pvalue = _student(a - b, w, order, rate, MIN_DECIDING_ROWS)
    skill = skill_low = skill_high = None
    mean = float(np.average(b, weights=w))
    if order is None and mean > 0 and min(a.min(), b.min()) >= 0:
        ratio = float(np.average(a, weights=w)) / mean
        try:
            _, least, most, _ = _student((a - ratio * b) / mean, w, None, rate, MIN_DECIDING_ROWS_SKILL)
            skill, skill_low, skill_high = 1 - ratio, 1 - ratio - most, 1 - ratio - least
        except NotApplicableError:
            skill = 1 - ratio  # its limits would not cover
    return Pair(first, second, difference, low, high, pvalue, skill, skill_low, skill_high)


def _student(
    d: FloatArray, w: FloatArray, order: NDArray[np.intp] | None, rate: float, deciding: float
) -> tuple[float, float, float, float]:
    """Return the weighted mean of d, its limits and the p-value of the hypothesis that the true mean is 0."""
    from scipy.special import stdtr, stdtrit

    w = w / w.max()
    total = float(w.sum())
    mean = float((w * d).sum() / total)
    largest = float(np.abs(d).max())
    if largest == 0:
        return 0.0, 0.0, 0.0, 1.0
    d, mean = d / largest, mean / largest  # squares and fourth powers stay in the range of float64
    spread = w * (d - mean)
    square = float((spread**2).sum())
    if square <= ROUNDING * float((w * d**2).sum() * w.max()):
        raise NotApplicableError(
            f"all {d.size} differences are equal, so their spread is not known; use more rows, or other predictions"
        )
    few = square**2 / float((spread**4).sum())
    if few < deciding:
        heaviest = int(np.argmax(np.abs(spread)))
        raise NotApplicableError(
            f"the mean difference depends on {few:.3g} effective rows, {deciding:g} are needed: row {heaviest} alone "
            f"differs by {largest * d[heaviest]:.4g}. No interval of such a mean covers; use more rows"
        )
    if order is None:
        m = total**2 / float((w**2).sum())
        freedom, error = m - 1, math.sqrt(square * m / (m - 1)) / total
    else:
        freedom, error = _long_run(d[order] - mean)
    t = float(stdtrit(freedom, 1 - rate / 2))
    pvalue = 2 * float(stdtr(freedom, -abs(mean) / error))
    return largest * mean, largest * (mean - t * error), largest * (mean + t * error), pvalue


def _long_run(d: FloatArray) -> tuple[float, float]:
    """Return degrees of freedom and standard error of a mean of dependent values, from cosine transforms."""
    from scipy.fft import dct

    n = d.size
    number = max(2, int(SERIES_SHARE * n ** (2 / 3)))
    transforms = dct(d, type=2)[1 : number + 1] / math.sqrt(2 * n)  # √(2/n) Σ d cos(πj(i + ½)/n)
    return float(number), math.sqrt(float((transforms**2).mean()) / n)


def _method(metric: str, pairs: int, series: bool) -> str:
    words = "jackknife of the debiased squared l2 error" if metric == "ece" else f"differences of {metric} row by row"
    student = "Student's t, long-run variance" if series else "Student's t"
    return f"{words}; {student}" + (f"; {pairs} pairs, Bonferroni limits, Holm p-values" if pairs > 1 else "")
