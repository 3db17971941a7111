"""Means under distributions on points: draws, or the points of a quadrature rule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.options import check_count, generator
from calibrant.inputs.samples import Samples
from calibrant.kernels.composed import RowIndex, is_tile
from calibrant.kernels.kernel import Gaussian, Kernel
from calibrant.kernels.target_means import NUMBERS_PER_PIECE, TargetMeans, by_pieces

MAX_FREQUENCY = 8.6  # frequencies beyond have less than 1e-17 of the mass
MARGIN = 8.8  # in length scales; a copy that far away is below 1e-16
MAX_COLUMNS, AFFORDABLE_COLUMNS = 8192, 512
MAX_FEATURE_NUMBERS = 1 << 24  # of features, 128 MiB; few columns are always affordable
INTERVAL_MARGIN = 0.25  # how much wider than the points the interval is on each side: outcomes lie in it too
CHUNK = 1 << 17


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The feature map x -> (√q_k cos(ω_k x), √q_k sin(ω_k x)) on [low, high]."""

    low: float
    high: float
    length: float

    @classmethod
    def covering(cls, points: FloatArray, length: float) -> Spectrum | None:
        """Return the map on an interval around these points; None when that takes too many columns."""
        low, high = float(points.min()), float(points.max())
        slack = INTERVAL_MARGIN * (high - low) + length
        found = cls(low - slack, high + slack, length)
        most = max(AFFORDABLE_COLUMNS, min(MAX_COLUMNS, MAX_FEATURE_NUMBERS // len(points)))
        return found if most // 2 * found.step > MAX_FREQUENCY else None

    @property
    def step(self) -> float:
        return 2 * math.pi / ((self.high - self.low) / self.length + MARGIN)

    @property
    def roots(self) -> FloatArray:
        """√q_k of the frequencies k · step."""
        omega = self.step * np.arange(math.ceil(MAX_FREQUENCY / self.step) + 1)
        q = 2 * self.step * np.exp(-0.5 * omega * omega) / math.sqrt(2 * math.pi)
        q[0] /= 2
        return np.sqrt(q)

    def features(self, t: FloatArray) -> FloatArray:
        roots = self.roots
        angle = self._angle(t)[..., None] * np.arange(roots.size)
        return np.concatenate([roots * np.cos(angle), roots * np.sin(angle)], axis=-1)

    def mean_features(self, points: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the weighted mean of the features over the points of each row: (n, M) to (n, columns)."""
        roots = self.roots
        mean = np.empty((len(points), roots.size), dtype=np.complex128)
        rows = max(1, CHUNK // points.shape[1])
        for start in range(0, len(points), rows):
            part = slice(start, start + rows)
            wave = np.exp(1j * self._angle(points[part]))
            power = np.broadcast_to(weights, wave.shape).astype(np.complex128)
            for k in range(roots.size):
                mean[part, k] = power.sum(axis=1)
                power *= wave
        mean *= roots
        return np.concatenate([mean.real, mean.imag], axis=1)

    def _angle(self, x: FloatArray) -> FloatArray:
        return np.asarray((x - 0.5 * (self.low + self.high)) / self.length * self.step)


def products(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return sums over the last axis of two arrays that broadcast; a column against a row is a matrix product.

    Means of a positive kernel: what rounding makes negative is 0.
    """
    if x.ndim == y.ndim == 3 and x.shape[1] == y.shape[0] == 1:
        value = x[:, 0] @ y[0].T
    elif x.ndim == y.ndim == 3 and x.shape[0] == y.shape[1] == 1:
        value = y[:, 0] @ x[0].T
    else:
        value = np.einsum("...c,...c->...", x, y)
    return np.asarray(np.maximum(value, 0.0))


@dataclass(frozen=True, eq=False)
class PointMeans(TargetMeans):
    """Means under distributions with mass weights[m] on points[i, m]; any kernel can be used.

    A pair costs M² values of the kernel; with a Gaussian kernel and real outcomes that lie within some hundred length
    scales it costs a product of short vectors (`Spectrum`).
    """

    points: FloatArray  # (n, M) or (n, M, D)
    weights: FloatArray  # (M,), they sum to 1
    kernel: Kernel

    @property
    def n(self) -> int:
        return len(self.points)

    def single(self, i: RowIndex, t: FloatArray) -> FloatArray:
        spectrum = self._spectrum
        is_cross = i.ndim == t.ndim == 2 and 1 in (max(i.shape[0], t.shape[1]), max(i.shape[1], t.shape[0]))
        if spectrum is not None and is_cross and ((t >= spectrum.low) & (t <= spectrum.high)).all():
            return products(self._features[i], spectrum.features(t))
        return self._summed(i, t)

    def double(self, i: RowIndex, j: RowIndex) -> FloatArray:
        if self._spectrum is None:
            return self.double_with(self, i, j)
        features = self._features
        if is_tile(i, j):
            return products(features[i], features[j])
        return by_pieces(lambda i, j: products(features[i], features[j]), i, j, cost=features.shape[1])

    def double_with(self, other: PointMeans, i: RowIndex, j: RowIndex) -> FloatArray:
        M, N = self.weights.size, other.weights.size
        step = max(1, NUMBERS_PER_PIECE // N)

        def pairs(i: RowIndex, j: RowIndex) -> FloatArray:
            second = other.points[j][:, None]
            total = np.zeros(i.size)
            for start in range(0, M, step):
                part = slice(start, start + step)
                values = self._kernel(self.points[i, part][:, :, None], second)  # (pairs, step, N)
                total += (values @ other.weights) @ self.weights[part]
            return total

        return by_pieces(pairs, i, j, cost=M * N)

    @cached_property
    def _spectrum(self) -> Spectrum | None:
        if self.points.ndim > 2 or type(self.kernel) is not Gaussian or not self.points.size:
            return None
        return Spectrum.covering(self.points, self.kernel.length)

    @cached_property
    def _features(self) -> FloatArray:
        assert self._spectrum is not None
        return self._spectrum.mean_features(self.points, self.weights)

    def _summed(self, i: RowIndex, t: FloatArray) -> FloatArray:
        weights = enumerate(self.weights.tolist())
        return np.asarray(sum(weight * self._kernel(self.points[i, m], t) for m, weight in weights))

    def _kernel(self, x: FloatArray, y: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            if self.points.ndim == 2:
                return self.kernel.of_distance(np.abs(x - y))
            square = sum(np.square(x[..., k] - y[..., k]) for k in range(self.points.shape[2]))
        return self.kernel.of_distance(np.sqrt(square))


@dataclass(frozen=True, eq=False)
class SampleMeans(PointMeans):
    """Means over the draws of each row: all pairs for two rows, pairs of different draws for one row alone.

    Both are unbiased for the distribution the draws come from. `inner` and `squared_norms` take all pairs also within a
    row, as the distance of embeddings needs it.
    """

    @classmethod
    def of(cls, distribution: Samples, kernel: Kernel) -> SampleMeans:
        return cls(distribution.draws, np.full(distribution.M, 1 / distribution.M), kernel)

    def double_within(self, i: RowIndex) -> FloatArray:
        M = self.weights.size
        if M < 2:
            raise NotApplicableError(
                "the mean over pairs of different draws needs at least 2 draws per row; got 1. Give more draws, or use "
                "unbiased=True, which does not pair a row with itself"
            )
        itself = self.kernel.at_zero
        return np.asarray((M * self.squared_norms[i] - itself) / (M - 1))


@dataclass(frozen=True, eq=False)
class SampledMeans(PointMeans):
    """Unbiased means over M draws per row: draw m meets draw m of another row, and draw m + M/2 of its own.

    This costs M values of the kernel per pair and not M², and is as precise per value. `inner` takes all pairs.
    """

    @classmethod
    def of(cls, distribution: Distribution, kernel: Kernel, draws: Any, rng: Any) -> SampledMeans:
        """Draw from the distribution; the number of draws is even."""
        M = check_count("draws", draws, least=2)
        if M % 2:
            raise InputError(
                f"draws must be even, as one half of the draws of a row meets the other; got {M}. Pass {M + 1}"
            )
        return cls(distribution.sample(M, generator(rng)), np.full(M, 1 / M), kernel)

    @property
    def draws(self) -> FloatArray:
        return self.points

    def double(self, i: RowIndex, j: RowIndex) -> FloatArray:
        M = self.weights.size
        return np.asarray(sum(self._kernel(self.points[i, m], self.points[j, m]) for m in range(M)) / M)

    def double_within(self, i: RowIndex) -> FloatArray:
        half = self.weights.size // 2
        pairs = (self._kernel(self.points[i, m], self.points[i, m + half]) for m in range(half))
        return np.asarray(sum(pairs) / half)

    def inner(self, i: RowIndex, j: RowIndex) -> FloatArray:
        return super().double(i, j)


QUADRATURE_POINTS = 129
NORMAL_CUTOFF = 8.3  # standard normal; what lies beyond has probability 1e-16
CHECKED_ROWS = 64  # rows, the widest ones, on which the rule is compared with one twice as fine
TOLERANCE = 1e-6


@cache
def normal_rule(size: int = QUADRATURE_POINTS) -> tuple[FloatArray, FloatArray]:
    """Return equidistant points and weights for means under the standard normal distribution.

    The trapezoidal rule converges faster than any power of the spacing for integrands as smooth as this one.
    """
    x = np.linspace(-NORMAL_CUTOFF, NORMAL_CUTOFF, size)
    weights = np.exp(-0.5 * x * x)
    weights /= weights.sum()
    for array in (x, weights):
        array.flags.writeable = False
    return x, weights


def quantile_points(distribution: Distribution, size: int = QUADRATURE_POINTS) -> tuple[FloatArray, FloatArray]:
    """Return points (n, size) and weights (size,): z = F⁻¹(Φ(x)) at the points x of `normal_rule`.

    Right of the median the survival function is used: no tail is rounded away.
    """
    from scipy.special import ndtr

    x, weights = normal_rule(size)
    left, right = ndtr(x[x <= 0]), ndtr(-x[x > 0])
    low = distribution.ppf(np.broadcast_to(left, (distribution.n, left.size)))
    high = distribution.isf(np.broadcast_to(right, (distribution.n, right.size)))
    return np.concatenate([low, high], axis=1), weights


def quadrature_means(distribution: Distribution, kernel: Kernel) -> PointMeans | None:
    """Return the means of a smooth kernel under a distribution with quantiles; None where the rule is too coarse.

    E k(Z, Z') at a length scale equal to the distribution's scale is right to 1e-12 for normal, logistic and gamma
    distributions, to 1e-7 for heavy tails (t with 3 degrees of freedom) or a kink in the density (Laplace). It gets
    worse as the length scale shrinks and points lie farther apart than the kernel is wide; a rule off by more than 1e-6
    is not used.
    """
    points, weights = quantile_points(distribution)
    means = PointMeans(points, weights, kernel)
    width = points[:, 3 * QUADRATURE_POINTS // 4] - points[:, QUADRATURE_POINTS // 4]
    rows = np.argsort(width)[-CHECKED_ROWS:]
    finer = PointMeans(*quantile_points(distribution.take(rows), 2 * QUADRATURE_POINTS - 1), kernel)
    off = np.abs(means.double(rows, rows) - finer.squared_norms)
    return means if (off <= TOLERANCE).all() else None
