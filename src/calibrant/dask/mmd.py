"""Maximum mean discrepancy of two sets of points in Dask arrays, over all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.dask.cross_sums import point_cross_sum
from calibrant.dask.pairs import BlockPairs
from calibrant.dask.partitions import Table, dask_library, delayed_task, refusals_name, tables_of
from calibrant.errors import InputError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_choice, seed_of
from calibrant.kernels.kernel import Kernel
from calibrant.kernels.point_kernels import PointKernel, point_kernel
from calibrant.points.discrepancy import diagonal_sum, mmd_of_sums
from calibrant.points.inputs import check_names, read_points
from calibrant.points.sums import pair_sums

SETS = ("y", "points")
LEAST = 2  # points of a set


def mmd(
    y: Any,
    points: Any,
    *,
    kernel: str | Kernel = "gaussian",
    bandwidth: float | str = "median",
    estimator: str = "unbiased",
    rng: Any = 0,
) -> float:
    """Squared maximum mean discrepancy of two sets of points over all pairs, as `calibrant.mmd` finds it in memory.

    Every pair of blocks of points is a task, so that the work is shared out; points stay with the workers.

    Parameters
    ----------
    y, points
        Real points (n, d), and generated ones or a second sample (m, d): Dask arrays, or Dask DataFrames of numbers.
    kernel, bandwidth
        As in `calibrant.mmd`. The ``"median"`` of more than 4,096 points is that of 4,096 drawn with `rng`.
    estimator
        ``"unbiased"`` or ``"biased"``. The others are means over blocks: `PointBlocks` of batches add up.
    rng
        A Generator or a whole number; it only draws the points of the median.

    Returns
    -------
    float
        Always the square, in the units of the kernel.

    Notes
    -----
    With a number for `bandwidth` the value is that of `calibrant.mmd` up to rounding, and with ``"median"`` too up to
    4,096 points. Beyond, points are drawn in the order of the partitions, and in memory in an order of their own, so
    that bandwidths differ by chance. P blocks in both sets together are P (P + 1) / 2 tasks.

    Examples
    --------
    >>> import dask.array as da
    >>> y, x = da.from_array([[0.0], [1.0]], chunks=1), da.from_array([[0.0], [1.0]], chunks=2)
    >>> round(mmd(y, x, bandwidth=1.0), 4)
    -0.3935
    """
    check_choice("estimator", estimator, "unbiased", "biased")
    dask_library()
    check_names(y, points)
    sets = [tables_of({name: values}) for name, values in zip(SETS, (y, points), strict=True)]
    places = [f"partition {k} of {name}" for name, found in zip(SETS, sets, strict=True) for k in range(len(found))]
    blocks = [
        delayed_task(_Read(name, place), table, name="points")
        for (name, table), place in zip(_named(sets), places, strict=True)
    ]
    seed, biased = seed_of(rng), estimator == "biased"
    pairs = BlockPairs.of(blocks, places, _take, _FindKernel(kernel, bandwidth, seed), seed)
    of_blocks, of_pairs = pairs.each(_Within(biased)), pairs.every(_between)
    alone, between = dask_library().compute(of_blocks, [task for *_, task in of_pairs])
    sums = Sums(np.repeat([0, 1], [len(found) for found in sets]), alone)
    return sums.value([(a, b, found) for (a, b, _), found in zip(of_pairs, between, strict=True)], biased)


@dataclass(frozen=True, eq=False)
class Points:
    """A block of one set."""

    Z: FloatArray

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.Z)


@dataclass(frozen=True, eq=False)
class Sums:
    """Which set each block is of, and what was found within it (None: it is empty)."""

    set_of: NDArray[np.int64]
    alone: Sequence[tuple[int, float, float] | None]

    def value(self, between: Sequence[tuple[int, int, float]], biased: bool) -> float:
        """Return MMD²; sums of float64 numbers are rounded once, so that no order of them matters."""
        n, m = (sum(block[0] for block in self._of(k)) for k in (0, 1))
        for name, many in zip(SETS, (n, m), strict=True):
            if many < LEAST:
                raise InputError(f"{name} must have at least {LEAST} points; got {many}")
        S = np.zeros((2, 2))
        for k in (0, 1):
            S[k, k] = fsum([*(block[1] for block in self._of(k)), *self._between(between, k, k)])
        S[0, 1] = fsum(self._between(between, 0, 1))
        own = [fsum(block[2] for block in self._of(k)) for k in (0, 1)]
        return mmd_of_sums(S, n, m, (own[0], own[1]) if biased else None)

    def _of(self, k: int) -> list[tuple[int, float, float]]:
        return [block for block, own in zip(self.alone, self.set_of, strict=True) if own == k and block is not None]

    def _between(self, between: Sequence[tuple[int, int, float]], k: int, other: int) -> list[float]:
        return [found for a, b, found in between if (self.set_of[a], self.set_of[b]) == (k, other)]


def _named(sets: Sequence[Sequence[Any]]) -> list[tuple[str, Any]]:
    return [(name, table) for name, tables in zip(SETS, sets, strict=True) for table in tables]


@dataclass(frozen=True)
class _Read:
    """What a worker makes of a block."""

    name: str
    place: str

    def __call__(self, table: Table) -> Points | None:
        with refusals_name(self.place):
            values = table[self.name]
            return Points(read_points(values, self.name, least=1)) if len(values) else None


def _take(block: Points, rows: NDArray[np.intp]) -> Points:
    return Points(block.Z[rows])


@dataclass(frozen=True)
class _FindKernel:
    """What a worker makes of points drawn from both sets: the kernel, with a number for its length scale."""

    kernel: Any
    bandwidth: Any
    rng: int

    def __call__(self, few: list[Points]) -> PointKernel:
        columns = sorted({block.Z.shape[1] for block in few})
        if len(columns) > 1:
            raise InputError(f"y and points must have the same number of columns; got {columns[0]} and {columns[-1]}")
        pooled = np.concatenate([block.Z for block in few])
        return point_kernel(self.kernel, self.bandwidth, pooled, np.random.default_rng(self.rng))


@dataclass(frozen=True)
class _Within:
    """Of a block: its points, Σ k over pairs of different ones, and over points with themselves if asked."""

    own: bool

    def __call__(self, block: Points, kernel: PointKernel) -> tuple[int, float, float]:
        found = float(pair_sums(block.Z, kernel, (block.n,))[0, 0])
        return block.n, found, diagonal_sum(block.Z, kernel) if self.own else 0.0


def _between(block: Points, other: Points, kernel: PointKernel) -> float:
    return point_cross_sum(block.Z, other.Z, kernel)
