r"""Uniformity of dependent values: p-values of each combined by the Cauchy rule.

.. math:: T = \frac1n \sum_i \tan\bigl((\tfrac12 - p_i)\pi\bigr), \qquad p = \tfrac12 - \arctan(T)/\pi

(Liu and Xie 2020). A small p is right whatever the dependence between the p_i; a p around 0.05 is only nearly so.
"""

from __future__ import annotations

import numpy as np

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.binomial_tails import two_sided


def cauchy(p: FloatArray) -> tuple[float, float]:
    """Return T and the combined p-value.

    >>> round(cauchy(np.array([0.25, 0.75]))[1], 12)
    0.5
    """
    terms = 1 / np.tan(np.pi * np.maximum(p, np.finfo(np.float64).tiny))
    T = float((terms / p.size).sum())  # the sum itself may overflow
    return T, float(np.arctan2(1.0, T) / np.pi)


def piet(u: FloatArray) -> tuple[float, float]:
    """Return T and p of the values themselves: 2 min(u, 1 - u) is uniform."""
    return cauchy(two_sided(u, 1 - u))
