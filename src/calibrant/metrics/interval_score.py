"""Interval score."""

from __future__ import annotations

import numpy as np

from calibrant.catalogue import mean_metric
from calibrant.inputs import check_choice
from calibrant.inputs.judged import AS_INTERVALS, IntervalRows
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.interval_sums import IntervalSums, sums_of_levels

PARTS = ("total", "width", "below", "above")


def fused(rows: IntervalRows, *, part: str) -> list[IntervalSums]:
    """Return the sums of many row scores in one pass."""
    check_choice("part", part, *PARTS)
    return sums_of_levels(rows, *(PARTS[1:] if part == "total" else (part,)))


@mean_metric(
    predictions=("intervals",),
    range=(0.0, np.inf),
    returns="float | FloatArray",
    fused=fused,
    instead=AS_INTERVALS,
)
def interval_score(rows: IntervalRows, *, part: str = "total") -> FloatArray:
    r"""Width of an interval plus a penalty for outcomes outside of it; lower is better.

    With :math:`\alpha` = 1 - level,

    .. math:: \mathrm{IS}_\alpha(l, u; y) = (u - l) + \frac{2}{\alpha} (l - y)_+ + \frac{2}{\alpha} (y - u)_+

    (Winkler 1972; Gneiting and Raftery 2007, eq. 43), the mean over rows for each level.

    Parameters
    ----------
    y
        Outcomes, one number per row; or the summary made by `summarize`.
    prediction
        `Intervals`.
    part
        ``"total"``, or one of the parts that add up to it: ``"width"``, ``"below"`` (outcomes below the interval),
        ``"above"`` (outcomes above it).
    weights
        Importance weights, at least 0; a common factor changes nothing.

    Returns
    -------
    float or ndarray
        A number for one level, an array in the order of the levels for several. Infinite if a width is; the penalty
        parts stay finite.

    Notes
    -----
    A proper score: on average the central interval of the true law at this level scores best, so that neither wide
    intervals that cover everything nor narrow ones that miss gain by it. It has the unit of the outcome: compare
    models on the same rows and at the same level, not values of different data. In terms of the `quantile_score`
    :math:`\rho` it is :math:`(2/\alpha)\,[\rho_{\alpha/2}(y, l) + \rho_{1 - \alpha/2}(y, u)]`.

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
    check_choice("part", part, *PARTS)
    if part == "width":
        return rows.sizes
    y, lower, upper = rows.y[:, None], rows.prediction.lower, rows.prediction.upper
    with np.errstate(over="ignore"):
        # An infinite bound is never beyond an outcome: inf - inf and 0 * inf do not occur.
        outside = np.zeros_like(lower) if part == "above" else np.maximum(lower - y, 0.0)
        if part != "below":
            outside += np.maximum(y - upper, 0.0)
        outside *= 2 / (1 - rows.prediction.levels)
        return outside + rows.sizes if part == "total" else outside
