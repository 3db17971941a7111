"""Means under mixtures: sums over all pairs of components."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant.inputs.weights import FloatArray
from calibrant.kernels.distances import Rows
from calibrant.kernels.expectations.line import LineMeans
from calibrant.kernels.expectations.means import TargetMeans
from calibrant.kernels.expectations.mv_normal import MvNormalMeans
from calibrant.kernels.expectations.points import PointMeans

Pair = Callable[[TargetMeans, TargetMeans, Rows, Rows], FloatArray]


@dataclass(frozen=True, eq=False)
class MixtureMeans(TargetMeans):
    """E1 = Σ_c w_c E1_c and E2 = Σ_cc' w_c w'_c' E2_cc' over all pairs of components."""

    parts: tuple[TargetMeans, ...]
    weights: FloatArray  # (n, C)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.weights)

    def single(self, i: Rows, t: FloatArray) -> FloatArray:
        """Return E k(Z, t)."""
        total: FloatArray = np.zeros(())
        for c, part in enumerate(self.parts):
            total = total + self.weights[i, c] * part.single(i, t)
        return np.asarray(total)

    def double(self, i: Rows, j: Rows) -> FloatArray:
        """Return E k(Z, Z')."""
        return self._summed(i, j, between)

    def alone(self, i: Rows) -> FloatArray:
        """Return E k(Z, Z') of two independent draws of row i."""
        return self._summed(i, i, lambda a, b, i, j: a.alone(i) if a is b else between(a, b, i, j))

    def _summed(self, i: Rows, j: Rows, pair: Pair) -> FloatArray:
        total: FloatArray = np.zeros(())
        for c, first in enumerate(self.parts):
            for d, second in enumerate(self.parts):
                total = total + self.weights[i, c] * self.weights[j, d] * pair(first, second, i, j)
        return np.asarray(total)


def between(first: TargetMeans, second: TargetMeans, i: Rows, j: Rows) -> FloatArray:
    """Return E k(Z, Z') with Z from row i of the first law and Z' from row j of the second."""
    if first is second:
        return first.double(i, j)
    if isinstance(first, LineMeans) and isinstance(second, LineMeans):
        return first.beside(second, i, j)
    if isinstance(first, MvNormalMeans) and isinstance(second, MvNormalMeans):
        return first.beside(second, i, j)
    if isinstance(first, PointMeans) and isinstance(second, PointMeans):
        return first.beside(second, i, j)
    if isinstance(first, PointMeans):
        return between(second, first, j, i)
    assert isinstance(second, PointMeans)
    total: FloatArray = np.zeros(())
    for m, weight in enumerate(second.weights.tolist()):
        total = total + weight * first.single(i, second.points[j, m])
    return np.asarray(total)
