"""Any result as a flat array of numbers, so that laws can compare results."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.results import Curve, TestResult


def numbers(result: Any) -> NDArray[np.float64]:
    """Return the numbers of a metric, record, test or curve in a fixed order; None counts as NaN."""
    if isinstance(result, Curve):
        return np.concatenate([np.asarray(column, dtype=np.float64) for column in result.columns.values()])
    if isinstance(result, TestResult):
        return np.array([result.statistic, result.pvalue, result.estimate, result.n], dtype=np.float64)
    if is_dataclass(result):
        return np.concatenate([numbers(getattr(result, field.name)) for field in fields(result)])
    return np.atleast_1d(np.asarray(np.nan if result is None else result, dtype=np.float64))
