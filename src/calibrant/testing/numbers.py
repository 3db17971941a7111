"""Any result as a flat array of numbers, so that laws can compare results."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.results import Curve, TestResult


def numbers(result: Any, *, without: Collection[str] = ()) -> NDArray[np.float64]:
    """Return the numbers of a metric, record, test or curve in a fixed order; None counts as NaN.

    Columns of a curve that are text, or named in `without`, are left out.
    """
    if isinstance(result, Curve):
        columns = [column for name, column in result.columns.items() if name not in without]
        return np.concatenate([numbers(column) for column in columns if column.dtype.kind not in "OU"])
    if isinstance(result, TestResult):
        estimate = result.estimate if isinstance(result.estimate, tuple) else (result.estimate,)
        return np.concatenate([numbers(part) for part in (result.statistic, result.pvalue, *estimate, result.n)])
    if is_dataclass(result):
        return np.concatenate([numbers(getattr(result, field.name)) for field in fields(result)])
    return np.atleast_1d(np.asarray(np.nan if result is None else result, dtype=np.float64)).ravel()


def judgement(result: Any) -> NDArray[np.float64]:
    """Return the number that says how good predictions are, one per level: a value, a statistic, a score."""
    if isinstance(result, TestResult):
        return numbers(result.statistic)
    if is_dataclass(result) and not isinstance(result, type):
        return numbers(getattr(result, "score", getattr(result, fields(result)[0].name)))
    return numbers(result)
