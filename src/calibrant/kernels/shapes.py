"""The shapes of kernels: each is one line of its distance in units of the length scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from calibrant.inputs.options import check_positive
from calibrant.inputs.weights import FloatArray
from calibrant.kernels.kernel import Kernel

FARTHEST = 1e6  # in length scales; farther away an exponential factor is 0, and what it multiplies must stay finite


@dataclass(frozen=True)
class Exponential(Kernel):
    """The kernel exp(-u), u = d / lengthscale; elsewhere also called Laplacian.

    >>> Exponential(2.0).of_distance([0.0, 2.0]).round(4).tolist()
    [1.0, 0.3679]
    """

    on_l1: ClassVar[bool] = True

    def profile(self, u: FloatArray) -> FloatArray:
        """Return exp(-u)."""
        return np.exp(-u)


@dataclass(frozen=True)
class Gaussian(Kernel):
    """The kernel exp(-u² / 2), u = d / lengthscale.

    >>> Gaussian(2.0).of_distance([0.0, 2.0]).round(4).tolist()
    [1.0, 0.6065]
    """

    def profile(self, u: FloatArray) -> FloatArray:
        """Return exp(-u² / 2)."""
        return np.exp(-0.5 * np.minimum(u, FARTHEST) ** 2)


@dataclass(frozen=True)
class Matern32(Kernel):
    """The kernel (1 + √3 u) exp(-√3 u), u = d / lengthscale.

    >>> Matern32(1.0).of_distance([0.0, 1.0]).round(4).tolist()
    [1.0, 0.4834]
    """

    def profile(self, u: FloatArray) -> FloatArray:
        """Return (1 + √3 u) exp(-√3 u)."""
        v = math.sqrt(3) * np.minimum(u, FARTHEST)
        return (1 + v) * np.exp(-v)


@dataclass(frozen=True)
class Matern52(Kernel):
    """The kernel (1 + √5 u + 5u²/3) exp(-√5 u), u = d / lengthscale.

    >>> Matern52(1.0).of_distance([0.0, 1.0]).round(4).tolist()
    [1.0, 0.524]
    """

    def profile(self, u: FloatArray) -> FloatArray:
        """Return (1 + √5 u + 5u²/3) exp(-√5 u)."""
        v = math.sqrt(5) * np.minimum(u, FARTHEST)
        return (1 + v + v * v / 3) * np.exp(-v)


@dataclass(frozen=True, init=False)
class RationalQuadratic(Kernel):
    """The kernel (1 + u² / (2 alpha))^(-alpha), u = d / lengthscale: a mixture of Gaussian kernels.

    >>> RationalQuadratic(alpha=1.0, lengthscale=1.0).of_distance([0.0, 2.0]).round(4).tolist()
    [1.0, 0.3333]
    """

    alpha: float = 1.0

    def __init__(self, alpha: float = 1.0, lengthscale: float | str = "median", distance: Any = None) -> None:
        object.__setattr__(self, "alpha", check_positive("alpha", alpha, "such as 1.0"))
        object.__setattr__(self, "lengthscale", lengthscale)
        object.__setattr__(self, "distance", distance)
        self.__post_init__()

    def profile(self, u: FloatArray) -> FloatArray:
        """Return (1 + u² / (2 alpha))^(-alpha)."""
        with np.errstate(over="ignore"):
            return np.exp(-self.alpha * np.log1p(u * u / (2 * self.alpha)))


@dataclass(frozen=True, init=False)
class Delta(Kernel):
    """The kernel that is 1 for equal targets and 0 for different ones: for classes.

    >>> Delta().of_distance([0.0, 1.0]).tolist()
    [1.0, 0.0]
    """

    def __init__(self) -> None:
        object.__setattr__(self, "lengthscale", 1.0)
        object.__setattr__(self, "distance", "labels")

    def __repr__(self) -> str:
        return "Delta()"

    def profile(self, u: FloatArray) -> FloatArray:
        """Return 1{u = 0}."""
        return np.asarray(u == 0, dtype=np.float64)
