"""Sort rows by score and pool equal ones: the one sort behind all exact one-dimensional statistics."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray, is_unit, unit_weights

CountArray = NDArray[np.int64]


class Pool(NamedTuple):
    """Entries in the order of (score, weight), each a different pair: how many rows, how many events."""

    score: FloatArray
    weight: FloatArray
    rows: CountArray
    events: CountArray


def pool_rows(y: NDArray[np.uint8], p: NDArray[np.floating[Any]], w: FloatArray) -> Pool:
    """Pool single rows."""
    if is_unit(w):
        return _packed(y, p)
    return pool_entries(Pool(p.astype(np.float64) + 0.0, w, np.ones(y.size, np.int64), y.astype(np.int64)))


def pool_entries(entries: Pool) -> Pool:
    """Pool entries that come in any order: the reference body."""
    score, weight, rows, events = entries
    if score.size == 0:
        return entries
    unit = is_unit(weight)
    order = np.argsort(score, kind="stable") if unit else _by_score_then_weight(score, weight)
    score = score[order]
    new = _changes(score)
    if not unit:
        weight = weight[order]
        new |= _changes(weight)
    starts = np.flatnonzero(new)
    return Pool(
        score[starts],
        unit_weights(starts.size) if unit else weight[starts],
        np.add.reduceat(rows[order], starts),
        np.add.reduceat(events[order], starts),
    )


def _by_score_then_weight(score: FloatArray, weight: FloatArray) -> NDArray[np.intp]:
    """Return the order of (score, weight); weights are looked at among tied scores only, which are often few."""
    order = np.argsort(score)
    new = _changes(score[order])
    tied = np.flatnonzero(~(new & np.append(new[1:], True)))
    rows = order[tied]
    order[tied] = rows[np.lexsort((weight[rows], score[rows]))]
    return order


def _changes(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Return True where a value differs from the one before, and at the start."""
    new = np.empty(column.size, dtype=bool)
    new[:1] = True
    np.not_equal(column[1:], column[:-1], out=new[1:])
    return new


def _packed(y: NDArray[np.uint8], p: NDArray[np.floating[Any]]) -> Pool:
    """Pool rows of weight 1 by sorting one integer per row that carries score and outcome.

    The bits of a float64 in [0, 1] order like the number and leave the two highest free: shifted by one they
    make room for y, and a plain sort of integers replaces the sort of indices and two gathers.
    """
    key = p.astype(np.float64).view(np.int64)
    key <<= 1  # also drops the sign of -0.0
    key |= y
    key.sort()
    events = key & 1
    key >>= 1
    new = _changes(key)
    score = key.view(np.float64)
    if new.all():
        return Pool(score, unit_weights(score.size), np.broadcast_to(np.int64(1), score.shape), events)
    starts = np.flatnonzero(new)
    count = np.diff(starts, append=score.size)
    return Pool(score[starts], unit_weights(starts.size), count, np.add.reduceat(events, starts))
