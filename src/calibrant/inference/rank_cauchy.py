r"""Uniformity of dependent values: pointwise p-values combined by the Cauchy rule.

.. math:: T = \frac1n \sum_i \tan\bigl((\tfrac12 - p_i)\pi\bigr), \qquad p = \tfrac12 - \arctan(T)/\pi

(Liu and Xie 2020). A small p is right whatever the dependence between the p_i; a p around 0.05 is only nearly so.
"""

from __future__ import annotations

import numpy as np

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.binomial_tails import binomial_tails, two_sided


def cauchy(p: FloatArray, *, small_only: bool) -> tuple[float, float]:
    """Return T and the combined p-value; with `small_only` only p_i < 1/2 are summed, and T is still divided by n.

    >>> round(cauchy(np.array([0.25, 0.75]), small_only=False)[1], 12)
    0.5
    >>> round(cauchy(np.array([0.25, 0.75]), small_only=True)[0], 12)
    0.5
    """
    terms = 1 / np.tan(np.pi * np.maximum(p, np.finfo(np.float64).tiny))
    if small_only:
        terms = np.where(p < 0.5, terms, 0.0)
    T = float((terms / p.size).sum())  # the sum itself may overflow
    return T, float(np.arctan2(1.0, T) / np.pi)


def prit(u: FloatArray) -> tuple[float, float]:
    """Return T and p of the empirical distribution function: n F_n(u_i) is Binomial(n, u_i)."""
    u = np.sort(u)
    below = np.searchsorted(u, u, side="right")
    return cauchy(two_sided(*binomial_tails(below, u.size, u)), small_only=True)


def piet(u: FloatArray) -> tuple[float, float]:
    """Return T and p of the values themselves: 2 min(u, 1 - u) is uniform."""
    return cauchy(two_sided(u, 1 - u), small_only=False)
