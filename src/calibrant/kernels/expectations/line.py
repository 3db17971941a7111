"""Closed forms in one dimension: Normal and Laplace laws with a Gaussian or an exponential kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant.inputs.laws import Laplace, Normal
from calibrant.inputs.weights import FloatArray
from calibrant.kernels.distances import Rows
from calibrant.kernels.expectations.laplace import laplace_exponential, laplace_laplace_exponential
from calibrant.kernels.expectations.means import TargetMeans
from calibrant.kernels.expectations.normal import normal_exponential, normal_gaussian
from calibrant.kernels.expectations.normal_laplace import (
    laplace_gaussian,
    laplace_laplace_gaussian,
    normal_laplace_exponential,
    normal_laplace_gaussian,
)
from calibrant.kernels.kernel import Kernel
from calibrant.kernels.shapes import Exponential, Gaussian

LineLaw = Normal | Laplace

# In length scales. Narrower acts like 0, farther or wider has means below 1e-99, and in between nothing overflows.
NARROWEST, WIDEST = 1e-50, 1e100

SINGLE: dict[tuple[type[LineLaw], type[Kernel]], Callable[[FloatArray, FloatArray], FloatArray]] = {
    (Normal, Gaussian): normal_gaussian,
    (Normal, Exponential): normal_exponential,
    (Laplace, Gaussian): laplace_gaussian,
    (Laplace, Exponential): laplace_exponential,
}
DOUBLE: dict[
    tuple[type[LineLaw], type[LineLaw], type[Kernel]], Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
] = {
    (Normal, Normal, Gaussian): lambda d, s, t: normal_gaussian(d, np.sqrt(s * s + t * t)),
    (Normal, Normal, Exponential): lambda d, s, t: normal_exponential(d, np.sqrt(s * s + t * t)),
    (Normal, Laplace, Gaussian): normal_laplace_gaussian,
    (Normal, Laplace, Exponential): normal_laplace_exponential,
    (Laplace, Normal, Gaussian): lambda d, b, s: normal_laplace_gaussian(d, s, b),
    (Laplace, Normal, Exponential): lambda d, b, s: normal_laplace_exponential(d, s, b),
    (Laplace, Laplace, Gaussian): laplace_laplace_gaussian,
    (Laplace, Laplace, Exponential): laplace_laplace_exponential,
}


@dataclass(frozen=True, eq=False)
class LineMeans(TargetMeans):
    """Means under a Normal or Laplace law."""

    law: LineLaw
    kernel: Kernel

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.law.n

    @property
    def centre(self) -> FloatArray:
        """Where each law is symmetric about."""
        return self.law.mean if isinstance(self.law, Normal) else self.law.loc

    @cached_property
    def spread(self) -> FloatArray:
        """Standard deviation or scale in units of the length scale."""
        spread = self.law.std if isinstance(self.law, Normal) else self.law.scale
        with np.errstate(over="ignore"):
            return np.clip(spread / self.kernel.length, NARROWEST, WIDEST)

    def single(self, i: Rows, t: FloatArray) -> FloatArray:
        """Return E k(Z, t)."""
        return SINGLE[type(self.law), type(self.kernel)](self._gap(self.centre[i], t), self.spread[i])

    def double(self, i: Rows, j: Rows) -> FloatArray:
        """Return E k(Z, Z')."""
        return self.beside(self, i, j)

    def beside(self, other: LineMeans, i: Rows, j: Rows) -> FloatArray:
        """Return E k(Z, Z') with Z' from the law of another's row j."""
        form = DOUBLE[type(self.law), type(other.law), type(self.kernel)]
        return form(self._gap(self.centre[i], other.centre[j]), self.spread[i], other.spread[j])

    def _gap(self, x: FloatArray, t: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.asarray(np.minimum(np.abs(x - t) / self.kernel.length, WIDEST))
