"""Means under laws that stand on points: draws, or the points of a quadrature rule."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant.inputs.weights import FloatArray
from calibrant.kernels.distances import Rows, is_tile
from calibrant.kernels.expectations.means import PIECE, TargetMeans, by_pieces
from calibrant.kernels.expectations.spectrum import Spectrum, products
from calibrant.kernels.kernel import Kernel
from calibrant.kernels.shapes import Gaussian


@dataclass(frozen=True, eq=False)
class PointMeans(TargetMeans):
    """Means under laws with mass weights[m] on points[i, m]; every kernel will do.

    A pair costs M² values of the kernel; with a Gaussian kernel and real outcomes that lie within some hundred length
    scales it costs a product of short vectors (`Spectrum`).
    """

    points: FloatArray  # (n, M) or (n, M, D)
    weights: FloatArray  # (M,), they sum to 1
    kernel: Kernel

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.points)

    def single(self, i: Rows, t: FloatArray) -> FloatArray:
        """Return E k(Z, t)."""
        spectrum = self._spectrum
        if spectrum is None or not _cross(i.shape, t.shape):
            return self._summed(i, t)
        line, inside = t.reshape(-1), spectrum.covers(t).reshape(-1)
        if inside.all():
            return products(self._features[i], spectrum.features(t))
        axis = int(t.shape[0] == 1)
        value = np.empty(np.broadcast_shapes(i.shape, t.shape))
        for chosen, mean in ((inside, self.single), (~inside, self._summed)):
            some = np.expand_dims(line[chosen], 1 - axis)
            if some.size:
                np.moveaxis(value, axis, 0)[chosen] = np.moveaxis(mean(i, some), axis, 0)
        return value

    def double(self, i: Rows, j: Rows) -> FloatArray:
        """Return E k(Z, Z'): the mean over all pairs of points."""
        if self._spectrum is None:
            return self.beside(self, i, j)
        features = self._features
        if is_tile(i, j):
            return products(features[i], features[j])
        return by_pieces(lambda i, j: products(features[i], features[j]), i, j, cost=features.shape[1])

    def beside(self, other: PointMeans, i: Rows, j: Rows) -> FloatArray:
        """Return E k(Z, Z') with Z' on the points of another's row j."""
        M, N = self.weights.size, other.weights.size
        step = max(1, PIECE // N)

        def pairs(i: Rows, j: Rows) -> FloatArray:
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

    def _summed(self, i: Rows, t: FloatArray) -> FloatArray:
        total: FloatArray = np.zeros(())
        for m, weight in enumerate(self.weights.tolist()):
            total = total + weight * self._kernel(self.points[i, m], t)
        return np.asarray(total)

    def _kernel(self, x: FloatArray, y: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            if self.points.ndim == 2:
                return self.kernel.of_distance(np.abs(x - y))
            square = sum(np.square(x[..., k] - y[..., k]) for k in range(self.points.shape[2]))
        return self.kernel.of_distance(np.sqrt(square))


def _cross(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Tell whether these are the shapes of a column and a row, in either order."""
    return len(first) == len(second) == 2 and 1 in (max(first[0], second[1]), max(first[1], second[0]))
