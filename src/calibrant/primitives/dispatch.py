"""Which body of a primitive runs, and on how many threads: decided here and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from typing import TypeVar

T = TypeVar("T")

FAST_ROWS = 2_000_000  # below this NumPy ends before a compiler has begun
CHUNK_ROWS = 1 << 17  # a chunk's columns stay in the cache


@cache
def has_numba() -> bool:
    """Tell whether Numba is installed, without importing it."""
    return find_spec("numba") is not None


def takes_fast_body(n: int) -> bool:
    """Tell whether n rows pay for the compiled body."""
    return n >= FAST_ROWS and has_numba()


def chunks(n: int, size: int = CHUNK_ROWS) -> Iterator[slice]:
    """Yield slices that cover n rows in order."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def on_threads(work: Callable[[slice], T], n: int, *, size: int) -> Iterator[T]:
    """Yield work(slice) in the order of the slices, computed on all cores this process may use.

    The cut into slices does not depend on the number of cores, so sums come out the same to the bit.
    """
    from concurrent.futures import ThreadPoolExecutor

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ThreadPoolExecutor(cores) as pool:
        yield from pool.map(work, chunks(n, size))
