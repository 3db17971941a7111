"""The verdict on sets of points: which claims it is made of, and their words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from calibrant.core.evidence import ALL_ROWS, POWER
from calibrant.core.findings import Verdict, plain_lines
from calibrant.core.pvalues import normal_quantile
from calibrant.core.results import Curve
from calibrant.core.words import listed, outward, percent, pvalue_words, round_up
from calibrant.points.dependence import dependence_claims
from calibrant.points.neighbour_section import COPIES
from calibrant.points.sections import ComparedSets, PointClaim, TestedSection, is_floor

DETECTABLE_SHIFT = 0.5  # of one coordinate, in sd: it must be detectable for "no evidence"
COORDINATES_NAMED, PAIRS_NAMED = 3, 2  # in a sentence
DIVERSE = "Diverse does not mean correct: noise is diverse too."


def point_verdict(compared: Mapping[str, ComparedSets], tested: Mapping[str, Sequence[TestedSection]]) -> Verdict:
    """Return the verdict on one or more generated sets compared with one real set.

    Sets of which only copies or near copies of real points were found are not called different.
    """
    claims: list[PointClaim] = []
    sentences: list[str] = []
    different, copied = [], []
    for name, found in tested.items():
        about = compared[name]
        significant = [each.pvalue is not None and about.is_significant(each.pvalue) for each in found]
        if not any(significant):
            continue
        differs = any(p is not None and about.is_significant(p) for p in (each.of_difference.pvalue for each in found))
        coordinates, *others = (each.claims if yes else () for each, yes in zip(found, significant, strict=True))
        own = [*coordinates, *(dependence_claims(about) if differs else ()), *chain(*others)]
        claims += own
        copied += _on_copies(own)
        different += [name] if differs else []
        words = set_sentences(own) or [_only_whole(about)]
        sentences += [text if about.is_only_set else f"{name}: {text}" for text in words]
    first = next(iter(compared.values()))
    if different:
        whole = headline_claim(compared, tested, is_different=True)
        headline = "; ".join([_differ(first, different, len(tested), whole), *map(_copy_words, copied)])
        return Verdict("different", f"{headline}.", (whole, *claims), plain_lines(sentences))
    if copied:
        headline = "; ".join([*map(_copy_words, copied), "no other difference was found"])
        rest = (claim for claim in claims if claim not in copied)
        return Verdict("copies", f"{headline[0].upper()}{headline[1:]}.", (*copied, *rest), plain_lines(sentences))
    return _nothing_found(compared, tested)


def _nothing_found(compared: Mapping[str, ComparedSets], tested: Mapping[str, Sequence[TestedSection]]) -> Verdict:
    """Return the verdict on sets that no test tells apart: it depends on the shift that would have been found."""
    first, whole = next(iter(compared.values())), headline_claim(compared, tested, is_different=False)
    shift = max(unseen_shift(about) for about in compared.values())
    unseen = PointClaim("description", ALL_ROWS, "unseen_shift", shift, rows=whole.rows)
    missed = (
        f"With this number of points, a shift of one coordinate by less than {shift:.2g} sd is likely to be missed."
    )
    if shift > DETECTABLE_SHIFT:
        headline = f"Too few points to tell {_sets(first)} apart ({adjusted_words(whole)})."
        return Verdict("cannot tell", headline, (whole, unseen), plain_lines([missed]))
    headline = f"No evidence that {_sets(first)} differ ({adjusted_words(whole)})."
    missed = f"{missed} No evidence of a difference does not prove that there is none."
    return Verdict("no evidence", headline, (whole, unseen), plain_lines([missed]))


def _on_copies(claims: Sequence[PointClaim]) -> list[PointClaim]:
    """Return the claim on copies of real points among those on one set, or else the one on near copies."""
    return next(([claim] for quantity in COPIES for claim in claims if claim.quantity == quantity), [])


def headline_claim(
    compared: Mapping[str, ComparedSets], tested: Mapping[str, Sequence[TestedSection]], *, is_different: bool
) -> PointClaim:
    """Return the claim of the headline, with the smallest adjusted p-value: of a difference, or else of all tests."""
    asked = [(name, each.of_difference if is_different else each) for name, found in tested.items() for each in found]
    name, section = min(
        ((name, each) for name, each in asked if each.pvalue is not None), key=lambda found: found[1].pvalue or 0.0
    )
    about, p = compared[name], section.pvalue or 0.0
    return PointClaim(
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


def adjusted_words(claim: PointClaim) -> str:
    """Write the p-value of a claim, which allows for all tests; at the floor of random divisions it is a bound.

    >>> adjusted_words(PointClaim("different", ALL_ROWS, "difference", 0.0, pvalue=0.0421))
    'adjusted p = 0.042'
    >>> adjusted_words(PointClaim("different", ALL_ROWS, "difference", 0.0, pvalue=0.0101, at_floor=True))
    'adjusted p at most 0.011'
    """
    p = _pvalue(claim)
    if claim.at_floor and p >= 0.001:
        return f"adjusted p at most {round_up(p, 3):.3g}"
    return f"adjusted {pvalue_words(p)}"


def _pvalue(claim: PointClaim) -> float:
    return 1.0 if claim.pvalue is None else claim.pvalue


def _differ(first: ComparedSets, different: list[str], many: int, whole: PointClaim) -> str:
    says = adjusted_words(whole)
    if first.is_only_set:
        return f"The generated points differ from the real ones ({says})"
    says = f"the smallest {says}"
    if len(different) == many:
        return f"All {many} generated sets differ from the real points ({says})"
    differ = "differs" if len(different) == 1 else "differ"
    return f"Of {many} generated sets, {listed(different)} {differ} from the real points ({says})"


def _copy_words(claim: PointClaim) -> str:
    """Put a claim on copies of real points into words, for the headline."""
    where, many = f"in {claim.generated}, " if claim.generated else "", claim.estimate != 1
    near = "near " if claim.quantity == "memorised" else ""
    are = f"are {near}copies of real points" if many else f"is a {near}copy of a real point"
    if near:
        number = f"{claim.estimate:,.0f} generated point{'s' * many}"
        are += ", closer to a real point than any two of these are to each other"
    else:
        number = f"{claim.estimate:,.0f} of {claim.rows:,} generated points ({percent(claim.estimate / claim.rows)})"
    return f"{where}{number} {are} ({adjusted_words(claim)})"


def _sets(first: ComparedSets) -> str:
    return "the two sets" if first.is_only_set else "the generated sets and the real one"


def _only_whole(compared: ComparedSets) -> str:
    whole = "The two sets differ as a whole."
    if compared.sets.d == 1:
        return whole
    return f"{whole} No single coordinate was found to differ: compare their shapes and their dependence."


def set_sentences(claims: Sequence[PointClaim]) -> list[str]:
    """Put the claims on one set into words, one sentence for each quantity."""
    found = {quantity: [claim for claim in claims if claim.quantity == quantity] for quantity in WORDS}
    about_coordinates = bool(found["location"] or found["spread"])
    if found["distinct_points"] and any(claim.kind == "collapse" for claim in found["diversity"]):
        found["diversity"] = []  # the same fact, counted
    return [words(found[quantity], about_coordinates) for quantity, words in WORDS.items() if found[quantity]]


Words = Callable[[Sequence[PointClaim], bool], str]


def location_words(claims: Sequence[PointClaim], _: bool = True) -> str:
    """Put shifts of coordinates into words."""
    named = []
    for claim in claims:
        low, high, value = _limits(claim)
        side = "up" if claim.estimate > 0 else "down"
        named.append(f"{_coordinate(claim)} by {value} sd {side}wards{_between(low, high)}")
    return f"Location: the generated points are shifted in {_some(named, COORDINATES_NAMED, 'coordinate')}."


def spread_words(claims: Sequence[PointClaim], _: bool = True) -> str:
    """Put ratios of standard deviations into words."""
    named = []
    for claim in claims:
        low, high, value = _limits(claim)
        times = "infinitely many times" if claim.estimate == math.inf else f"{value} times"
        named.append(f"{times} as far in {_coordinate(claim)}{_between(low, high)}")
    return f"Spread: the generated points spread {_some(named, COORDINATES_NAMED, 'coordinate')} as the real ones."


def _limits(claim: PointClaim) -> tuple[str, str, str]:
    """Write limits and estimate of a shift, without its sign, or of a ratio; limits are rounded outwards."""
    if not math.isfinite(claim.estimate):
        return "", "", ""
    if math.isnan(claim.low):
        return "", "", f"{abs(claim.estimate):.2g}"
    low, high, value = claim.low, claim.high, claim.estimate
    if claim.quantity == "location" and value < 0:
        low, high, value = -high, -low, -value
    return outward(low, high, value, expected=claim.expected, digits=2, scale=1)


def _between(low: str, high: str) -> str:
    return f" ({low} to {high})" if low else ""


def _coordinate(claim: PointClaim) -> str:
    name = claim.subject.name
    return name.removesuffix(f" of {claim.generated}") if claim.generated else name


def _some(items: list[str], most: int, noun: str) -> str:
    more = len(items) - most
    if more > 0:
        return f"{', '.join(items[:most])} and {more:,} more {noun}{'s' if more > 1 else ''}"
    return listed(items)


def dependence_words(claims: Sequence[PointClaim], about_coordinates: bool) -> str:
    """Put rank correlations of pairs into words."""
    named = [
        f"{_coordinate(claim)}, {claim.expected:z.2f} among real and {claim.estimate:z.2f} among generated points"
        for claim in claims
    ]
    more = len(named) - PAIRS_NAMED
    ending = f"; and {more:,} more pair{'s' if more > 1 else ''}" if more > 0 else ""
    but = "" if about_coordinates else "no coordinate was found to differ in location or spread, but "
    return f"Dependence: {but}rank correlations differ: {'; '.join(named[:PAIRS_NAMED])}{ending}."


def classifier_words(claims: Sequence[PointClaim], _: bool = True) -> str:
    """Put the accuracy of a classifier into words."""
    (claim,) = claims
    return (
        f"The best of four classifiers ({claim.note}) assigns {percent(claim.estimate)} of the held-out points to the "
        "right set; guessing gives 50 %."
    )


def missing_words(claims: Sequence[PointClaim], _: bool = True) -> str:
    """Put a low coverage into words."""
    (claim,) = claims
    return (
        f"Missing: {percent(1 - claim.estimate)} of the real points have no generated point near them; "
        f"{percent(1 - claim.expected)} are expected by chance."
    )


def invented_words(claims: Sequence[PointClaim], _: bool = True) -> str:
    """Put a low precision into words."""
    (claim,) = claims
    return (
        f"Invented: {percent(1 - claim.estimate)} of the generated points have no real point near them; "
        f"{percent(1 - claim.expected)} are expected by chance."
    )


def memorised_words(claims: Sequence[PointClaim], _: bool = True) -> str:
    """Put points too close to real ones into words."""
    (claim,) = claims
    points = "generated point is" if claim.estimate == 1 else "different generated points are"
    return (
        f"Memorised: {claim.estimate:,.0f} {points} closer to a real point than any two real "
        f"points are to each other; {claim.expected:.2g} are expected by chance."
    )


def copied_words(claims: Sequence[PointClaim], _: bool = True) -> str:
    """Put copies into words."""
    (claim,) = claims
    share = percent(claim.estimate / claim.rows)
    return f"Copied: {claim.estimate:,.0f} of {claim.rows:,} generated points ({share}) equal a real point."


def repeated_words(claims: Sequence[PointClaim], _: bool = True) -> str:
    """Put points that repeat themselves into words."""
    (claim,) = claims
    return f"{'Collapsed' if claim.kind == 'collapse' else 'Repetitions'}: {claim.note}."


def diversity_words(claims: Sequence[PointClaim], _: bool = True) -> str:
    """Put a low effective number of points into words."""
    (claim,) = claims
    scale = f"{claim.subject.low or 0.0:.2g}"
    if claim.kind == "collapse":
        return (
            f"Collapsed: at distances of {scale} the points are worth {percent(claim.estimate)} of the different "
            "points that are expected: they are copies of each other, or nearly so."
        )
    return (
        f"Less varied at distances of {scale}: {percent(claim.estimate)} of the effective number of points; fewer "
        "modes, near copies, or another shape."
    )


WORDS: dict[str, Words] = {
    "location": location_words,
    "spread": spread_words,
    "rank_correlation": dependence_words,
    "accuracy": classifier_words,
    "coverage": missing_words,
    "precision": invented_words,
    "memorised": memorised_words,
    "copied": copied_words,
    "distinct_points": repeated_words,
    "diversity": diversity_words,
}
"""The words for claims on each quantity, in the order in which they are said."""


def no_truth(curve: Curve, claims: Sequence[PointClaim]) -> Verdict:
    """Return the verdict without real points: which sets have collapsed, and how diverse each is."""
    names = curve.names
    said = {name: set_sentences([claim for claim in claims if claim.subject.name == name]) for name in names}
    collapsed = [name for name in names if any(c.kind == "collapse" and c.subject.name == name for c in claims)]
    first, last = (
        ", ".join(f"{name} {value:.3g}" for value, name in sorted(zip(row, names, strict=True), reverse=True))
        for row in (curve.score[0].tolist(), curve.score[-1].tolist())
    )
    scores = (
        f"Effective numbers of different points among {curve.points:,}: {first} at the median distance; {last} at "
        f"1/{curve.bandwidth[0] / curve.bandwidth[-1]:.0f} of it."
    )
    own = [f"{name}: {text}" if len(names) > 1 else text for name in names for text in said[name]]
    if len(names) == 1:
        headline = f"No real points to compare {names[0]} with: only its diversity is measured."
    elif collapsed:
        found = [claim for claim in claims if claim.kind == "collapse"]
        smallest = [min((c for c in found if c.subject.name == name), key=_pvalue) for name in collapsed]
        p = max(smallest, key=_pvalue)
        which = "the largest " if len(collapsed) > 1 else ""
        headline = f"No real points to compare with. Collapsed: {listed(collapsed)} ({which}{adjusted_words(p)})."
    else:
        headline = f"No real points to compare with: only the diversity of the {len(names)} sets is measured."
    return Verdict("no truth", headline, tuple(claims), plain_lines([*own, scores, DIVERSE]))
