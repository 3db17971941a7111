"""Confidence limits: Student's interval for the mean of row scores, and limits of a frequency.

Where few rows show how much the scores vary, Student's interval has as few degrees of freedom. If it were refused, only
rows in which no heavy score was seen would have an interval, and that would often miss the mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from calibrant.core.annotations import IntervalMethod
from calibrant.core.bins import BinTable
from calibrant.core.catalogue import Entry
from calibrant.core.dispatch import chunks
from calibrant.core.moments import Moments
from calibrant.core.results import ConfidenceInterval
from calibrant.errors import InputError, NotApplicableError, SummaryError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.kinds import AnyRows
from calibrant.inputs.probabilities import Binary
from calibrant.inputs.rows import IntervalRows, QuantileRows

SMALLEST_SCORE, LARGEST_SCORE = 1e-140, 1e140
MIN_ROWS = 100  # effective ones that a mean needs; also of the rarer kind, if rare rows score high
MIN_DECIDING_ROWS = 25
"""Effective number of rows behind a variance, (Σd²)²/Σd⁴ with d = w(s - mean), below which few rows decide. There are
then as many degrees of freedom, less 1."""

FEW_MISSES = 10  # below which the number of misses is not nearly normal

MAX_LOSS = -math.log(np.finfo(np.float64).tiny)  # of a miss


class Guard(NamedTuple):
    """Which rows (n, L) make up most of the mean score; there must be enough of them and, if `both`, of the others."""

    words: str
    marks: Callable[[Any, Any], NDArray[np.bool_] | None]
    both: bool


def freedom(m: Any, deciding: Any, least: float = MIN_DECIDING_ROWS) -> FloatArray:
    """Return the degrees of freedom of Student's t: m - 1, or with fewer than `least` deciding rows that number less 1.

    >>> freedom(100.0, np.array([40.0, 11.0, 1.2]))
    array([99., 10.,  1.])
    """
    return np.asarray(np.where(deciding < least, np.maximum(deciding, 2.0), m) - 1.0)


def student_interval(
    entry: Entry[Any, Any], summary: Moments, options: Any, level: float, deciding: FloatArray
) -> ConfidenceInterval:
    r"""Return mean ± t s, t of m - 1 degrees of freedom, or fewer if few rows decide (`freedom`).

    :math:`s^2 = \frac{m}{m-1} \sum w^2 (s_i - \bar s)^2/W^2` with the effective number of rows
    :math:`m = W^2/\sum w^2`, which is n for equal weights.
    """
    from scipy.special import stdtrit

    estimate = entry.finish(summary, options)
    if not np.isfinite(estimate).all():
        raise NotApplicableError(f"{entry.name} is infinite for these rows, and its mean has no standard error")
    m = summary.w**2 / summary.w2
    if m < MIN_ROWS * (1 - 1e-12):
        raise NotApplicableError(
            f"an interval for {entry.name} needs {MIN_ROWS} rows (with weights, effective rows); got {m:.4g}. "
            "With fewer, the spread of the scores is not known well enough for the interval to cover"
        )
    if ((np.abs(summary.mean) > LARGEST_SCORE) | ((summary.mean != 0) & (np.abs(summary.mean) < SMALLEST_SCORE))).any():
        raise NotApplicableError(
            f"the mean of {entry.name} is {summary.mean.flat[0]:.3g}, and squares of such scores leave float64. "
            "Give outcomes and predictions in other units"
        )
    spread = summary.spread2 + summary.w2 * (summary.mean2 - summary.mean) ** 2
    error = np.sqrt(spread * m / (m - 1)) / summary.w
    half = stdtrit(freedom(m, deciding), (1 + level) / 2) * error
    few = float(deciding.min())
    method = "Student's t interval of a mean"
    if few < MIN_DECIDING_ROWS:
        method += f", which {few:.3g} effective rows decide"
    return interval_of(summary.mean - half, summary.mean + half, estimate, level, method, summary.n)


def mean_interval(entry: Entry[Any, Any], rows: AnyRows, options: Any, level: float) -> ConfidenceInterval:
    check_rare(entry, rows, options)
    deciding = deciding_of_rows(entry, rows, options, level)
    return student_interval(entry, cast(Moments, entry.summarise(rows, options)), options, level, deciding)


def interval_of(
    low: FloatArray, high: FloatArray, estimate: float | FloatArray, level: float, method: str, n: Any
) -> ConfidenceInterval:
    """Return the limits of each number of an estimate; those of a single number are numbers."""
    if isinstance(estimate, np.ndarray):
        return ConfidenceInterval(low, high, estimate, level, method, n)
    return ConfidenceInterval(float(low[0]), float(high[0]), estimate, level, method, n)


def deciding_rows(d: FloatArray) -> FloatArray:
    """Return the effective number of rows behind the variance of a mean, (Σd²)²/Σd⁴ with d = w(s - mean) of each row.

    Infinite where all d are 0. Four equal deviations, and one that is far larger than three others:

    >>> deciding_rows(np.array([[1.0, 100.0], [-1.0, 1.0], [1.0, 1.0], [-1.0, 1.0]])).round(2)
    array([4., 1.])
    """
    largest = np.abs(d).max(axis=0)
    squares = (d / np.where(largest > 0, largest, 1.0)) ** 2  # their squares stay in the range of float64
    return _deciding(squares.sum(axis=0), (squares**2).sum(axis=0))


def _deciding(squares: FloatArray, fourth_powers: FloatArray) -> FloatArray:
    none = np.full(np.shape(squares), np.inf)
    return np.asarray(np.divide(squares**2, fourth_powers, out=none, where=fourth_powers > 0))


def deciding_of_rows(entry: Entry[Any, Any], rows: AnyRows, options: Any, level: float) -> FloatArray:
    """Return the number of deciding rows of each mean; refuse confident predictions whose misses were not seen."""
    assert entry.row_scores is not None  # the entries that have Student's interval are means
    pieces = [(rows.w[part, None], _columns(entry.row_scores(rows.part(part), options))) for part in chunks(rows.n)]
    heaviest = float(rows.w.max())
    total_weight, square = (_total(lambda w, s: (w / heaviest) ** k, pieces) for k in (1, 2))  # noqa: B023
    if total_weight**2 < MIN_ROWS * square or not all(np.isfinite(s).all() for _, s in pieces):
        return np.full(1, np.inf)  # `student_interval` refuses infinite scores and too few rows
    largest = max(np.finfo(np.float64).tiny, *(float(np.abs(s).max()) for _, s in pieces))
    mean = _total(lambda w, s: w / heaviest * (s / largest), pieces) / total_weight

    def squares(w: FloatArray, s: FloatArray) -> FloatArray:  # their squares stay in the range of float64
        return np.asarray((w / heaviest * (s / largest - mean)) ** 2)

    total, square = _total(squares, pieces), _total(lambda w, s: squares(w, s) ** 2, pieces)
    if entry.name == "log_score":
        half = 2 * largest * float(np.sqrt(total[0])) / float(total_weight[0])
        check_unseen_losses(rows, level, half, clip=options.clip)
    return _deciding(total, square)


def check_unseen_losses(rows: AnyRows, level: float, half: float, *, clip: float | None) -> None:
    """Refuse confident predictions whose misses are too rare to have been seen, but would change the mean.

    Rows are grouped by the loss of a miss. In each group with few misses, those that the data cannot exclude would add
    (upper limit - misses) loss / n to the mean; that must not exceed the half width of the interval.
    """
    if not isinstance(rows, Binary):
        return
    strata = math.floor(MAX_LOSS) + 1
    m, k, total = np.zeros(strata, np.int64), np.zeros(strata), np.zeros(strata)
    for part in chunks(rows.n):
        p, y = rows.p[part], rows.y[part]
        loss = -np.log(np.maximum(np.minimum(p, 1 - p.astype(np.float64)), clip or np.finfo(np.float64).tiny))
        stratum = np.floor(loss).astype(np.int64)
        m += np.bincount(stratum, minlength=strata)
        k += np.bincount(stratum, np.where(p > 0.5, y == 0, y == 1), minlength=strata)
        total += np.bincount(stratum, loss, minlength=strata)
    filled = (m > 0) & (k < FEW_MISSES)
    if not filled.any():
        return
    upper = exact_limits(k[filled].astype(np.float64), m[filled].astype(np.float64), level)[1] * m[filled]
    unseen = (upper - k[filled]) * total[filled] / m[filled] / rows.n
    if unseen.max() > half:
        worst = int(np.flatnonzero(filled)[unseen.argmax()])
        raise NotApplicableError(
            f"{m[worst]:,} rows have a probability within {math.exp(-worst):.2g} of 0 or 1, and too few of them missed "
            f"to know how often they do; each miss would cost {total[worst] / m[worst]:.3g}. No interval of the mean "
            "covers; use more rows, or bound the score with clip="
        )


def _total(
    column: Callable[[Any, Any], NDArray[Any]], pieces: Iterable[tuple[NDArray[Any], NDArray[Any]]]
) -> FloatArray:
    """Return the sums of a function of weights and scores over pieces of the rows: nothing else is as long as these."""
    return np.asarray(np.sum([column(w, s).sum(axis=0) for w, s in pieces], axis=0))


def _columns(scores: NDArray[np.float64]) -> FloatArray:
    return scores[:, None] if scores.ndim == 1 else scores


def check_rare(entry: Entry[Any, Any], rows: AnyRows, options: Any) -> None:
    guard = GUARDS.get(entry.name)
    if guard is None:
        return
    marked = guard.marks(rows, options)
    if marked is None:
        return
    few = min(float(_effective(side, rows.w).min()) for side in ((marked, ~marked) if guard.both else (marked,)))
    if few < MIN_ROWS * (1 - 1e-12):
        others = f" and {MIN_ROWS} others" if guard.both else ""
        raise NotApplicableError(
            f"an interval for {entry.name} needs {MIN_ROWS} rows {guard.words}{others}; got {few:.4g}. "
            "With fewer, the spread of the scores is not known and the interval does not cover"
        )


def refuse_unseen(entry: Entry[Any, Any]) -> None:
    """Refuse a summary of scores, which does not tell whether a few rows carry their mean."""
    if entry.row_scores is not None and entry.name != "coverage":
        raise SummaryError(
            f"an interval for {entry.name} needs the rows: a summary does not show whether a few rows determine the "
            "mean. Pass y and prediction"
        )


def has_equal_weights(summary: Moments) -> bool:
    return bool(np.isclose(summary.w, summary.weight_max * summary.n, rtol=1e-12, atol=0))


def _effective(side: NDArray[np.bool_], w: FloatArray) -> FloatArray:
    """Return (Σw)²/Σw² over the marked rows of each column, 0 if there are none."""
    pieces = [(w[part, None], side[part]) for part in chunks(w.size)]
    total, square = _total(lambda w, s: w * s, pieces), _total(lambda w, s: w * w * s, pieces)
    return np.asarray(np.divide(total**2, square, out=np.zeros_like(total), where=square > 0))


def _outside(rows: IntervalRows | QuantileRows, options: Any) -> NDArray[np.bool_] | None:
    """Mark outcomes outside the interval of each level, on the side that the part of the score is about."""
    part = options.part
    if part in ("width", "dispersion"):
        return None
    if isinstance(rows, QuantileRows):
        lower, upper = rows.prediction.values[:, :1], rows.prediction.values[:, -1:]
    else:
        lower, upper = rows.prediction.lower, rows.prediction.upper
    below, above = rows.y[:, None] < lower, rows.y[:, None] > upper
    return np.asarray(below if part == "below" else above if part == "above" else below | above)


def _surprised(rows: Any, options: Any) -> NDArray[np.bool_] | None:
    """Mark rows in which something else was likelier than what happened; a density has no such rows."""
    if rows.kind == "distributions":
        return None
    pieces = ((piece, piece.simplex) for piece in map(rows.part, chunks(rows.n)))
    return np.concatenate(
        [np.take_along_axis(P, piece.y[:, None], axis=1) < P.max(axis=1, keepdims=True) for piece, P in pieces]
    )


GUARDS = {
    "interval_score": Guard("outside the interval", _outside, both=False),
    "weighted_interval_score": Guard("outside the widest interval", _outside, both=False),
    "quantile_score": Guard("above the quantile", lambda rows, options: ~rows.covered, both=True),
    "brier_score": Guard("in which something else was likelier than what happened", _surprised, both=True),
    "log_score": Guard("in which something else was likelier than what happened", _surprised, both=True),
}
MEANS_WITH_INTERVAL = ("crps", "energy_score", *GUARDS)


def clopper_pearson(table: BinTable, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the exact binomial limits of the frequency in each bin."""
    n = table.count.astype(np.float64)
    share = np.divide(table.wy, table.w, out=np.zeros_like(n), where=n > 0)
    return exact_limits(np.rint(share * n), n, level)


def wilson(table: BinTable, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the score limits of the frequency in each bin, for its effective number of rows."""
    filled = table.count > 0
    w, w2 = np.where(filled, table.w, 1.0), np.where(filled, table.w2, 1.0)
    y = np.where(filled, table.wy, 0.0) / w
    low, high = score_limits(y, effective_rows(y, table.event_spread(y), w, w2), level)
    return empty_as_nan(low, table.count), empty_as_nan(high, table.count)


def exact_limits(k: FloatArray, n: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the limits of Clopper and Pearson for k events of n rows: Beta quantiles, 0 at k = 0 and 1 at k = n."""
    from scipy.special import betainccinv, betaincinv

    tail = (1 - level) / 2
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, tail), 0.0)
    # The inverse of the upper tail keeps the digits of a small upper limit.
    high = np.where(k < n, betainccinv(k + 1, np.maximum(n - k, 1), tail), 1.0)
    return empty_as_nan(low, n), empty_as_nan(high, n)


def share_method(method: IntervalMethod | None, *, equal: bool) -> IntervalMethod:
    """Return how limits of a share are found: as asked for, by default exactly where rows have `equal` weights."""
    if method == "clopper-pearson" and not equal:
        raise InputError('method="clopper-pearson" counts rows and needs equal weights; use method="wilson"')
    return method or ("clopper-pearson" if equal else "wilson")


def score_limits(share: FloatArray, m: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the limits of Wilson for a share of m rows, exactly 0 and 1 at the ends; m need not be whole."""
    from scipy.special import ndtri

    z = -float(ndtri((1 - level) / 2))
    centre, half = share + z * z / (2 * m), z * np.sqrt(share * (1 - share) / m + z * z / (4 * m * m))
    scale = 1 + z * z / m
    # The difference of two equal numbers may be off by rounding, and must not leave out a tiny share.
    low, high = np.clip((centre - half) / scale, 0, share), np.clip((centre + half) / scale, share, 1)
    return np.where(share <= 0, 0.0, low), np.where(share >= 1, 1.0, high)


def effective_rows(share: FloatArray, spread: FloatArray, w: FloatArray, w2: FloatArray) -> FloatArray:
    """Return the number of rows of equal weight that give as much information about a share as the weighted rows.

    m = min(ȳ(1-ȳ)/u, (Σw)²/Σw²) with u = Σw²(y-ȳ)²/(Σw)² the variance of the weighted mean and `spread` its
    numerator; the second alone if u = 0, or if ȳ rounds to 0 or 1 because the weights of one kind of rows vanish beside
    those of the other. With equal weights m is the number of rows.
    """
    u, variance = spread / w**2, share * (1 - share)
    m = w * w / w2
    return np.asarray(np.minimum(np.divide(variance, u, out=m.copy(), where=(u > 0) & (variance > 0)), m))


def empty_as_nan(column: FloatArray, count: NDArray[Any]) -> FloatArray:
    return np.where(count > 0, column, np.nan)
