"""What a comparison of sets of points hands over to the judge: claims on each set, and what would have been found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain

from calibrant.core.claims import Claim
from calibrant.core.evidence import ALL_ROWS, POWER
from calibrant.core.findings import ClaimsOnSet, PointCase
from calibrant.core.pvalues import normal_quantile
from calibrant.points.dependence import dependence_claims
from calibrant.points.sections import ComparedSets, TestedSection, is_floor


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
