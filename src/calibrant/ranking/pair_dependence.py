"""Which pairs of coordinates go together more, or less, than their draws say."""

from __future__ import annotations

from itertools import combinations
from math import nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.claims import Claim, ClaimKind, Subject
from calibrant.core.dispatch import chunks
from calibrant.core.null import resampled_pvalue
from calibrant.inputs.arrays import FloatArray
from calibrant.ranking.draw_evidence import RankedDraws
from calibrant.ranking.effects import TIE
from calibrant.ranking.exchange_test import member_counts
from calibrant.ranking.summary import Ranks

RESAMPLES = 999
MAX_PRODUCTS = 50_000_000  # of ranks: rows times pairs times exchanged members
BLOCK = 1 << 21


class PairDependence(NamedTuple):
    """Rank correlations of pairs of coordinates, among outcomes and among all members of the rows."""

    first: NDArray[np.intp]  # (P,), coordinates
    second: NDArray[np.intp]
    outcomes: FloatArray  # (P,), mean product of φ_1 of the two ranks of the outcome
    members: FloatArray  # (P,), the same over the outcome and its draws
    pvalue: FloatArray  # (P,), each adjusted for all pairs

    @property
    def worst(self) -> int:
        """The pair that is farthest off."""
        return int(np.argmax(np.abs(self.outcomes - self.members)))


class Together(NamedTuple):
    """The tests of all coordinates together; p-values are adjusted for everything that is tested."""

    ranks: float | None = None  # p-value of joint ranks
    pairs: float | None = None  # smallest p-value of pairs
    dependence: PairDependence | None = None

    @property
    def pvalue(self) -> float | None:
        """The smaller one; None if nothing was tested."""
        return min((p for p in (self.ranks, self.pairs) if p is not None), default=None)


def together_claims(together: Together, ranks: Ranks, level: float) -> list[Claim]:
    """Return the claims on all coordinates together that tests support."""
    claims, n = [], ranks.n
    if together.dependence is not None and together.pairs is not None and together.pairs <= 1 - level:
        found, k = together.dependence, together.dependence.worst
        subject = Subject("whole", name=f"{ranks.names[found.first[k]]} and {ranks.names[found.second[k]]}")
        seen, stated = float(found.outcomes[k]), float(found.members[k])
        kind: ClaimKind = "above" if seen > stated else "below"
        test, p = "exchanged members", together.pairs
        claims.append(
            Claim(kind, subject, "dependence", seen, level=level, rows=n, expected=stated, test=test, pvalue=p)
        )
    if together.ranks is not None and together.ranks <= 1 - level:
        subject, p = Subject("whole"), together.ranks
        claims.append(Claim("description", subject, "joint_ranks", nan, rows=n, test="uniformity_test", pvalue=p))
    return claims


def is_affordable(n: int, M: int, D: int) -> bool:
    """Tell whether pairs of D coordinates, if there are any, are compared in about a second."""
    return D > 1 and n * (D * (D - 1) // 2) * max(RESAMPLES, M) <= MAX_PRODUCTS


def pair_dependence(given: RankedDraws, rng: np.random.Generator) -> PairDependence:
    r"""Compare the dependence of pairs of outcomes with that of their draws.

    With :math:`\varphi_1` of the rank of a member among all members of its row, the outcome and its draws,

    .. math:: T_{de} = \frac1n \sum_i \varphi_1(r_{id}) \varphi_1(r_{ie})

    less its mean over all members. If the outcome is one more draw, any member of a row could be the outcome:
    T of random members has the same distribution, and so has the largest :math:`|T|` over pairs.
    """
    n, M, D = given.draws.shape
    first, second = (np.array(side, np.intp) for side in zip(*combinations(range(D), 2), strict=True))
    P = first.size
    outcomes, members, exchanged = np.zeros(P), np.zeros(P), np.zeros((RESAMPLES, P))
    for part in chunks(n, max(1, BLOCK // (P * max(RESAMPLES, M + 1)))):
        less, equal = member_counts(given.y[part], given.draws[part], given.dtype)  # (r, D, M + 1)
        phi = (less + equal / 2 - M / 2) / sqrt(((M + 1) ** 2 - 1) / 12)
        products = phi[:, first] * phi[:, second]  # (r, P, M + 1)
        outcomes += products[:, :, 0].sum(axis=0)
        members += products.mean(axis=2).sum(axis=0)
        chosen = rng.integers(M + 1, size=(len(less), RESAMPLES))
        for row, places in zip(products, chosen, strict=True):
            exchanged += row[:, places].T
    T = np.abs(outcomes - members)
    largest = np.abs(exchanged - members).max(axis=1)
    extreme = (largest[:, None] >= T * (1 - TIE)).sum(axis=0)
    return PairDependence(first, second, outcomes / n, members / n, np.asarray(resampled_pvalue(extreme, RESAMPLES)))
