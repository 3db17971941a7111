"""Outcomes redrawn as if the predictions were calibrated, predictions and weights held fixed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError
from calibrant.inputs import Binary, Classes
from calibrant.inputs.laws import Samples
from calibrant.inputs.outcomes import LawRows
from calibrant.kernels.fitted import DrawnRows
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


def redraw_rows(rows: DrawnRows, rng: np.random.Generator) -> DrawnRows:
    """Return the same rows with outcomes drawn from their own predictions."""
    if isinstance(rows, LawRows):
        return redraw_outcomes(rows, rng)
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


def redraw_labels(rows: Classes, resamples: int, rng: np.random.Generator) -> NDArray[Any]:
    """Return labels (resamples, n), each drawn from the prediction of its row, in the smallest type that holds them."""
    P = rows.P.astype(np.float64)
    cumulative = np.cumsum(P, axis=1)
    last = rows.K - 1 - np.argmax(P[:, ::-1] > 0, axis=1)  # the last class that can happen
    labels = np.empty((resamples, rows.n), dtype=np.min_scalar_type(rows.K - 1))
    for start, stop in steps(rows.n, size=256, label="redrawing outcomes"):
        for i in range(start, stop):
            u = rng.random(resamples) * cumulative[i, -1]
            labels[:, i] = np.minimum(np.searchsorted(cumulative[i], u, side="right"), last[i])
    return labels


def redraw_centre(rows: DrawnRows, rng: np.random.Generator) -> DrawnRows:
    """Return the rows from which redraws are made: one swap away for draws, the rows themselves otherwise.

    The data and redraws that are each one swap away from a common centre are exchangeable; redraws that are each one
    swap away from the data are not (Besag and Clifford 1989).
    """
    if isinstance(rows, LawRows) and isinstance(rows.law, Samples):
        return redraw_outcomes(rows, rng)
    return rows


def redraw_outcomes(rows: LawRows, rng: np.random.Generator) -> LawRows:
    """Return the same rows with outcomes drawn from their laws.

    Of draws the law itself is not known: the outcome and the draws are then pooled and one of them, drawn at random,
    changes place with the outcome, which leaves their joint law as it is if the draws are calibrated. Redraws must
    start from `redraw_centre`.
    """
    law = rows.law
    if not isinstance(law, Samples):
        drawn = law.sample(1, rng)[:, 0]
        if not np.isfinite(drawn).all():
            row = int(np.argwhere(~np.isfinite(drawn))[0][0])
            raise InputError(
                "sample of {law} must return finite numbers; {row} is {value}",
                law=type(law).__name__,
                row=row,
                value=drawn[row],
            )
        return LawRows(drawn, law, rows.w)
    draws, y = law.draws.copy(), rows.y.copy()
    chosen = rng.integers(law.M + 1, size=rows.n)
    moved = np.flatnonzero(chosen < law.M)
    y[moved] = law.draws[moved, chosen[moved]]
    draws[moved, chosen[moved]] = rows.y[moved]
    return LawRows(y, Samples(draws), rows.w)
