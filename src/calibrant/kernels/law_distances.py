"""Distances between predictive laws: 2-Wasserstein and embedding.

In one dimension, and for normal laws whose covariances commute, the 2-Wasserstein distance is the Euclidean distance of
coordinates, so that every shape of kernel is positive definite with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant.inputs.laws import Laplace, Law, MvNormal, Normal, Samples
from calibrant.inputs.weights import FloatArray
from calibrant.kernels.composed import commute
from calibrant.kernels.distances import Distance, Rows, VectorDistance
from calibrant.kernels.expectations import TargetMeans
from calibrant.kernels.expectations.embedding import squared_embedding_distance
from calibrant.kernels.expectations.quadrature import quantile_points


def wasserstein(law: Law) -> Distance:
    """Return the 2-Wasserstein distance of the rows of a law."""
    if isinstance(law, MvNormal) and not commute(law):
        return NormalWasserstein(law)
    return VectorDistance(coordinates(law), "euclidean")


def coordinates(law: Law) -> FloatArray:
    """Return coordinates (n, c) whose Euclidean distance is the 2-Wasserstein distance.

    W² = (μ - μ')² + (σ - σ')² for normal laws, (μ - μ')² + 2 (β - β')² for Laplace, |μ - μ'|² + |Σ^½ - Σ'^½|² for
    commuting covariances, the mean squared difference of sorted draws, and ∫ (F⁻¹ - F'⁻¹)² otherwise.
    """
    if isinstance(law, Normal):
        return np.column_stack([law.mean, law.std])
    if isinstance(law, Laplace):
        return np.column_stack([law.loc, np.sqrt(2) * law.scale])
    if isinstance(law, MvNormal):
        return np.concatenate([law.mean, _roots(law).reshape(law.n, -1)], axis=1)
    if isinstance(law, Samples):
        return np.asarray(np.sort(law.draws, axis=1) / np.sqrt(law.draws.shape[1]))
    points, weights = quantile_points(law)
    return np.asarray(points * np.sqrt(weights))


@dataclass(frozen=True, eq=False)
class NormalWasserstein:
    """W² = |μ - μ'|² + tr(Σ + Σ' - 2 (Σ^½ Σ' Σ^½)^½) of normal laws in several dimensions."""

    law: MvNormal

    @cached_property
    def roots(self) -> FloatArray:
        """Σ^½ of each row."""
        return _roots(self.law)

    def __call__(self, i: Rows, j: Rows) -> FloatArray:
        """Return the distances of rows i and j."""
        mean, cov = self.law.mean, self.law.cov
        root = self.roots[i]
        inner = np.linalg.eigvalsh(root @ cov[j] @ root)
        trace = np.trace(cov, axis1=1, axis2=2)
        square = np.square(mean[i] - mean[j]).sum(axis=-1) + trace[i] + trace[j]
        square -= 2 * np.sqrt(np.maximum(inner, 0)).sum(axis=-1)
        return np.asarray(np.sqrt(np.maximum(square, 0)))


@dataclass(frozen=True, eq=False)
class EmbeddingDistance:
    """d² = E2(p, p) - 2 E2(p, p') + E2(p', p'): the distance of mean embeddings, E2 of the kernel on targets."""

    means: TargetMeans

    def __call__(self, i: Rows, j: Rows) -> FloatArray:
        """Return the distances of rows i and j."""
        return np.sqrt(squared_embedding_distance(self.means, i, j))


def _roots(law: MvNormal) -> FloatArray:
    if law.is_diagonal:
        return np.sqrt(law.cov)
    values, vectors = np.linalg.eigh(law.cov[:1] if law.is_shared else law.cov)
    roots = (vectors * np.sqrt(np.maximum(values, 0))[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    return np.broadcast_to(roots, law.cov.shape)
