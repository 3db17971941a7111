"""The judge: families of evidence at a tolerance become claims and one of three outcomes.

All rows decide first. A part of the rows that is off by more than is accepted makes the predictions miscalibrated,
whatever is true of all rows; one that may be off by more leaves "within" open. What the same rule decides at other
tolerances is found by applying it again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

from calibrant.core.claims import USUAL_TOLERANCES, Claim, ClaimKind, Outcome, Status, outcome
from calibrant.core.evidence import ABOVE_0, Case, Evidence, Family, Needed, Note, Whole, note
from calibrant.core.findings import AtTolerance, Setting, Verdict

RARE = 0.1  # mean prediction below which errors are stated as shares of the predicted events
LEAST_MEAN = 1e-100  # smaller means are no events: their squares leave float64
LARGEST_RELATIVE = 2.0  # times the predicted events; larger errors are stated in percentage points
PART = "part"  # a note beside a verdict that a part of the rows decides
NO_ROWS = "no rows"  # a note beside "cannot tell" where no number of rows is known that would tell
COVERAGE_ERRORS = ("coverage_error", "coverage_shortfall", "coverage_excess")
SHARED = {field.name for field in fields(Evidence)} & {field.name for field in fields(Claim)} - {"never"}
ERRORS = ("rms_error", "mean_error", "cutoff_error", *COVERAGE_ERRORS)  # distances from calibration


@dataclass(frozen=True)
class Scale:
    """How the errors of a page are stated: in percentage points, or as shares where events are rare.

    100 % is the error that the same predictions have if no event (or no non-event) ever happens.
    """

    unit: float = 1.0  # error that is written as 100 %
    usual: tuple[float, ...] = USUAL_TOLERANCES
    share_of: str = ""
    asked: float | None = None  # largest error that the user accepts
    is_of_events: bool = True

    @classmethod
    def of(cls, total: Evidence, setting: Setting) -> Scale:
        """Return the scale for these predictions: relative if asked for, or if events or non-events are rare.

        A page has one unit, that of all rows. Errors much larger than the predicted events are in percentage points.
        """
        if total.mean is None or not is_rare(total.mean, setting):
            return cls(asked=setting.tolerance)
        is_of_events = setting.relative or total.mean <= 0.5
        mean = total.mean if is_of_events else 1 - total.mean
        unit = (total.never if is_of_events else total.always) or mean  # which is that of a cutoff error
        if not setting.relative and total.size.most > LARGEST_RELATIVE * unit:
            return cls(usual=usual_tolerances(mean))
        rare = "event" if is_of_events else "non-event"
        usual = tuple(unit * tolerance / RARE for tolerance in USUAL_TOLERANCES)
        asked = setting.tolerance and unit * setting.tolerance
        return cls(unit, usual, f"the error if no {rare} happened", asked, is_of_events)

    def accepted(self, stated: float, tolerance: float) -> float:
        """Return the tolerance of a range of scores with this mean: the same share of its own rare events if larger.

        >>> Scale().accepted(0.5, 0.125), Scale(unit=0.25, share_of="events").accepted(0.5, 0.125)
        (0.125, 0.25)
        """
        if not self.share_of:
            return tolerance
        return tolerance / self.unit * max(self.unit, stated if self.is_of_events else 1 - stated)


def is_rare(mean: float | None, setting: Setting) -> bool:
    """Tell whether errors are shares of the predicted events: where these are rare, or the tolerance is one."""
    if mean is None or (setting.tolerance is not None and not setting.relative):
        return False
    smaller = mean if setting.relative else min(mean, 1 - mean)
    return smaller > LEAST_MEAN and (setting.relative or smaller < RARE)


def usual_tolerances(mean: float) -> tuple[float, ...]:
    """Return the usual tolerances as errors: smaller for a mean prediction near 0 or 1, where events are rare."""
    factor = min(1.0, min(mean, 1 - mean) / RARE)
    return tuple(factor * tolerance for tolerance in USUAL_TOLERANCES)


def judge(case: Case, setting: Setting) -> Verdict:
    """Return the verdict on a case; its words are added by `voice.verdict_of`."""
    if case.whole is None:
        beside = (evidence for family in case.families for evidence in family.evidence)
        seen = tuple(claim_of(each, "description", setting) for each in (*case.seen, *beside))
        return Verdict("cannot tell", claims=seen, notes=case.notes)
    scale = Scale.of(case.whole.total, setting)
    ruling = _ruling(case, setting, scale, scale.asked)
    needed = _needed(case.whole, ruling, setting, scale)
    said = _said(case.notes, ruling, needed)
    questions, others = ([n for n in said if n.key.endswith("?") is asks] for asks in (True, False))
    asked = () if scale.asked is None else (scale.asked,)
    steps = {float(f"{tau:.12g}"): tau for tau in (*scale.usual, *asked)}  # equal but for rounding: that asked for
    return Verdict(
        ruling.status,
        claims=ruling.claims,
        notes=(
            *questions,
            *_shape(ruling.claims),
            *_uncounted(ruling.claims),
            *_calm(case.families, setting),
            *others,
            *_looked_at(case),
        ),
        tolerance=ruling.tolerance,
        although=ruling.although,
        at=tuple(_at(tau, _ruling(case, setting, scale, tau)) for _, tau in sorted(steps.items())),
        needed=needed,
        unit=scale.unit,
        share_of=scale.share_of,
    )


def _at(tolerance: float, ruling: _Ruling) -> AtTolerance:
    subject = ruling.claims[0].subject
    is_part = subject.kind in ("group", "class", "scores", "region") or subject.part is not None
    return AtTolerance(tolerance, ruling.status, part=subject if is_part else None)


class _Ruling(NamedTuple):
    """What is decided at one tolerance: the claim that decides stands first."""

    status: Status
    tolerance: float | None
    claims: tuple[Claim, ...]
    although: Claim | None = None


def _ruling(case: Case, setting: Setting, scale: Scale, tolerance: float | None) -> _Ruling:
    assert case.whole is not None
    whole = _on_all_rows(case.whole, setting, scale, tolerance)
    status, accepted, deciding, claims = whole.status, whole.tolerance, whole.claims[0], list(whole.claims)
    for family in case.families:
        part = _on_parts(family, setting, scale, tolerance)
        claims += part.claims
        if part.status == "miscalibrated" != status or (part.status == "cannot tell" and status == "within"):
            status, accepted, deciding = part.status, tolerance, part.deciding or deciding
    although = whole.although if status == "within" else None
    return _Ruling(status, accepted, (deciding, *(claim for claim in claims if claim is not deciding)), although)


def _on_all_rows(whole: Whole, setting: Setting, scale: Scale, tolerance: float | None) -> _Ruling:
    total, size = whole.total, whole.total.size
    rejected = setting.rejects(total.pvalue)
    least = ABOVE_0 if whole.instead is None else 0.0  # if the test is one of this error, it is not 0
    low = max(size.low, least) if rejected and size.low >= 0 else 0.0
    high = size.most if whole.bounded else math.nan
    found = outcome(low, high, rejected=rejected, tolerance=tolerance, usual=scale.usual)
    if whole.in_doubt and found.status == "within":
        found = replace(found, status="cannot tell")
    accepted = found.tolerance if tolerance is None else tolerance
    ranges, beyond, although = _on_ranges(whole.ranges if rejected else (), found, setting, scale, accepted)
    main = _main(whole, found, low, setting, scale)
    speaks = main
    if beyond is not None and found.status != "miscalibrated":
        found, speaks = Outcome("miscalibrated", tolerance), beyond
        main = claim_of(replace(total, low=low), "limits", setting, scale)
    lines = [claim_of(line, side(line, setting), setting, scale) for line in whole.lines]
    if lines:
        first = _worst_line(whole.lines, found.status, tolerance)
        lines = [lines[first], *lines[:first], *lines[first + 1 :]]
        speaks = lines[0] if _speaks(lines, found.status, found.tolerance) else main
    shown = _explained(total, setting, scale) if rejected else []
    beside = [claim_of(each, "limits", setting, scale) for each in whole.beside]
    others = (claim for claim in (main, *lines, *ranges, *shown, *beside) if claim is not speaks)
    return _Ruling(found.status, found.tolerance, (speaks, *others), although)


def _main(whole: Whole, found: Outcome, low: float, setting: Setting, scale: Scale) -> Claim:
    """Return the claim on the size of the error of all rows, or on what a test finds in its place."""
    total, size, is_off = whole.total, whole.total.size, found.status == "miscalibrated"
    if is_off and low == 0 and whole.instead is not None:
        return claim_of(whole.instead, found.status, setting, scale)
    is_unknown = math.isnan(size.low) and (is_off or math.isnan(size.most))
    sized = replace(total, low=math.nan if is_unknown else low, high=size.high if is_off else size.most)
    return claim_of(sized, found.status, setting, scale, found.tolerance)


def _on_ranges(
    ranges: Sequence[Evidence], found: Outcome, setting: Setting, scale: Scale, tolerance: float | None
) -> tuple[list[Claim], Claim | None, Claim | None]:
    """Return claims on ranges of scores, the worst that lies wholly beyond the tolerance, and what "within" leaves out.

    That is the range whose estimate is farthest beyond what "within" allows. Ranges beyond the tolerance state it.
    """
    claims, beyond, although = [], [], []
    for each in ranges:
        accepted = None if tolerance is None else scale.accepted(each.expected, tolerance)
        is_beyond = accepted is not None and each.size.low > accepted
        claim = claim_of(each, side(each, setting), setting, scale, accepted if is_beyond else None)
        claims.append(claim)
        if is_beyond:
            beyond.append(claim)
        if found.status == "within" and _distance(claim) > scale.accepted(each.expected, found.tolerance or 0.0):
            although.append(claim)
    return claims, max(beyond, key=_distance, default=None), max(although, key=_distance, default=None)


def _distance(claim: Claim) -> float:
    return abs(claim.estimate - claim.expected)


def _speaks(lines: Sequence[Claim], status: Status, tolerance: float | None) -> bool:
    """Tell whether the worst line, rather than the total error, shows a reader what the outcome says.

    The headline states what decides: a line without a test of its own stands in the table only.
    """
    worst = lines[0]
    if worst.pvalue is None:
        return False
    if status == "miscalibrated":
        return worst.kind in ("below", "above")
    if len(lines) > 1:
        return False
    return status == "cannot tell" or max(worst.expected - worst.low, worst.high - worst.expected) <= (tolerance or 0.0)


def _worst_line(lines: Sequence[Evidence], status: Status, tolerance: float | None) -> int:
    """Return which line explains the outcome: smallest p-value, or largest limit.

    Errors that the user accepts do not explain that others are not accepted.
    """
    places = range(len(lines))
    if status != "miscalibrated":
        return max(places, key=lambda k: lines[k].size.most)
    accepted = tolerance or -1.0

    def rank(k: int) -> tuple[bool, float, float]:
        return lines[k].size.low <= accepted, lines[k].pvalue or 0.0, -abs(lines[k].estimate - lines[k].expected)

    return min(places, key=rank)


class _OnParts(NamedTuple):
    """What a family of parts supports: "within" if it contradicts nothing."""

    status: Status
    deciding: Claim | None
    claims: list[Claim]


def _on_parts(family: Family, setting: Setting, scale: Scale, tolerance: float | None) -> _OnParts:
    claims: list[Claim] = []
    beyond: list[Claim] = []
    doubtful: list[Claim] = []
    for each in (each for each in family.evidence if setting.rejects(each.pvalue)):
        evidence = replace(each, low=max(each.low, ABOVE_0)) if each.quantity in ERRORS else each  # NaN stays
        largest = tolerance
        if tolerance is not None and evidence.quantity == "frequency":
            largest = scale.accepted(evidence.expected, tolerance)
        accepted = usual_tolerances(0.5 if evidence.mean is None else evidence.mean)[0] if largest is None else largest
        is_small = family.small_passes and evidence.size.most <= accepted
        kind: ClaimKind = side(evidence, setting)
        if evidence.quantity in ERRORS:
            kind = "within" if is_small else "miscalibrated"
        claim = claim_of(evidence, kind, setting, scale, accepted if kind == "within" else None)
        claims.append(claim)
        if not is_small:
            claims += _explained(evidence, setting, scale)
            (beyond if largest is None or evidence.size.low > largest else doubtful).append(claim)
    is_open = (family.leaves_open and bool(doubtful)) or (setting.rejects(family.pvalue) and not claims)
    if is_open and not claims and family.instead is not None:
        claims = doubtful = [claim_of(family.instead, "description", setting)]
    lacking, asked = _required(family, setting, scale, tolerance)
    beside = [claim_of(each, "limits", setting, scale) for each in family.beside]
    status: Status = "miscalibrated" if beyond else "cannot tell" if is_open or lacking else "within"
    beyond.sort(key=lambda claim: claim.kind == "limits")  # where a test rejects and limits do not show it: last
    deciding = next(iter(beyond or [*doubtful, *lacking]), None)
    return _OnParts(status, deciding, [*claims, *beside, *asked])


def _required(
    family: Family, setting: Setting, scale: Scale, tolerance: float | None
) -> tuple[list[Claim], list[Claim]]:
    """Return what is required and not supported, and all claims on it: what a larger share of the rows supports too."""
    accepted = scale.usual[-1] if tolerance is None else tolerance
    required = family.required
    if required is None:
        return [], []
    if required.size.most <= accepted:
        return [], [claim_of(required, "within", setting, scale, accepted)]
    lacking = claim_of(required, "limits", setting, scale)
    supported = [each for each in required.explanation if each.size.most <= accepted]
    return [lacking], [lacking, *(claim_of(each, "within", setting, scale, accepted) for each in supported[:1])]


def _explained(evidence: Evidence, setting: Setting, scale: Scale) -> list[Claim]:
    return [claim_of(each, side(each, setting), setting, scale) for each in evidence.explanation if leaves_out(each)]


def side(evidence: Evidence, setting: Setting) -> ClaimKind:
    """Return on which side of what calibration gives a quantity is known to be: by its limits, and its test if any."""
    if evidence.describes:
        return "description"
    if not leaves_out(evidence) or not (evidence.pvalue is None or setting.rejects(evidence.pvalue)):
        return "limits"
    return "below" if evidence.estimate < evidence.expected else "above"


def leaves_out(evidence: Evidence | Claim) -> bool:
    """Tell whether the limits leave out what calibration gives; there may be none."""
    return not evidence.low <= evidence.expected <= evidence.high


def claim_of(
    evidence: Evidence, kind: ClaimKind, setting: Setting, scale: Scale = Scale(), tolerance: float | None = None
) -> Claim:
    """Return evidence as a claim at the level of the page; a description claims nothing."""
    is_error = evidence.quantity in ERRORS
    is_rare_class = evidence.subject.kind == "class" and (evidence.mean or 0.0) < RARE
    return Claim(
        kind,
        **{name: getattr(evidence, name) for name in SHARED},
        level=None if kind == "description" else setting.level,
        tolerance=tolerance,
        unit=scale.unit if is_error else 1.0,
        share_of=scale.share_of if is_error else "",
        never=evidence.never if is_rare_class and not scale.share_of else None,
    )


def _needed(whole: Whole, ruling: _Ruling, setting: Setting, scale: Scale) -> tuple[float, Needed] | None:
    """Return how many rows would show calibrated predictions to be within a tolerance, where these rows cannot tell."""
    if ruling.status != "cannot tell" or whole.needed is None or setting.rejects(whole.total.pvalue):
        return None
    if whole.in_doubt or any(claim.kind == "miscalibrated" for claim in ruling.claims):
        return None
    target = scale.usual[-1] if scale.asked is None else scale.asked
    needed = whole.needed(target)
    return None if needed is None or needed.number <= whole.total.rows else (target, needed)


def _said(notes: Sequence[Note], ruling: _Ruling, needed: tuple[float, Needed] | None) -> list[Note]:
    """Return the notes that belong beside this outcome: of all rows, or of a part that alone decides it."""
    subject = ruling.claims[0].subject
    beside = {None, PART if subject.part is not None or subject.kind == "group" else ruling.status}
    if ruling.status == "cannot tell" and needed is None:
        beside.add(NO_ROWS)
    return [each for each in notes if each.only in beside]


def _shape(claims: Sequence[Claim]) -> list[Note]:
    """Return which way ranges of scores are off: too extreme means away from 1/2, too timid towards it."""
    ranges_of_scores = [each for each in claims if each.quantity == "frequency" and each.subject.kind != "region"]
    low = [claim for claim in ranges_of_scores if claim.kind == "above"]  # stated too low
    high = [claim for claim in ranges_of_scores if claim.kind == "below"]
    if not (low or high):
        return []
    middle, key = 0.5, "both ways" if low and high else "too low" if low else "too high"
    if low and high and max(each.expected for each in low) < middle < min(each.expected for each in high):
        key = "over-confident"
    elif low and high and max(each.expected for each in high) < middle < min(each.expected for each in low):
        key = "under-confident"
    ranges = {
        name: sorted((each.subject.low or 0.0, each.subject.high or 0.0) for each in found)
        for name, found in (("low", low), ("high", high))
    }
    return [Note(key, ranges)]


def _uncounted(claims: Sequence[Claim]) -> list[Note]:
    """Say how many levels are off on the side that is no error, so that nobody reads "within" of both sides."""
    levels = [claim for claim in claims if claim.subject.level is not None and claim.subject.part is None]
    off = [claim for claim in levels if claim.kind == "description" and leaves_out(claim)]
    return [note("uncounted", number=len(off), all=len(levels))] if off else []


def _calm(families: Sequence[Family], setting: Setting) -> list[Note]:
    return [
        note("calm", tested=family.tested, things=family.name)
        for family in families
        if family.tested > 1 and family.pvalue is None
        if not any(setting.rejects(each.pvalue) for each in family.evidence)
    ]


def _looked_at(case: Case) -> list[Note]:
    """Say of which rows the outcome holds, and what was not looked at."""
    if case.whole is None or not case.looked_at:
        return []
    parts = [(family.tested, family.name) for family in case.families]
    ranges = [(case.whole.similar, "ranges of similar scores")] if case.whole.similar else []
    if any(family.pvalue is not None for family in case.families):
        return [note("looked at covariates", things=[*ranges, *parts])]
    beyond = [case.looked_at, *(f"these {name}" for _, name in parts)]
    return [note("ranges", things=[*ranges, *parts], beyond=beyond) if ranges else note("average", beyond=beyond)]
