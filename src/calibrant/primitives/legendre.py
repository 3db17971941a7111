"""Orthonormal polynomials of a rank."""

from __future__ import annotations

import numpy as np

from calibrant.inputs.weights import FloatArray

DEGREES = 4


def legendre(M: int) -> FloatArray:
    r"""Return φ_1 to φ_4 (fewer if M < 4) at the ranks 0 to M: shape (degrees, M + 1).

    Discrete Legendre polynomials of x = r - M/2, positive at r = M. If the rank is uniform each has mean 0 and variance
    1 exactly, and they are uncorrelated. The first sees a shift, the second spread, the third skewness, the fourth
    tails.

    >>> legendre(1)
    array([[-1.,  1.]])
    >>> bool(np.allclose(legendre(9) @ legendre(9).T / 10, np.eye(4)))
    True
    """
    m = M + 1
    x = np.arange(m) - M / 2
    s = x * x
    q = float(m) ** 2
    found = np.stack(
        [
            x,
            s - (q - 1) / 12,
            x * (s - (3 * q - 7) / 20),
            s * s - s * (3 * q - 13) / 14 + 3 * (q - 1) * (q - 9) / 560,
        ]
    )[: min(DEGREES, M)]
    return np.asarray(found / np.sqrt(np.mean(found * found, axis=1, keepdims=True)))
