"""Quantile score."""

from __future__ import annotations

import numpy as np

from calibrant.catalogue import mean_metric
from calibrant.inputs.judged import QuantileRows
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.interval_sums import IntervalSums, Terms, interval_sums

INSTEAD = {"laws": "Call .quantiles(levels) on it", "samples": "Call .quantiles(levels) on it"}


def fused(rows: QuantileRows) -> list[IntervalSums]:
    """Return the sums of many row scores in one pass: those of an interval from q to q."""
    found = []
    for k, tau in enumerate(rows.prediction.levels):
        q = rows.prediction.values[:, k : k + 1]
        terms = Terms(q, q, width=np.zeros(1), below=np.array([1 - tau]), above=np.array([tau]))
        found.append(interval_sums(rows.y, terms))
    return found


@mean_metric(
    predictions=("quantiles",), range=(0.0, np.inf), returns="float | FloatArray", fused=fused, instead=INSTEAD
)
def quantile_score(rows: QuantileRows) -> FloatArray:
    r"""Pinball loss of quantile forecasts; lower is better.

    .. math:: \rho_\tau(y, q) = \max\{\tau (y - q),\; (1 - \tau)(q - y)\},

    the mean over rows for each level. There is no factor 2, and a forecast that is hit scores 0.

    Parameters
    ----------
    y
        Outcomes, one number per row; or the summary made by `summarize`.
    prediction
        `Quantiles`.
    weights
        Importance weights, at least 0; a common factor changes nothing.

    Returns
    -------
    float or ndarray
        A number for one level, an array in the order of the levels for several. Infinite where a quantile is.

    Notes
    -----
    A proper score: the quantile of the true law has the best mean. At level 0.5 it is half the mean absolute error.
    Values of different levels do not compare; `weighted_interval_score` puts them into one number, and `coverage` tells
    whether outcomes stay at or below the quantile as often as they should.

    Examples
    --------
    The 0.75-quantile 2 is 2 too low for 4, which costs 0.75 each, and 1 too high for 1, which costs 0.25:

    >>> from calibrant import Quantiles
    >>> quantile_score([4.0, 1.0], Quantiles([2.0, 2.0], 0.75))
    0.875
    """
    tau = rows.prediction.levels
    with np.errstate(over="ignore"):
        above = rows.y[:, None] - rows.prediction.values  # y is finite and τ is not 0: no inf - inf, no 0 * inf
        return np.maximum(tau * above, (tau - 1) * above)
