"""Scores of intervals and quantiles: interval score, quantile score, and the weighted interval score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Outcomes
from calibrant.core.catalogue import Entry, NoOptions, enter, public
from calibrant.core.interval_sums import Terms, interval_sums, sums_in_one_pass
from calibrant.core.means import column_names, enter_mean
from calibrant.core.moments import Moments
from calibrant.errors import InputError, SummaryError
from calibrant.inputs.arrays import FloatArray, read_numbers
from calibrant.inputs.intervals import Intervals, read_bounds
from calibrant.inputs.options import DIGITS
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.rows import IntervalRows, QuantileRows

Part = Literal["total", "width", "below", "above"]
WisPart = Literal["total", "dispersion", "below", "above"]


@public
def interval_score(
    y: Outcomes, prediction: Intervals | None = None, *, part: Part = "total", weights: ArrayLike | None = None
) -> float | FloatArray:
    r"""Width of an interval plus a penalty for outcomes outside of it; lower is better.

    With :math:`\alpha` = 1 - level,

    .. math:: \mathrm{IS}_\alpha(l, u; y) = (u - l) + \frac{2}{\alpha} (l - y)_+ + \frac{2}{\alpha} (y - u)_+

    (Winkler 1972; Gneiting and Raftery 2007, eq. 43), the mean over rows for each level.

    Parameters
    ----------
    y, weights
        As in `coverage`; or the summary made by `summarize`.
    prediction
        `Intervals`.
    part
        ``"total"``, or one of the parts that add up to it: ``"width"``, ``"below"`` (outcomes below the interval),
        ``"above"`` (outcomes above it).

    Returns
    -------
    float or ndarray
        A number for one level, an array in the order of the levels for several. Infinite if a width is; the penalty
        parts stay finite.

    Examples
    --------
    The first outcome lies inside an interval of width 2; the second 1 above one of width 3, which costs 2/0.5 = 4:

    >>> from calibrant import Intervals
    >>> forecast = Intervals([0.0, 0.0], [2.0, 3.0], 0.5)
    >>> interval_score([1.0, 4.0], forecast)
    4.5
    >>> interval_score([1.0, 4.0], forecast, part="above")
    2.0
    """
    return INTERVAL_SCORE(y, prediction, IntervalScoreOptions(part), weights=weights)


@dataclass(frozen=True)
class IntervalScoreOptions:
    part: Part


def _interval_terms(rows: IntervalRows, options: IntervalScoreOptions) -> list[Terms]:
    width, below, above = (np.array([float(options.part in ("total", part))]) for part in get_args(Part)[1:])
    found = []
    for k, level in enumerate(rows.prediction.levels):
        lower, upper = rows.prediction.lower[:, k : k + 1], rows.prediction.upper[:, k : k + 1]
        cost = 2 / (1 - level)
        found.append(Terms(lower, upper, width, below * cost, above * cost))
    return found


INTERVAL_SCORE = enter_mean(
    interval_score,
    IntervalScoreOptions,
    lambda rows, options: _scores_by_level(rows, _interval_terms(rows, options)),
    sums=lambda rows, options: [interval_sums(rows.y, terms) for terms in _interval_terms(rows, options)],
    predictions=("intervals",),
    range=(0.0, np.inf),
)


@public
def quantile_score(
    y: Outcomes, prediction: Quantiles | None = None, *, weights: ArrayLike | None = None
) -> float | FloatArray:
    r"""Pinball loss of quantile forecasts; lower is better.

    .. math:: \rho_\tau(y, q) = \max\{\tau (y - q),\; (1 - \tau)(q - y)\},

    the mean over rows for each level. There is no factor 2, and a forecast that is hit scores 0.

    Parameters
    ----------
    y, weights
        As in `coverage`; or the summary made by `summarize`.
    prediction
        `Quantiles`.

    Returns
    -------
    float or ndarray
        A number for one level, an array in the order of the levels for several. Infinite where a quantile is.

    Examples
    --------
    The 0.75-quantile 2 is 2 too low for 4, which costs 0.75 each, and 1 too high for 1, which costs 0.25:

    >>> from calibrant import Quantiles
    >>> quantile_score([4.0, 1.0], Quantiles([2.0, 2.0], 0.75))
    0.875
    """
    return QUANTILE_SCORE(y, prediction, NoOptions(), weights=weights)


def _quantile_terms(rows: QuantileRows) -> list[Terms]:
    """Return the score of each level as that of an interval from q to q."""
    found = []
    for k, tau in enumerate(rows.prediction.levels):
        q = rows.prediction.values[:, k : k + 1]
        found.append(Terms(q, q, width=np.zeros(1), below=np.array([1 - tau]), above=np.array([tau])))
    return found


QUANTILE_SCORE = enter_mean(
    quantile_score,
    NoOptions,
    lambda rows, options: _scores_by_level(rows, _quantile_terms(rows)),
    sums=lambda rows, options: [interval_sums(rows.y, terms) for terms in _quantile_terms(rows)],
    predictions=("quantiles",),
    range=(0.0, np.inf),
    instead={"distributions": "Call .quantiles(levels) on it", "samples": "Call .quantiles(levels) on it"},
)


@public
def weighted_interval_score(
    y: Outcomes,
    prediction: Intervals | Quantiles | None = None,
    *,
    median: ArrayLike | None = None,
    part: WisPart = "total",
    weights: ArrayLike | None = None,
) -> float:
    r"""Interval scores of several levels in one number; lower is better.

    With K central intervals :math:`[l_k, u_k]` of level :math:`1 - \alpha_k` and the median m,

    .. math:: \mathrm{WIS} = \frac{1}{K + \frac12}
        \Bigl(\tfrac12 |y - m| + \sum_k \tfrac{\alpha_k}{2}\, \mathrm{IS}_{\alpha_k}(l_k, u_k; y)\Bigr)

    (Bracher et al. 2021), the mean over rows. Without a median the divisor is K. It is twice the mean of the
    `quantile_score` over all levels.

    Parameters
    ----------
    y, weights
        As in `coverage`; or the summary made by `summarize`.
    prediction
        `Quantiles`, in which every level but 0.5 needs its mirror (0.1 and 0.9), or `Intervals`.
    median
        With `Intervals`: the predicted medians, one per row. `Quantiles` have theirs as the level 0.5.
    part
        ``"total"``, or one of the parts that add up to it: ``"dispersion"`` (the widths), ``"below"`` (outcomes below
        the intervals and the median), ``"above"``.

    Returns
    -------
    float
        Infinite if a width or a quantile is.

    Examples
    --------
    The outcome 5 is 1 above the interval [0, 4] of level 0.5, whose score is 4 + 4 * 1, and 3 above the median:
    (3/2 + 8/4) / 1.5.

    >>> from calibrant import Intervals, Quantiles
    >>> round(weighted_interval_score([5.0], Quantiles([[0.0, 2.0, 4.0]], [0.25, 0.5, 0.75])), 4)
    2.3333
    >>> round(weighted_interval_score([5.0], Intervals([0.0], [4.0], 0.5), median=[2.0]), 4)
    2.3333
    """
    return WEIGHTED_INTERVAL_SCORE(y, prediction, WisOptions(median, part), weights=weights)


@dataclass(frozen=True)
class WisOptions:
    median: ArrayLike | None
    part: WisPart

    @property
    def column(self) -> str:
        return "weighted_interval_score" + ("" if self.part == "total" else f"(part={self.part!r})")


def _wis_summary(rows: IntervalRows | QuantileRows, options: WisOptions) -> Moments:
    terms, name = _wis_terms(rows, options), options.column + column_names(rows, None)[0]
    if options.median is not None:
        name = f"{name[:-1]} and median]"
    if sums_in_one_pass(rows.n, rows.w):
        return Moments.of_sums([name], [interval_sums(rows.y, terms)])
    return Moments.of({name: _scores(rows.y, terms)}, rows.w)


def _wis(summary: Moments, options: WisOptions) -> float:
    if options.median is not None and not any("median" in name for name in summary.names):
        raise SummaryError("median cannot be given with a summary that was made without one")
    names = [name for name in summary.names if name.startswith(f"{options.column}[")]
    return summary.mean_of(names[0] if names else options.column)


WEIGHTED_INTERVAL_SCORE = enter(
    Entry(
        weighted_interval_score,
        WisOptions,
        _wis_summary,
        _wis,
        reads=(Moments,),
        predictions=("intervals", "quantiles"),
        range=(0.0, np.inf),
        mean=True,
        row_scores=lambda rows, options: _scores(rows.y, _wis_terms(rows, options)),
        instead={"distributions": "crps judges it whole", "samples": "crps judges them whole"},
    )
)


def _wis_terms(rows: IntervalRows | QuantileRows, options: WisOptions) -> Terms:
    """Return the score as terms τ(u - l) + (l - y)₊ + (y - u)₊, with τ = α/2, the median weighing one half."""
    median: FloatArray | None
    if isinstance(rows, IntervalRows):
        lower, upper, tau = rows.prediction.lower, rows.prediction.upper, (1 - rows.prediction.levels) / 2
        median = None if options.median is None else _read_median(options.median, rows)
    else:
        if options.median is not None:
            raise InputError("median= is for Intervals; Quantiles have their median as the level 0.5")
        lower, upper, tau, median = _paired(rows.prediction)
    divisor = tau.size + (0.0 if median is None else 0.5)
    one = np.ones(tau.size) / divisor
    width, below, above = (float(options.part in ("total", part)) for part in get_args(WisPart)[1:])
    terms = Terms(lower, upper, width * one * tau, below * one, above * one)
    if median is None:
        return terms
    return terms._replace(median=median, of_median=(below / 2 / divisor, above / 2 / divisor))


def _paired(quantiles: Quantiles) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray | None]:
    """Return lower and upper quantiles (n, K), the levels of the lower ones, and the medians."""
    levels, pairs = quantiles.levels, quantiles.pairs()
    middle = np.flatnonzero(levels.round(DIGITS) == 0.5)
    paired = {k for pair in pairs for k in pair} | set(middle.tolist())
    alone = [f"{levels[k]:.10g}" for k in range(levels.size) if k not in paired]
    if alone:
        raise InputError(
            f"every level but 0.5 needs its mirror, as 0.1 has 0.9; without one: {', '.join(alone)}. "
            "Leave these levels out, or use quantile_score, which takes any"
        )
    # All levels are paired and in order: the lower ones come first and their mirrors last.
    K, values = len(pairs), quantiles.values
    return values[:, :K], values[:, ::-1][:, :K], levels[:K], values[:, middle[0]] if middle.size else None


def _scores_by_level(rows: IntervalRows | QuantileRows, terms: list[Terms]) -> FloatArray:
    return np.stack([_scores(rows.y, of_level) for of_level in terms], axis=1)


def _scores(y: FloatArray, terms: Terms) -> FloatArray:
    total = np.zeros(y.size)
    columns = zip(terms.lower.T, terms.upper.T, terms.width, terms.below, terms.above, strict=True)
    with np.errstate(over="ignore"):
        for lower, upper, width, below, above in columns:
            if width:  # both bounds may be the same infinity
                total += width * np.subtract(upper, lower, where=upper != lower, out=np.zeros(y.size))
            if below:
                total += below * np.maximum(lower - y, 0.0)
            if above:
                total += above * np.maximum(y - upper, 0.0)
        below, above = terms.of_median
        if below:
            total += below * np.maximum(terms.median - y, 0.0)
        if above:
            total += above * np.maximum(y - terms.median, 0.0)
    return total


def _read_median(median: ArrayLike, rows: IntervalRows) -> FloatArray:
    array = read_numbers(median, "median")
    n = rows.n if rows.keep is None else rows.keep.size
    if array.shape != (n,):
        raise InputError(
            f"median must be 1-D, one number for each of the {n} rows; got shape {array.shape}. Pass shape ({n},)"
        )
    columns, _, _ = read_bounds(array, "median")
    return columns[:, 0] if rows.keep is None else columns[rows.keep, 0]
