"""Several p-values together, so that one false alarm among all of them is as rare as the level says."""

from __future__ import annotations

import numpy as np

from calibrant.inputs.weights import FloatArray


def holm(pvalues: FloatArray) -> FloatArray:
    """Return Holm's adjusted p-values (1979) in the given order; NaN stays NaN and is not counted.

    With p in ascending order, the i-th of m becomes the largest of min(1, (m - j + 1) p_j) over j <= i.

    >>> holm(np.array([0.04, 0.01, np.nan])).tolist()
    [0.04, 0.02, nan]
    """
    adjusted = np.full(pvalues.shape, np.nan)
    known = np.flatnonzero(~np.isnan(pvalues))
    order = known[np.argsort(pvalues[known], kind="stable")]
    steps = pvalues[order] * np.arange(order.size, 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def bonferroni(pvalues: list[float]) -> float:
    """Return the p-value of several tests together: the smallest, times their number; 1 if there are none.

    >>> bonferroni([0.25, 0.125, 0.5])
    0.375
    """
    return min(1.0, len(pvalues) * min(pvalues)) if pvalues else 1.0
