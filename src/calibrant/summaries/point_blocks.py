"""MMD² of blocks of two sets of points: what a stream of both leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from calibrant.errors import InputError, SummaryError
from calibrant.inputs.options import check_choice, check_count, generator
from calibrant.inputs.points import PointSets, read_point_sets
from calibrant.inputs.weights import FloatArray
from calibrant.kernels.point_kernels import PointKernel, Polynomial, point_kernel
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
        terms = linear_terms(y, points, kernel) if estimator == "linear" else block_terms(y, points, kernel, m)
        if not np.isfinite(terms).all():
            raise InputError(
                "the kernel gave a value that is not a finite number; give the points in other units, or check the "
                "kernel's profile and distance"
            )
        mean = float(terms.mean())
        return replace(empty, blocks=blocks, mean=mean, spread=float(np.square(terms - mean).sum()))

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
        found = super()._checked({**values, "kernel": point_kernel_of(values["kernel"])})
        if (
            not all(type(count) is int and count >= 0 for count in (found.m, found.blocks))
            or not all(type(value) is float and np.isfinite(value) for value in (found.mean, found.spread))
            or found.estimator not in ESTIMATORS
            or not all(_is_points(left) for left in (found.left_y, found.left_points))
        ):
            raise SummaryError(f"these bytes do not hold a whole {cls.__name__}: its values are no such numbers")
        return found


def block_rows(estimator: str, blocksize: Any, sets: PointSets) -> int:
    """Return the points of a block of each set: √n, or what the caller wants; 2 for pairs."""
    if estimator == "linear":
        if blocksize is not None:
            raise InputError('blocksize= is for estimator="block"; the linear estimator takes pairs')
        return 2
    if blocksize is None:
        return max(2, int(np.sqrt(min(sets.n, sets.m))))
    return check_count("blocksize", blocksize, least=2)


def _is_points(left: Any) -> bool:
    return (
        isinstance(left, np.ndarray) and left.ndim == 2 and left.dtype == np.float64 and bool(np.isfinite(left).all())
    )
