"""Maximum mean discrepancy of two sets of points."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_choice, generator
from calibrant.kernels.kernel import Kernel
from calibrant.kernels.point_kernels import PointKernel, Polynomial, check_kernel_values, point_kernel
from calibrant.points.blocks import ESTIMATORS, PointBlocks, block_rows
from calibrant.points.inputs import read_point_sets
from calibrant.points.sums import pair_sums


def mmd(
    y: Any,
    points: Any = None,
    *,
    kernel: str | Kernel = "gaussian",
    bandwidth: float | str = "median",
    estimator: str = "unbiased",
    blocksize: int | None = None,
    rng: Any = 0,
) -> float:
    r"""Squared maximum mean discrepancy: how far apart two sets of points are, as a kernel sees them.

    With n real points :math:`y_i`, m others :math:`x_i` and a kernel k, the ``"unbiased"`` estimate is

    .. math:: \mathrm{MMD}^2 = \frac{1}{n(n-1)} \sum_{i \ne j} k(y_i, y_j)
              + \frac{1}{m(m-1)} \sum_{i \ne j} k(x_i, x_j) - \frac{2}{nm} \sum_{i, j} k(y_i, x_j).

    =============  ============================================================================  ==================
    estimator      is                                                                            takes
    =============  ============================================================================  ==================
    ``unbiased``   as above; mean 0 if both sets have one law, so that it may be negative        all pairs
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
        a kernel such as ``Matern32(1.0)``, with its own length scale, the Euclidean distance if it names none.
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

    Notes
    -----
    Blocks and pairs are taken in the order of the rows, which must say nothing: shuffle rows that are sorted. Both
    leave out the points of the larger set beyond the smaller one, and those after the last whole block. They have a
    standard error (`interval`), at the price of a larger one than all pairs would have; `mmd_test` says whether the
    difference is more than chance.

    0 in expectation means one law only for a characteristic kernel, such as the Gaussian one; the polynomial kernel
    sees three moments. A value has no scale of its own: compare values of one kernel and one bandwidth only.
    Coordinates in different units should be scaled first, else the largest unit decides.

    Elsewhere a root is taken, which cannot be unbiased, or the diagonal is kept, which adds (1/n + 1/m)(1 - E k) to
    the value of a good sample.

    References
    ----------
    Gretton, Borgwardt, Rasch, Schölkopf, Smola (2012), JMLR 13, 723; Zaremba, Gretton, Blaschko (2013), NeurIPS.

    Examples
    --------
    One pair at distance 1 in each set, and two of distance 0, two of distance 1 between them; exp(-1/2) = 0.6065, so
    that the estimate is 2 · 0.6065 - (1 + 0.6065) = -0.3935:

    >>> round(mmd([[0.0], [1.0]], [[0.0], [1.0]], bandwidth=1.0), 4)
    -0.3935
    >>> round(mmd([[0.0], [1.0]], [[0.0], [1.0]], bandwidth=1.0, estimator="biased"), 4)
    0.0
    """
    if isinstance(y, PointBlocks):
        return _of_summary(y, points, kernel, bandwidth, estimator, blocksize)
    check_choice("estimator", estimator, "unbiased", "biased", *ESTIMATORS)
    if estimator in ESTIMATORS:
        sets = read_point_sets(y, points)
        m = block_rows(estimator, blocksize, sets)
        found = point_kernel(kernel, bandwidth, sets.pooled, generator(rng))
        return of_blocks(PointBlocks.of_sets(sets, found, estimator, m))
    if blocksize is not None:
        raise InputError(f'blocksize= is for estimator="block"; got estimator={estimator!r}')
    sets = read_point_sets(y, points)
    Z = sets.pooled
    found = point_kernel(kernel, bandwidth, Z, generator(rng))
    return mmd_of_sums(pair_sums(Z, found, (sets.n, sets.m)), sets.n, sets.m, _diagonal(Z, found, estimator, sets.n))


def mmd_of_sums(S: FloatArray, n: int, m: int, diagonal: tuple[float, float] | None = None) -> float:
    """Return MMD² from the sums of `pair_sums`; biased if the sums of k(z, z) over both sets are given."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
        within_y, within_x, between = 2 * S[0, 0], 2 * S[1, 1], S[0, 1] / (n * m)
        if diagonal is None:
            found = within_y / (n * (n - 1)) + within_x / (m * (m - 1)) - 2 * between
        else:
            found = (within_y + diagonal[0]) / n**2 + (within_x + diagonal[1]) / m**2 - 2 * between
    check_kernel_values(found)
    return float(found if diagonal is None else max(0.0, found))


def of_blocks(summary: PointBlocks) -> float:
    """Return the mean over blocks, of which there must be one."""
    if not summary.blocks:
        fewest = min(len(summary.left_y), len(summary.left_points))
        raise NotApplicableError(
            f"a block takes {summary.m} points of each set, and one has only {fewest}; take smaller blocks, or all "
            "pairs"
        )
    return summary.mean


def _diagonal(Z: FloatArray, kernel: PointKernel, estimator: str, n: int) -> tuple[float, float] | None:
    if estimator == "unbiased":
        return None
    if isinstance(kernel, Polynomial):
        k = kernel.of_products(np.einsum("ij,ij->i", Z, Z), Z.shape[1])
        with np.errstate(over="ignore"):  # refused with the sums of pairs
            return float(k[:n].sum()), float(k[n:].sum())
    return n * kernel.at_zero, (len(Z) - n) * kernel.at_zero


def _of_summary(
    summary: PointBlocks, points: Any, kernel: Any, bandwidth: Any, estimator: str, blocksize: Any
) -> float:
    if points is not None:
        raise InputError("points cannot be given with PointBlocks, which hold both sets")
    plain = [
        isinstance(value, str) and value in allowed
        for value, allowed in (
            (kernel, ("gaussian",)),
            (bandwidth, ("median",)),
            (estimator, ("unbiased", summary.estimator)),
        )
    ]
    if blocksize is not None or not all(plain):
        raise InputError(
            "options cannot be given with PointBlocks, which were made with theirs: "
            f"{summary.kernel!r}, estimator={summary.estimator!r}, blocks of {summary.m} points"
        )
    return of_blocks(summary)


def kernel_distance(y: Any, points: Any) -> float:
    r"""Kernel distance, known as KID: the unbiased MMD² with a polynomial kernel, over all points.

    .. math:: \frac{1}{n(n-1)} \sum_{i \ne j} k(y_i, y_j) + \frac{1}{m(m-1)} \sum_{i \ne j} k(x_i, x_j)
              - \frac{2}{nm} \sum_{i, j} k(y_i, x_j), \qquad k(x, y) = (x \cdot y / d + 1)^3.

    Parameters
    ----------
    y
        Features of real points, (n, d).
    points
        Features of generated points, (m, d).

    Returns
    -------
    float
        Mean 0 if both sets have one law, so that it may be negative.

    Notes
    -----
    ``interval(kernel_distance, y, points)`` says how well it is known, from 5,000 points of each set on. Other packages
    draw many subsets of 1000 points and report their spread: subsets of the same points share points, and that spread
    is no standard error. All points in one sum are also the estimate of smallest variance.

    Unlike `frechet_distance` it is unbiased, so that sets of different sizes can be compared. It sees moments up to the
    third; sets that agree in these are at distance 0. The kernel has no length scale, so that the unit of the features
    matters: use those that the published values you compare with are of.

    References
    ----------
    Bińkowski, Sutherland, Arbel, Gretton (2018), ICLR.

    Examples
    --------
    k(0, 1) = 1 within the first set, k(1, 2) = 27 within the second, and 1, 1, 8, 27 between them:
    1 + 27 - 2 · 37/4 = 9.5.

    >>> kernel_distance([[0.0], [1.0]], [[1.0], [2.0]])
    9.5
    """
    return mmd(y, points, kernel="polynomial")
