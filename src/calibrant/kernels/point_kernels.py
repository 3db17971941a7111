"""Kernels of points: by name, or a kernel of the user, with its length scale found from the points."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from calibrant.errors import InputError, SummaryError, refuse_choice, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_positive
from calibrant.kernels.composed import checked_distance, distance_of_points
from calibrant.kernels.kernel import (
    Delta,
    Exponential,
    Gaussian,
    JointKernel,
    Kernel,
    LengthScale,
    Matern32,
    Matern52,
    Product,
    RationalQuadratic,
)
from calibrant.kernels.median import median_lengthscale, median_points

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
    """Return the kernel that the options `kernel` and `bandwidth` mean for these points (N, d).

    `kernel` is one of `names`, or a `Kernel`, which brings its own length scale; `rng` draws 4096 of more points, of
    which the median distance is taken; `what` names the points in errors.
    """
    if isinstance(kernel, str):
        if kernel not in names:
            raise refuse_choice("kernel", kernel, names)
        found = NAMED[kernel]
        given: LengthScale = "median"
        if not (isinstance(bandwidth, str) and bandwidth == "median"):
            given = check_positive("bandwidth", bandwidth, 'such as 1.0, or "median"')
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
    """Refuse values of a kernel, or sums of them, that are not finite: float64 ends at 1.8e308."""
    if not all(np.isfinite(each).all() for each in values):
        raise InputError(
            "the kernel's values are too large, or not finite; give the points in other units, or check the kernel"
        )


def _checked(kernel: Any, names: tuple[str, ...]) -> Kernel:
    if isinstance(kernel, type) and issubclass(kernel, (Kernel, JointKernel)):
        raise InputError(f"kernel must be a kernel, not a class: write {kernel.__name__}()")
    if isinstance(kernel, (Product, JointKernel)):
        raise InputError(f"points have no targets: pass one kernel, such as Gaussian(); got {shown(kernel)}")
    if not isinstance(kernel, Kernel):
        listed = ", ".join(map(repr, names))
        raise InputError(f"kernel must be one of {listed}, or a kernel such as Gaussian(1.0); got {shown(kernel)}")
    if type(kernel).profile is Kernel.profile:
        raise InputError(
            f"{kernel!r} has no profile; pass a kernel such as Gaussian(1.0), or one that defines profile(u)"
        )
    if callable(kernel.distance):
        return kernel
    distance = checked_distance(kernel, "euclidean", DISTANCES, "points")
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


KINDS: dict[str, type[PointKernel]] = {
    kind.__name__: kind for kind in (Exponential, Gaussian, Matern32, Matern52, RationalQuadratic, Delta, Polynomial)
}


def text_of(kernel: Product | JointKernel | PointKernel) -> str:
    """Return a product of kernels, or a kernel of points, as text; kernels and distances of your own are refused."""
    if isinstance(kernel, Product):
        return json.dumps([_described(kernel.prediction), _described(kernel.target)])
    return json.dumps(_described(kernel))


def kernel_of(text: str) -> Any:
    described = json.loads(text)
    return Product(*map(_built, described)) if isinstance(described, list) else _built(described)


def _described(kernel: PointKernel | JointKernel) -> dict[str, Any]:
    if KINDS.get(type(kernel).__name__) is not type(kernel) or callable(getattr(kernel, "distance", None)):
        raise SummaryError(
            f"a kernel or distance of your own has no form as bytes: {kernel!r}; merge in memory instead"
        )
    options = {} if isinstance(kernel, Delta) else asdict(kernel)
    return {"kind": type(kernel).__name__, **options}


def _built(described: dict[str, Any]) -> Any:
    kind, *_ = described.values()
    if kind not in KINDS:
        raise SummaryError(f"these bytes name a kernel that calibrant does not have: {described}")
    return KINDS[kind](**{name: value for name, value in described.items() if name != "kind"})
