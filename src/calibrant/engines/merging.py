"""Merging: summaries of a stream in pairs of equal size, sorted entries in memory, sorted runs window by window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

import numpy as np

from calibrant.core.pool import Pool, pool_entries, pool_rows
from calibrant.core.summary import Summary
from calibrant.engines.run_files import RunFiles
from calibrant.inputs.arrays import is_unit, unit_weights

S = TypeVar("S", bound=Summary)
MIN_WINDOW_ENTRIES = 1024  # below, the calls cost more than the work


class Merging(Generic[S]):
    """A running total of summaries that come one by one.

    A total of 2^k parts is merged with one of 2^k parts, as digits of a binary number are carried. A summary that grows
    with its rows is then copied log2(parts) times and not once for every part. The order of the parts is kept, and what
    is merged with what depends on their number alone: the same parts give the same bits.

    >>> from calibrant.summaries import Grid
    >>> total = Merging()
    >>> for _ in range(5):
    ...     total.add(Grid.zero())
    >>> total.parts, [many for many, _ in total.stack]
    (5, [4, 1])
    """

    def __init__(self) -> None:
        self.stack: list[tuple[int, S]] = []

    @property
    def parts(self) -> int:
        """Number of parts so far."""
        return sum(many for many, _ in self.stack)

    def add(self, part: S) -> None:
        """Take in the next part."""
        many = 1
        while self.stack and self.stack[-1][0] == many:
            _, before = self.stack.pop()
            part = before + part
            many *= 2
        self.stack.append((many, part))

    def total(self) -> S | None:
        """Return the summary of all parts, None if there are none; more may follow."""
        found: S | None = None
        for _, part in reversed(self.stack):
            found = part if found is None else part + found
        return found


def merge_pools(pools: Sequence[Pool]) -> Pool:
    """Merge pools that are sorted; one at least must be given.

    >>> one = Pool(np.array([0.2, 0.5]), unit_weights(2), np.array([1, 2]), np.array([0, 1]))
    >>> [column.tolist() for column in merge_pools([one, one])]
    [[0.2, 0.5], [1.0, 1.0], [2, 4], [0, 2]]
    """
    filled = [pool for pool in pools if pool.score.size] or list(pools[:1])
    if len(filled) == 1:
        return filled[0]
    unit = all(is_unit(pool.weight) for pool in filled)
    score, events = (np.concatenate([pool[column] for pool in filled]) for column in (0, 3))
    if unit and all(_are_single_rows(pool) for pool in filled):
        return pool_rows(events.astype(np.uint8), score, unit_weights(score.size))
    weight = unit_weights(score.size) if unit else np.concatenate([pool.weight for pool in filled])
    rows = np.concatenate([pool.rows for pool in filled])
    return pool_entries(Pool(score, weight, rows.astype(np.int64, copy=False), events.astype(np.int64, copy=False)))


def _are_single_rows(pool: Pool) -> bool:
    """Tell whether every entry is one row with a probability: quicker to sort than entries."""
    return pool.rows.strides == (0,) and pool.rows[0] == 1 and pool.score[0] >= 0 and pool.score[-1] <= 1


def merge_windows(runs: Sequence[RunFiles], entries: int) -> Iterator[tuple[Pool, int]]:
    """Merge runs in windows of about `entries` entries together; what comes out is sorted, each pair once.

    With each piece comes the number of the runs' entries that went into it.
    All windows are merged up to the least of their last entries, beyond which a run may have more to come. At least
    half a window is used up each time, however the scores are spread over the runs.
    """
    size = max(entries // max(len(runs), 1), MIN_WINDOW_ENTRIES)
    cursors = [_Cursor(run, size) for run in runs if run.size]
    while cursors:
        bound = min((cursor.last for cursor in cursors if not cursor.is_final), default=None)
        pieces = [cursor.take(bound) for cursor in cursors]
        yield merge_pools(pieces), sum(piece.score.size for piece in pieces)
        cursors = [cursor for cursor in cursors if cursor.advanced()]


class _Cursor:
    """A place in a run, and the entries from there on."""

    def __init__(self, run: RunFiles, size: int) -> None:
        self.run, self.size = run, size
        self.next = 0  # first entry of the run that was not read yet
        self.at = 0  # first entry of the window that was not taken yet
        self._fill(0)

    @property
    def is_final(self) -> bool:
        """Whether nothing comes after the window."""
        return self.next == self.run.size

    @property
    def last(self) -> tuple[float, float]:
        """Last score of the window, and its weight."""
        return float(self.window.score[-1]), float(self.window.weight[-1])

    def take(self, bound: tuple[float, float] | None) -> Pool:
        """Return what is left of the window up to and including a bound."""
        start, stop = self.at, self.window.score.size
        if bound is not None:
            score, weight = bound
            left, right = (int(self.window.score.searchsorted(score, side)) for side in ("left", "right"))
            within = self.window.weight[left:right].searchsorted(weight, "right")  # those of equal score, by weight
            stop = max(start, left + int(within))
        self.at = stop
        return piece_of(self.window, slice(start, stop))

    def advanced(self) -> bool:
        """Read the next entries if less than half a window is left; tell whether any entries are left."""
        left = self.window.score.size - self.at
        if not self.is_final and left < self.size / 2:
            self._fill(self.next - left)
            return True
        return left > 0

    def _fill(self, start: int) -> None:
        self.next = min(start + self.size, self.run.size)
        self.window, self.at = self.run.read(start, self.next), 0


def piece_of(pool: Pool, piece: slice) -> Pool:
    """Return some of the entries."""
    score, weight, rows, events = pool
    return Pool(score[piece], weight[piece], rows[piece], events[piece])
