"""Intervals for the frequency of events in a bin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.summaries import BinTable


def clopper_pearson(table: BinTable, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the exact binomial limits for k events of n rows: Beta quantiles, 0 at k = 0 and 1 at k = n."""
    from scipy.special import betaincinv

    n = table.count.astype(np.float64)
    share = np.divide(table.wy, table.w, out=np.zeros_like(n), where=n > 0)
    k = np.rint(share * n)
    tail = (1 - level) / 2
    # An upper limit is 1 minus the lower limit of the non-events, which keeps the digits of a small tail.
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, tail), 0.0)
    high = np.where(k < n, 1 - betaincinv(np.maximum(n - k, 1), k + 1, tail), 1.0)
    return empty_as_nan(low, n), empty_as_nan(high, n)


def wilson(table: BinTable, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the score limits for the effective number of rows.

    m = min(ȳ(1-ȳ)/u, (Σw)²/Σw²) with u = Σw²(y-ȳ)²/(Σw)², the variance of the weighted mean; the second alone if
    u = 0. With equal weights m is the number of rows.
    """
    from scipy.special import ndtri

    filled = table.count > 0
    w, w2 = np.where(filled, table.w, 1.0), np.where(filled, table.w2, 1.0)
    y = np.where(filled, table.wy, 0.0) / w
    u = table.event_spread(y) / w**2
    m = w * w / w2
    m = np.minimum(np.divide(y * (1 - y), u, out=m.copy(), where=u > 0), m)
    z = -float(ndtri((1 - level) / 2))
    centre, half = y + z * z / (2 * m), z * np.sqrt(y * (1 - y) / m + z * z / (4 * m * m))
    scale = 1 + z * z / m
    low, high = np.clip((centre - half) / scale, 0, 1), np.clip((centre + half) / scale, 0, 1)
    low, high = np.where(y <= 0, 0.0, low), np.where(y >= 1, 1.0, high)
    return empty_as_nan(low, table.count), empty_as_nan(high, table.count)


def empty_as_nan(column: FloatArray, count: NDArray[Any]) -> FloatArray:
    """Return a column with NaN where a bin holds no rows."""
    return np.where(count > 0, column, np.nan)
