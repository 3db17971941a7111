"""Maximum mean discrepancy (MMD) of two sets of points, and its confidence interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Rng
from calibrant.core.calls import check_choices
from calibrant.core.catalogue import public
from calibrant.core.results import ConfidenceInterval
from calibrant.errors import InputError, NotApplicableError, SummaryError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import generator
from calibrant.kernels.point_kernels import NAMED, PointKernel, Polynomial, check_kernel_values, point_kernel
from calibrant.points.blocks import (
    ESTIMATORS,
    Bandwidth,
    KernelOfPoints,
    PointBlocks,
    block_rows,
    is_name,
    refuse_beside,
)
from calibrant.points.inputs import PointSets, read_point_sets
from calibrant.points.sums import pair_sums


@public
def mmd(
    y: ArrayLike | PointBlocks,
    points: ArrayLike | None = None,
    *,
    kernel: KernelOfPoints = "gaussian",
    bandwidth: Bandwidth = "median",
    estimator: Literal["unbiased", "biased", "block", "linear"] = "unbiased",
    blocksize: int | None = None,
    rng: Rng = 0,
) -> float:
    r"""Squared maximum mean discrepancy: how far apart two sets of points are, measured with a kernel.

    With n real points :math:`y_i`, m other points :math:`x_i` and a kernel k, the ``"unbiased"`` estimate is

    .. math:: \mathrm{MMD}^2 = \frac{1}{n(n-1)} \sum_{i \ne j} k(y_i, y_j)
              + \frac{1}{m(m-1)} \sum_{i \ne j} k(x_i, x_j) - \frac{2}{nm} \sum_{i, j} k(y_i, x_j).

    =============  ============================================================================  ==================
    estimator      is                                                                            takes
    =============  ============================================================================  ==================
    ``unbiased``   as above; its mean is 0 if both sets have one distribution, and it can be     all pairs
                   negative
    ``biased``     the same with i = j and the divisors n² and m²; never negative, and           all pairs
                   positive by chance alone
    ``block``      the mean of unbiased estimates of consecutive blocks of `blocksize` points    n · blocksize pairs
                   of each set
    ``linear``     the mean of k(y, y') + k(x, x') - k(y, x') - k(y', x) over consecutive        one pass
                   pairs of points
    =============  ============================================================================  ==================

    Parameters
    ----------
    y
        Real points, (n, d); or a `PointBlocks`, which holds both sets.
    points
        Generated points, or a second sample, (m, d).
    kernel
        ``"gaussian"``, exp(-\|x - y\|² / 2σ²); ``"laplace"``, exp(-\|x - y\|₁ / σ); ``"polynomial"``, (x·y/d + 1)³; or
        a kernel such as ``Matern32(1.0)``, with its own length scale, and the Euclidean distance unless it names one.
    bandwidth
        σ, in units of the kernel's distance, or ``"median"``: the median of that distance over all pairs of the pooled
        points, equal points included; of more than 4096 points over 4096 drawn with `rng`. If it is 0, the mean.
    estimator
        As in the table.
    blocksize
        Points of a block of each set; None for √n, n the smaller set.
    rng
        A Generator or a whole number; it only draws the points of the median.

    Returns
    -------
    float
        Always the square, in the units of the kernel.

    Examples
    --------
    Each set has one pair at distance 1; between the sets two pairs have distance 0 and two have distance 1. With
    exp(-1/2) = 0.6065 the estimate is 2 · 0.6065 - (1 + 0.6065) = -0.3935:

    >>> round(mmd([[0.0], [1.0]], [[0.0], [1.0]], bandwidth=1.0), 4)
    -0.3935
    >>> round(mmd([[0.0], [1.0]], [[0.0], [1.0]], bandwidth=1.0, estimator="biased"), 4)
    0.0
    """
    if isinstance(y, PointBlocks):
        refuse_beside(y, points, kernel, bandwidth, plain=blocksize is None and estimator in ("unbiased", y.estimator))
        return of_blocks(y)
    if blocksize is not None and estimator not in ESTIMATORS:
        raise InputError(f'blocksize= is for estimator="block"; got estimator={estimator!r}')
    sets = read_point_sets(y, points)
    size = block_rows(estimator, blocksize, sets) if estimator in ESTIMATORS else None
    Z = sets.pooled
    found = point_kernel(kernel, bandwidth, Z, generator(rng))
    if size is not None:
        return of_blocks(PointBlocks.of_sets(sets, found, estimator, size))
    diagonal = None
    if estimator == "biased":
        diagonal = diagonal_sum(sets.y, found), diagonal_sum(sets.points, found)
    return mmd_of_sums(pair_sums(Z, found, (sets.n, sets.m)), sets.n, sets.m, diagonal)


@public
def kernel_distance(y: ArrayLike, points: ArrayLike) -> float:
    r"""Kernel distance, known as KID: the unbiased MMD² with a polynomial kernel, over all points.

    .. math:: \mathrm{MMD}^2 \text{ with } k(x, y) = (x \cdot y / d + 1)^3.

    Parameters
    ----------
    y, points
        Features of real points (n, d), and of generated points (m, d).

    Returns
    -------
    float
        Its mean is 0 if both sets have one distribution, and it can be negative.

    Examples
    --------
    k(0, 1) = 1 within the first set, k(1, 2) = 27 within the second, and 1, 1, 8, 27 between them:
    1 + 27 - 2 · 37/4 = 9.5.

    >>> kernel_distance([[0.0], [1.0]], [[1.0], [2.0]])
    9.5
    """
    return mmd(y, points, kernel="polynomial")


def mmd_of_sums(S: FloatArray, n: int, m: int, diagonal: tuple[float, float] | None = None) -> float:
    """Return MMD² from the sums of `pair_sums`; biased if the sums of k(z, z) over both sets are given."""
    with np.errstate(over="ignore", invalid="ignore"):  # values that are not finite are refused
        within_y, within_x, between = 2 * S[0, 0], 2 * S[1, 1], S[0, 1] / (n * m)
        if diagonal is None:
            found = within_y / (n * (n - 1)) + within_x / (m * (m - 1)) - 2 * between
        else:
            found = (within_y + diagonal[0]) / n**2 + (within_x + diagonal[1]) / m**2 - 2 * between
    check_kernel_values(found)
    return float(found if diagonal is None else max(0.0, found))


def of_blocks(summary: PointBlocks) -> float:
    """Return the mean over blocks; there must be at least one."""
    if not summary.blocks:
        fewest = min(len(summary.left_y), len(summary.left_points))
        raise NotApplicableError(
            f"a block takes {summary.m} points of each set, and one set has only {fewest}; use smaller blocks, or all "
            "pairs"
        )
    return summary.mean


def diagonal_sum(Z: FloatArray, kernel: PointKernel) -> float:
    if not isinstance(kernel, Polynomial):
        return len(Z) * kernel.at_zero
    with np.errstate(over="ignore"):  # sums that are not finite are refused
        found = float(kernel.of_products(np.einsum("ij,ij->i", Z, Z), Z.shape[1]).sum())
    check_kernel_values(found)
    return found


MIN_BLOCKS, MIN_PAIRS = 100, 200  # of an interval
MIN_BLOCK_POINTS, MIN_POLYNOMIAL_BLOCK_POINTS = 10, 50  # of each set
MAX_POLYNOMIAL_BLOCK_POINTS = 1000  # the size that published values have
SERVED: Mapping[str, Callable[..., float]] = {"mmd": mmd, "kernel_distance": kernel_distance}
OPTIONS = {"mmd": ("kernel", "bandwidth", "estimator", "blocksize", "rng"), "kernel_distance": ("blocksize",)}


def serves(metric: object) -> str | None:
    """Return the name of a distance that has an interval, given by itself or by name; None for other metrics."""
    return next(
        (name for name, verb in SERVED.items() if metric is verb or (isinstance(metric, str) and metric == name)), None
    )


def interval_of_points(
    name: str, y: ArrayLike | PointBlocks, points: ArrayLike | None, level: float, options: Mapping[str, Any]
) -> ConfidenceInterval:
    """Return Student's interval of the mean over independent blocks of points."""
    from scipy.special import stdtrit

    unknown = set(options) - set(OPTIONS[name])
    if unknown:
        known = ", ".join(OPTIONS[name])
        raise InputError(f"interval of {name} has the options {known}; got {', '.join(sorted(unknown))}")
    summary = _blocks(name, y, points, options)
    _check_blocks(name, summary)
    half = float(stdtrit(summary.blocks - 1, (1 + level) / 2)) * summary.standard_error
    return ConfidenceInterval(
        low=summary.mean - half,
        high=summary.mean + half,
        estimate=summary.mean,
        level=level,
        method=f"Student's t over {summary.blocks} blocks of {summary.m} points",
        n=2 * summary.m * summary.blocks,
    )


def _check_blocks(name: str, summary: PointBlocks) -> None:
    """Refuse blocks whose values are so skewed, or so few, that Student's interval would not cover."""
    linear = summary.estimator == "linear"
    least = 2 if linear else MIN_BLOCK_POINTS
    if isinstance(summary.kernel, Polynomial):
        least = MIN_POLYNOMIAL_BLOCK_POINTS
    if summary.m < least:
        raise NotApplicableError(
            f"an interval of {name} takes blocks of at least {least} points of each set; got {summary.m}"
        )
    fewest, what = (MIN_PAIRS, "pairs") if linear else (MIN_BLOCKS, f"blocks of {summary.m} points")
    if summary.blocks < fewest:
        raise NotApplicableError(
            f"an interval of {name} takes at least {fewest} {what} of each set, {fewest * summary.m:,} points; these "
            f"fill {summary.blocks}"
        )


def _blocks(name: str, y: ArrayLike | PointBlocks, points: ArrayLike | None, options: Mapping[str, Any]) -> PointBlocks:
    if isinstance(y, PointBlocks):
        refuse_beside(y, points, "gaussian", "median", plain=not options)
        if name == "kernel_distance" and y.kernel != NAMED["polynomial"]:
            raise SummaryError(
                'interval of kernel_distance takes PointBlocks made with kernel="polynomial"; these were made with '
                f"{y.kernel!r}. Make them with that kernel, or ask for the interval of mmd"
            )
        return y
    given = {"estimator": "block", "kernel": "polynomial" if name == "kernel_distance" else "gaussian", **options}
    check_choices(mmd, given)
    if given["estimator"] not in ESTIMATORS:
        raise NotApplicableError(
            f"no valid interval is known for estimator={given['estimator']!r}, over all pairs of points; "
            'use estimator="block" or "linear"'
        )
    if given.get("blocksize") is None and given["estimator"] == "block":
        given["blocksize"] = _blocksize(read_point_sets(y, points), is_name(given["kernel"], "polynomial"))
    return PointBlocks.of(y, points, **given)


def _blocksize(sets: PointSets, polynomial: bool) -> int:
    """Return the points of a block: as many as leave a hundred blocks, but no more than √n, or 1000 of features."""
    n = min(sets.n, sets.m)
    if polynomial:
        return max(MIN_POLYNOMIAL_BLOCK_POINTS, min(n // MIN_BLOCKS, MAX_POLYNOMIAL_BLOCK_POINTS))
    return max(MIN_BLOCK_POINTS, min(n // MIN_BLOCKS, math.isqrt(n)))
