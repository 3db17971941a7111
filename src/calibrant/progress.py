"""Progress messages, written to a terminal only and only if the work takes long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar

PATIENCE = 2.0  # seconds of silence before the first message
INTERVAL = 0.2  # seconds between two messages

T = TypeVar("T")


class _Line:
    """The last line of a terminal, on which progress is shown; nothing is written if stderr is not a terminal."""

    def __init__(self, label: str, shown: bool | None = None) -> None:
        self.label = label
        self.watched = sys.stderr is not None and (sys.stderr.isatty() if shown is None else shown)
        self.begun = self.now = time.monotonic()
        self.due, self.written = self.begun + PATIENCE, False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        if self.written:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def seconds(self) -> float:
        """Return the seconds since the beginning, or 0 if nothing should be written now."""
        self.now = time.monotonic()
        return self.now - self.begun if self.watched and self.now >= self.due else 0.0

    def write(self, words: str) -> None:
        """Replace the content of the line."""
        sys.stderr.write(f"\r\x1b[K{self.label}: {words}")
        sys.stderr.flush()
        self.due, self.written = self.now + INTERVAL, True


def steps(total: int, *, size: int, label: str) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) over `total` pieces of work in steps of `size`, with progress on stderr.

    Nothing is written if stderr is not a terminal or the work ends within two seconds. The line is cleared when the
    work ends or is interrupted.
    """
    with _Line(label) as line:
        for start in range(0, total, size):
            stop = min(start + size, total)
            yield start, stop
            if seconds := line.seconds():
                line.write(f"{stop:,} of {total:,}, about {seconds * (total - stop) / stop:.0f} s left")


def counted(items: Iterable[T], *, label: str) -> Iterator[T]:
    """Yield items whose number is unknown, and show as `steps` does how many are done."""
    with _Line(label) as line:
        for done, item in enumerate(items, start=1):
            yield item
            if seconds := line.seconds():
                line.write(f"{done:,} so far, {done / seconds:,.0f} per second")


@contextmanager
def row_counter(
    *,
    label: str,
    before: int = 0,
    total: int | None = None,
    unit: str = "rows",
    more: Callable[[], str] = str,
    shown: bool | None = None,
) -> Iterator[Callable[[int], None]]:
    """Give a function that is told of rows which are done, and show as `steps` does how many there are, and how fast.

    `before` rows were done by an earlier run; `total` is the number of all rows, if it is known. `unit` is what they
    are called, `more` what is said after their number; `shown` says whether to write, by default to terminals.
    """
    done = before
    with _Line(label, shown) as line:

        def count(rows: int) -> None:
            nonlocal done
            done += rows
            if seconds := line.seconds():
                rate = (done - before) / seconds
                of = left = ""
                if total is not None and total >= done and rate > 0:
                    of, left = f" of {total:,}", f", about {(total - done) / rate:.0f} s left"
                speed = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
                line.write(f"{done:,}{of} {unit}{more()}, {speed} per second{left}")

        yield count


def rows_counted(items: Iterable[T], *, rows: Callable[[T], int], **shown: Any) -> Iterator[T]:
    """Yield items of many rows each, and show how many rows are done; the options are those of `row_counter`."""
    with row_counter(**shown) as count:
        for item in items:
            yield item
            count(rows(item))
