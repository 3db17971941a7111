"""MMD² of all splits of the pooled points that a permutation test looks at: of one kernel, or of twenty together."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from calibrant.inference.null import reaches, resampled_pvalue
from calibrant.inputs.point_order import point_order
from calibrant.inputs.points import PointSets
from calibrant.inputs.weights import FloatArray
from calibrant.kernels import Exponential, Gaussian, Kernel
from calibrant.kernels.distances import distance_of_points
from calibrant.kernels.median import distance_quantiles, median_points
from calibrant.kernels.point_kernels import PointKernel, check_kernel_values
from calibrant.primitives.permuted_sums import PermutedSums, permuted_sums
from calibrant.primitives.point_tiles import distance_tile, kernel_tile
from calibrant.primitives.relabellings import Divisions, observed_division, relabellings

SHAPES: dict[str, Kernel] = {"l1": Exponential(distance="l1"), "euclidean": Gaussian(distance="euclidean")}
SHARES = (0.05, 0.95)  # quantiles of the distances, between half of which and twice of which length scales lie
SCALES = 10  # length scales of each shape


class Splits(NamedTuple):
    """Pooled points, sorted, and splits of them into two sets of n and m: the observed one, then random ones."""

    Z: FloatArray
    V: Divisions
    """1 for the n points: of sets of different sizes the smaller one.

    Its sum is of few pairs, and as what is left of the sum over all pairs it would have no more digits than that one.
    """
    n: int
    m: int


class Permuted(NamedTuple):
    """A statistic of every split, the observed one first, and the kernel that the estimate is of."""

    values: FloatArray
    scale: float
    """Size of the numbers that the statistic is a difference of: what differs by less than its rounding is a tie."""
    estimate: float
    kernel: PointKernel

    @property
    def pvalue(self) -> float:
        """Share of the splits, the observed one among them, whose statistic is at least the observed one."""
        extreme = int(np.count_nonzero(reaches(self.values[1:], self.values[0], self.scale)))
        return float(resampled_pvalue(extreme, len(self.values) - 1))


def random_splits(sets: PointSets, resamples: int, rng: np.random.Generator) -> Splits:
    """Return the observed split and `resamples` random ones, drawn for points in an order that is not theirs.

    So the order of the points has no part in the p-value.
    """
    Z, n, m = sets.pooled, sets.n, sets.m
    order = point_order(Z)
    V = np.concatenate([observed_division(n, m)[:, order], relabellings(n, m, resamples, rng)])
    if n > m:
        V ^= 1
    return Splits(Z[order], V, min(n, m), max(n, m))


def of_kernel(splits: Splits, kernel: PointKernel) -> Permuted:
    """Return the unbiased MMD² of every split."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
        means = means_of_splits(permuted_sums(kernel_tile(splits.Z, kernel), splits.V), splits.n, splits.m)
        values, scale = means.mmd[0], float(means.size[0])
    check_kernel_values(values, scale)
    return Permuted(values, scale, float(values[0]), kernel)


def of_many_kernels(splits: Splits, aggregate: str, rng: np.random.Generator) -> Permuted:
    """Return the aggregate of T_k = √(l(l-1)) MMD²_k / s_k over twenty kernels, for every split.

    l is the size of the smaller set and s_k² the mean of k² over the pooled pairs, which no split changes. The estimate
    is that of the kernel with the largest T_k.
    """
    kernels = many_kernels(splits.Z, rng)
    least = min(splits.n, splits.m)
    unit = math.sqrt(least * (least - 1))
    D, T, scale = [], [], unit
    for distance in SHAPES:
        some = [kernel.of_distance for kernel in kernels if kernel.distance == distance]
        means = means_of_splits(permuted_sums(distance_tile(splits.Z, distance), splits.V, some), splits.n, splits.m)
        D.append(means.mmd)
        T.append(unit * D[-1] / means.root[:, None])
        scale = max(scale, unit * float((means.size / means.root).max()))
    each = np.concatenate(T)
    best = int(np.argmax(each[:, 0]))
    return Permuted(AGGREGATES[aggregate](each), scale, float(np.concatenate(D)[best, 0]), kernels[best])


def many_kernels(Z: FloatArray, rng: np.random.Generator) -> list[Kernel]:
    """Return ten exponential kernels of the L1 distance and ten Gaussian ones of the Euclidean, from short to long."""
    few, found = median_points(Z, rng), []
    for distance, shape in SHAPES.items():
        of_rows = distance_of_points(few, distance)
        low, high = distance_quantiles(of_rows, np.arange(len(few)), SHARES, "the pooled points")
        found += [shape.with_lengthscale(float(scale)) for scale in np.linspace(low / 2, 2 * high, SCALES)]
    return found


class Means(NamedTuple):
    """Means of g kernels over pairs of different points, for B splits."""

    first: FloatArray
    """Within the first set, (g, B)."""
    second: FloatArray
    """Within the second set, (g, B)."""
    between: FloatArray
    """Of one set with the other, (g, B)."""
    root: FloatArray
    """The root of the mean of k² over all pairs, (g,)."""

    @property
    def mmd(self) -> FloatArray:
        """The unbiased MMD² of each kernel and split, (g, B)."""
        return np.asarray(self.first + self.second - 2 * self.between)

    @property
    def size(self) -> FloatArray:
        """How large the numbers are that the MMD² of the first split is a difference of, (g,)."""
        terms = np.abs(self.first[:, 0]) + np.abs(self.second[:, 0]) + 2 * np.abs(self.between[:, 0])
        return np.asarray(np.maximum(terms, self.root))


def means_of_splits(sums: PermutedSums, n: int, m: int) -> Means:
    """Return the means that the MMD² of splits into n and m points is made of."""
    a, b, s, N = sums.a, sums.b, sums.s[:, None], n + m
    return Means(
        a / (n * (n - 1)),
        (s - 2 * b + a) / (m * (m - 1)),
        (b - a) / (n * m),
        np.sqrt(sums.squares / (N * (N - 1))),
    )


def _log_mean_exp(T: FloatArray) -> FloatArray:
    top = T.max(axis=0)
    return np.asarray(top + np.log(np.exp(T - top).mean(axis=0)))


def _largest(T: FloatArray) -> FloatArray:
    return np.asarray(T.max(axis=0))


AGGREGATES: dict[str, Callable[[FloatArray], FloatArray]] = {"max": _largest, "fuse": _log_mean_exp}
"""Functions of T (kernels, splits)."""
