"""What a kernel is: a shape of a distance in units of a length scale."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_positive

DistanceName = Literal["tv", "l1", "euclidean", "labels", "wasserstein", "embedding"]
DISTANCES = get_args(DistanceName)
LengthScale = float | Literal["median"]
PairedDistance = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]
"""A distance of a user: of m points and m others, one pair per row, it returns m numbers."""


def read_returned(returned: Any, shape: tuple[int, ...], name: str, each: str) -> NDArray[Any]:
    """Return what a user's function returned as an array; refuse all but real numbers of this shape."""
    values = np.asarray(returned)
    if values.dtype.kind not in "fiub" or values.shape != shape:
        raise InputError(
            f"{name} must return one real number {each}: expected shape {shape}, got shape {values.shape} and type "
            f"{values.dtype}"
        )
    return values


@dataclass(frozen=True)
class Kernel:
    r"""A kernel k(x, x') = profile(d(x, x') / lengthscale).

    Subclasses give `profile`; everything else follows. A kernel of your own is one small class, and
    `calibrant.testing.check_kernel` says whether it is one:

    >>> class Cauchy(Kernel):
    ...     def profile(self, u):
    ...         return 1 / (1 + u * u)
    >>> Cauchy(0.5, "euclidean")
    Cauchy(lengthscale=0.5, distance='euclidean')

    Parameters
    ----------
    lengthscale
        A length in units of the distance, or ``"median"``: the median distance between two rows.
    distance
        A name (``"tv"``, ``"l1"``, ``"euclidean"`` for probabilities, ``"labels"`` for ordered classes,
        ``"wasserstein"``, ``"embedding"`` for distributions), a function of m points and m others that returns m
        distances, or None for the default of the prediction.
    """

    lengthscale: LengthScale = "median"
    distance: DistanceName | PairedDistance | None = None

    supremum: ClassVar[float] = 1.0
    """Largest absolute value of the profile."""
    signed: ClassVar[bool] = False
    """Whether the profile takes negative values."""
    on_l1: ClassVar[bool] = False
    """Whether the kernel is positive definite with an L1 distance in any number of dimensions."""

    def __post_init__(self) -> None:
        if self.lengthscale != "median" or not isinstance(self.lengthscale, str):
            number = check_positive("lengthscale", self.lengthscale, 'such as 1.0, or "median"')
            object.__setattr__(self, "lengthscale", number)
        named = isinstance(self.distance, str) and self.distance in DISTANCES
        if not (self.distance is None or callable(self.distance) or named):
            raise InputError(
                f"distance must be one of {', '.join(DISTANCES)}, a function or None; got {shown(self.distance)}"
            )

    def profile(self, u: FloatArray) -> FloatArray:
        """Return the kernel's value at u = distance / lengthscale, element by element."""
        raise NotImplementedError(f"{type(self).__name__} must define profile(u)")

    def of_distance(self, d: FloatArray) -> FloatArray:
        """Return the kernel's value at a distance; the length scale must be a number."""
        with np.errstate(over="ignore"):  # a length scale of 1e-300 makes u infinite and the value that of infinity
            return self.values(np.asarray(d, dtype=np.float64) / self.length)

    def values(self, u: FloatArray) -> FloatArray:
        """Return the profile at u; that of a user is checked: real, finite, one number for each."""
        found = self.profile(u)
        if type(self).__module__.startswith("calibrant.kernels."):
            return found
        values = read_returned(found, np.shape(u), f"profile of {type(self).__name__}", "for each element")
        bad = ~np.isfinite(values)
        if bad.any():
            at = np.unravel_index(int(np.argmax(bad)), values.shape)
            raise InputError(
                f"profile of {type(self).__name__} must be finite; at u = {u[at]:.6g} it is {shown(values[at])}"
            )
        return values.astype(np.float64, copy=False)

    @property
    def at_zero(self) -> float:
        """The kernel's value at distance 0."""
        return float(self.values(np.zeros(1))[0])

    @property
    def length(self) -> float:
        """The length scale as a number."""
        if isinstance(self.lengthscale, str):
            raise InputError("lengthscale='median' needs rows to take the median of; give a number here")
        return self.lengthscale

    def with_lengthscale(self, lengthscale: LengthScale) -> Self:
        """Return the same kernel with another length scale."""
        return replace(self, lengthscale=lengthscale)

    def with_distance(self, distance: DistanceName) -> Self:
        """Return the same kernel with another distance."""
        return replace(self, distance=distance)

    def __mul__(self, other: object) -> Product:
        return Product(self, other)  # type: ignore[arg-type]  # refuses what is not a kernel


@dataclass(frozen=True)
class Product:
    """A kernel on predictions times one on targets: k((p, y), (p', y')) = k_P(p, p') · k_Y(y, y')."""

    prediction: Kernel
    target: Kernel

    def __post_init__(self) -> None:
        for factor in (self.prediction, self.target):
            if isinstance(factor, type) and issubclass(factor, Kernel):
                raise InputError(f"a product is made of kernels, not of classes: write {factor.__name__}()")
            if not isinstance(factor, Kernel):
                raise InputError(
                    "a product is a kernel on predictions times one on targets, such as Exponential(0.2) * Delta(); "
                    f"got {shown(factor)}"
                )

    def __mul__(self, other: object) -> Product:
        raise InputError(
            f"a product has two factors, one on predictions and one on targets; got {self!r} times {shown(other)}"
        )

    def __repr__(self) -> str:
        return f"{self.prediction!r} * {self.target!r}"


class JointKernel:
    """A kernel on pairs (class probabilities, class) that is not a product.

    Subclasses define ``__call__(p, a, q, b)`` for m pairs at a time: p and q of shape (m, K), classes a and b as column
    numbers of shape (m,); it returns m numbers. Such a kernel costs K² evaluations per pair of rows.
    """

    supremum: ClassVar[float] = 1.0
    signed: ClassVar[bool] = False

    def __call__(self, p: FloatArray, a: NDArray[np.intp], q: FloatArray, b: NDArray[np.intp]) -> FloatArray:
        """Return the kernel of m pairs."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(p, a, q, b)")


ZERO_BEYOND = 1e6  # in length scales; farther away an exponential factor is 0, and what it multiplies must stay finite


@dataclass(frozen=True)
class Exponential(Kernel):
    """The kernel exp(-u), u = d / lengthscale; elsewhere also called Laplacian.

    >>> Exponential(2.0).of_distance([0.0, 2.0]).round(4).tolist()
    [1.0, 0.3679]
    """

    on_l1: ClassVar[bool] = True

    def profile(self, u: FloatArray) -> FloatArray:
        return np.exp(-u)


@dataclass(frozen=True)
class Gaussian(Kernel):
    """The kernel exp(-u² / 2), u = d / lengthscale.

    >>> Gaussian(2.0).of_distance([0.0, 2.0]).round(4).tolist()
    [1.0, 0.6065]
    """

    def profile(self, u: FloatArray) -> FloatArray:
        return np.exp(-0.5 * np.minimum(u, ZERO_BEYOND) ** 2)


@dataclass(frozen=True)
class Matern32(Kernel):
    """The kernel (1 + √3 u) exp(-√3 u), u = d / lengthscale.

    >>> Matern32(1.0).of_distance([0.0, 1.0]).round(4).tolist()
    [1.0, 0.4834]
    """

    def profile(self, u: FloatArray) -> FloatArray:
        v = math.sqrt(3) * np.minimum(u, ZERO_BEYOND)
        return (1 + v) * np.exp(-v)


@dataclass(frozen=True)
class Matern52(Kernel):
    """The kernel (1 + √5 u + 5u²/3) exp(-√5 u), u = d / lengthscale.

    >>> Matern52(1.0).of_distance([0.0, 1.0]).round(4).tolist()
    [1.0, 0.524]
    """

    def profile(self, u: FloatArray) -> FloatArray:
        v = math.sqrt(5) * np.minimum(u, ZERO_BEYOND)
        return (1 + v + v * v / 3) * np.exp(-v)


@dataclass(frozen=True, init=False)
class RationalQuadratic(Kernel):
    """The kernel (1 + u² / (2 alpha))^(-alpha), u = d / lengthscale: a mixture of Gaussian kernels.

    >>> RationalQuadratic(alpha=1.0, lengthscale=1.0).of_distance([0.0, 2.0]).round(4).tolist()
    [1.0, 0.3333]
    """

    alpha: float = 1.0

    def __init__(
        self,
        alpha: float = 1.0,
        lengthscale: LengthScale = "median",
        distance: DistanceName | PairedDistance | None = None,
    ) -> None:
        object.__setattr__(self, "alpha", check_positive("alpha", alpha, "such as 1.0"))
        object.__setattr__(self, "lengthscale", lengthscale)
        object.__setattr__(self, "distance", distance)
        self.__post_init__()

    def profile(self, u: FloatArray) -> FloatArray:
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
        return np.asarray(u == 0, dtype=np.float64)
