"""The one owner of progress messages: silent unless a person watches and the work is long."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

PATIENCE = 2.0  # seconds of silence before the first message
INTERVAL = 0.2  # seconds between two messages


def steps(total: int, *, size: int, label: str) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) over `total` pieces of work in steps of `size`, reporting on stderr.

    Nothing is written when stderr is not a terminal or the work ends within two seconds, and the line is wiped
    when the work ends or is interrupted.
    """
    watched = sys.stderr is not None and sys.stderr.isatty()
    begun = time.monotonic()
    due, written = begun + PATIENCE, False
    try:
        for start in range(0, total, size):
            yield start, min(start + size, total)
            now = time.monotonic()
            if watched and now >= due:
                done = min(start + size, total)
                left = (now - begun) * (total - done) / done
                sys.stderr.write(f"\r\x1b[K{label}: {done:,} of {total:,}, about {left:.0f} s left")
                sys.stderr.flush()
                due, written = now + INTERVAL, True
    finally:
        if written:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
