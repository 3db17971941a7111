"""How many draws lie below an outcome, and how many equal it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.dispatch import on_threads, takes_fast_body

Counts = NDArray[np.int64]

BLOCK = 1 << 18  # draws that are compared at a time: they and the comparisons stay in the cache
FEW = 255  # draws whose number fits into a byte


def rank_counts(y: FloatArray, draws: NDArray[Any], dtype: np.dtype[Any]) -> tuple[Counts, Counts]:
    """Return #{draws < y} and #{draws = y} of each row, (n,) for draws (n, M) and (n, D) for (n, M, D).

    Both are compared as `dtype`, the coarser of their types, so that a number and its rounding are equal.

    >>> less, equal = rank_counts(np.array([2.0]), np.array([[1.0, 2.0, 2.0, 5.0]]), np.dtype(np.float64))
    >>> less, equal
    (array([1]), array([2]))
    """
    n, M = draws.shape[:2]
    points = as_compared(y, dtype).reshape(n, -1)
    members = draws.reshape(n, M, -1)
    less, equal = np.empty((2, *points.shape), np.int64)
    count = _fast() if takes_fast_body(draws.size) else reference_counts

    def work(part: slice) -> None:
        count(points[part], as_compared(members[part], dtype), less[part], equal[part])

    for _ in on_threads(work, n, size=max(1, BLOCK // max(1, members[:1].size))):
        pass
    return less.reshape(y.shape), equal.reshape(y.shape)


def as_compared(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return values rounded to `dtype`, infinite beyond its range; float16 as float32, which compiled code knows.

    >>> as_compared(np.array([0.1, 1e6]), np.dtype(np.float16))
    array([0.09997559,        inf], dtype=float32)
    """
    with np.errstate(over="ignore"):
        rounded = values.astype(dtype, copy=False)
    return rounded.astype(np.float32) if dtype == np.float16 else rounded


def reference_counts(points: NDArray[Any], members: NDArray[Any], less: Counts, equal: Counts) -> None:
    """Write the counts of points (n, D) among members (n, M, D)."""
    lines = np.ascontiguousarray(members.transpose(0, 2, 1))  # sums along memory are quicker
    for out, compare in ((less, np.less), (equal, np.equal)):
        out[...] = 0
        for start in range(0, lines.shape[2], FEW):
            holds = compare(lines[:, :, start : start + FEW], points[:, :, None])
            out[...] += np.add.reduce(holds.view(np.uint8), axis=2, dtype=np.uint8)


def _fast() -> Any:
    from calibrant.primitives.rank_counts_fast import compiled_counts

    return compiled_counts()
