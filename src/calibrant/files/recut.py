"""Frames of any sizes as frames of one size, so that what is measured does not depend on how a file was decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any


def recut(frames: Iterable[Any], size: int, together: Callable[[list[Any]], Any]) -> Iterator[Any]:
    """Yield the same rows as frames of `size` rows, the last one of fewer; `together` joins frames.

    >>> import polars as pl
    >>> frames = [pl.DataFrame({"x": range(n)}) for n in (2, 5, 0, 1)]
    >>> [frame["x"].to_list() for frame in recut(frames, 3, pl.concat)]
    [[0, 1, 0], [1, 2, 3], [4, 0]]
    """
    held: list[Any] = []
    rows = 0
    for frame in frames:
        start, length = 0, len(frame)
        while length - start >= size - rows:
            stop = start + size - rows
            yield together([*held, frame.slice(start, stop - start)])
            held, rows, start = [], 0, stop
        if start < length:
            held.append(frame.slice(start, length - start))
            rows += length - start
    if held:
        yield together(held)
