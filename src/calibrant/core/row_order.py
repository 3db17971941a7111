"""Do errors of neighbouring rows go together? A question to the user: tests here treat rows as independent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.evidence import Note, note
from calibrant.core.pvalues import normal_quantile
from calibrant.inputs.arrays import FloatArray

MIN_ROWS_ASKED = 20
ASKED_BELOW = 0.001  # p-value of the lag-1 test
PERMUTATIONS = 999  # of the rows: no p-value is smaller than 0.001
MAX_ROWS_PERMUTED = 5_000  # of more rows the normal distribution of the statistic is used


def questions_on_row_order(y: NDArray[Any], errors: FloatArray | None) -> list[Note]:
    """Ask whether rows depend on each other, if errors of neighbouring rows go together more than chance explains.

    Outcomes in ascending or descending order tell that the file was sorted, and nothing else. Without errors nothing is
    asked.
    """
    if errors is None or errors.size < MIN_ROWS_ASKED or _is_sorted(y):
        return []
    correlation = neighbour_correlation(errors - errors.mean())
    return [] if correlation is None else [note("row order?", correlation=correlation)]


def neighbour_correlation(e: FloatArray) -> float | None:
    """Return the correlation of centred errors of neighbouring rows; None if chance explains it.

    The statistic is Σ e_i e_(i+1) / √Σ e_i² e_(i+1)²: a permutation test of that does not mind rows that are sorted by
    how much their errors vary.

    >>> together = np.repeat(np.random.default_rng(0).choice([-1.0, 1.0], 25), 4)
    >>> neighbour_correlation(together - together.mean()).__round__(2), neighbour_correlation(np.tile([-1.0, 1.0], 50))
    (0.88, None)
    """
    square = float(e @ e)
    if square == 0:
        return None
    e = e / math.sqrt(square / e.size)
    seen = _lag_one(e)
    if seen < normal_quantile(1 - (10 * ASKED_BELOW if e.size <= MAX_ROWS_PERMUTED else ASKED_BELOW)):
        return None
    if e.size <= MAX_ROWS_PERMUTED:
        rng = np.random.default_rng(0)
        reached = sum(_lag_one(rng.permutation(e)) >= seen for _ in range(PERMUTATIONS))
        if (1 + reached) / (1 + PERMUTATIONS) > ASKED_BELOW:
            return None
    return float(e[1:] @ e[:-1] / e.size)


def _lag_one(e: FloatArray) -> float:
    products = e[1:] * e[:-1]
    spread = math.sqrt(float(products @ products))
    return float(products.sum()) / spread if spread > 0 else 0.0


def _is_sorted(y: NDArray[Any]) -> bool:
    return bool((y[1:] >= y[:-1]).all() or (y[1:] <= y[:-1]).all())
