"""Are the outcomes spread over nested levels as the levels say? Pearson's statistic of ring counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inference.coverage_binomial import chi_square_sf, least_tied
from calibrant.inputs.weights import FloatArray

ENOUGH = 5.0  # least expected count for which the chi-square limit is used


class Joint(NamedTuple):
    """Statistic and p-value, the counts behind them, and how the law was found."""

    statistic: float
    pvalue: float
    counts: NDArray[np.int64]
    expected: FloatArray
    how: str


def joint(hits: NDArray[np.int64], levels: FloatArray, n: int, null: str, B: int, rng: np.random.Generator) -> Joint:
    """Compare the rows between neighbouring levels with n times the difference of the levels.

    The cells are rings of nested intervals or sets, or the stretches (q_{k-1}, q_k] between quantiles. The statistic
    equals n (ĉ - c)' S⁻¹ (ĉ - c), S_kl = min(c_k, c_l) - c_k c_l.
    """
    order = np.argsort(levels)
    counts = np.diff(hits[order], prepend=0, append=n)
    share = np.diff(levels[order], prepend=0.0, append=1.0)
    expected = n * share
    T = float(_pearson(counts, expected))
    L = levels.size
    if null == "asymptotic" or expected.min() >= ENOUGH:
        words = f"chi-square limit with {L} degree{'s' if L > 1 else ''} of freedom"
        return Joint(T, chi_square_sf(T, L), counts, expected, words)
    drawn = rng.multinomial(n, share / share.sum(), size=B)
    extreme = int(np.count_nonzero(_pearson(drawn, expected) >= least_tied(T)))
    return Joint(T, (1 + extreme) / (B + 1), counts, expected, f"{B} simulated counts")


def _pearson(counts: NDArray[np.int64], expected: FloatArray) -> FloatArray:
    return np.asarray(((counts - expected) ** 2 / expected).sum(axis=-1))
