"""Means of the exponential kernel under Laplace laws, in units of the length scale.

The textbook quotients lose all digits where two of the scales (the length scale is one of them) are nearly equal. These
are the same functions as sums of positive terms: divided differences of exp(-x), accurate everywhere.
"""

from __future__ import annotations

import math

import numpy as np

from calibrant.inputs.weights import FloatArray

TERMS = 22  # of the series in D for w < 1; the first one left out is below 1e-21
TINY = 1e-300


def laplace_exponential(z: FloatArray, beta: FloatArray) -> FloatArray:
    """Return E exp(-|Z|) of Z ~ Laplace(z, beta).

    >>> float(laplace_exponential(np.array(0.0), np.array(2.5)) * 3.5)
    1.0
    """
    return np.asarray(_once(z, beta) / (1 + beta))


def laplace_laplace_exponential(z: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """Return E exp(-|Z - Z'|) of Z ~ Laplace(z, b) and Z' ~ Laplace(0, c).

    >>> float(laplace_laplace_exponential(np.array(0.0), np.array(1.0), np.array(1.0)))
    0.375
    """
    b, c = np.maximum(b, c), np.minimum(b, c)  # so that c/b stays small, and the value symmetric to the last bit
    twice = z * z * (c / b) * second_difference(z / b, z / c, z)
    return np.asarray(((c + b / (1 + b)) * _once(z, b) + twice) / ((1 + c) * (b + c)))


def phi(x: FloatArray) -> FloatArray:
    """Return (1 - exp(-x)) / x for x >= 0, 1 at 0."""
    x = np.maximum(x, TINY)
    return np.asarray(-np.expm1(-x) / x)


def second_difference(x: FloatArray, y: FloatArray, z: FloatArray) -> FloatArray:
    """Return the second divided difference of exp(-x) at three points >= 0."""
    low = np.minimum(np.minimum(x, y), z)
    high = np.maximum(np.maximum(x, y), z)
    middle = np.maximum(np.minimum(x, y), np.minimum(np.maximum(x, y), z))
    a, w = middle - low, high - low
    wide = np.maximum(w, 1.0)
    value = np.asarray((phi(a) - np.exp(-a) * phi(high - middle)) / wide)
    close = w < 1
    if close.any():
        value = np.where(close, 0.0, value)
        value[close] = _series(a[close], w[close])
    return np.asarray(np.exp(-low) * value)


def _series(a: FloatArray, w: FloatArray) -> FloatArray:
    """Return Σ_k (-1)^k c_k / (k+2)!, c_k = w c_{k-1} + a^k: the divided difference relative to its lowest point."""
    c, power = np.ones_like(w), np.ones_like(a)
    total = 0.5 * c
    for k in range(1, TERMS):
        power *= a
        c *= w
        c += power
        total += ((-1) ** k / math.factorial(k + 2)) * c
    return total


def _once(z: FloatArray, b: FloatArray) -> FloatArray:
    """Return exp(-z) + z M(z/b, z), M the first divided difference of exp(-x) with its sign turned."""
    x = z / b
    return np.asarray(np.exp(-z) + z * np.exp(-np.minimum(x, z)) * phi(np.abs(x - z)))
