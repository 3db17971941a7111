"""Does a curve of counts leave its exact simultaneous band? How far it is from its law, where, and the p-value."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.ecdf_band import gamma_pvalue, observed_gamma


class CountsTest(NamedTuple):
    """γ of each column, (C,), its exact p-value, and the place among the points at which it is reached first."""

    gamma: FloatArray
    pvalue: FloatArray
    place: NDArray[np.intp]


def counts_test(counts: NDArray[np.int64], N: int, t: FloatArray) -> CountsTest:
    """Compare counts (T, C) with Binomial(N, t), all points at once: the smallest doubled tail γ and P(γ* <= γ).

    >>> found = counts_test(np.array([[0], [4]]), 4, np.array([0.25, 0.5]))
    >>> found.gamma, found.place  # 2 P(B >= 4) of Binomial(4, 1/2)
    (array([0.125]), array([1]))
    """
    gamma, place = observed_gamma(counts, N, t)
    return CountsTest(gamma, np.array([gamma_pvalue(float(value), N, t) for value in gamma]), place)
