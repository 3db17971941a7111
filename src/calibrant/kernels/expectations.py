"""Means of a target kernel under predictive distributions: E k(Z, t) and E k(Z, Z')."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from calibrant.errors import NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.mixture import Mixture
from calibrant.inputs.parametric import Laplace, MvNormal, Normal
from calibrant.inputs.samples import Samples
from calibrant.kernels.composed import RowIndex
from calibrant.kernels.expected_line import SINGLE, LineMeans
from calibrant.kernels.expected_points import PointMeans, SampledMeans, SampleMeans, quadrature_means
from calibrant.kernels.kernel import Delta, Gaussian, Kernel
from calibrant.kernels.target_means import TargetMeans, by_pieces

LARGEST_DISTANCE = 1e100  # in length scales: squares stay finite


@dataclass(frozen=True, eq=False)
class MvNormalMeans(TargetMeans):
    """Means of a Gaussian kernel under an MvNormal distribution."""

    distribution: MvNormal
    kernel: Kernel

    @property
    def n(self) -> int:
        return self.distribution.n

    def single(self, i: RowIndex, t: FloatArray) -> FloatArray:
        W, log_factor = self.factors
        rows = np.zeros_like(i) if self.distribution.is_shared else i
        return self._whitened(self.distribution.mean[i], t, W[rows], log_factor[rows])

    def double_with(self, other: MvNormalMeans, i: RowIndex, j: RowIndex) -> FloatArray:
        mean, mean_ = self.distribution.mean, other.distribution.mean
        if self.distribution.is_shared and other.distribution.is_shared:
            return self._whitened(mean[i], mean_[j], *_whitening(self.covariances[0] + other.covariances[0]))
        if self.distribution.is_diagonal and other.distribution.is_diagonal:
            return self._independent(mean[i], mean_[j], self.variances[i], other.variances[j])

        def pairs(i: RowIndex, j: RowIndex) -> FloatArray:
            return _factored(self._steps(mean[i], mean_[j]), self._covariance(i) + other._covariance(j))

        return by_pieces(pairs, i, j, cost=(self.distribution.shape[0] + 1) ** 2)

    @cached_property
    def covariances(self) -> FloatArray:
        """Covariances that differ, in squared length scales: (n, D, D), or (1, D, D) when one is shared."""
        each = self.distribution.cov[:1] if self.distribution.is_shared else self.distribution.cov
        return each / self.kernel.length / self.kernel.length

    @cached_property
    def variances(self) -> FloatArray:
        """Variances of the coordinates in squared length scales, (n, D)."""
        each = np.diagonal(self.covariances, axis1=1, axis2=2)
        return np.broadcast_to(each, self.distribution.mean.shape)

    @cached_property
    def factors(self) -> tuple[FloatArray, FloatArray]:
        return _whitening(self.covariances)

    def _covariance(self, i: RowIndex) -> FloatArray:
        return self.covariances[np.zeros_like(i) if self.distribution.is_shared else i]

    def _steps(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Return x - y in length scales."""
        with np.errstate(over="ignore"):
            return np.clip((x - y) / self.kernel.length, -LARGEST_DISTANCE, LARGEST_DISTANCE)

    def _independent(self, x: FloatArray, y: FloatArray, *variances: FloatArray) -> FloatArray:
        """Return the product over coordinates, which is never formed for all coordinates at once."""
        square: FloatArray = np.zeros(())
        factor: FloatArray = np.ones(())
        for k in range(self.distribution.shape[0]):
            v = 1 + sum(variance[..., k] for variance in variances)
            step = self._steps(x[..., k], y[..., k])
            square = square + step * step / v
            factor = factor / np.sqrt(v)
        return np.asarray(factor * np.exp(-0.5 * square))

    def _whitened(self, x: FloatArray, y: FloatArray, W: FloatArray, log_factor: FloatArray) -> FloatArray:
        """Apply triangular factors, one for all or one for each x, to x - y, coordinate by coordinate."""
        D = self.distribution.shape[0]
        steps = [self._steps(x[..., k], y[..., k]) for k in range(D)]
        square = sum(np.square(sum(W[..., k, m] * steps[m] for m in range(k + 1))) for k in range(D))
        return np.asarray(np.exp(log_factor - 0.5 * square))


def _whitening(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the inverse Cholesky factors of I + Σ, and half their log-determinants."""
    W = np.linalg.inv(np.linalg.cholesky(np.eye(covariance.shape[-1]) + covariance))
    return W, np.log(np.diagonal(W, axis1=-2, axis2=-1)).sum(axis=-1)


def _factored(d: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return |A|^(-1/2) exp(-d'A⁻¹d / 2), A = I + covariance, for pairs (m, D) and (m, D, D).

    The last row of the Cholesky factor of [[A, d], [d', c]] is L⁻¹d: one batched call gives both parts; any
    c > d'A⁻¹d does, and d'A⁻¹d <= |d|².
    """
    m, D = d.shape
    bordered = np.empty((m, D + 1, D + 1))
    bordered[:, :D, :D] = covariance + np.eye(D)
    bordered[:, D, :D] = bordered[:, :D, D] = d
    bordered[:, D, D] = 2 * (1 + np.square(d).sum(axis=1))
    L = np.linalg.cholesky(bordered)
    log_root = np.log(np.diagonal(L, axis1=1, axis2=2)[:, :D]).sum(axis=1)
    return np.asarray(np.exp(-0.5 * np.square(L[:, D, :D]).sum(axis=1) - log_root))


Pair = Callable[[TargetMeans, TargetMeans, RowIndex, RowIndex], FloatArray]


@dataclass(frozen=True, eq=False)
class MixtureMeans(TargetMeans):
    """E1 = Σ_c w_c E1_c and E2 = Σ_cc' w_c w'_c' E2_cc' over all pairs of components."""

    parts: tuple[TargetMeans, ...]
    weights: FloatArray  # (n, C)

    @property
    def n(self) -> int:
        return len(self.weights)

    def single(self, i: RowIndex, t: FloatArray) -> FloatArray:
        return np.asarray(sum(self.weights[i, c] * part.single(i, t) for c, part in enumerate(self.parts)))

    def double(self, i: RowIndex, j: RowIndex) -> FloatArray:
        return self._summed(i, j, between)

    def double_within(self, i: RowIndex) -> FloatArray:
        return self._summed(i, i, lambda a, b, i, j: a.double_within(i) if a is b else between(a, b, i, j))

    def _summed(self, i: RowIndex, j: RowIndex, pair: Pair) -> FloatArray:
        terms = (
            self.weights[i, c] * self.weights[j, d] * pair(first, second, i, j)
            for c, first in enumerate(self.parts)
            for d, second in enumerate(self.parts)
        )
        return np.asarray(sum(terms))


def between(first: TargetMeans, second: TargetMeans, i: RowIndex, j: RowIndex) -> FloatArray:
    """Return E k(Z, Z') with Z from row i of the first distribution and Z' from row j of the second."""
    if first is second:
        return first.double(i, j)
    for kind in (LineMeans, MvNormalMeans, PointMeans):
        if all(isinstance(means, kind) for means in (first, second)):
            return first.double_with(second, i, j)
    if isinstance(first, PointMeans):
        return between(second, first, j, i)
    assert isinstance(second, PointMeans)
    weights = enumerate(second.weights.tolist())
    return np.asarray(sum(weight * first.single(i, second.points[j, m]) for m, weight in weights))


def target_means(distribution: Distribution, kernel: Kernel, *, draws: Any = None, rng: Any = 0) -> TargetMeans:
    """Return the means of a target kernel, of the Euclidean distance of outcomes, under a predictive distribution.

    Where there is neither a closed form nor a quadrature rule, means are over an even number of draws per row.

    Closed forms: Normal and Laplace with Gaussian and Exponential, MvNormal with Gaussian, Samples with every kernel,
    and mixtures of these. By quadrature: other distributions of real outcomes with a quantile function, with Gaussian,
    if the length scale is not far below their spread.

    >>> import numpy as np
    >>> means = target_means(Normal([0.0, 1.0], [0.0 + 1e-9, 3**0.5]), Gaussian(1.0))
    >>> rows = np.arange(2)
    >>> means.single(rows, np.array([0.0, 1.0]))
    array([1. , 0.5])
    """
    exact = exact_means(distribution, kernel)
    if exact is not None:
        return exact
    if draws is None:
        raise NotApplicableError(
            f"{distribution.words} with the target kernel {shown(kernel)} has no closed form and no quadrature rule. "
            "Pass draws= (an even number such as 100) and rng= for means over draws, or use another target kernel"
        )
    return SampledMeans.of(distribution, kernel, draws, rng)


def exact_means(distribution: Distribution, kernel: Kernel) -> TargetMeans | None:
    """Return the means by a closed form or quadrature; None where there is neither."""
    if isinstance(kernel, Delta):
        raise NotApplicableError(
            f"Delta() is for targets with finitely many values, such as classes, and not for {distribution.words}. "
            "Use Gaussian or Exponential"
        )
    if isinstance(distribution, Samples):
        return SampleMeans.of(distribution, kernel)
    if isinstance(distribution, (Normal, Laplace)):
        return LineMeans(distribution, kernel) if (type(distribution), type(kernel)) in SINGLE else None
    if isinstance(distribution, Mixture):
        parts = [exact_means(component, kernel) for component in distribution.components]
        found = tuple(part for part in parts if part is not None)
        return MixtureMeans(found, distribution.weights) if len(found) == len(parts) else None
    if type(kernel) is not Gaussian:
        return None
    if isinstance(distribution, MvNormal):
        return MvNormalMeans(distribution, kernel)
    try:
        return None if distribution.shape else quadrature_means(distribution, kernel)
    except NotApplicableError:
        return None
