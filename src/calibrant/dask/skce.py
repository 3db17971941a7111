"""Squared kernel calibration error of Dask collections, over all pairs of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from math import fsum, isfinite
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.catalogue import find
from calibrant.core.kept_rows import KeptRows
from calibrant.dask.cross_sums import cross_sum
from calibrant.dask.pairs import BlockPairs
from calibrant.dask.partitions import Partitions, dask_library, no_rows
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import pair_weight
from calibrant.inputs.columns import Batch
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.options import seed_of
from calibrant.inputs.probabilities import Binary
from calibrant.inputs.rows import DistributionRows
from calibrant.kernel_errors.fitted import AnyKernel, Randomness, form_of, resolved
from calibrant.kernel_errors.skce import MIN_PAIR_SHARE, SkceOptions, check_rows
from calibrant.kernels.composed import distribution_kernel
from calibrant.kernels.expectations import exact_means
from calibrant.kernels.kernel import JointKernel, Kernel, Product
from calibrant.kernels.pair_sums import pair_sum


def skce(
    y: Any,
    prediction: Any,
    *,
    frame: Any = None,
    kernel: AnyKernel = None,
    unbiased: bool = True,
    weights: Any = None,
    classes: Any = None,
    rng: Any = 0,
) -> float:
    """Squared kernel calibration error over all pairs of rows, as `calibrant.skce` finds it in memory.

    Every pair of partitions is a task, so that the work is shared out; its rows stay with the workers, and a number
    comes back.

    Parameters
    ----------
    y, prediction, frame, weights
        As in `measure`: class probabilities (n, K) as a Dask array; a law, intervals, sets or quantiles by
        `from_columns` with `frame`.
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
    in memory in an order of their own, so that length scales differ by chance.

    Examples
    --------
    >>> import dask.array as da
    >>> from calibrant import Exponential
    >>> P = da.from_array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], chunks=(1, 3))
    >>> skce(da.from_array([0, 1], chunks=1), P, kernel=Exponential(1.0))  # 1 apart, both wrong: -2 exp(-1)
    -0.7357588823428847
    """
    SkceOptions(kernel, unbiased, None, False, None, rng)
    partitions = Partitions.of(y, prediction, frame=frame, weights=weights)
    blocks = partitions.each(_Read({"classes": classes}, unbiased), "rows")
    seed = seed_of(rng)
    places = [f"partition {k}" for k in range(len(blocks))]
    pairs = BlockPairs.of(blocks, places, _take, _FindKernel(kernel, seed), seed)
    of_blocks, of_pairs = pairs.each(_within), pairs.every(_between)
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
    """Return the estimate; sums of float64 numbers are rounded once, so that no order of them matters."""
    n = sum(block.n for block in blocks)
    if n == 0:
        raise no_rows(many)
    if unbiased and n < 2:
        raise InputError("the unbiased estimator needs at least 2 rows; got 1; unbiased=False works with one row")
    w = fsum(block.w for block in blocks)
    weight = fsum([*(block.pair_weight for block in blocks), weight_between])
    if unbiased and weight < MIN_PAIR_SHARE * w * w:
        raise NotApplicableError("one row carries all the weight, so that pairs of rows have none; use unbiased=False")
    terms = [2 * between, *(2 * block.pairs for block in blocks)]
    value = fsum(terms) / weight if unbiased else fsum([*terms, *(block.own for block in blocks)]) / (w * w)
    if not isfinite(value):
        raise InputError("the kernel gave a value that is not a finite number; check its profile and distance")
    return value


@dataclass(frozen=True)
class _Read:
    """What a worker makes of the rows of a partition: checked, and kept."""

    labels: Mapping[str, Any]
    unbiased: bool

    def __call__(self, batch: Batch) -> KeptRows:
        rows = find("skce").read(batch.y, batch.prediction, weights=batch.weights, **self.labels)
        if isinstance(rows, Binary):
            raise NotApplicableError(
                "pairs of partitions are for class probabilities and laws. One probability per row is sorted instead, "
                'which is exact and much quicker: measure("skce", ..., exact=True)'
            )
        check_rows(rows, self.unbiased)
        return KeptRows.of(rows)


@dataclass(frozen=True)
class _FindKernel:
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
            f"rule, and "
            "nothing is drawn from laws in partitions. Use another target kernel, or pass draws as Samples"
        )


def _take(block: KeptRows, rows: NDArray[np.intp]) -> KeptRows:
    return KeptRows.of(block.rows.take(rows))


NOTHING_DRAWN = Randomness(None, np.random.default_rng(0))  # the kernel is resolved, and nothing is drawn


def _within(block: KeptRows, kernel: Product | JointKernel) -> Within:
    rows = block.rows
    form, w = form_of(rows, kernel, NOTHING_DRAWN), np.asarray(rows.w)
    pairs = pair_sum(form, rows.w) if rows.n > 1 else 0.0
    return Within(rows.n, float(w.sum()), pair_weight(w), pairs, float((w * w * form.diagonal()).sum()))


def _between(block: KeptRows, other: KeptRows, kernel: Product | JointKernel) -> float:
    rows = (block + other).rows
    return cross_sum(form_of(rows, kernel, NOTHING_DRAWN), rows.w, block.n)
