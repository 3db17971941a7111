"""Shares of a whole number of ranks, the only ones at which a count of ranks is exact."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.inputs import check_count
from calibrant.inputs.laws.parameters import read_numbers

SLACK = 1e-6  # within which two shares are equally near: 0.95 may come as a float32


def nearest(shares: Any, possible: NDArray[np.int64], m: int, *, name: str) -> NDArray[np.int64]:
    """Return for each wanted share the nearest of the `possible` numbers of m-ths, the larger of two equally near.

    >>> nearest([0.5, 0.93], np.array([2, 4, 6, 8]), 10, name="levels")
    array([6, 8])
    """
    wanted = np.atleast_1d(read_numbers(shares, name)).astype(np.float64)
    if wanted.ndim > 1 or wanted.size == 0:
        raise InputError(f"{name} must be a number or a list of numbers; got shape {wanted.shape}")
    bad = ~((wanted > 0) & (wanted < 1))
    if bad.any():
        value = wanted[np.argmax(bad)]
        remedy = ". Divide percentages by 100" if 1 < value <= 100 else ""
        raise InputError(f"{name} must lie strictly between 0 and 1; got {shown(value)}{remedy}")
    above = np.searchsorted(possible, m * (wanted - SLACK)).clip(0, possible.size - 1)
    below = (above - 1).clip(0)
    is_above = possible[above] - m * wanted <= m * wanted - possible[below] + m * SLACK
    return np.asarray(possible[np.where(is_above, above, below)])


def read_points(points: Any, M: int) -> NDArray[np.int64]:
    """Return the ranks j, 0 < j <= M, that `points` stand for: so many at even distances, or the nearest to shares.

    >>> read_points(3, 99), read_points([0.1, 0.5], 19)
    (array([25, 50, 75]), array([ 2, 10]))
    """
    m = M + 1
    if isinstance(points, Integral) and not isinstance(points, (bool, np.bool_)):
        K = check_count("points", points)
        if K > M:
            raise InputError(f"points must be at most M = {M:,}, one between any two ranks; got {K:,}")
        i = np.arange(1, K + 1)
        return np.unique((2 * i * m + K + 1) // (2 * (K + 1)))
    return np.unique(nearest(points, np.arange(1, m), m, name="points"))
