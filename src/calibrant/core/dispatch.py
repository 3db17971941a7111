"""Which body of a computation runs, NumPy or compiled, and on how many threads: decided only here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.util import find_spec
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant.progress import steps

T = TypeVar("T")

_expected: ContextVar[int] = ContextVar("rows expected", default=0)
_alone: ContextVar[bool] = ContextVar("on one thread", default=False)

FAST_ROWS = 2_000_000  # with fewer rows NumPy is done before the compiler is
FAST_LOOP_STEPS = 200_000  # with fewer steps a loop in Python is done before the compiler is
CHUNK_ROWS = 1 << 17  # the columns of a chunk fit into the cache
BLOCK_ROWS = 1 << 14  # of temporary arrays small enough to reuse freed memory instead of new pages
TRANSFORM_TERMS = 250_000  # products in a convolution from which Fourier transforms are quicker
FAST_TERMS = 1_000_000_000  # terms of a double sum below which NumPy is done before the compiler is
MAX_TASKS = 512
FEW_COORDINATES = 16  # up to which squared distances are sums of squared differences
TREE_COORDINATES = 10  # with more coordinates a tree visits nearly all points


@cache
def has_numba() -> bool:
    """Tell whether Numba is installed, without importing it."""
    return find_spec("numba") is not None


@contextmanager
def expecting(rows: int) -> Iterator[None]:
    """Decide inside the block as if every call had this many rows, although it gets a batch of them."""
    before = _expected.set(rows)
    try:
        yield
    finally:
        _expected.reset(before)


def takes_fast_body(n: int) -> bool:
    """Tell whether the compiled body is worth its start-up time for n rows, or for the expected number of rows."""
    return max(n, _expected.get()) >= FAST_ROWS and has_numba()


def takes_fast_loop(steps: int) -> bool:
    return steps >= FAST_LOOP_STEPS and has_numba()


def widest_band(points: int, lines: int) -> int:
    """Return up to how many neighbours of each point are cheaper one by one than by panels of the Gaussian line.

    Measured, in nanoseconds: a neighbour costs 10 000 and 8 per point; panels cost 800 000 per line and 500 per point.
    """
    return max(1, (800_000 * lines + 500 * points) // (10_000 + 8 * points))


def chunks(n: int, size: int = CHUNK_ROWS) -> Iterator[slice]:
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Compute on the calling thread inside the block, for engines that give each parallel task one core."""
    before = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(before)


def on_threads(work: Callable[[slice], T], n: int, *, size: int) -> Iterator[T]:
    """Yield work(slice) in the order of the slices, computed on all cores that this process may use.

    A single slice, and all slices inside `on_one_thread`, are computed on the calling thread. The slices do not depend
    on the number of cores, so sums are the same to the last bit.
    """
    if n <= size or _alone.get():
        yield from map(work, chunks(n, size))
        return
    from concurrent.futures import ThreadPoolExecutor

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ThreadPoolExecutor(cores) as pool:
        yield from pool.map(work, chunks(n, size))


def map_rows(work: Callable[[NDArray[np.float64]], NDArray[np.float64]], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return work(x) of numbers that are mapped one by one, in chunks (`on_threads`) that are divided into blocks.

    >>> map_rows(np.sqrt, np.array([1.0, 4.0]))
    array([1., 2.])
    """
    found = np.empty(x.size)

    def fill(part: slice) -> None:
        given, filled = x[part], found[part]
        for rows in chunks(given.size, BLOCK_ROWS):
            filled[rows] = work(given[rows])

    for _ in on_threads(fill, x.size, size=CHUNK_ROWS):
        pass
    return found


def takes_fast_double_sum(n: int, terms: int) -> bool:
    return n * (n - 1) // 2 * terms >= FAST_TERMS and has_numba()


def on_tiles(work: Callable[[NDArray[np.intp]], T], m: int, *, label: str) -> Iterator[T]:
    """Yield work(tiles) in order, computed as by `on_threads`; tiles are pairs (I, J), together all with I <= J < m.

    The division into tasks does not depend on the number of cores.
    """
    total = m * (m + 1) // 2
    ends = np.cumsum(np.arange(m, 0, -1))  # of the tiles (I, I), ..., (I, m - 1) in one sequence
    size = max(8, total // MAX_TASKS)  # a thread is not worthwhile for fewer tiles

    def run(part: slice) -> T:
        at = np.arange(part.start, part.stop)
        first = np.searchsorted(ends, at, side="right")
        return work(np.stack([first, at - ends[first] + m], axis=1))

    found = on_threads(run, total, size=size)
    for _, result in zip(steps(total, size=size, label=label), found, strict=True):
        yield result


def takes_transform(n: int, m: int) -> bool:
    return n * m >= TRANSFORM_TERMS


def takes_products(d: int) -> bool:
    return d > FEW_COORDINATES


def takes_tree(d: int) -> bool:
    return d <= TREE_COORDINATES
