"""Isotonic regression of pooled outcomes on the order of the scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def isotonic_fit(event_weight: NDArray[Any], weight: NDArray[Any]) -> FloatArray:
    """Return the non-decreasing fit of the frequencies event_weight / weight, scores ascending."""
    from scipy.optimize import isotonic_regression

    w = weight.astype(np.float64)
    fit: FloatArray = isotonic_regression(event_weight / w, weights=w).x
    return np.clip(fit, 0.0, 1.0)
