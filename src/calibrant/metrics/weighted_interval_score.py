"""Weighted interval score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.catalogue import metric, moments_of
from calibrant.catalogue.means import column_names
from calibrant.errors import InputError, SummaryError
from calibrant.inputs import check_choice
from calibrant.inputs.bounds import read_bounds, taken
from calibrant.inputs.judged import IntervalRows, Judged, QuantileRows
from calibrant.inputs.laws.law import Selection
from calibrant.inputs.laws.parameters import read_numbers
from calibrant.inputs.levels import DIGITS
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.interval_sums import Terms, interval_sums, sums_in_one_pass
from calibrant.summaries import Moments

PARTS = ("total", "dispersion", "below", "above")


@dataclass(frozen=True, eq=False)
class Centred:
    """Central intervals between quantiles τ and 1 - τ, and a median where there is one."""

    lower: FloatArray  # (n, K)
    upper: FloatArray  # (n, K)
    tau: FloatArray  # (K,), below 0.5
    median: FloatArray | None  # (n,)
    name: str

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.lower)

    def take(self, rows: Selection) -> Centred:
        """Return these rows alone; a slice shares memory."""
        median = None if self.median is None else self.median[rows]
        return Centred(taken(self.lower, rows), taken(self.upper, rows), self.tau, median, self.name)


def row_scores(rows: IntervalRows | QuantileRows, *, median: Any = None, part: str = "total") -> FloatArray:
    """Return the score of each row, (n,)."""
    check_choice("part", part, *PARTS)
    return _scores(_centred(rows, median), part)


def summarise(rows: IntervalRows | QuantileRows, *, median: Any, part: str) -> Moments:
    """Return the moments of the row scores."""
    check_choice("part", part, *PARTS)
    centred = _centred(rows, median)
    name = f"{_name(part)}{centred.prediction.name}"
    if sums_in_one_pass(rows.n, rows.w):
        return Moments.of_sums([name], [interval_sums(centred.y, _terms(centred.prediction, part))])
    return moments_of(centred, lambda piece: {name: _scores(piece, part)})


@metric(
    reads=(Moments,),
    summarise=summarise,
    predictions=("intervals", "quantiles"),
    range=(0.0, np.inf),
    mean=True,
    row_scores=row_scores,
    instead={"laws": "crps judges it whole", "samples": "crps judges them whole"},
)
def weighted_interval_score(summary: Moments, *, median: Any = None, part: str = "total") -> float:
    r"""Interval scores of several levels in one number; lower is better.

    With K central intervals :math:`[l_k, u_k]` of level :math:`1 - \alpha_k` and the median m,

    .. math:: \mathrm{WIS} = \frac{1}{K + \frac12}
        \Bigl(\tfrac12 |y - m| + \sum_k \tfrac{\alpha_k}{2}\, \mathrm{IS}_{\alpha_k}(l_k, u_k; y)\Bigr)

    (Bracher et al. 2021), the mean over rows. Without a median the divisor is K. It is twice the mean of the
    `quantile_score` over all levels.

    Parameters
    ----------
    y
        Outcomes, one number per row; or the summary made by `summarize`.
    prediction
        `Quantiles`, in which every level but 0.5 needs its mirror (0.1 and 0.9), or `Intervals`.
    median
        With `Intervals`: the predicted medians, one per row. `Quantiles` hold theirs as the level 0.5.
    part
        ``"total"``, or one of the parts that add up to it: ``"dispersion"`` (the widths), ``"below"`` (outcomes below
        the intervals and the median), ``"above"``.
    weights
        Importance weights, at least 0; a common factor changes nothing.

    Returns
    -------
    float
        Infinite if a width or a quantile is.

    Notes
    -----
    A proper score, and an approximation of the CRPS that needs quantiles only, better the more levels there are. Values
    for different sets of levels do not compare. It has the unit of the outcome.

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
    check_choice("part", part, *PARTS)
    if median is not None and not any("median" in name for name in summary.names):
        raise SummaryError("median cannot be given with a summary that was made without one")
    held = [name for name in summary.names if name.startswith(f"{_name(part)}[")]
    return summary.mean_of(held[0] if held else _name(part))


def _name(part: str) -> str:
    return "weighted_interval_score" + ("" if part == "total" else f"(part={part!r})")


def _terms(given: Centred, part: str) -> Terms:
    """Return the score as terms τ(u - l) + (l - y)₊ + (y - u)₊, with τ = α/2, the median weighing one half."""
    divisor = given.tau.size + (0.0 if given.median is None else 0.5)
    one = np.ones(given.tau.size) / divisor
    width, below, above = (float(part in ("total", name)) for name in PARTS[1:])
    terms = Terms(given.lower, given.upper, width * one * given.tau, below * one, above * one)
    if given.median is None:
        return terms
    return terms._replace(median=given.median, of_median=(below / 2 / divisor, above / 2 / divisor))


def _scores(rows: Judged, part: str) -> FloatArray:
    """Return the scores of the rows, (n,)."""
    y, terms = rows.y, _terms(rows.prediction, part)
    total = np.zeros(rows.n)
    columns = zip(terms.lower.T, terms.upper.T, terms.width, terms.below, terms.above, strict=True)
    with np.errstate(over="ignore"):
        for lower, upper, width, below, above in columns:
            if width:  # both bounds may be the same infinity
                total += width * np.subtract(upper, lower, where=upper != lower, out=np.zeros(rows.n))
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


def _centred(rows: IntervalRows | QuantileRows, median: Any) -> Judged:
    """Return the rows with their intervals and medians side by side."""
    name = column_names(rows, None)[0]
    if isinstance(rows, QuantileRows):
        if median is not None:
            raise InputError("median= is for Intervals; Quantiles hold their median as the level 0.5")
        return Judged(rows.y, _of_quantiles(rows.prediction, name), rows.w)
    given = rows.prediction
    held = None if median is None else _read_median(median, rows)
    name = name if median is None else f"{name[:-1]} and median]"
    return Judged(rows.y, Centred(given.lower, given.upper, (1 - given.levels) / 2, held, name), rows.w)


def _of_quantiles(quantiles: Quantiles, name: str) -> Centred:
    levels, pairs = quantiles.levels, quantiles.pairs()
    middle = np.flatnonzero(levels.round(DIGITS) == 0.5)
    paired = {k for pair in pairs for k in pair} | set(middle.tolist())
    alone = [f"{levels[k]:.10g}" for k in range(levels.size) if k not in paired]
    if alone:
        raise InputError(
            f"every level but 0.5 needs its mirror, as 0.1 has 0.9; without one: {', '.join(alone)}. "
            "Leave these levels out, or use quantile_score, which takes any"
        )
    # All levels are paired and in order, so that the lower ones come first and their mirrors last.
    K, values = len(pairs), quantiles.values
    median = values[:, middle[0]] if middle.size else None
    return Centred(values[:, :K], values[:, ::-1][:, :K], levels[:K], median, name)


def _read_median(median: Any, rows: IntervalRows) -> FloatArray:
    array = read_numbers(median, "median")
    n = rows.n if rows.keep is None else rows.keep.size
    if array.shape != (n,):
        raise InputError(
            f"median must be 1-D, one number for each of the {n} rows; got shape {array.shape}. Pass shape ({n},)"
        )
    columns, _, _ = read_bounds(array, "median")
    return columns[:, 0] if rows.keep is None else columns[rows.keep, 0]
