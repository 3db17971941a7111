"""Coverage of intervals, sets and quantiles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant.catalogue import mean_metric
from calibrant.inputs.judged import AS_INTERVALS, IntervalRows, QuantileRows, SetRows
from calibrant.primitives.interval_sums import IntervalSums, hits_of_quantiles, sums_of_levels


def fused(rows: IntervalRows | SetRows | QuantileRows) -> list[IntervalSums] | None:
    """Return the sums of many intervals or quantiles in one pass."""
    if isinstance(rows, SetRows):
        return None
    found = hits_of_quantiles(rows) if isinstance(rows, QuantileRows) else sums_of_levels(rows, "hits")
    return [sums.of_hits for sums in found]


@mean_metric(
    predictions=("intervals", "sets", "quantiles"),
    range=(0.0, 1.0),
    perfect=1.0,
    returns="float | FloatArray",
    fused=fused,
    instead={kind: advice for kind, advice in AS_INTERVALS.items() if kind != "quantiles"},
)
def coverage(rows: IntervalRows | SetRows | QuantileRows) -> NDArray[np.bool_]:
    r"""Share of outcomes that lie in the predicted interval or set, or at most at the predicted quantile.

    .. math:: \hat c_l = \frac{1}{W} \sum_i w_i\, 1\{\text{lower}_{il} \le y_i \le \text{upper}_{il}\},

    for sets :math:`1\{y_i \in S_{il}\}`, for quantiles :math:`1\{y_i \le q_{il}\}`. Both bounds are part of the
    interval.

    Parameters
    ----------
    y
        Outcomes: numbers for `Intervals` and `Quantiles`, labels (column numbers, or `classes`) for `Sets`; or the
        summary made by `summarize`.
    prediction
        `Intervals`, `Sets` or `Quantiles`.
    weights
        Importance weights, at least 0; a common factor changes nothing.
    classes
        With `Sets`: the labels in the order of the columns.

    Returns
    -------
    float or ndarray
        A number for one level, an array in the order of the levels for several.

    Notes
    -----
    Compare with the nominal level, and mind chance: `coverage_test` and ``interval(coverage, ...)`` say how much of the
    difference it explains. Right coverage on average does not mean right coverage for every kind of row:
    `size_stratified_coverage`, `coverage_gap` and `worst_slab_coverage` look there. Wide intervals cover, so read it
    next to `width` or, in one number, `interval_score`.

    Examples
    --------
    Two of three outcomes lie inside, the first on a bound:

    >>> from calibrant import Intervals
    >>> round(coverage([1.0, 2.0, 9.0], Intervals([1.0, 0.0, 3.0], [2.0, 3.0, 4.0], 0.9)), 4)
    0.6667
    """
    return rows.covered
