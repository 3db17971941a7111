"""Kernels whose profile is compiled: (1 + v (a + b v)) exp(-v), where v is a distance, or its square, times a rate."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from calibrant.kernels import Exponential, Gaussian, Kernel, Matern32, Matern52

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


@cache
def compiled_profile() -> Any:
    """Return a compiled function that adds terms times the profile of their distances to `total`."""
    import numba

    @numba.njit(nogil=True, cache=True, fastmath={"contract"})
    def add_profile(dist, term, total, root, rate, a, b, turns, value):  # type: ignore[no-untyped-def]  # pragma: no cover
        # Every loop runs over one line, so that it becomes vector code; distances and terms are spent on the way.
        turn_bits, value_bits = turns.view(np.int64), value.view(np.int64)
        m = dist.size
        if root:
            for j in range(m):
                dist[j] = math.sqrt(dist[j])
        # exp(-v) = 2^turn · exp(f), |f| <= ln(2) / 2: adding 1.5 · 2^52 rounds -v / ln 2 to an integer
        # and leaves it in the lowest bits, from where it goes to the exponent of the Taylor sum exp(f).
        for j in range(m):
            far = rate * dist[j]
            v = min(far, 708.0)
            turn = v * -1.4426950408889634 + 6755399441055744.0
            turns[j] = turn
            turn -= 6755399441055744.0
            f = -v - turn * 0.6931471803691238 - turn * 1.9082149292705877e-10
            e = f * (1 / 6227020800) + 1 / 479001600
            e = e * f + 1 / 39916800
            e = e * f + 1 / 3628800
            e = e * f + 1 / 362880
            e = e * f + 1 / 40320
            e = e * f + 1 / 5040
            e = e * f + 1 / 720
            e = e * f + 1 / 120
            e = e * f + 1 / 24
            e = e * f + 1 / 6
            e = e * f + 0.5
            e = e * f + 1.0
            value[j] = e * f + 1.0
            scaled = term[j] * (1.0 + v * (a + b * v))
            term[j] = scaled if far <= 708.0 else 0.0
        for j in range(m):
            value_bits[j] += turn_bits[j] << 52
        for j in range(m):
            total[j] += term[j] * value[j]

    return add_profile
