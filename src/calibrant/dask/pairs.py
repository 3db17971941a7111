"""Sums over all pairs of rows of Dask collections: `skce` and `mmd`. Each pair of partitions is a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from itertools import combinations
from math import fsum, isfinite
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.catalogue import find
from calibrant.core.dispatch import chunks
from calibrant.core.kept_rows import KeptRows
from calibrant.dask.partitions import Partitions, dask_library, delayed_task, errors_name, no_rows, tables_of
from calibrant.engines.batches import NamedArrays
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray, is_unit, pair_weight, unit_weights
from calibrant.inputs.columns import Batch
from calibrant.inputs.options import check_choice, seed_of
from calibrant.inputs.probabilities import Binary
from calibrant.inputs.rows import DistributionRows
from calibrant.kernel_errors.fitted import AnyKernel, Randomness, form_of, resolved
from calibrant.kernel_errors.skce import MIN_PAIR_SHARE, SkceOptions, check_rows
from calibrant.kernels.composed import distribution_kernel
from calibrant.kernels.expectations import exact_means
from calibrant.kernels.kernel import JointKernel, Kernel, Product
from calibrant.kernels.median import median_rows
from calibrant.kernels.pair_sums import TILE, Tile, kernel_tile, pair_sum, tile_of
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

    Every pair of partitions is a task. Rows stay with the workers; only sums are sent back.

    Parameters
    ----------
    y, prediction, weights
        Dask arrays: outcomes, class probabilities (n, K), importance weights. With `frame` names of columns, and
        `from_columns` for a predictive distribution, intervals, sets or quantiles.
    frame
        A Dask DataFrame, or a mapping from names to Dask arrays.
    kernel, unbiased, classes
        As in `calibrant.skce`. Predictive distributions need a target kernel with a closed form or a quadrature rule.
    rng
        A Generator or a whole number: it draws the 4,096 rows whose distances give the ``"median"`` length scale of
        larger data.

    Returns
    -------
    float

    Notes
    -----
    n rows in P partitions are P (P + 1) / 2 tasks of (n / P)² pairs each: partitions of 5,000 to 20,000 rows are a good
    size. For one probability per row, sorting is exact and takes O(n log n): ``measure(skce, ..., exact=True)``.

    With numbers for length scales the value is that of `calibrant.skce` up to rounding, and with ``"median"`` (the
    default) too up to 4,096 rows. Of more rows, other ones are drawn for the median than in memory, so length scales
    differ randomly.

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
    blocks = partitions.each(partial(_read_rows, {"classes": classes}, unbiased), "rows")
    seed = seed_of(rng)
    alone, pairs = _computed(
        blocks,
        [f"partition {k}" for k in range(len(blocks))],
        take=lambda block, rows: KeptRows.of(block.rows.take(rows)),
        find_kernel=partial(_row_kernel, kernel, seed),
        within=_within_rows,
        between=_between_rows,
        seed=seed,
    )
    if not alone:
        raise no_rows(len(blocks))
    weight_between = 2 * fsum(alone[a].w * alone[b].w for a, b in pairs)
    return _skce_value(list(alone.values()), fsum(pairs.values()), weight_between, unbiased)


class Within(NamedTuple):
    """Of a block: rows, Σw, Σ w w' over pairs of different rows, and Σ w w' h over these, and over rows alone."""

    n: int
    w: float
    pair_weight: float
    pairs: float
    own: float


def _skce_value(blocks: list[Within], between: float, weight_between: float, unbiased: bool) -> float:
    """Return the estimate; sums of float64 numbers are rounded once, so their order does not matter."""
    if unbiased and sum(block.n for block in blocks) < 2:
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


def _read_rows(labels: Mapping[str, Any], unbiased: bool, batch: Batch) -> KeptRows:
    rows = find("skce").read(batch.y, batch.prediction, weights=batch.weights, **labels)
    if isinstance(rows, Binary):
        raise NotApplicableError(
            "pairs of partitions are for class probabilities and predictive distributions. One probability per row "
            'is sorted instead, which is exact and much quicker: measure("skce", ..., exact=True)'
        )
    check_rows(rows, unbiased)
    return KeptRows.of(rows)


def _row_kernel(kernel: AnyKernel, seed: int, few: list[KeptRows]) -> Product | JointKernel:
    """Return the kernel, with numbers for length scales, from rows drawn from all partitions."""
    rows = reduce(add, few).rows
    random = Randomness(None, np.random.default_rng(seed))
    if isinstance(rows, DistributionRows):
        product = distribution_kernel(kernel, rows.distribution)
        alone = resolved(rows, Product(product.prediction.with_lengthscale(1.0), product.target), random)
        assert isinstance(alone, Product)
        if exact_means(rows.distribution, alone.target) is None:
            raise NotApplicableError(
                f"{type(rows.distribution).__name__} with the target kernel {alone.target!r} has no closed form and no "
                "quadrature rule, and nothing is drawn from distributions in partitions. Use another target kernel, "
                "or pass draws as Samples"
            )
    return resolved(rows, kernel, random)


NOTHING_DRAWN = Randomness(None, np.random.default_rng(0))  # the kernel is resolved, and nothing is drawn


def _within_rows(block: KeptRows, kernel: Product | JointKernel) -> Within:
    rows = block.rows
    form, w = form_of(rows, kernel, NOTHING_DRAWN), np.asarray(rows.w)
    pairs = pair_sum(form, rows.w) if rows.n > 1 else 0.0
    return Within(rows.n, float(w.sum()), pair_weight(w), pairs, float((w * w * form.diagonal()).sum()))


def _between_rows(block: KeptRows, other: KeptRows, kernel: Product | JointKernel) -> float:
    rows = (block + other).rows
    return cross_sum(tile_of(form_of(rows, kernel, NOTHING_DRAWN)), rows.w, block.n)


SETS = ("y", "points")
MIN_POINTS = 2  # points of a set


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
    4,096 points. Of more points, other ones are drawn for the median than in memory, so bandwidths differ randomly. P
    blocks in both sets together are P (P + 1) / 2 tasks.

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
    blocks, places, set_of = [], [], []
    for number, (name, values) in enumerate(zip(SETS, (y, points), strict=True)):
        for k, table in enumerate(tables_of({name: values})):
            places.append(f"partition {k} of {name}")
            blocks.append(delayed_task(partial(_read_block, name, places[-1]), table, name="points"))
            set_of.append(number)
    seed, biased = seed_of(rng), estimator == "biased"
    alone, pairs = _computed(
        blocks,
        places,
        take=lambda block, rows: block[rows],
        find_kernel=partial(_point_kernel, kernel, bandwidth, seed),
        within=partial(_within_points, biased),
        between=_between_points,
        seed=seed,
    )
    each = [[block for k, block in alone.items() if set_of[k] == number] for number in (0, 1)]
    n, m = (sum(many for many, _, _ in found) for found in each)
    for name, many in zip(SETS, (n, m), strict=True):
        if many < MIN_POINTS:
            raise InputError(f"{name} must have at least {MIN_POINTS} points; got {many}")
    S = np.zeros((2, 2))  # sums of float64 numbers are rounded once, so their order does not matter
    for i, j in ((0, 0), (1, 1), (0, 1)):
        within = [found for _, found, _ in each[i]] if i == j else []
        S[i, j] = fsum([*within, *(found for (a, b), found in pairs.items() if (set_of[a], set_of[b]) == (i, j))])
    own_y, own_points = (fsum(own for *_, own in found) for found in each)
    return mmd_of_sums(S, n, m, (own_y, own_points) if biased else None)


def _read_block(name: str, place: str, table: NamedArrays) -> FloatArray | None:
    with errors_name(place):
        values = table[name]
        return read_points(values, name, least=1) if len(values) else None


def _point_kernel(kernel: Any, bandwidth: Any, seed: int, few: list[FloatArray]) -> PointKernel:
    """Return the kernel, with a number for its length scale, from points drawn from both sets."""
    columns = sorted({block.shape[1] for block in few})
    if len(columns) > 1:
        raise InputError(f"y and points must have the same number of columns; got {columns[0]} and {columns[-1]}")
    return point_kernel(kernel, bandwidth, np.concatenate(few), np.random.default_rng(seed))


def _within_points(biased: bool, block: FloatArray, kernel: PointKernel) -> tuple[int, float, float]:
    """Return the points of a block, Σ k over pairs of different ones, and over points with themselves if asked."""
    found = float(pair_sums(block, kernel, (len(block),))[0, 0])
    return len(block), found, diagonal_sum(block, kernel) if biased else 0.0


def _between_points(block: FloatArray, other: FloatArray, kernel: PointKernel) -> float:
    Z = np.concatenate([block, other])
    return cross_sum(kernel_tile(Z, kernel), unit_weights(len(Z)), len(block))


def cross_sum(tile: Tile, w: FloatArray, split: int) -> float:
    """Return Σ w_i w_j h_ij over i < split <= j: every row of a first block with every row of a second one."""
    unit, total = is_unit(w), 0.0
    with np.errstate(over="ignore", invalid="ignore"):  # values that are not finite are refused
        for rows in chunks(split, TILE):
            for part in chunks(len(w) - split, TILE):
                columns = slice(part.start + split, part.stop + split)
                h = tile(rows, columns)
                total += float(h.sum() if unit else w[rows] @ (h @ w[columns]))
    return total


MAX_BLOCKS = 500  # 125,250 tasks


def _computed(
    blocks: Sequence[Any],
    places: Sequence[str],
    *,
    take: Callable[[Any, NDArray[np.intp]], Any],
    find_kernel: Callable[[list[Any]], Any],
    within: Callable[[Any, Any], Any],
    between: Callable[[Any, Any, Any], float],
    seed: int,
) -> tuple[dict[int, Any], dict[tuple[int, int], float]]:
    """Compute `within` of every block and `between` of every pair of blocks, on the workers.

    Parameters
    ----------
    blocks
        A `Delayed` of `KeptRows`, or of points, each; of None where there are no rows.
    places
        The names of the blocks in errors.
    take
        Returns some rows of a block.
    find_kernel
        Returns the kernel, given at most 4096 rows: all, or as many drawn from all blocks by their number.
    within, between
        Functions of a block, or two of them, and the kernel.
    seed
        Of the rows drawn.

    Returns
    -------
    dict, dict
        The values by the number of the block, and by the numbers a < b of two blocks, without empty blocks.
    """
    P = len(blocks)
    if P > MAX_BLOCKS:
        raise InputError(
            f"{P:,} partitions are {P * (P + 1) // 2:,} pairs of partitions, and each is a task; cut the rows into "
            f"at most {MAX_BLOCKS}, with rechunk or repartition"
        )
    sizes = [delayed_task(_size, block, name="size") for block in blocks]
    drawn = delayed_task(partial(_drawn, seed), *sizes, name="draw")
    few = [delayed_task(partial(_taken, take, k), block, drawn, name="take") for k, block in enumerate(blocks)]
    kernel = delayed_task(partial(_found, find_kernel), *few, name="kernel")
    alone = [
        delayed_task(partial(_named, place, within), block, kernel, name="within")
        for place, block in zip(places, blocks, strict=True)
    ]
    pairs = list(combinations(range(P), 2))
    both = [
        delayed_task(
            partial(_named, f"{places[a]} with {places[b]}", between), blocks[a], blocks[b], kernel, name="between"
        )
        for a, b in pairs
    ]
    of_blocks, of_pairs = dask_library().compute(alone, both)
    return (
        {k: found for k, found in enumerate(of_blocks) if found is not None},
        {pair: found for pair, found in zip(pairs, of_pairs, strict=True) if found is not None},
    )


def _size(block: Any) -> int:
    if block is None:
        return 0
    return block.n if isinstance(block, KeptRows) else len(block)


def _drawn(seed: int, *sizes: int) -> list[NDArray[np.intp]]:
    """Return which rows of each block the kernel is found from."""
    ends = np.cumsum(sizes)
    rows = median_rows(int(ends[-1]), np.random.default_rng(seed))
    return [rows[(rows >= end - size) & (rows < end)] - (end - size) for size, end in zip(sizes, ends, strict=True)]


def _taken(take: Callable[[Any, NDArray[np.intp]], Any], number: int, block: Any, drawn: list[NDArray[np.intp]]) -> Any:
    rows = drawn[number]
    return None if block is None or not rows.size else take(block, rows)


def _found(find_kernel: Callable[[list[Any]], Any], *few: Any) -> Any:
    parts = [part for part in few if part is not None]
    return find_kernel(parts) if parts else None


def _named(place: str, work: Callable[..., Any], *given: Any) -> Any:
    """Return work(*given), or None if a block is empty; errors name the place."""
    *blocks, _ = given
    with errors_name(place):
        return None if any(block is None for block in blocks) else work(*given)
