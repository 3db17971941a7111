"""What a comparison of sets of points hands over to the judge: claims on each set, also on pairs of coordinates.

Pairs are those whose rank correlations differ between the sets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.claims import Claim
from calibrant.core.dispatch import chunks
from calibrant.core.evidence import ALL_ROWS, POWER
from calibrant.core.findings import ClaimsOnSet, PointCase
from calibrant.core.null import resampled_pvalue
from calibrant.core.pvalues import is_floor, normal_quantile
from calibrant.inputs.arrays import FloatArray
from calibrant.points.inputs import PointSets
from calibrant.points.sections import ComparedSets, TestedSection
from calibrant.points.sums import Divisions, observed_division, relabellings


def point_case(compared: Mapping[str, ComparedSets], tested: Mapping[str, Sequence[TestedSection]]) -> PointCase:
    """Return the claims on one or more generated sets compared with one real set.

    Claims of a section are made if its tests together are significant. Copies of real points are no difference.
    """
    sets = []
    for name, found in tested.items():
        about = compared[name]
        coordinates, *others = (each.claims if _is_significant(about, each) else () for each in found)
        differs = any(_is_significant(about, each.of_difference) for each in found)
        pairs = dependence_claims(about) if differs else ()
        sets.append(ClaimsOnSet(name, (*coordinates, *pairs, *chain(*others)), differs))
    shift = max(unseen_shift(about) for about in compared.values())
    is_different = any(each.differs for each in sets)
    return PointCase(smallest_claim(compared, tested, is_different=is_different), tuple(sets), shift)


def _is_significant(about: ComparedSets, section: TestedSection) -> bool:
    return section.pvalue is not None and about.is_significant(section.pvalue)


def smallest_claim(
    compared: Mapping[str, ComparedSets], tested: Mapping[str, Sequence[TestedSection]], *, is_different: bool
) -> Claim:
    """Return the claim on all sets, with the smallest adjusted p-value: of a difference, or else of all tests."""
    asked = [(name, each.of_difference if is_different else each) for name, found in tested.items() for each in found]
    name, section = min(
        ((name, each) for name, each in asked if each.pvalue is not None), key=lambda found: found[1].pvalue or 0.0
    )
    about, p = compared[name], section.pvalue or 0.0
    return Claim(
        "different" if is_different else "cannot tell",
        ALL_ROWS,
        "difference",
        math.nan,
        level=about.level,
        rows=about.sets.n + sum(each.sets.m for each in compared.values()),
        test=section.section.name,
        pvalue=about.adjusted(p),
        at_floor=is_floor(p, section.floor),
    )


def unseen_shift(compared: ComparedSets) -> float:
    """Return the shift of one coordinate, in sd, that is found with probability 0.8, allowing for all other tests."""
    sets = compared.sets
    tail = (1 - compared.level) / (2 * 2 * sets.d * compared.tests)
    return float((normal_quantile(1 - tail) + normal_quantile(POWER)) * (1 / sets.n + 1 / sets.m) ** 0.5)


MIN_CORRELATED, MAX_CORRELATED = 20, 1000  # points of each set
MAX_CORRELATED_COORDINATES = 30
NUMBERS_AT_ONCE = 1 << 21


class Ties(NamedTuple):
    """The order of values, and where in this order the values equal to each one begin and end."""

    order: NDArray[np.intp]
    begin: NDArray[np.intp]
    end: NDArray[np.intp]


class RankCorrelations(NamedTuple):
    """Rank correlations of all pairs of coordinates in either set, and p-values that hold for all pairs together."""

    pairs: tuple[tuple[int, int], ...]
    real: FloatArray
    generated: FloatArray
    pvalue: FloatArray


def dependence_claims(compared: ComparedSets) -> tuple[Claim, ...]:
    """Claim that the rank correlations of pairs differ, those with the smallest p-values first.

    The verdict does not depend on these claims. A pair is named only if its own p-value, allowing for all pairs and all
    other tests, is significant.
    """
    sets = compared.sets
    if not 2 <= sets.d <= MAX_CORRELATED_COORDINATES or min(sets.n, sets.m) < MIN_CORRELATED:
        return ()
    found = dependence(compared.subset(MAX_CORRELATED), compared.resamples, compared.rng)
    return tuple(
        compared.claim(
            "above" if found.generated[k] > found.real[k] else "below",
            "rank_correlation",
            float(found.generated[k]),
            expected=float(found.real[k]),
            subject=compared.subject("pair", " and ".join(compared.columns[j] for j in found.pairs[k])),
            pvalue=float(found.pvalue[k]),
            floor=1 / (compared.resamples + 1),
            test=f"largest of all pairs, {compared.resamples:,} random divisions of the ranks",
        )
        for k in np.lexsort((-np.abs(found.real - found.generated), found.pvalue))
        if compared.is_significant(found.pvalue[k])
    )


def dependence(sets: PointSets, resamples: int, rng: np.random.Generator) -> RankCorrelations:
    r"""Compare Spearman's rank correlations of all pairs of coordinates.

    .. math:: t_{jk} = |\operatorname{artanh} \rho_{y,jk} - \operatorname{artanh} \rho_{x,jk}|

    Each coordinate of each set is replaced by its ranks within that set; location, spread and shape of single
    coordinates then play no part. The null distribution of each :math:`t_{jk}` is that of the largest of them over
    random divisions of these ranks, ranked again (Westfall and Young 1993). A coordinate that is constant in one set is
    left out.
    """
    pairs = _pairs(sets)
    if not pairs:
        return RankCorrelations((), *(np.zeros(0) for _ in range(3)))
    U = np.concatenate([_own_ranks(sets.y), _own_ranks(sets.points)])
    j, k = np.array(pairs).T
    ((_, real, generated),) = _correlations(U, observed_division(sets.n, sets.m), j, k)
    largest = np.zeros(resamples)
    for rows, first, second in _correlations(U, relabellings(sets.n, sets.m, resamples, rng), j, k):
        largest[rows] = _apart(first, second).max(axis=1)
    extreme = (largest[:, None] >= _apart(real, generated)[0] * (1 - 1e-9)).sum(axis=0)
    p = np.asarray(resampled_pvalue(extreme, resamples), dtype=np.float64)
    return RankCorrelations(pairs, real[0], generated[0], p)


def _pairs(sets: PointSets) -> tuple[tuple[int, int], ...]:
    varies = (np.ptp(sets.y, axis=0) > 0) & (np.ptp(sets.points, axis=0) > 0)
    some = np.flatnonzero(varies).tolist()
    return tuple((a, b) for i, a in enumerate(some) for b in some[i + 1 :])


def _apart(first: FloatArray, second: FloatArray) -> FloatArray:
    most = 1 - 1e-9
    z, other = (np.arctanh(np.clip(part, -most, most)) for part in (first, second))
    return np.asarray(np.abs(z - other))


def _own_ranks(points: FloatArray) -> FloatArray:
    """Return the mean ranks of each coordinate, divided by n + 1."""
    everyone = np.ones((1, len(points)), dtype=np.uint8)
    return np.stack([_ranks(everyone, _ties(column))[0] for column in points.T], axis=1) / (len(points) + 1)


def _ties(values: FloatArray) -> Ties:
    order = np.argsort(values, kind="stable")
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return Ties(order, (ends - counts)[inverse], ends[inverse])


def _ranks(V: Divisions, ties: Ties) -> FloatArray:
    """Return for each division (B, N) the mean ranks of all points among the points that it marks."""
    below = np.zeros((len(V), V.shape[1] + 1), dtype=np.int32)
    np.cumsum(V[:, ties.order], axis=1, dtype=np.int32, out=below[:, 1:])
    return np.asarray((below[:, ties.begin] + below[:, ties.end] + 1) / 2)


def _correlations(
    U: FloatArray, divisions: Divisions, j: NDArray[np.intp], k: NDArray[np.intp]
) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
    """Yield slices of divisions, with Spearman's correlations of all pairs in both of their sets."""
    ties = [_ties(column) for column in U.T]
    for rows in chunks(len(divisions), max(1, NUMBERS_AT_ONCE // U.size)):
        V = divisions[rows]
        first, second = (_correlated(part, ties)[:, j, k] for part in (V, 1 - V))
        yield rows, first, second


def _correlated(V: Divisions, ties: Sequence[Ties]) -> FloatArray:
    """Return the matrices (B, d, d) of rank correlations among the points that each division marks."""
    inside = V.astype(np.float64)
    n = inside.sum(axis=1, keepdims=True)
    centred = np.stack([(_ranks(V, tie) - (n + 1) / 2) * inside for tie in ties], axis=1)  # (B, d, N)
    products = centred @ centred.transpose(0, 2, 1)
    length = np.sqrt(np.einsum("bjj->bj", products))
    length[length == 0] = np.inf  # constant in this set: no correlation
    return np.asarray(products / (length[:, :, None] * length[:, None, :]))
