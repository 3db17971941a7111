"""The summary of two sets of points that come in batches: MMD² of blocks of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core import summary as codec
from calibrant.core.annotations import Rng
from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError
from calibrant.inputs.arrays import FloatArray, field_values
from calibrant.inputs.options import check_choice, check_count, generator
from calibrant.kernels.composed import distance_of_points
from calibrant.kernels.kernel import Kernel
from calibrant.kernels.pair_sums import by_products, centred, multiplies
from calibrant.kernels.point_kernels import (
    PointKernel,
    Polynomial,
    check_kernel_values,
    kernel_of,
    point_kernel,
    text_of,
)
from calibrant.points.inputs import PointSets, read_point_sets
from calibrant.progress import steps

KernelOfPoints: TypeAlias = Literal["gaussian", "laplace", "polynomial"] | Kernel
"""A kernel of points, by its name or as an object."""

Bandwidth: TypeAlias = float | Literal["median"]
"""The length scale of a kernel, or the median distance of two points."""

BlockEstimator: TypeAlias = Literal["block", "linear"]
ESTIMATORS = ("linear", "block")


@dataclass(frozen=True, eq=False, repr=False)
class PointBlocks(Summary):
    """Number, mean and spread of the squared maximum mean discrepancies of blocks of m points of each set.

    `mmd`, `mmd_test` and `interval` read it. `left_y` and `left_points` hold the points after the last block that both
    sets filled: merged with those of another summary they fill further ones. `estimator` is ``"block"``, or
    ``"linear"`` with m = 2.
    """

    kernel: PointKernel
    estimator: str
    m: int
    blocks: int
    mean: float
    spread: float
    left_y: FloatArray
    left_points: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (np.isfinite(self.mean) and np.isfinite(self.spread)):
            raise SummaryError(
                "the mean and the spread of PointBlocks must be finite numbers; "
                f"got {self.mean} and {self.spread}. Give the points in other units"
            )

    @classmethod
    def of(
        cls,
        y: ArrayLike,
        points: ArrayLike | None,
        *,
        kernel: KernelOfPoints = "gaussian",
        bandwidth: Bandwidth = "median",
        estimator: BlockEstimator = "block",
        blocksize: int | None = None,
        rng: Rng = 0,
    ) -> Self:
        """Return the summary of two sets of points, with the options of `mmd`.

        To merge summaries of batches, give bandwidth and blocksize as numbers: their defaults depend on the points,
        and so differ from batch to batch.
        """
        sets = read_point_sets(y, points, least=1)
        check_choice("estimator", estimator, *ESTIMATORS)
        m = block_rows(estimator, blocksize, sets)
        return cls.of_sets(sets, point_kernel(kernel, bandwidth, sets.pooled, generator(rng)), estimator, m)

    @classmethod
    def of_sets(cls, sets: PointSets, kernel: PointKernel, estimator: str, m: int) -> Self:
        """Return the summary for a kernel whose length scale is a number."""
        blocks = min(sets.n, sets.m) // m
        full = blocks * m
        left = [side[full:].copy() for side in (sets.y, sets.points)]
        empty = replace(cls.zero(), kernel=kernel, estimator=estimator, m=m, left_y=left[0], left_points=left[1])
        if not blocks:
            return empty
        y, points = sets.y[:full], sets.points[:full]
        with np.errstate(over="ignore", invalid="ignore"):  # values that are not finite are refused
            terms = block_terms(y, points, kernel, m, linear=estimator == "linear")
            mean = float(terms.mean())
            spread = float(np.square(terms - mean).sum())
        check_kernel_values(terms, mean, spread)
        return replace(empty, blocks=blocks, mean=mean, spread=spread)

    @classmethod
    def zero(cls) -> Self:
        """Return the summary of no points."""
        none = np.zeros((0, 0))
        return cls(Polynomial(), "block", 0, 0, 0.0, 0.0, none, none)

    def merged(self, other: Self) -> Self:
        """Add the blocks of both, and those that the left-over points of both fill together."""
        if (self.m, self.estimator, self.d) != (other.m, other.estimator, other.d):
            raise SummaryError(
                f"{self.estimator} MMD² of {self.m} points with {self.d} coordinates does not merge with "
                f"{other.estimator} MMD² of {other.m} points with {other.d}. Give blocksize as a number: the default "
                "differs from batch to batch"
            )
        if self.kernel != other.kernel:
            raise SummaryError(
                f"blocks summed with {self.kernel!r} do not merge with blocks summed with {other.kernel!r}. "
                'Give one bandwidth, as a number, for all: "median" differs from batch to batch'
            )
        left = PointSets(
            np.concatenate([self.left_y, other.left_y]), np.concatenate([self.left_points, other.left_points])
        )
        more = type(self).of_sets(left, self.kernel, self.estimator, self.m)
        return replace(self._added(other)._added(more), left_y=more.left_y, left_points=more.left_points)

    @property
    def n(self) -> int:
        """Number of points of both sets together, with those left over."""
        return 2 * self.m * self.blocks + len(self.left_y) + len(self.left_points)

    @property
    def d(self) -> int:
        """Number of coordinates."""
        return int(self.left_y.shape[1])

    @property
    def standard_error(self) -> float:
        """Standard error of `mean`; NaN for fewer than two blocks."""
        if self.blocks < 2:
            return float("nan")
        return float(np.sqrt(self.spread / (self.blocks * (self.blocks - 1))))

    def _added(self, other: Self) -> Self:
        """Return the statistics of the blocks of both (Chan, Golub and LeVeque 1983)."""
        blocks = self.blocks + other.blocks
        if not blocks:
            return self
        apart, share = other.mean - self.mean, other.blocks / blocks
        return replace(
            self,
            blocks=blocks,
            mean=self.mean + apart * share,
            spread=self.spread + other.spread + apart * apart * self.blocks * share,
        )

    def to_bytes(self) -> bytes:
        """Return bytes that `from_bytes` reads back; custom kernels are refused."""
        return codec.encode(type(self).__name__, {**field_values(self), "kernel": text_of(self.kernel)})

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> Self:
        return super()._checked({**values, "kernel": kernel_of(values["kernel"])})


def refuse_beside(summary: PointBlocks, points: object, kernel: object, bandwidth: object, *, plain: bool) -> None:
    """Refuse points and options beside a summary, which has its own; `plain` tells whether the others are defaults."""
    if points is not None:
        raise InputError("points cannot be given with PointBlocks, which hold both sets")
    if not (plain and is_name(kernel, "gaussian") and is_name(bandwidth, "median")):
        raise InputError(
            "options cannot be given with PointBlocks, which have their own: "
            f"{summary.kernel!r}, estimator={summary.estimator!r}, blocks of {summary.m} points"
        )


def is_name(value: object, name: str) -> bool:
    """Tell whether an option is this text; comparing an array with it would give an array."""
    return isinstance(value, str) and value == name


def block_rows(estimator: str, blocksize: int | None, sets: PointSets) -> int:
    """Return the points of a block of each set: √n, or the number that was given; 2 for pairs."""
    if estimator == "linear":
        if blocksize is not None:
            raise InputError('blocksize= is for estimator="block"; the linear estimator takes pairs')
        return 2
    if blocksize is None:
        return max(2, int(np.sqrt(min(sets.n, sets.m))))
    return check_count("blocksize", blocksize, least=2)


NUMBERS_AT_ONCE = 1 << 20  # kernel values, or coordinates
LABEL = "summing blocks of points"


def block_terms(y: FloatArray, points: FloatArray, kernel: PointKernel, b: int, *, linear: bool = False) -> FloatArray:
    """Return the unbiased MMD² of every block of b points of each set; both have the same number of whole blocks.

    If `linear`, return k(y, y') + k(x, x') - k(y, x') - k(y', x) of blocks of two.
    """
    Y, X = (side.reshape(-1, b, side.shape[1]) for side in (y, points))
    found = np.empty(len(Y))
    for start, stop in steps(len(Y), size=max(1, NUMBERS_AT_ONCE // (b * b * y.shape[1])), label=LABEL):
        A, B = Y[start:stop], X[start:stop]
        within, between = _values(A, A, kernel) + _values(B, B, kernel), _values(A, B, kernel)
        if linear:
            found[start:stop] = within[:, 0, 1] - between[:, 0, 1] - between[:, 1, 0]
        else:
            within[:, np.arange(b), np.arange(b)] = 0.0
            found[start:stop] = within.sum(axis=(1, 2)) / (b * (b - 1)) - 2 * between.mean(axis=(1, 2))
    return found


def _values(A: FloatArray, B: FloatArray, kernel: PointKernel) -> FloatArray:
    """Return k of all points of A (blocks, a, d) with those of the same block of B (blocks, c, d): (blocks, a, c)."""
    d = A.shape[2]
    if isinstance(kernel, Polynomial):
        return kernel.of_products(A @ B.swapaxes(1, 2), d)
    Z, split = np.concatenate([A.reshape(-1, d), B.reshape(-1, d)]), A.shape[0] * A.shape[1]
    if multiplies(kernel.distance, d):
        Z = centred(Z)
        P, Q = Z[:split].reshape(A.shape), Z[split:].reshape(B.shape)
        return kernel.of_distance(np.sqrt(by_products(P, Q, np.square(P).sum(axis=2), np.square(Q).sum(axis=2))))
    rows = np.arange(len(Z))
    i, j = rows[:split].reshape(A.shape[:2])[:, :, None], rows[split:].reshape(B.shape[:2])[:, None, :]
    return kernel.of_distance(distance_of_points(Z, kernel.distance or "euclidean")(i, j))
