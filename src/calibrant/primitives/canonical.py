"""An order of the rows that does not depend on the order in which they came."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import Binary, Classes
from calibrant.inputs.outcomes import LawRows
from calibrant.kernels.coverage_rows import CoverageRows


def canonical_order(
    rows: Binary | Classes | LawRows | CoverageRows, *, with_outcomes: bool = False
) -> NDArray[np.intp]:
    """Return the rows by prediction, then weight, then (if asked) outcome; those of laws by outcome, then weight."""
    if isinstance(rows, LawRows):
        return np.lexsort([rows.w, *_columns(rows.y)])
    if isinstance(rows, CoverageRows):
        return np.lexsort([rows.w, *rows.e.T, *rows.points.reshape(rows.n, -1).T[::-1]])
    last = [rows.y] if with_outcomes else []
    return np.lexsort([*last, rows.w, *_columns(rows.p if isinstance(rows, Binary) else rows.P)])


def _columns(array: NDArray[Any]) -> list[NDArray[Any]]:
    return [array] if array.ndim == 1 else list(array.T)
