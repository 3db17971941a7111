"""Progress messages, written to a terminal only and only if the work takes long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

PATIENCE = 2.0  # seconds of silence before the first message
INTERVAL = 0.2  # seconds between two messages

T = TypeVar("T")


class _Line:
    """The last line of a terminal, on which progress is shown; nothing is written if stderr is not a terminal."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.watched = sys.stderr is not None and sys.stderr.isatty()
        self.begun = time.monotonic()
        self.due, self.written = self.begun + PATIENCE, False

    def tell(self, done: int, total: int | None) -> None:
        """Write how much of the work is done, if it is time to."""
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
        """Write the number of rows, the speed and the time left; `before` rows were read by an earlier run."""
        now = self.time_to_tell()
        if now is None:
            return
        rate = (done - before) / (now - self.begun)
        of = left = ""
        if total is not None and total >= done and rate > 0:
            of, left = f" of {total:,}", f", about {(total - done) / rate:.0f} s left"
        self.write(f"{done:,}{of} rows, {rate:,.0f} per second{left}", now)

    def time_to_tell(self) -> float | None:
        """Return the time, or None if nothing should be written now."""
        now = time.monotonic()
        return now if self.watched and now >= self.due else None

    def write(self, words: str, now: float) -> None:
        """Replace the content of the line."""
        sys.stderr.write(f"\r\x1b[K{self.label}: {words}")
        sys.stderr.flush()
        self.due, self.written = now + INTERVAL, True

    def wipe(self) -> None:
        """Clear the line."""
        if self.written:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def steps(total: int, *, size: int, label: str) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) over `total` pieces of work in steps of `size`, with progress on stderr.

    Nothing is written if stderr is not a terminal or the work ends within two seconds. The line is cleared when the
    work ends or is interrupted.
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
    """Yield items whose number is unknown, and show as `steps` does how many are done."""
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
    """Yield items of many rows each, and show as `steps` does how many rows are done, and how fast.

    `before` rows were done by an earlier run; `total` is the number of all rows, if it is known.
    """
    line, done = _Line(label), before
    try:
        for item in items:
            yield item
            done += rows(item)
            line.tell_rows(done, before, total)
    finally:
        line.wipe()
