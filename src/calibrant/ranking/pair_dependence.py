"""Which pairs of coordinates go together more, or less, than their draws say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.claims import Claim, ClaimKind
from calibrant.core.dispatch import chunks
from calibrant.core.evidence import Subject
from calibrant.core.null import resampled_pvalue
from calibrant.inputs.arrays import FloatArray
from calibrant.ranking.draw_evidence import RankedDraws
from calibrant.ranking.effects import TIE
from calibrant.ranking.exchange_test import member_counts
from calibrant.ranking.failures import NONE, OTHER
from calibrant.ranking.summary import Ranks

RESAMPLES = 999
SMALLEST = 1 / (RESAMPLES + 1)  # p-value that so many exchanged sets can show
MAX_RANKS = 50_000_000  # rows times coordinates times exchanged members
MAX_COORDINATES = 60  # whose products of all exchanged sets are kept
BLOCK = 1 << 21
ROUNDING = 1e-12  # variance of ranks of one value
PERFECT = 1 - 1e-9  # correlation from which two coordinates are the same
DEPENDENCE = "dependence"
WRONG_DEPENDENCE = "dependence wrong"


class PairDependence(NamedTuple):
    """Rank correlations of pairs of coordinates, of outcomes and of all members of the rows."""

    first: NDArray[np.intp]  # (P,), coordinates
    second: NDArray[np.intp]
    outcomes: FloatArray  # (P,), correlation over rows of the ranks of the outcome
    members: FloatArray  # (P,), the same of the outcome and its draws
    pvalue: FloatArray  # (P,), each adjusted for all pairs

    @property
    def difference(self) -> FloatArray:
        """By how much outcomes go together more than stated, (P,)."""
        return self.outcomes - self.members

    def name(self, k: int, names: Sequence[str]) -> str:
        return f"{names[self.first[k]]} and {names[self.second[k]]}"

    @property
    def order(self) -> NDArray[np.intp]:
        return np.lexsort((-np.abs(self.difference), self.pvalue))

    def wrong(self, allowed: float, passes: Sequence[bool]) -> list[int]:
        """Return the pairs with a p-value of at most `allowed`, clearest first, of coordinates that are right alone.

        Ranks of a coordinate that is wrong have another correlation whatever its dependence on others is.
        """
        alone = np.asarray(passes, dtype=bool)
        stated = (self.pvalue <= allowed) & alone[self.first] & alone[self.second]
        return [k for k in self.order.tolist() if stated[k]]

    def claim(self, k: int, names: Sequence[str], level: float, rows: int, pvalue: float) -> Claim:
        subject = Subject("pair", name=self.name(k, names))
        size, at_floor = float(self.difference[k]), bool(self.pvalue[k] <= SMALLEST)  # of so many exchanged sets
        kind: ClaimKind = "above" if size > 0 else "below"
        known = Claim(kind, subject, DEPENDENCE, size, level=level, rows=rows, pvalue=pvalue, at_floor=at_floor)
        return replace(known, test="exchanged members")


class Together(NamedTuple):
    """The tests of all coordinates together; p-values are adjusted for everything that is tested."""

    ranks: float | None = None  # p-value of joint ranks
    pairs: float | None = None  # smallest p-value of pairs
    dependence: PairDependence | None = None

    @property
    def pvalue(self) -> float | None:
        return min((p for p in (self.ranks, self.pairs) if p is not None), default=None)

    def wrong_pairs(self, level: float, passes: Sequence[bool]) -> list[int]:
        found = self.dependence
        return [] if found is None else found.wrong((1 - level) / self._factor, passes)

    def failure(self, level: float, passes: Sequence[bool]) -> str:
        if self.pvalue is None:
            return ""
        if self.wrong_pairs(level, passes):
            return WRONG_DEPENDENCE
        if self.pvalue > 1 - level:
            return NONE
        return WRONG_DEPENDENCE if all(passes) else OTHER

    def adjusted(self, k: int) -> float:
        assert self.dependence is not None
        return min(1.0, self._factor * float(self.dependence.pvalue[k]))

    @property
    def _factor(self) -> float:
        """What adjusts the p-values of pairs for the other tests."""
        assert self.dependence is not None
        assert self.pairs is not None
        return self.pairs / float(self.dependence.pvalue.min())


def together_claims(together: Together, ranks: Ranks, level: float, passes: Sequence[bool]) -> list[Claim]:
    """Return the claims on all coordinates together that tests support; `passes` tells which are right alone."""
    found, n, claims = together.dependence, ranks.n, []
    if found is not None:
        wrong = together.wrong_pairs(level, passes)
        claims = [found.claim(k, ranks.names, level, n, together.adjusted(k)) for k in wrong]
    if together.ranks is not None and together.ranks <= 1 - level:
        subject, p = Subject("whole"), together.ranks
        claims.append(Claim("description", subject, "joint_ranks", nan, rows=n, test="uniformity_test", pvalue=p))
    return claims


def is_affordable(n: int, M: int, D: int) -> bool:
    """Tell whether pairs of D coordinates, if there are any, are compared in about a second."""
    return 1 < D <= MAX_COORDINATES and n * D * max(RESAMPLES, M) <= MAX_RANKS


def pair_dependence(given: RankedDraws, rng: np.random.Generator) -> PairDependence:
    r"""Compare the dependence of pairs of outcomes with that of their draws.

    With :math:`\varphi_1` of the rank of a member among all members of its row, the outcome and its draws,
    :math:`\hat\rho_{de}` is the correlation over rows of :math:`\varphi_1(r_{id})` and :math:`\varphi_1(r_{ie})`, and
    :math:`\rho_{de}` the same over all members. The statistic of a pair is

    .. math:: T_{de} = |\operatorname{artanh} \hat\rho_{de} - \operatorname{artanh} \rho_{de}| .

    If the outcome is one more draw, any member of a row could be the outcome: T of random members has the same
    distribution, and so has the largest T over pairs. Correlations, unlike mean products, are hardly changed by a shift
    or a spread that is slightly wrong.
    """
    n, M, D = given.draws.shape
    first, second = (np.array(side, np.intp) for side in zip(*combinations(range(D), 2), strict=True))
    total, products = np.zeros((RESAMPLES + 1, D)), np.zeros((RESAMPLES + 1, D, D))  # of the outcome, then exchanged
    members = np.zeros((D, D))
    for part in chunks(n, max(1, BLOCK // (D * max(RESAMPLES, M + 1)))):
        less, equal = member_counts(given.y[part], given.draws[part], given.dtype)  # (r, D, M + 1)
        phi = (less + equal / 2 - M / 2) / sqrt(((M + 1) ** 2 - 1) / 12)
        members += np.einsum("rdm,rem->de", phi, phi) / (M + 1)  # their mean is 0
        chosen = rng.integers(M + 1, size=(len(phi), RESAMPLES))
        places = np.concatenate([np.zeros((len(phi), 1), chosen.dtype), chosen], axis=1)
        each = np.take_along_axis(phi, places[:, None, :], axis=2)  # (r, D, B + 1)
        each = np.ascontiguousarray(each.transpose(2, 1, 0))
        total += each.sum(axis=2)
        products += each @ each.transpose(0, 2, 1)
    mean = total / n
    seen = _correlations(products / n - mean[:, :, None] * mean[:, None, :])[:, first, second]
    stated = _correlations(members / n)[first, second]
    T = np.abs(np.arctanh(seen) - np.arctanh(stated))
    largest = T[1:].max(axis=1)
    extreme = (largest[:, None] >= T[0] * (1 - TIE) - TIE).sum(axis=0)
    return PairDependence(first, second, seen[0], stated, np.asarray(resampled_pvalue(extreme, RESAMPLES)))


def _correlations(covariance: FloatArray) -> FloatArray:
    """Return correlations (.., D, D); 0 of coordinates that do not vary."""
    variance = np.diagonal(covariance, axis1=-2, axis2=-1)
    scale = np.sqrt(np.where(variance > ROUNDING, variance, np.inf))
    return np.asarray(np.clip(covariance / (scale[..., :, None] * scale[..., None, :]), -PERFECT, PERFECT))
