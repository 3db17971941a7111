"""MMD² of blocks of two sets of points: what a stream of both leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs.options import check_choice, check_count, generator
from calibrant.inputs.points import PointSets, read_point_sets
from calibrant.inputs.weights import FloatArray
from calibrant.kernels import Kernel
from calibrant.kernels.point_kernels import PointKernel, Polynomial, check_kernel_values, point_kernel
from calibrant.kernels.text import point_kernel_of, text_of_point_kernel
from calibrant.primitives.point_blocks import block_terms, linear_terms
from calibrant.summaries import codec
from calibrant.summaries.base import Summary

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
        if problem := _misfit(self):
            raise SummaryError(f"PointBlocks holds the MMD² of blocks, and the points that fill none; {problem}")

    @classmethod
    def of(
        cls,
        y: Any,
        points: Any,
        *,
        kernel: Any = "gaussian",
        bandwidth: Any = "median",
        estimator: str = "block",
        blocksize: int | None = None,
        rng: Any = 0,
    ) -> Self:
        """Return the summary of two sets of points, with the options of `mmd`.

        Summaries of batches merge if bandwidth and blocksize are numbers; those found from the points differ from
        batch to batch.
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
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
            terms = linear_terms(y, points, kernel) if estimator == "linear" else block_terms(y, points, kernel, m)
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
        if not self.m or not other.m:
            return other if not self.m else self
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
        """Return bytes that `from_bytes` reads back; kernels of one's own are refused."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return codec.encode(type(self).__name__, {**values, "kernel": text_of_point_kernel(self.kernel)})

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> Self:
        if not isinstance(values.get("kernel"), str):
            raise SummaryError(f"these bytes do not hold a whole {cls.__name__}: fields {sorted(values)}")
        return super()._checked({**values, "kernel": point_kernel_of(values["kernel"])})


def block_rows(estimator: str, blocksize: Any, sets: PointSets) -> int:
    """Return the points of a block of each set: √n, or what the caller wants; 2 for pairs."""
    if estimator == "linear":
        if blocksize is not None:
            raise InputError('blocksize= is for estimator="block"; the linear estimator takes pairs')
        return 2
    if blocksize is None:
        return max(2, int(np.sqrt(min(sets.n, sets.m))))
    return check_count("blocksize", blocksize, least=2)


def _misfit(blocks: PointBlocks) -> str:
    """Say what makes these values no blocks of points."""
    if not isinstance(blocks.kernel, Polynomial) and not (
        isinstance(blocks.kernel, Kernel) and isinstance(blocks.kernel.lengthscale, float)
    ):
        return f"its kernel must be one of points, with a number as its length scale; got {shown(blocks.kernel)}"
    if not isinstance(blocks.estimator, str) or blocks.estimator not in ESTIMATORS:
        return f"its estimator must be one of {', '.join(ESTIMATORS)}; got {shown(blocks.estimator)}"
    return _no_counts(blocks.m, blocks.blocks, blocks.estimator) or _no_statistics(blocks) or _no_left_over(blocks)


def _no_counts(m: Any, blocks: Any, estimator: str) -> str:
    for name, count in (("m", m), ("blocks", blocks)):
        if type(count) is not int or count < 0:
            return f"{name} must be a whole number of at least 0; got {shown(count)}"
    if m == 1 or (estimator == "linear" and m > 2) or (not m and blocks):
        return f"{blocks} {estimator} blocks cannot have {m} points of each set"
    return ""


def _no_statistics(blocks: PointBlocks) -> str:
    for name, value in (("mean", blocks.mean), ("spread", blocks.spread)):
        if type(value) is not float or not np.isfinite(value):
            return f"its {name} must be a finite number; got {shown(value)}. Give the points in other units"
    if blocks.spread < 0:
        return f"its spread is a sum of squares; got {blocks.spread:.6g}"
    return ""


def _no_left_over(blocks: PointBlocks) -> str:
    left = {"left_y": blocks.left_y, "left_points": blocks.left_points}
    for name, points in left.items():
        if not isinstance(points, np.ndarray) or points.dtype != np.float64 or points.ndim != 2:
            return f"its {name} must be an array (n, d) of float64; got {shown(points)}"
        if not np.isfinite(points).all():
            return f"its {name} must be finite numbers"
    (n, d), (m, e) = (points.shape for points in left.values())
    if d != e or bool(d) != bool(blocks.m):
        return f"its left_y and left_points must have the same columns; got shapes {(n, d)} and {(m, e)}"
    if blocks.m and min(n, m) >= blocks.m:
        return f"{n} and {m} points are left over, which fill a block of {blocks.m}"
    return ""
