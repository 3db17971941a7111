"""Outcomes redrawn as if the predictions were calibrated, predictions and weights held fixed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import Binary, Classes
from calibrant.primitives.pool import Pool
from calibrant.progress import steps

MOST_NUMBERS = 1 << 21  # drawn at once: 16 MiB of float64


def redraw_events(pool: Pool, resamples: int, rng: np.random.Generator) -> Iterator[NDArray[Any]]:
    """Yield arrays (replicates, entries) of the number of events of each entry, `resamples` rows in all."""
    score, _, count, _ = pool
    single = bool((count == 1).all())
    size = max(1, MOST_NUMBERS // score.size)
    for start, stop in steps(resamples, size=size, label="redrawing outcomes"):
        shape = (stop - start, score.size)
        yield rng.random(shape) < score if single else rng.binomial(count, score, size=shape)


def redraw_rows(rows: Binary | Classes, rng: np.random.Generator) -> Binary | Classes:
    """Return the same rows with outcomes drawn from their own predictions."""
    u = rng.random(rows.n)
    if isinstance(rows, Binary):
        return Binary((u < rows.p).view(np.uint8), rows.p, rows.w)
    # The outcome is the first class whose cumulative probability exceeds u times the row's sum.
    passed = np.zeros(rows.n, dtype=np.intp)
    total = rows.P.sum(axis=1, dtype=np.float64)
    cumulative = np.zeros(rows.n)
    for k in range(rows.K - 1):
        cumulative += rows.P[:, k]
        passed += u * total >= cumulative
    return Classes(passed, rows.P, rows.w)
