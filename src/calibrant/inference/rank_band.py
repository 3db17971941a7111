"""Does the curve of the ranks leave its exact simultaneous band? The p-value, and where it leaves first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.counts_test import counts_test
from calibrant.summaries.ranks import Ranks


class BandTest(NamedTuple):
    """γ of each column, (C,), its exact p-value, and the t at which it is reached first."""

    gamma: FloatArray
    pvalue: FloatArray
    where: FloatArray


def band_test(ranks: Ranks) -> BandTest:
    """Return the smallest two-sided pointwise p-value γ of #{rank < j} ~ Binomial(n, j/(M + 1)) and P(γ* <= γ)."""
    t = ranks.points / (ranks.M + 1)
    gamma, pvalue, place = counts_test(below(ranks.counts, ranks.points), ranks.n, t)
    return BandTest(gamma, pvalue, t[place])


def below(counts: NDArray[np.int64], points: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return #{rank < j} at the points j, (T, C), of counts (M + 1, C)."""
    return np.asarray(np.cumsum(counts, axis=0)[points - 1])
