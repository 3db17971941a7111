"""Kernels of points: by name, or a kernel of the user, with its length scale found from the points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.errors import InputError, refuse_choice, shown
from calibrant.inputs.options import check_positive
from calibrant.inputs.weights import FloatArray
from calibrant.kernels.distances import distance_of_points
from calibrant.kernels.kernel import JointKernel, Kernel, Product
from calibrant.kernels.median import median_lengthscale, median_points
from calibrant.kernels.shapes import Delta, Exponential, Gaussian

DISTANCES = ("euclidean", "l1")


@dataclass(frozen=True)
class Polynomial:
    """The kernel (x · x' / d + 1)^degree of points with d coordinates; that of the kernel inception distance has 3."""

    degree: int = 3

    def of_products(self, G: FloatArray, d: int) -> FloatArray:
        """Return the kernel of points with these inner products."""
        with np.errstate(over="ignore"):
            k = (G / d + 1.0) ** self.degree
        check_kernel_values(k)
        return np.asarray(k)


PointKernel = Kernel | Polynomial
"""A kernel of points, ready to be summed: its length scale is a number and its distance has a name or is a function."""

NAMED: dict[str, PointKernel] = {
    "gaussian": Gaussian(distance="euclidean"),
    "laplace": Exponential(distance="l1"),
    "polynomial": Polynomial(),
}


def point_kernel(
    kernel: Any,
    bandwidth: Any,
    pooled: FloatArray,
    rng: np.random.Generator,
    *,
    names: tuple[str, ...] = tuple(NAMED),
    what: str = "the pooled points",
) -> PointKernel:
    """Return the kernel that the options `kernel` and `bandwidth` mean for these points.

    Parameters
    ----------
    kernel
        One of `names`, or a `Kernel`, which brings its own length scale.
    bandwidth
        ``"median"``, the median distance of two of the points, or a number.
    pooled
        All points (N, d).
    rng
        Draws 4096 of more points, of which the median is taken.
    names
        The names that the verb knows.
    what
        The points, in words.
    """
    if isinstance(kernel, str):
        if kernel not in names:
            raise refuse_choice("kernel", kernel, names)
        found = NAMED[kernel]
        given = _read_bandwidth(bandwidth)
        if isinstance(found, Polynomial):
            if given != "median":
                raise InputError(f"kernel={kernel!r} has no length scale; leave bandwidth out; got {shown(bandwidth)}")
            return found
        return _with_median(found.with_lengthscale(given), pooled, rng, what, "bandwidth")
    checked = _checked(kernel, names)
    if not (isinstance(bandwidth, str) and bandwidth == "median"):
        raise InputError(
            f"bandwidth= goes with the name of a kernel; {kernel!r} has a length scale of its own. Leave bandwidth out"
        )
    return _with_median(checked, pooled, rng, what, "lengthscale")


def check_kernel_values(*values: Any) -> None:
    """Refuse values of a kernel, or sums of them, that are no finite numbers: float64 ends at 1.8e308."""
    if not all(np.isfinite(each).all() for each in values):
        raise InputError(
            "the kernel's values are too large, or not finite; give the points in other units, or check the kernel"
        )


def _read_bandwidth(bandwidth: Any) -> float | str:
    if isinstance(bandwidth, str) and bandwidth == "median":
        return bandwidth
    return check_positive("bandwidth", bandwidth, 'such as 1.0, or "median"')


def _checked(kernel: Any, names: tuple[str, ...]) -> Kernel:
    """Refuse what is no kernel of points."""
    if isinstance(kernel, type) and issubclass(kernel, (Kernel, JointKernel)):
        raise InputError(f"kernel must be a kernel, not a class: write {kernel.__name__}()")
    if isinstance(kernel, (Product, JointKernel)):
        raise InputError(f"points have no targets: pass one kernel, such as Gaussian(); got {shown(kernel)}")
    if not isinstance(kernel, Kernel):
        listed = ", ".join(map(repr, names))
        raise InputError(f"kernel must be one of {listed}, or a kernel such as Gaussian(1.0); got {shown(kernel)}")
    if isinstance(kernel, Delta):
        raise InputError("Delta() is a kernel on classes; points need one such as Gaussian()")
    if type(kernel).profile is Kernel.profile:
        raise InputError(
            f"{kernel!r} has no profile; pass a kernel such as Gaussian(1.0), or one that defines profile(u)"
        )
    if callable(kernel.distance):
        return kernel
    distance = kernel.distance or "euclidean"
    if distance not in DISTANCES:
        raise InputError(f"distance={distance!r} is no distance of points; use one of {', '.join(DISTANCES)}")
    if distance == "l1" and not kernel.on_l1:
        raise InputError(
            f"{type(kernel).__name__} with distance='l1' is not positive definite; use distance='euclidean', or "
            "Exponential(distance='l1')"
        )
    return kernel.with_distance(distance)


def _with_median(kernel: Kernel, pooled: FloatArray, rng: np.random.Generator, what: str, option: str) -> Kernel:
    if kernel.lengthscale != "median":
        return kernel
    few = median_points(pooled, rng)
    distance = distance_of_points(few, kernel.distance or "euclidean")
    return kernel.with_lengthscale(median_lengthscale(distance, np.arange(len(few)), what, option))
