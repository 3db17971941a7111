"""Hill numbers: how many equal shares have the diversity of given shares."""

from __future__ import annotations

import math

import numpy as np

from calibrant.inputs.weights import FloatArray

NEAR_ONE = 0.01  # of the order: as near, sums of powers are all but 1


def hill_number(share: FloatArray, q: float) -> float:
    r"""Return the Hill number of order q of positive shares; they are divided by their sum first.

    .. math:: \Bigl(\sum_i \lambda_i^q\Bigr)^{1/(1-q)}, \quad \exp\Bigl(-\sum_i \lambda_i \log \lambda_i\Bigr)
              \text{ for } q = 1, \quad 1 / \max_i \lambda_i \text{ for } q = \infty

    Order 0 counts the shares.

    >>> shares = np.array([0.5, 0.25, 0.25])
    >>> [round(hill_number(shares, q), 4) for q in (0, 1, 2, math.inf)]
    [3.0, 2.8284, 2.6667, 2.0]
    """
    share = share / share.sum()
    if q == 0:
        return float(share.size)
    if q == math.inf:
        return float(1 / share.max())
    log = np.log(share)
    if q == 1:
        return math.exp(-float(share @ log))
    if abs(q - 1) < NEAR_ONE:  # Σ λ^q = 1 + Σ λ (λ^(q-1) - 1)
        return math.exp(-math.log1p(float(share @ np.expm1((q - 1) * log))) / (q - 1))
    power = q * log
    most = float(power.max())  # λ^q may be too small for float64
    return math.exp((most + math.log(float(np.exp(power - most).sum()))) / (1 - q))
