"""Intervals for a frequency: of events in a bin, of hits among rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.summaries import BinTable


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


def score_limits(share: FloatArray, m: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the limits of Wilson for a share of m rows, exactly 0 and 1 at the ends; m need not be whole."""
    from scipy.special import ndtri

    z = -float(ndtri((1 - level) / 2))
    centre, half = share + z * z / (2 * m), z * np.sqrt(share * (1 - share) / m + z * z / (4 * m * m))
    scale = 1 + z * z / m
    low, high = np.clip((centre - half) / scale, 0, 1), np.clip((centre + half) / scale, 0, 1)
    return np.where(share <= 0, 0.0, low), np.where(share >= 1, 1.0, high)


def effective_rows(share: FloatArray, spread: FloatArray, w: FloatArray, w2: FloatArray) -> FloatArray:
    """Return how many rows of equal weight know as much about a share as the weighted ones.

    m = min(ȳ(1-ȳ)/u, (Σw)²/Σw²) with u = Σw²(y-ȳ)²/(Σw)² the variance of the weighted mean and `spread` its
    numerator; the second alone if u = 0. With equal weights m is the number of rows.
    """
    u = spread / w**2
    m = w * w / w2
    return np.asarray(np.minimum(np.divide(share * (1 - share), u, out=m.copy(), where=u > 0), m))


def empty_as_nan(column: FloatArray, count: NDArray[Any]) -> FloatArray:
    """Return a column with NaN where a bin holds no rows."""
    return np.where(count > 0, column, np.nan)
