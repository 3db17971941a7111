"""The one owner of progress messages: silent unless a person watches and the work is long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

PATIENCE = 2.0  # seconds of silence before the first message
INTERVAL = 0.2  # seconds between two messages

T = TypeVar("T")


class _Line:
    """The last line of a terminal, on which what was done so far is written now and then; nothing elsewhere."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.watched = sys.stderr is not None and sys.stderr.isatty()
        self.begun = time.monotonic()
        self.due, self.written = self.begun + PATIENCE, False

    def tell(self, done: int, total: int | None) -> None:
        """Write how far the work is, if it is time to."""
        now = self.time_to_tell()
        if now is None:
            return
        if total is None:
            words = f"{done:,} so far, {done / (now - self.begun):,.0f} per second"
        else:
            left = (now - self.begun) * (total - done) / done
            words = f"{done:,} of {total:,}, about {left:.0f} s left"
        self.write(words, now)

    def tell_rows(self, done: int, before: int, total: int | None) -> None:
        """Write how many rows are read, how fast, and when the rest will be; `before` were read by an earlier run."""
        now = self.time_to_tell()
        if now is None:
            return
        rate = (done - before) / (now - self.begun)
        of = left = ""
        if total is not None and total >= done and rate > 0:
            of, left = f" of {total:,}", f", about {(total - done) / rate:.0f} s left"
        self.write(f"{done:,}{of} rows, {rate:,.0f} per second{left}", now)

    def time_to_tell(self) -> float | None:
        """Return the time, None if nothing is to be written now."""
        now = time.monotonic()
        return now if self.watched and now >= self.due else None

    def write(self, words: str, now: float) -> None:
        """Write this in place of what was there."""
        sys.stderr.write(f"\r\x1b[K{self.label}: {words}")
        sys.stderr.flush()
        self.due, self.written = now + INTERVAL, True

    def wipe(self) -> None:
        """Leave nothing behind."""
        if self.written:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def steps(total: int, *, size: int, label: str) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) over `total` pieces of work in steps of `size`, reporting on stderr.

    Nothing is written when stderr is not a terminal or the work ends within two seconds, and the line is wiped
    when the work ends or is interrupted.
    """
    line = _Line(label)
    try:
        for start in range(0, total, size):
            stop = min(start + size, total)
            yield start, stop
            line.tell(stop, total)
    finally:
        line.wipe()


def counted(items: Iterable[T], *, label: str) -> Iterator[T]:
    """Yield items of which nobody knows the number, reporting like `steps` how many were dealt with so far."""
    line = _Line(label)
    try:
        for done, item in enumerate(items, start=1):
            yield item
            line.tell(done, None)
    finally:
        line.wipe()


def rows_counted(
    items: Iterable[T], *, label: str, rows: Callable[[T], int], before: int = 0, total: int | None = None
) -> Iterator[T]:
    """Yield items of many rows each, reporting like `steps` how many rows were dealt with, and how fast.

    `before` rows were dealt with by an earlier run; `total` is the number of all rows, where it is known.
    """
    line, done = _Line(label), before
    try:
        for item in items:
            yield item
            done += rows(item)
            line.tell_rows(done, before, total)
    finally:
        line.wipe()
