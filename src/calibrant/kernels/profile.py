"""Kernels with a compiled profile: (1 + v (a + b v)) exp(-v), where v is a distance, or its square, times a rate."""

from __future__ import annotations

import math
from typing import NamedTuple

from calibrant.kernels.kernel import Exponential, Gaussian, Kernel, Matern32, Matern52

EXP_TERMS = 5  # what the profile costs beside one coordinate of a distance

# rate in units of the length scale, a, b
PROFILES: dict[type, tuple[float, float, float]] = {
    Exponential: (1.0, 0.0, 0.0),
    Matern32: (math.sqrt(3), 1.0, 0.0),
    Matern52: (math.sqrt(5), 1.0, 1 / 3),
}


class Profile(NamedTuple):
    """How a kernel is computed.

    Differences of coordinates are squared (`square`) or taken absolutely, and added; a root may follow (`root`); the
    result times `rate` is v.
    """

    square: bool
    root: bool
    rate: float
    a: float
    b: float


def has_profile(kernel: Kernel) -> bool:
    """Tell whether the compiled profile knows the kernel; a subclass may have changed it."""
    known = type(kernel) in PROFILES or (type(kernel) is Gaussian and kernel.distance == "euclidean")
    return known and not callable(kernel.distance) and 1e-100 < kernel.length < 1e100


def profile_of(kernel: Kernel) -> Profile:
    """Return how a kernel that `has_profile` is computed."""
    euclidean = kernel.distance == "euclidean"
    if type(kernel) is Gaussian:  # of the squared distance it is an exponential
        return Profile(True, False, 0.5 / kernel.length**2, 0.0, 0.0)
    rate, a, b = PROFILES[type(kernel)]
    halved = 2 if kernel.distance in ("tv", None) else 1
    return Profile(euclidean, euclidean, rate / (halved * kernel.length), a, b)
