"""Means of a Gaussian kernel under normal laws in several dimensions.

E k = |A|^(-1/2) exp(-d'A⁻¹d / 2) with d the difference of the means in length scales and A the identity plus the
covariance of the difference: Σ for one expectation, Σ + Σ' for two. In general every pair costs a Cholesky factor;
one covariance for all rows costs one factor altogether, independent coordinates cost none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant.inputs.laws import MvNormal
from calibrant.inputs.weights import FloatArray
from calibrant.kernels.distances import Rows
from calibrant.kernels.expectations.means import TargetMeans, by_pieces
from calibrant.kernels.kernel import Kernel

FARTHEST = 1e100  # in length scales, so that squares stay finite


@dataclass(frozen=True, eq=False)
class MvNormalMeans(TargetMeans):
    """Means of a Gaussian kernel under an MvNormal law."""

    law: MvNormal
    kernel: Kernel

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.law.n

    def single(self, i: Rows, t: FloatArray) -> FloatArray:
        """Return E k(Z, t)."""
        mean = self.law.mean[i]
        if self.law.is_diagonal:
            return self._independent(mean, t, self.variances[i])
        if self.law.is_shared:
            return self._shared(mean, t, self.covariances[0])
        return self._whitened(mean, t, *(part[i] for part in self._factors))

    def double(self, i: Rows, j: Rows) -> FloatArray:
        """Return E k(Z, Z')."""
        return self.beside(self, i, j)

    def beside(self, other: MvNormalMeans, i: Rows, j: Rows) -> FloatArray:
        """Return E k(Z, Z') with Z' from the law of another's row j."""
        mean, mean_ = self.law.mean, other.law.mean
        if self.law.is_shared and other.law.is_shared:
            return self._shared(mean[i], mean_[j], self.covariances[0] + other.covariances[0])
        if self.law.is_diagonal and other.law.is_diagonal:
            return self._independent(mean[i], mean_[j], self.variances[i], other.variances[j])

        def pairs(i: Rows, j: Rows) -> FloatArray:
            return _factored(self._steps(mean[i], mean_[j]), self._covariance(i) + other._covariance(j))

        return by_pieces(pairs, i, j, cost=(self.law.shape[0] + 1) ** 2)

    @cached_property
    def covariances(self) -> FloatArray:
        """Covariances that differ, in squared length scales: (n, D, D), or (1, D, D) when one is shared."""
        each = self.law.cov[:1] if self.law.is_shared else self.law.cov
        return each / self.kernel.length / self.kernel.length

    @cached_property
    def variances(self) -> FloatArray:
        """Variances of the coordinates in squared length scales, (n, D)."""
        each = np.diagonal(self.covariances, axis1=1, axis2=2)
        return np.broadcast_to(each, self.law.mean.shape)

    @cached_property
    def _factors(self) -> tuple[FloatArray, FloatArray]:
        """Inverse Cholesky factors of I + Σ, and half their log-determinants."""
        D = self.law.shape[0]
        W = np.linalg.inv(np.linalg.cholesky(np.eye(D) + self.covariances))
        return W, np.log(np.diagonal(W, axis1=1, axis2=2)).sum(axis=1)

    def _covariance(self, i: Rows) -> FloatArray:
        return self.covariances[np.zeros_like(i) if self.law.is_shared else i]

    def _steps(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Return x - y in length scales."""
        with np.errstate(over="ignore"):
            return np.clip((x - y) / self.kernel.length, -FARTHEST, FARTHEST)

    def _independent(self, x: FloatArray, y: FloatArray, *variances: FloatArray) -> FloatArray:
        """Return the product over coordinates, which is never formed for all coordinates at once."""
        square: FloatArray = np.zeros(())
        factor: FloatArray = np.ones(())
        for k in range(self.law.shape[0]):
            v = 1 + sum(variance[..., k] for variance in variances)
            step = self._steps(x[..., k], y[..., k])
            square = square + step * step / v
            factor = factor / np.sqrt(v)
        return np.asarray(factor * np.exp(-0.5 * square))

    def _shared(self, x: FloatArray, y: FloatArray, covariance: FloatArray) -> FloatArray:
        """Whiten both sides by the one factor before they meet."""
        W = np.linalg.inv(np.linalg.cholesky(np.eye(len(covariance)) + covariance))
        origin = self.law.mean[0]  # so that a common shift costs no digits
        u, v = self._steps(x, origin) @ W.T, self._steps(y, origin) @ W.T
        square = sum(np.square(u[..., k] - v[..., k]) for k in range(len(W)))
        return np.asarray(np.exp(np.log(np.diagonal(W)).sum() - 0.5 * square))

    def _whitened(self, x: FloatArray, y: FloatArray, W: FloatArray, log_factor: FloatArray) -> FloatArray:
        """Apply the triangular factor of each x to x - y, coordinate by coordinate."""
        D = self.law.shape[0]
        steps = [self._steps(x[..., k], y[..., k]) for k in range(D)]
        square: FloatArray = np.zeros(())
        for k in range(D):
            square = square + np.square(sum(W[..., k, m] * steps[m] for m in range(k + 1)))
        return np.asarray(np.exp(log_factor - 0.5 * square))


def _factored(d: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return |A|^(-1/2) exp(-d'A⁻¹d / 2), A = I + covariance, for pairs (m, D) and (m, D, D).

    The last row of the Cholesky factor of [[A, d], [d', c]] is L⁻¹d, so that one batched call gives both parts; any
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
