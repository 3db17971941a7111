"""Sums of the squared kernel calibration error over blocks of rows: a summary of constant size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import hypot, sqrt
from typing import Any, Self

import numpy as np

from calibrant.core import summary as codec
from calibrant.core.dispatch import CHUNK_ROWS
from calibrant.core.kept_rows import KeptRows
from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError
from calibrant.inputs.arrays import FloatArray, field_values
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.inputs.rows import DistributionRows, RegionRows
from calibrant.kernel_errors.fitted import Randomness, form_of
from calibrant.kernel_errors.sums import block_sums
from calibrant.kernels.kernel import Delta, Exponential, JointKernel, Product
from calibrant.kernels.kernel_rows import KernelRows
from calibrant.kernels.point_kernels import kernel_of, text_of
from calibrant.progress import steps


@dataclass(frozen=True, eq=False, repr=False)
class Blocks(Summary):
    """Number, mean and spread of the sums S_b = Σ w_i w_j h_ij over the pairs of rows within blocks of m rows.

    `spread` is √Σ(S_b - mean)²: a root, since squares of sums of large weights would overflow. `pairs` is the sum over
    blocks of (Σw)² - Σw² (of (Σw)² if not `unbiased`: then a row is paired with itself too), `weight` is Σw of the rows
    used, `variance` Σw²v of their outcome variances v under calibration, `heaviest` the largest weight. `left` keeps
    the rows after the last full block, fewer than m of them: merged with those of another summary they fill further
    blocks.
    """

    kernel: Product | JointKernel
    m: int
    unbiased: bool
    draws: int | None
    kind: str  # "binary", "3 classes", "distribution Normal", "coverage of Sets at 0.9"; "": no rows yet
    blocks: int
    mean: float
    spread: float
    pairs: float
    weight: float
    variance: float
    heaviest: float
    left: tuple[KeptRows, ...]

    @classmethod
    def of(cls, rows: KernelRows, kernel: Product | JointKernel, m: int, unbiased: bool, random: Randomness) -> Self:
        """Sum h over the blocks of these rows, for kernels whose length scales are numbers."""
        full = rows.n // m * m
        left = rows.take(np.arange(full, rows.n))
        rest = (KeptRows.of(left),) if left.n else ()
        kind = _kind_of(rows)
        total = replace(cls.zero(), kernel=kernel, m=m, unbiased=unbiased, draws=random.draws, kind=kind)
        size = max(m, CHUNK_ROWS // m * m)
        for start, stop in steps(full, size=size, label="summing blocks of rows"):
            total = total._with(rows.take(np.arange(start, stop)), random)
        return replace(total, left=rest)

    @classmethod
    def zero(cls) -> Self:
        """Return the summary of no rows."""
        kernel = Exponential(1.0) * Delta()
        return cls(kernel, 0, True, None, "", 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, ())

    def merged(self, other: Self) -> Self:
        """Add the blocks of both, and those that the left-over rows of both fill together."""
        if (self.m, self.unbiased, self.kind) != (other.m, other.unbiased, other.kind):
            raise SummaryError(
                f"blocks of {self.m} rows ({self.kind}, unbiased={self.unbiased}) do not merge with "
                f"blocks of {other.m} ({other.kind}, unbiased={other.unbiased}). Give "
                "blocksize as a number, and summarize each kind of prediction alone"
            )
        if self.draws is not None or other.draws is not None:
            raise SummaryError(
                "blocks of a distribution whose means are taken over draws do not merge; pass all rows in one call"
            )
        if self.kernel != other.kernel:
            raise SummaryError(
                f"blocks summed with {self.kernel!r} do not merge with blocks summed with {other.kernel!r}. "
                'Give the length scales as numbers: "median" differs from batch to batch'
            )
        total = self._added(other)
        left = [*self.left, *other.left]
        if len(left) < 2:
            return replace(total, left=tuple(left))
        rows = (left[0] + left[1]).rows
        more = type(self).of(rows, self.kernel, self.m, self.unbiased, Randomness(None, np.random.default_rng(0)))
        return replace(total._added(more), left=more.left)

    @property
    def n(self) -> int:
        """Number of rows, with those left over."""
        return self.used + sum(part.n for part in self.left)

    @property
    def used(self) -> int:
        """Number of rows in full blocks."""
        return self.blocks * self.m

    @property
    def estimate(self) -> float:
        """The squared kernel calibration error: the mean over blocks, weighted by their pairs."""
        return self.blocks * self.mean / self.pairs

    @property
    def standard_error(self) -> float:
        """Standard error of the plain mean over blocks, in units of the mean."""
        return float(self.spread / np.sqrt(self.blocks * (self.blocks - 1)))

    def _with(self, rows: KernelRows, random: Randomness) -> Self:
        form = form_of(rows, self.kernel, random)
        w = np.asarray(rows.w)
        S = 2 * block_sums(form, w, self.m)
        by_block = w.reshape(-1, self.m)
        if self.unbiased:  # as sums of positive terms
            pairs = 2 * (by_block[:, 1:] * np.cumsum(by_block[:, :-1], axis=1)).sum(axis=1)
        else:
            pairs = by_block.sum(axis=1) ** 2
            S = S + (w * w * form.diagonal()).reshape(-1, self.m).sum(axis=1)
        if not np.isfinite(S).all():
            raise InputError("the kernel gave a value that is not a finite number; check its profile and distance")
        return self._added(
            replace(
                self,
                blocks=S.size,
                mean=float(S.mean()),
                spread=_norm(S - S.mean()),
                pairs=float(pairs.sum()),
                weight=float(w.sum()),
                variance=float((w * w * outcome_variance(rows)).sum()),
                heaviest=float(w.max()),
                left=(),
            )
        )

    def _added(self, other: Self) -> Self:
        """Return the statistics of the blocks of both (Chan, Golub and LeVeque 1983)."""
        if not self.blocks or not other.blocks:
            return other if not self.blocks else self
        blocks, apart = self.blocks + other.blocks, other.mean - self.mean
        return replace(
            self,
            blocks=blocks,
            mean=self.mean + apart * other.blocks / blocks,
            spread=hypot(self.spread, other.spread, apart * sqrt(self.blocks * other.blocks / blocks)),
            pairs=self.pairs + other.pairs,
            weight=self.weight + other.weight,
            variance=self.variance + other.variance,
            heaviest=max(self.heaviest, other.heaviest),
        )

    def to_bytes(self) -> bytes:
        """Return bytes that `from_bytes` reads back; kernels of your own are refused."""
        return codec.encode(type(self).__name__, {**field_values(self), "kernel": text_of(self.kernel)})

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> Self:
        return super()._checked({**values, "kernel": kernel_of(values["kernel"])})


def _norm(values: FloatArray) -> float:
    """Return √Σv², scaled by a power of two: no square overflows or vanishes."""
    exponent = int(np.frexp(np.abs(values).max())[1])
    return float(np.ldexp(np.sqrt(np.square(np.ldexp(values, -exponent)).sum()), exponent))


def _kind_of(rows: KernelRows) -> str:
    if isinstance(rows, Classes):
        return f"{rows.K} classes"
    if isinstance(rows, RegionRows):
        prediction = rows.prediction
        return f"coverage of {type(prediction).__name__} at {', '.join(f'{k:.10g}' for k in prediction.levels)}"
    if isinstance(rows, DistributionRows):
        return f"distribution {type(rows.distribution).__name__}{list(rows.distribution.shape) or ''}"
    return "binary"


def outcome_variance(rows: KernelRows) -> FloatArray:
    """Return the variance of each row's outcome if calibrated: p(1 - p), or half of 1 - Σp²; 1 for distributions.

    For intervals, sets and quantiles it is the variance of a hit, averaged over levels.
    """
    if isinstance(rows, Binary):
        p = rows.p.astype(np.float64)
        return np.asarray(p * (1 - p))
    if isinstance(rows, Classes):
        return np.asarray(0.5 * (1 - np.square(rows.simplex).sum(axis=1)))
    if isinstance(rows, RegionRows):
        levels = rows.prediction.levels
        return np.full(rows.n, float((levels * (1 - levels)).mean()))
    return np.ones(rows.n)
