"""Sorting and pooling: rows of equal score, extremes of cumulative sums, and ties of widths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import chunks
from calibrant.inputs.arrays import FloatArray, is_unit, unit_weights

CountArray = NDArray[np.int64]
ROUNDINGS = 4  # in a width: two bounds, each computed from a centre and a radius


class Pool(NamedTuple):
    """Different pairs (score, weight) in ascending order, with their numbers of rows and of events."""

    score: FloatArray
    weight: FloatArray
    rows: CountArray
    events: CountArray

    def pieces(self) -> Iterator[Pool]:
        """Yield consecutive entries: for sums without a temporary array as long as the data."""
        for part in chunks(self.score.size):
            yield Pool(self.score[part], self.weight[part], self.rows[part], self.events[part])


def pool_rows(y: NDArray[Any], p: NDArray[np.floating[Any]], w: FloatArray) -> Pool:
    if is_unit(w):
        return _packed(y, p)
    return pool_entries(Pool(p.astype(np.float64) + 0.0, w, np.ones(y.size, np.int64), y.astype(np.int64)))


def pool_entries(entries: Pool) -> Pool:
    """Sort entries and pool those of equal score and weight: the reference body."""
    score, weight, rows, events = entries
    if score.size == 0:
        return entries
    unit = is_unit(weight)
    order = np.argsort(score, kind="stable") if unit else np.lexsort((weight, score))
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


def merge_pools(a: Pool, b: Pool) -> Pool:
    """Merge two pools that are sorted; single rows of weight 1 are packed again, which is quicker.

    >>> one = Pool(np.array([0.2, 0.5]), unit_weights(2), np.array([1, 2]), np.array([0, 1]))
    >>> [column.tolist() for column in merge_pools(one, one)]
    [[0.2, 0.5], [1.0, 1.0], [2, 4], [0, 2]]
    """
    score, events = np.concatenate([a.score, b.score]), np.concatenate([a.events, b.events])
    if _are_single_rows(a) and _are_single_rows(b):
        return _packed(events.astype(np.uint8), score)
    unit = is_unit(a.weight) and is_unit(b.weight)
    weight = unit_weights(score.size) if unit else np.concatenate([a.weight, b.weight])
    return pool_entries(Pool(score, weight, np.concatenate([a.rows, b.rows]), events))


def _are_single_rows(pool: Pool) -> bool:
    """Tell whether every entry is a row of weight 1 with a probability, as `_packed` leaves them."""
    within = is_unit(pool.weight) and pool.rows.strides == (0,) and pool.rows.size > 0 and pool.rows[0] == 1
    return bool(within and pool.score[0] >= 0 and pool.score[-1] <= 1)


def _changes(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Return True at the start and wherever a value differs from the previous one."""
    new = np.empty(column.size, dtype=bool)
    new[:1] = True
    np.not_equal(column[1:], column[:-1], out=new[1:])
    return new


def _packed(y: NDArray[Any], p: NDArray[np.floating[Any]]) -> Pool:
    """Pool rows of weight 1 by sorting one integer per row that contains score and outcome.

    The bits of a float64 of at least 0 sort like the number, and the sign bit is 0. Shifted by one bit they leave room
    for y, and a plain sort of integers replaces an argsort and two selections.
    """
    key = p.astype(np.float64).view(np.uint64)
    key <<= 1  # also drops the sign of -0.0
    key |= y
    key.sort()
    events = (key & 1).view(np.int64)
    key >>= 1
    new = _changes(key)
    score = key.view(np.float64)
    if new.all():
        return Pool(score, unit_weights(score.size), np.broadcast_to(np.int64(1), score.shape), events)
    starts = np.flatnonzero(new)
    count = np.diff(starts, append=score.size)
    return Pool(score[starts], unit_weights(starts.size), count, np.add.reduceat(events, starts))


class WalkRange(NamedTuple):
    """Highest and lowest partial sum at ends of tied scores (including 0 at the start), and Σ w²p(1-p)."""

    high: float
    low: float
    variance: float


def tie_ends(score: FloatArray) -> NDArray[np.bool_]:
    """Return True at the last entry of each score."""
    last = np.ones(score.size, dtype=bool)
    np.not_equal(score[1:], score[:-1], out=last[:-1])
    return last


def walk(pool: Pool) -> WalkRange:
    """Return the extremes of the partial sums in one pass, without a temporary array as long as the input."""
    high = low = total = variance = 0.0
    for part in chunks(pool.score.size):
        score, weight, count, events = (column[part] for column in pool)
        partial = np.cumsum(weight * (events - count * score)) + total
        total = float(partial[-1])
        ends = tie_ends(pool.score[part.start : part.stop + 1])[: score.size]
        if ends.any():
            at_ends = partial[ends]
            high, low = max(high, float(at_ends.max())), min(low, float(at_ends.min()))
        variance += float(np.sum(weight * weight * count * score * (1 - score)))
    return WalkRange(high, low, variance)


def largest_bound(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return max |bound| over the finite bounds of each column, 0 if there are none."""

    def largest(column: FloatArray) -> float:
        finite = column if np.isfinite([column.min(), column.max()]).all() else column[np.isfinite(column)]
        return max(-float(finite.min(initial=0.0)), float(finite.max(initial=0.0)))

    return np.array([max(largest(a), largest(b)) for a, b in zip(lower.T, upper.T, strict=True)])


def tolerance_of(largest: Any, eps: float) -> Any:
    """Return how much tied widths may differ: 4 · eps · max |finite bound|, with eps of the original dtype."""
    return np.multiply(ROUNDINGS * eps, largest)


def tie_starts(widths: FloatArray, tolerance: float) -> NDArray[np.intp]:
    """Return the index at which each tie begins among ascending widths.

    A width belongs to the current tie if it exceeds the first width of the tie by at most the tolerance. Infinite
    widths are one tie.

    >>> tie_starts(np.array([1.0, 1.1, 1.2, 5.0, np.inf, np.inf]), 0.15)  # 1.2 is too far from 1.0
    array([0, 2, 3, 4])
    """
    finite = int(np.searchsorted(widths, np.inf))
    x = widths[:finite]
    with np.errstate(over="ignore"):
        reach = x + tolerance
    apart = np.flatnonzero(x[1:] > reach[:-1]) + 1  # such a step always begins a tie
    starts = np.concatenate([[0], apart])[: x.size].astype(np.intp)
    ends = np.append(apart, x.size)[: x.size] - 1
    if (x[ends] > reach[starts]).any():  # small steps add up to more than the tolerance
        starts = _starts_one_by_one(x, reach)
    return np.append(starts, finite).astype(np.intp) if finite < widths.size else starts


def _starts_one_by_one(x: FloatArray, reach: FloatArray) -> NDArray[np.intp]:
    beyond = np.searchsorted(x, reach, side="right").tolist()
    starts, at = [], 0
    while at < len(beyond):
        starts.append(at)
        at = beyond[at]
    return np.array(starts, dtype=np.intp)
