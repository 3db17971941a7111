"""Sums over all pairs of rows of Dask collections: `skce` and `mmd`. Each pair of partitions is a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import fsum, isfinite
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.catalogue import find
from calibrant.core.kept_rows import KeptRows
from calibrant.dask.cross_sums import cross_sum, point_cross_sum
from calibrant.dask.partitions import Partitions, dask_library, delayed_task, errors_name, no_rows, tables_of
from calibrant.engines.batches import Table
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray, pair_weight
from calibrant.inputs.columns import Batch
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.options import check_choice, seed_of
from calibrant.inputs.probabilities import Binary
from calibrant.inputs.rows import DistributionRows
from calibrant.kernel_errors.fitted import AnyKernel, Randomness, form_of, resolved
from calibrant.kernel_errors.skce import MIN_PAIR_SHARE, SkceOptions, check_rows
from calibrant.kernels.composed import distribution_kernel
from calibrant.kernels.expectations import exact_means
from calibrant.kernels.kernel import JointKernel, Kernel, Product
from calibrant.kernels.median import median_rows
from calibrant.kernels.pair_sums import pair_sum
from calibrant.kernels.point_kernels import PointKernel, point_kernel
from calibrant.points.discrepancy import diagonal_sum, mmd_of_sums
from calibrant.points.inputs import check_names, read_points
from calibrant.points.sums import pair_sums


def skce(
    y: Any,
    prediction: Any,
    *,
    frame: Any = None,
    weights: Any = None,
    kernel: AnyKernel = None,
    unbiased: bool = True,
    classes: Any = None,
    rng: Any = 0,
) -> float:
    """Squared kernel calibration error over all pairs of rows, as `calibrant.skce` finds it in memory.

    Every pair of partitions is a task. KeptRows stay with the workers, and a number comes back.

    Parameters
    ----------
    y, prediction, weights
        Dask arrays: outcomes, class probabilities (n, K), importance weights. With `frame` names of columns, and
        `from_columns` for a predictive distribution, intervals, sets or quantiles.
    frame
        A Dask DataFrame, or a mapping from names to Dask arrays.
    kernel, unbiased, classes
        As in `calibrant.skce`. Laws need a target kernel with a closed form or a quadrature rule.
    rng
        A Generator or a whole number: it draws the 4,096 rows whose distances give the ``"median"`` length scale of
        larger data.

    Returns
    -------
    float

    Notes
    -----
    n rows in P partitions are P (P + 1) / 2 tasks of (n / P)² pairs each: partitions of 5,000 to 20,000 rows are a good
    size. For one probability per row sorted rows say the same in O(n log n): ``measure(skce, ..., exact=True)``.

    With numbers for length scales the value is that of `calibrant.skce` up to rounding, and with ``"median"`` (the
    default) too up to 4,096 rows. Beyond, the rows that give the median are drawn in the order of the partitions, and
    in memory in another order: length scales differ randomly.

    Examples
    --------
    >>> import dask.array as da
    >>> from calibrant.kernels import Exponential
    >>> P = da.from_array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], chunks=(1, 3))
    >>> skce(da.from_array([0, 1], chunks=1), P, kernel=Exponential(1.0))  # 1 apart, both wrong: -2 exp(-1)
    -0.7357588823428847
    """
    SkceOptions(kernel, unbiased, None, False, None, rng)
    partitions = (
        Partitions.of((y, prediction, weights))
        if frame is None
        else Partitions.of(frame, y=y, prediction=prediction, weights=weights)
    )
    blocks = partitions.each(_ReadRows({"classes": classes}, unbiased), "rows")
    seed = seed_of(rng)
    places = [f"partition {k}" for k in range(len(blocks))]
    pairs = BlockPairs.of(blocks, places, _take_rows, _FindRowKernel(kernel, seed), seed)
    of_blocks, of_pairs = pairs.each(_within_rows), pairs.every(_between_rows)
    alone, between = dask_library().compute(of_blocks, [task for *_, task in of_pairs])
    found: dict[int, Within] = {k: block for k, block in enumerate(alone) if block is not None}
    W = [found[k].w if k in found else 0.0 for k in range(len(blocks))]
    return _value(
        list(found.values()), fsum(between), 2 * fsum(W[a] * W[b] for a, b, _ in of_pairs), unbiased, len(blocks)
    )


class Within(NamedTuple):
    """Of a block: rows, Σw, Σ w w' over pairs of different rows, and Σ w w' h over these, and over rows alone."""

    n: int
    w: float
    pair_weight: float
    pairs: float
    own: float


def _value(blocks: list[Within], between: float, weight_between: float, unbiased: bool, many: int) -> float:
    """Return the estimate; sums of float64 numbers are rounded once, so their order does not matter."""
    n = sum(block.n for block in blocks)
    if n == 0:
        raise no_rows(many)
    if unbiased and n < 2:
        raise InputError("the unbiased estimator needs at least 2 rows; got 1; unbiased=False works with one row")
    w = fsum(block.w for block in blocks)
    weight = fsum([*(block.pair_weight for block in blocks), weight_between])
    if unbiased and weight < MIN_PAIR_SHARE * w * w:
        raise NotApplicableError("one row carries all the weight, so pairs of rows have none; use unbiased=False")
    terms = [2 * between, *(2 * block.pairs for block in blocks)]
    value = fsum(terms) / weight if unbiased else fsum([*terms, *(block.own for block in blocks)]) / (w * w)
    if not isfinite(value):
        raise InputError("the kernel gave a value that is not a finite number; check its profile and distance")
    return value


@dataclass(frozen=True)
class _ReadRows:
    """What a worker makes of the rows of a partition: checked, and kept."""

    labels: Mapping[str, Any]
    unbiased: bool

    def __call__(self, batch: Batch) -> KeptRows:
        rows = find("skce").read(batch.y, batch.prediction, weights=batch.weights, **self.labels)
        if isinstance(rows, Binary):
            raise NotApplicableError(
                "pairs of partitions are for class probabilities and predictive distributions. One probability per row "
                'is sorted instead, which is exact and much quicker: measure("skce", ..., exact=True)'
            )
        check_rows(rows, self.unbiased)
        return KeptRows.of(rows)


@dataclass(frozen=True)
class _FindRowKernel:
    """What a worker makes of rows drawn from all partitions: the kernel, with numbers for length scales."""

    kernel: AnyKernel
    rng: int

    def __call__(self, few: list[KeptRows]) -> Product | JointKernel:
        rows = reduce(add, few).rows
        random = Randomness(None, np.random.default_rng(self.rng))
        if isinstance(rows, DistributionRows):
            product = distribution_kernel(self.kernel, rows.distribution)
            alone = resolved(rows, Product(product.prediction.with_lengthscale(1.0), product.target), random)
            assert isinstance(alone, Product)
            _check_closed_form(rows.distribution, alone.target)
        return resolved(rows, self.kernel, random)


def _check_closed_form(distribution: Distribution, target: Kernel) -> None:
    if exact_means(distribution, target) is None:
        raise NotApplicableError(
            f"{type(distribution).__name__} with the target kernel {target!r} has no closed form and no quadrature "
            "rule, and "
            "nothing is drawn from distributions in partitions. Use another target kernel, or pass draws as Samples"
        )


def _take_rows(block: KeptRows, rows: NDArray[np.intp]) -> KeptRows:
    return KeptRows.of(block.rows.take(rows))


NOTHING_DRAWN = Randomness(None, np.random.default_rng(0))  # the kernel is resolved, and nothing is drawn


def _within_rows(block: KeptRows, kernel: Product | JointKernel) -> Within:
    rows = block.rows
    form, w = form_of(rows, kernel, NOTHING_DRAWN), np.asarray(rows.w)
    pairs = pair_sum(form, rows.w) if rows.n > 1 else 0.0
    return Within(rows.n, float(w.sum()), pair_weight(w), pairs, float((w * w * form.diagonal()).sum()))


def _between_rows(block: KeptRows, other: KeptRows, kernel: Product | JointKernel) -> float:
    rows = (block + other).rows
    return cross_sum(form_of(rows, kernel, NOTHING_DRAWN), rows.w, block.n)


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

    Every pair of blocks of points is a task. Points stay with the workers.

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
    4,096 points. Beyond, points are drawn in the order of the partitions, and in memory in another order:
    bandwidths differ randomly. P blocks in both sets together are P (P + 1) / 2 tasks.

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
        delayed_task(_ReadPoints(name, place), table, name="points")
        for (name, table), place in zip(_named(sets), places, strict=True)
    ]
    seed, biased = seed_of(rng), estimator == "biased"
    pairs = BlockPairs.of(blocks, places, _take_points, _FindPointKernel(kernel, bandwidth, seed), seed)
    of_blocks, of_pairs = pairs.each(_Within(biased)), pairs.every(_between_points)
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
        """Return MMD²; sums of float64 numbers are rounded once, so their order does not matter."""
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
class _ReadPoints:
    """What a worker makes of a block."""

    name: str
    place: str

    def __call__(self, table: Table) -> Points | None:
        with errors_name(self.place):
            values = table[self.name]
            return Points(read_points(values, self.name, least=1)) if len(values) else None


def _take_points(block: Points, rows: NDArray[np.intp]) -> Points:
    return Points(block.Z[rows])


@dataclass(frozen=True)
class _FindPointKernel:
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


def _between_points(block: Points, other: Points, kernel: PointKernel) -> float:
    return point_cross_sum(block.Z, other.Z, kernel)


MAX_BLOCKS = 500  # 125,250 tasks


@dataclass(frozen=True, eq=False)
class BlockPairs:
    """Blocks that are not computed yet, a `Delayed` each, None where one is empty, and the kernel of all.

    Attributes
    ----------
    blocks
        The blocks: things that have a length `n`, or None.
    places
        What an error calls them.
    kernel
        A `Delayed` of what `BlockPairs.of` found with the rows it drew.
    """

    blocks: Sequence[Any]
    places: Sequence[str]
    kernel: Any

    @classmethod
    def of(
        cls,
        blocks: Sequence[Any],
        places: Sequence[str],
        take: Callable[[Any, NDArray[np.intp]], Any],
        find_kernel: Callable[[list[Any]], Any],
        rng: int,
    ) -> BlockPairs:
        """Find the kernel from at most 4096 rows, drawn from all by their number: all if there are no more.

        Parameters
        ----------
        blocks, places
            As the attributes.
        take
            Returns some rows of a block.
        find_kernel
            Returns the kernel, given these.
        rng
            Draws the rows.
        """
        P = len(blocks)
        if P > MAX_BLOCKS:
            raise InputError(
                f"{P:,} partitions are {P * (P + 1) // 2:,} pairs of partitions, and each is a task; cut the rows into "
                f"at most {MAX_BLOCKS}, with rechunk or repartition"
            )
        sizes = [delayed_task(_size, block, name="size") for block in blocks]
        drawn = delayed_task(_Drawn(rng), *sizes, name="draw")
        few = [delayed_task(_Taken(take, k), block, drawn, name="take") for k, block in enumerate(blocks)]
        return cls(blocks, places, delayed_task(_Found(find_kernel), *few, name="kernel"))

    def each(self, work: Callable[[Any, Any], Any]) -> list[Any]:
        """Return work(block, kernel) of each block, not computed yet; None for empty blocks."""
        return [
            delayed_task(_Own(work, self.places[k]), block, self.kernel, name="within")
            for k, block in enumerate(self.blocks)
        ]

    def every(self, work: Callable[[Any, Any, Any], float]) -> list[tuple[int, int, Any]]:
        """Return (a, b, work(block a, block b, kernel)) for a < b, not computed yet; 0 for empty blocks."""
        return [
            (
                a,
                b,
                delayed_task(
                    _Between(work, f"{self.places[a]} with {self.places[b]}"),
                    self.blocks[a],
                    self.blocks[b],
                    self.kernel,
                    name="between",
                ),
            )
            for a in range(len(self.blocks))
            for b in range(a + 1, len(self.blocks))
        ]


def _size(block: Any) -> int:
    return 0 if block is None else int(block.n)


@dataclass(frozen=True)
class _Drawn:
    """Which rows of each block are looked at for the kernel."""

    rng: int

    def __call__(self, *sizes: int) -> list[NDArray[np.intp]]:
        ends = np.cumsum(sizes)
        rows = median_rows(int(ends[-1]), np.random.default_rng(self.rng))
        return [rows[(rows >= end - size) & (rows < end)] - (end - size) for size, end in zip(sizes, ends, strict=True)]


@dataclass(frozen=True)
class _Taken:
    take: Callable[[Any, NDArray[np.intp]], Any]
    number: int

    def __call__(self, block: Any, drawn: list[NDArray[np.intp]]) -> Any:
        rows = drawn[self.number]
        return None if block is None or not rows.size else self.take(block, rows)


@dataclass(frozen=True)
class _Found:
    find_kernel: Callable[[list[Any]], Any]

    def __call__(self, *few: Any) -> Any:
        found = [part for part in few if part is not None]
        return self.find_kernel(found) if found else None


@dataclass(frozen=True)
class _Own:
    work: Callable[[Any, Any], Any]
    place: str

    def __call__(self, block: Any, kernel: Any) -> Any:
        with errors_name(self.place):
            return None if block is None else self.work(block, kernel)


@dataclass(frozen=True)
class _Between:
    work: Callable[[Any, Any, Any], float]
    place: str

    def __call__(self, block: Any, other: Any, kernel: Any) -> float:
        with errors_name(self.place):
            return 0.0 if block is None or other is None else self.work(block, other, kernel)
