"""An order of the rows that does not depend on the order in which they came."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import NotApplicableError, SummaryError
from calibrant.inputs import Binary, Classes
from calibrant.inputs.laws import Law
from calibrant.inputs.laws.columns import table_of
from calibrant.inputs.outcomes import LawRows
from calibrant.kernels.coverage_rows import CoverageRows

MOST_COLUMNS = 8


def canonical_order(
    rows: Binary | Classes | LawRows | CoverageRows, *, with_outcomes: bool = False
) -> NDArray[np.intp]:
    """Return the rows by prediction, then weight, then (if asked) outcome.

    Which rows are drawn for something must not depend on the outcomes.
    """
    if isinstance(rows, LawRows):
        outcomes = _columns(rows.y) if with_outcomes else []
        return np.lexsort([*outcomes, rows.w, *_of_law(rows.law)[::-1]])
    if isinstance(rows, CoverageRows):
        hits = list(rows.e.T) if with_outcomes else []
        return np.lexsort([*hits, rows.w, *rows.points.reshape(rows.n, -1).T[::-1]])
    last = [rows.y] if with_outcomes else []
    return np.lexsort([*last, rows.w, *_columns(rows.p if isinstance(rows, Binary) else rows.P)])


def _columns(array: NDArray[Any]) -> list[NDArray[Any]]:
    return [array] if array.ndim == 1 else list(array.T)


def _of_law(law: Law) -> list[NDArray[Any]]:
    """Return a few columns by which the predictions of a law are told apart."""
    try:
        return list(table_of(law)[1].T[:MOST_COLUMNS])
    except SummaryError:
        pass
    try:
        return list(law.ppf(np.broadcast_to([0.1, 0.5, 0.9], (law.n, 3))).T)
    except NotApplicableError:
        return []
