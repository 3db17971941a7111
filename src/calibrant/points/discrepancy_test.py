"""`mmd_test`: the test of two sets of points by their maximum mean discrepancy."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Rng
from calibrant.core.catalogue import public
from calibrant.core.null import TIE, reaches, resampled_pvalue
from calibrant.core.results import TestResult
from calibrant.errors import InputError, NotApplicableError, SummaryError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_count, generator
from calibrant.kernels.composed import distance_of_points
from calibrant.kernels.kernel import Exponential, Gaussian, Kernel
from calibrant.kernels.median import distance_quantiles, median_points, point_order
from calibrant.kernels.pair_sums import distance_tile, kernel_tile
from calibrant.kernels.point_kernels import NAMED, PointKernel, Polynomial, check_kernel_values, point_kernel
from calibrant.points.blocks import Bandwidth, KernelOfPoints, PointBlocks, block_rows, is_name, refuse_beside
from calibrant.points.inputs import PointSets, read_point_sets
from calibrant.points.sums import Divisions, PermutedSums, observed_division, permuted_sums, relabellings

SHAPES: dict[str, Kernel] = {"l1": Exponential(distance="l1"), "euclidean": Gaussian(distance="euclidean")}
QUANTILES = (0.05, 0.95)  # of the distances: length scales go from half of the first to twice the second
LENGTH_SCALES = 10  # of each shape
METHODS = ("permutation", "block")
MIN_BLOCKS = 10


@public
def mmd_test(
    y: ArrayLike | PointBlocks,
    points: ArrayLike | None = None,
    *,
    kernel: KernelOfPoints = "gaussian",
    bandwidth: Bandwidth = "median",
    method: Literal["permutation", "block"] = "permutation",
    aggregate: Literal["max", "fuse"] | None = None,
    blocksize: int | None = None,
    resamples: int = 999,
    rng: Rng = 0,
) -> TestResult:
    r"""Test whether two sets of points have one distribution, by the unbiased squared maximum mean discrepancy.

    ``"permutation"``
        The pooled points are divided at random into sets of the same sizes, B times. With the kernel matrix K of the
        pooled points, its diagonal 0, and v the 0/1 vector of a set of n, the smaller one,

        .. math:: T(v) = \frac{a}{n(n-1)} + \frac{s - 2b + a}{m(m-1)} - \frac{2(b - a)}{nm}, \qquad
                  a = v^\top K v, \quad b = v^\top K 1, \quad s = 1^\top K 1,

        is the MMD² of that division, and :math:`p = (1 + \#\{T(v_b) \ge T\})/(B + 1)`. Exact at any n and m.
    ``"block"``
        The mean of the MMD² of blocks of points divided by its standard error, compared with Student's t with one
        degree of freedom less than there are blocks. Fast for millions of points, and less powerful.

    Parameters
    ----------
    y
        Real points, (n, d); or a `PointBlocks`, which holds both sets, for ``method="block"``.
    points
        Generated points, or a second sample, (m, d).
    kernel, bandwidth
        As in `mmd`. The bandwidth is found from the pooled points, before any division.
    method
        ``"permutation"`` or ``"block"``, as above.
    aggregate
        For permutations, twenty kernels in place of one: ten exponential kernels of the L1 distance and ten Gaussian
        kernels of the Euclidean distance, with length scales in equal steps from half the 5 % quantile to twice the
        95 % quantile of the pooled distances. With :math:`T_k = \sqrt{l(l-1)}\, \mathrm{MMD}^2_k / s_k`, l the size of
        the smaller set and :math:`s_k^2` the mean of k² over the pooled pairs, ``"max"`` is the largest T_k,
        ``"fuse"`` is :math:`\log \frac{1}{20} \sum_k \exp T_k`.
        All kernels use the same divisions, so the p-value is exact.
    blocksize
        For blocks: the points of a block of each set; None for √n, n the smaller set.
    resamples
        Number of random divisions, B.
    rng
        A Generator or a whole number: it draws the divisions, and 4096 of more pooled points for the bandwidth.

    Returns
    -------
    TestResult
        `statistic` is MMD², the aggregate, or t. `estimate` is MMD²; with `aggregate` that of the kernel with the
        largest T_k, which this choice biases upwards. `n` counts the points used of both sets. `details` has `n` and
        `m`, `kernel`, its `bandwidth`, and `resamples`, or `blocks`, `blocksize` and `standard_error`.

    Examples
    --------
    Of the 20 divisions of six points into three and three, 2 separate the groups, so p is about 2/20:

    >>> y, points = [[0.0], [0.1], [0.2]], [[10.0], [10.1], [10.2]]
    >>> round(mmd_test(y, points).pvalue, 1)
    0.1
    """
    B, chance = check_count("resamples", resamples), generator(rng)
    if isinstance(y, PointBlocks):
        if method != "block" or aggregate is not None:
            raise SummaryError('PointBlocks hold the MMD² of blocks, not the points; pass method="block"')
        refuse_beside(y, points, kernel, bandwidth, plain=blocksize is None)
        return _block_test(y)
    if aggregate is not None:
        if method != "permutation":
            raise InputError(f'aggregate= is for method="permutation"; got method={method!r}')
        for name, value, default in (("kernel", kernel, "gaussian"), ("bandwidth", bandwidth, "median")):
            if not is_name(value, default):
                raise InputError(
                    f"aggregate={aggregate!r} has its own kernels and bandwidths; leave {name} out; got {shown(value)}"
                )
    if method == "block":
        sets = read_point_sets(y, points)
        size = block_rows("block", blocksize, sets)
        return _block_test(
            PointBlocks.of_sets(sets, point_kernel(kernel, bandwidth, sets.pooled, chance), "block", size)
        )
    if blocksize is not None:
        raise InputError(f'blocksize= is for method="block"; got method={method!r}')
    sets = read_point_sets(y, points)
    if aggregate is None:
        chosen = point_kernel(kernel, bandwidth, sets.pooled, chance)
        found = of_kernel(random_splits(sets, B, chance), chosen)
        words = f"{_words(chosen)}; {B:,} permutations"
    else:
        found = of_many_kernels(random_splits(sets, B, chance), aggregate, chance)
        words = f"{aggregate} of 20 kernels; {B:,} permutations"
    n, m = sets.n, sets.m
    return TestResult(
        statistic=float(found.values[0]),
        pvalue=found.pvalue,
        estimate=found.estimate,
        method=f"kernel test of two sets of points (MMD²), {words}",
        n=n + m,
        details={"n": n, "m": m, **_kernel_details(found.kernel), "resamples": B},
    )


def _block_test(summary: PointBlocks) -> TestResult:
    s, b = summary.blocks, summary.m
    if s < MIN_BLOCKS:
        raise NotApplicableError(
            f'method="block" needs at least {MIN_BLOCKS} blocks; these points fill {s} of {b} of each set. '
            'Use smaller blocks, or method="permutation"'
        )
    mean, se = summary.mean, summary.standard_error
    rounding = TIE * (0.0 if isinstance(summary.kernel, Polynomial) else summary.kernel.supremum)
    if abs(mean) <= rounding:
        mean = 0.0
    if se <= max(TIE * abs(mean), rounding):  # blocks that differ by rounding only
        se = 0.0
    if se == 0 and mean > 0:
        raise NotApplicableError(
            f'all {s} blocks have the same value, {mean:g}, so it has no standard error; use method="permutation"'
        )
    from scipy.special import stdtr

    t = mean / se if se > 0 else 0.0
    what = f"{s:,} pairs of points" if summary.estimator == "linear" else f"{s:,} blocks of {b} points"
    return TestResult(
        statistic=t,
        pvalue=float(stdtr(s - 1, -t)) if se > 0 else 1.0,
        estimate=mean,
        method=f"kernel test of two sets of points (MMD²), {_words(summary.kernel)}; {what} of each set, Student's t",
        n=2 * s * b,
        details={
            "n": s * b,
            "m": s * b,
            **_kernel_details(summary.kernel),
            "blocks": s,
            "blocksize": b,
            "standard_error": se,
        },
    )


def _kernel_details(kernel: PointKernel) -> dict[str, Any]:
    length = {} if isinstance(kernel, Polynomial) else {"bandwidth": kernel.length}
    return {"kernel": _name(kernel), **length}


def _words(kernel: PointKernel) -> str:
    name = _name(kernel)
    return name if isinstance(kernel, Polynomial) or name not in NAMED else f"{name}, bandwidth {kernel.length:.4g}"


def _name(kernel: PointKernel) -> str:
    general = kernel if isinstance(kernel, Polynomial) else kernel.with_lengthscale("median")
    return next((name for name, known in NAMED.items() if known == general), repr(kernel))


class Splits(NamedTuple):
    """Pooled points, sorted, and splits of them into two sets of n and m: the observed one, then random ones."""

    Z: FloatArray
    V: Divisions
    """1 for the n points of the smaller set; its sum, as a difference of sums over all pairs, would lose digits."""
    n: int
    m: int


class Permuted(NamedTuple):
    """A statistic of every split, the observed one first, and the kernel of the estimate."""

    values: FloatArray
    scale: float  # of the terms of the statistic: values that differ by less than their rounding are ties
    estimate: float
    kernel: PointKernel

    @property
    def pvalue(self) -> float:
        """Share of the splits, including the observed one, whose statistic is at least the observed one."""
        extreme = int(np.count_nonzero(reaches(self.values[1:], self.values[0], self.scale)))
        return float(resampled_pvalue(extreme, len(self.values) - 1))


def random_splits(sets: PointSets, resamples: int, rng: np.random.Generator) -> Splits:
    """Return the observed split and `resamples` random ones of the sorted points.

    The p-value then does not depend on the order of the points.
    """
    Z, n, m = sets.pooled, sets.n, sets.m
    order = point_order(Z)
    V = np.concatenate([observed_division(n, m)[:, order], relabellings(n, m, resamples, rng)])
    if n > m:
        V ^= 1
    return Splits(Z[order], V, min(n, m), max(n, m))


def of_kernel(splits: Splits, kernel: PointKernel) -> Permuted:
    with np.errstate(over="ignore", invalid="ignore"):  # values that are not finite are refused
        found = mmd_of_splits(permuted_sums(kernel_tile(splits.Z, kernel), splits.V), splits.n, splits.m)
        values, scale = found.mmd[0], float(found.size[0])
    check_kernel_values(values, scale)
    return Permuted(values, scale, float(values[0]), kernel)


def of_many_kernels(splits: Splits, aggregate: str, rng: np.random.Generator) -> Permuted:
    """Return the aggregate of T_k = √(l(l-1)) MMD²_k / s_k over twenty kernels, for every split.

    l is the size of the smaller set and s_k² the mean of k² over the pooled pairs, the same for all splits. The
    estimate is that of the kernel with the largest T_k.
    """
    kernels = many_kernels(splits.Z, rng)
    least = min(splits.n, splits.m)
    unit = math.sqrt(least * (least - 1))
    D, T, scale = [], [], unit
    for distance in SHAPES:
        some = [kernel.of_distance for kernel in kernels if kernel.distance == distance]
        found = mmd_of_splits(permuted_sums(distance_tile(splits.Z, distance), splits.V, some), splits.n, splits.m)
        D.append(found.mmd)
        T.append(unit * found.mmd / found.root[:, None])
        scale = max(scale, unit * float((found.size / found.root).max()))
    each = np.concatenate(T)
    best = int(np.argmax(each[:, 0]))
    top = each.max(axis=0)
    values = top if aggregate == "max" else np.asarray(top + np.log(np.exp(each - top).mean(axis=0)))
    return Permuted(values, scale, float(np.concatenate(D)[best, 0]), kernels[best])


def many_kernels(Z: FloatArray, rng: np.random.Generator) -> list[Kernel]:
    """Return ten exponential kernels of the L1 distance and ten Gaussian kernels of the Euclidean distance."""
    few, found = median_points(Z, rng), []
    for distance, shape in SHAPES.items():
        of_rows = distance_of_points(few, distance)
        low, high = distance_quantiles(of_rows, np.arange(len(few)), QUANTILES, "the pooled points")
        found += [shape.with_lengthscale(float(scale)) for scale in np.linspace(low / 2, 2 * high, LENGTH_SCALES)]
    return found


class SplitMMD(NamedTuple):
    """MMD² by g kernels of B splits."""

    mmd: FloatArray  # (g, B), unbiased
    root: FloatArray  # (g,), the root of the mean of k² over all pairs
    size: FloatArray  # (g,), of the terms of the MMD² of the first split


def mmd_of_splits(sums: PermutedSums, n: int, m: int) -> SplitMMD:
    a, b, s, N = sums.a, sums.b, sums.s[:, None], n + m
    first, second, between = a / (n * (n - 1)), (s - 2 * b + a) / (m * (m - 1)), (b - a) / (n * m)
    root = np.sqrt(sums.squares / (N * (N - 1)))
    terms = np.abs(first[:, 0]) + np.abs(second[:, 0]) + 2 * np.abs(between[:, 0])
    return SplitMMD(first + second - 2 * between, root, np.maximum(terms, root))
