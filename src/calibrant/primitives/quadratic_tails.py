r"""Tails of Σ_k λ_k Z_k², Z_k independent standard normal: the limits of Cramér-von Mises and Anderson-Darling.

With :math:`D(u) = \prod_k (1 - \lambda_k u)` and its roots :math:`u_k = 1/\lambda_k` in ascending order,

.. math:: P\Bigl(\sum_k \lambda_k Z_k^2 > x\Bigr) = \frac1\pi \sum_{k \ge 1} (-1)^{k+1}
          \int_{u_{2k-1}}^{u_{2k}} \frac{e^{-xu/2}}{u \sqrt{|D(u)|}}\, du

(Smirnov 1937). The terms are those of the tail itself, so that a small probability keeps its digits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibrant.inputs.weights import FloatArray

PAIRS = 40  # of roots
NODES = 256  # between two roots; the relative error is below 1e-11 as long as the tail is above 1e-300
SMALLEST = 0.04  # of x u_1: below it the tail is 1 in float64, and forty pairs of roots are too few


def anderson_darling_sf(x: float) -> float:
    """Return the limit of P(A² > x) (Anderson and Darling 1952): λ_k = 1/(k(k + 1)).

    >>> round(anderson_darling_sf(2.492), 5)
    0.05002
    """
    k = np.arange(1.0, 2 * PAIRS + 1)
    return _tail(x, k * (k + 1), lambda u: np.cos(np.pi / 2 * np.sqrt(1 + 4 * u)) / (np.pi * u))


def cramer_von_mises_sf(x: float) -> float:
    """Return the limit of P(W² > x) (Smirnov 1936): λ_k = 1/(k² π²).

    >>> round(cramer_von_mises_sf(0.46136), 5)
    0.05
    """
    k = np.arange(1.0, 2 * PAIRS + 1)
    return _tail(x, np.square(k * np.pi), lambda u: np.sin(np.sqrt(u)) / np.sqrt(u))


def _tail(x: float, roots: FloatArray, D: Callable[[FloatArray], FloatArray]) -> float:
    if x * roots[0] < SMALLEST:
        return 1.0
    first, last = roots[0::2, None], roots[1::2, None]
    half, angle = (last - first) / 2, (np.arange(NODES) + 0.5) * np.pi / NODES
    u = (first + last) / 2 + half * np.cos(angle)  # Gauss-Chebyshev: the integrand has a root at both ends
    with np.errstate(under="ignore"):
        f = np.exp(-x * u / 2) / (u * np.sqrt(np.abs(D(u)))) * half * np.sin(angle)
    terms = f.sum(axis=1) / NODES
    terms[1::2] *= -1
    return float(np.clip(terms.sum(), 0.0, 1.0))
