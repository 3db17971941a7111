"""The voice: verdicts and claims in words. One grammar for a headline, one for a line of the table of claims.

What is said of a quantity stands in `quantities`, what is said beside claims in `notes`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from calibrant.core import words
from calibrant.core.claims import USUAL_TOLERANCES, Claim, ClaimKind, Status
from calibrant.core.evidence import ABOVE_0, Case, Evidence, Note, Subject
from calibrant.core.findings import Line, Setting, Verdict
from calibrant.judging.judge import judge
from calibrant.judging.notes import text_of
from calibrant.judging.quantities import QUANTITIES, Quantity, quantity_of

FAULTS = ("miscalibrated", "below", "above", "different", "collapse", "worse", "harm")
OUTCOMES: dict[Status, str] = {"within": "yes", "miscalibrated": "no", "cannot tell": "cannot tell"}
OPENINGS: dict[str, str] = {
    "miscalibrated": "Miscalibrated",
    "within": "Calibrated within {tolerance}",
    "cannot tell": "Cannot tell whether calibrated within {tolerance}",
}


class Row(NamedTuple):
    """A line of the table of claims."""

    where: str
    stated: str
    found: str
    limits: str
    rows: str
    pvalue: str
    meaning: str
    is_fault: bool


HEADINGS = ("where", "stated", "found", "limits", "rows", "p", "")  # of the table of claims


def verdict_of(case: Case, setting: Setting, further: Sequence[Claim] = ()) -> Verdict:
    """Return the verdict on a case in words; `further` are claims on other questions than calibration."""
    verdict = judge(case, setting)
    notes = [text_of(each) for each in verdict.notes]
    lines = [Line(*each) for each in notes[case.whole is None :]]  # the first is the headline then
    if verdict.at:
        lines.append(Line("tolerance", _tolerances(verdict)))
    return replace(
        verdict,
        headline=headline(verdict) if case.whole is not None else f"Cannot tell: {notes[0][1]}",
        claims=(*verdict.claims, *further),
        lines=tuple(lines),
        at=tuple(replace(step, words=tolerance_words(step.tolerance, verdict)) for step in verdict.at),
    )


def headline(verdict: Verdict) -> str:
    """Return the outcome and the claim that decides it."""
    target = verdict.tolerance
    if target is None:
        target = verdict.at[-1].tolerance if verdict.at else USUAL_TOLERANCES[-1]
    opening = OPENINGS[verdict.status].format(tolerance=tolerance_words(target, verdict, of=""))
    although = "" if verdict.although is None else f", but {statement(verdict.although)}"
    return f"{opening}: {statement(verdict.claims[0])}{although}"


def statement(claim: Claim) -> str:
    """Put a claim into one clause: who, what was found, and in brackets how sure that is."""
    quantity = quantity_of(claim.quantity, claim.subject.kind)
    if is_unknown(claim):
        if claim.kind == "miscalibrated":
            return f"{who(claim)} are off, and {claim.rows:,} rows do not bound by how much{brackets_of(claim)}"
        return f"{claim.rows:,} rows do not bound the error of {who(claim)}"
    written = _written(claim, quantity)
    is_bound = _is_bound(claim, quantity)
    found = written.with_unit(written.value)
    if is_bound:
        seen = "an amount that tests detect, " if claim.kind == "miscalibrated" else ""
        found = f"{seen}at most {written.with_unit(written.high)}"
    if claim.never is not None:
        share = words.round_up(100 * (claim.high if is_bound else claim.estimate) / claim.never, 0)
        found += f", {share:.0f} % of the error if it never happened"
    says, brackets = quantity.says, brackets_of(claim)
    values = {"who": who(claim), "found": found, "expected": written.expected, "meaning": meaning(claim, quantity)}
    if "{brackets}" in says:
        return says.format(**values, brackets=brackets)
    if "{found}" in says and written.limits:  # limits stand behind what they are of
        return says.format(**{**values, "found": found + brackets})
    return says.format(**values) + brackets


def brackets_of(claim: Claim) -> str:
    quantity = quantity_of(claim.quantity, claim.subject.kind)
    limits, pvalue = _written(claim, quantity).limits, _pvalue(claim)
    level = words.confidence_words(claim.level or 0.0)
    ranks = QUANTITIES.get(claim.test.partition(".")[0]) if claim.kind == "miscalibrated" else None  # a test of draws
    found = f"{ranks.found.format(test='joint ranks')}, " if ranks else ""
    p = [] if not pvalue or claim.kind == "within" else [f"{found}p {'' if pvalue[0] in '<>≤' else '= '}{pvalue}"]
    if _is_bound(claim, quantity):
        said = [f"{level} confidence", *(p if claim.kind == "miscalibrated" else [])]
    else:
        said = [*([f"{level} limits {limits}"] if limits and claim.level is not None else []), *p]
    how = f"{quantity.how}, " if quantity.how and said else ""
    return f" ({how}{'; '.join(said)})" if said else ""


def _is_bound(claim: Claim, quantity: Quantity) -> bool:
    """Tell whether the upper limit is all that is known of the size of an error."""
    return quantity.unit == "points" and claim.low <= ABOVE_0 and not math.isnan(claim.high)


def _pvalue(claim: Claim) -> str:
    """Write a p-value; at the floor of resampling it is a bound, because more redraws could show a smaller one."""
    if claim.pvalue is None:
        return ""
    if claim.at_floor and claim.pvalue >= 0.001:
        return f"≤ {words.round_up(claim.pvalue, 3):g}"
    return words.pvalue(claim.pvalue)


def is_unknown(claim: Claim) -> bool:
    """Tell whether limits of an error allow everything."""
    return claim.quantity == "cutoff_error" and claim.low <= ABOVE_0 and claim.high >= 1


def rows_of(claims: Sequence[Claim]) -> list[Row]:
    """Return the table of claims: that of the headline first, then what is most clearly off.

    Claims on one subject in one unit are one row, such as the error of a group and its direction. Of ranges of scores
    that overlap the clearest is shown.
    """
    first, others = list(claims[:1]), list(claims[1:])
    others.sort(key=_clearness)
    found: dict[tuple[Subject, str], Row] = {}
    for claim in (*first, *others):
        if any(_overlap(claim.subject, subject) for subject, _ in found):
            continue
        unit = quantity_of(claim.quantity, claim.subject.kind).unit
        key = claim.subject, claim.quantity if unit in ("number", "count") else unit
        row = row_of(claim, claims[0].level)
        if key not in found:
            found[key] = row
        elif row.meaning and not found[key].meaning:
            found[key] = found[key]._replace(meaning=row.meaning)
    return list(found.values())


def _clearness(claim: Claim) -> tuple[bool, bool, float, bool, float]:
    pvalue, is_beyond = 1.0 if claim.pvalue is None else claim.pvalue, bool(_beyond(claim))
    size = abs(claim.estimate - claim.expected)
    return claim.kind == "description", claim.kind not in FAULTS, pvalue, not is_beyond, -size


def _overlap(one: Subject, other: Subject) -> bool:
    """Tell whether two different ranges of scores (low, high] have scores in common."""
    if one == other or not one.kind == other.kind == "scores":
        return False
    (low, high), (least, most) = ((each.low or 0.0, each.high or 0.0) for each in (one, other))
    return low < most and least < high


def row_of(claim: Claim, level: float | None = None) -> Row:
    """Return a claim as a line of the table; limits of another level than that of the table say so."""
    quantity = quantity_of(claim.quantity, claim.subject.kind)
    written = _written(claim, quantity)
    found = ""
    if quantity.is_limit or not math.isnan(claim.estimate):
        value = written.high if quantity.is_limit else written.value
        found = quantity.found.format(value=written.with_unit(value), test=claim.test)
    is_other = None not in (level, claim.level) and level != claim.level
    beside = f" ({words.confidence_words(claim.level or 0.0)})" if is_other and written.limits else ""
    return Row(
        where(claim.subject),
        written.expected if claim.expected or quantity.unit == "share" else "",
        found or quantity.name or words.heading(claim.quantity),
        "none" if is_unknown(claim) else written.limits + beside,
        f"{claim.rows:,}" if claim.rows else "",
        _pvalue(claim).replace(" ", ""),
        meaning(claim, quantity),
        claim.kind in FAULTS and claim.subject.kind != "models",  # that two models differ is no fault
    )


def line_of(evidence: Evidence, level: float) -> str:
    """Put evidence outside a verdict into one line.

    >>> low = Evidence(Subject("scores", low=0.66, high=0.86), "frequency", 0.585, 0.503, 0.664, 400, expected=0.76)
    >>> line_of(low, 0.95)
    'scores 0.66 to 0.86: stated 76 %, found 58 % (95 % limits 50 to 67 %), 400 rows: stated too high'
    """
    kind: ClaimKind = "below" if evidence.estimate < evidence.expected else "above"
    claim = Claim(kind, evidence.subject, evidence.quantity, evidence.estimate, evidence.low, evidence.high, level)
    row = row_of(replace(claim, rows=evidence.rows, expected=evidence.expected))
    limits = f" ({words.confidence_words(level)} limits {row.limits})" if row.limits else ""
    return f"{row.where}: stated {row.stated}, found {row.found}{limits}, {row.rows} rows: {row.meaning}"


def paragraph(claims: Sequence[Claim], notes: Sequence[Note] = ()) -> str:
    said = []
    for claim in claims:
        side = meaning(claim, quantity_of(claim.quantity, claim.subject.kind))
        said.append(f"{side}: {statement(claim)}" if side else statement(claim))
    said += [text_of(each)[1] for each in notes]
    return " ".join(f"{text[0].upper()}{text[1:].rstrip('.')}." for text in dict.fromkeys(said))


def meaning(claim: Claim, quantity: Quantity) -> str:
    """Say what it means that limits lie below or above the expected value."""
    match claim.kind:
        case "below" | "harm" | "worse" | "collapse":
            return quantity.below + _beyond(claim)
        case "above" | "gain" | "informative":
            return quantity.above + _beyond(claim)
        case "within":
            if claim.tolerance is None:
                return ""
            in_points = quantity.unit == "points"
            return f"within {tolerance_words(claim.tolerance, claim) if in_points else f'{claim.tolerance:g}'}"
        case _:
            return ""


def _beyond(claim: Claim) -> str:
    """Say that a frequency lies wholly beyond the tolerance around what was stated, which the claim then has."""
    if claim.tolerance is None or claim.quantity != "frequency":
        return ""
    return f" by more than {tolerance_words(claim.tolerance, claim)}"


class _Written(NamedTuple):
    """The numbers of a claim as texts, limits rounded outwards."""

    value: str
    low: str
    high: str
    expected: str
    unit: str  # in words, with a space before it

    def with_unit(self, number: str) -> str:
        return f"{number}{' point' if self.unit == ' points' and number == '1' else self.unit}"

    @property
    def limits(self) -> str:
        unit = self.unit if self.unit == " %" else ""
        if self.high == "inf":
            return f"{self.low}{unit} or more"
        if self.low == "−inf":
            return f"{self.high}{unit} or less"
        return f"{self.low} to {self.high}{unit}" if self.low else ""


SCALES = {"points": 100.0, "share": 100.0, "skill": 100.0, "factor": 1.0, "sd": 1.0, "number": 1.0, "count": 1.0}
UNITS = {"points": " points", "share": " %", "skill": " %", "factor": "", "sd": " sd", "number": "", "count": ""}
SMALL_SHARE = 0.1  # below which shares have a decimal
LEAST_DIGITS = {"points": None, "share": 0, "skill": 0, "factor": 2, "sd": 2, "number": None, "count": 0}


def _written(claim: Claim, quantity: Quantity) -> _Written:
    scale, unit = SCALES[quantity.unit] / claim.unit, UNITS[quantity.unit]
    if claim.share_of:
        unit = f" % of {claim.share_of}"
    expected = _expected(claim, quantity)
    if math.isnan(claim.low) or math.isnan(claim.high):
        is_share = UNITS[quantity.unit] == " %"
        number = words.percent(claim.estimate).removesuffix(" %") if is_share else f"{scale * claim.estimate:.3g}"
        return _Written(words.minus(number), "", "", expected, unit)
    is_distance = quantity.unit == "points" and claim.expected == 0 and claim.quantity != "bias"
    compared, digits = None if is_distance else claim.expected, LEAST_DIGITS[quantity.unit]
    limits = claim.low, claim.high, claim.estimate
    if quantity.unit == "share" and max(limits) < SMALL_SHARE:
        digits = 1
    low, high, value = words.outward(*limits, claim.tolerance, compared, digits=digits, scale=scale)
    return _Written(value, low, high, expected, unit)


def _expected(claim: Claim, quantity: Quantity) -> str:
    if quantity.unit != "share":
        return words.number(claim.expected) if quantity.unit == "number" else f"{claim.expected:g}"
    if claim.quantity == "frequency":
        return words.expected_share(claim.expected, claim.estimate, claim.low, claim.high)
    return words.level_words(claim.expected)


def _tolerances(verdict: Verdict) -> str:
    said = []
    for step in verdict.at:
        because = "" if step.part is None or step.status == "within" else f" ({where(step.part)})"
        words = f"{tolerance_words(step.tolerance, verdict, of='')}: {OUTCOMES[step.status]}{because}"
        if verdict.needed is not None and verdict.needed[0] == step.tolerance:
            number, things = verdict.needed[1]
            words += f" (about {number:,} calibrated {things} would show it 4 times in 5)"
        said.append(words)
    return " · ".join(said) + (f" (of {verdict.share_of})" if verdict.share_of else "")


def tolerance_words(tolerance: float, verdict: Verdict | Claim, of: str | None = None) -> str:
    """Write a tolerance in the unit of the page; `of` takes the place of what shares are of."""
    if verdict.share_of:
        return f"{100 * tolerance / verdict.unit:.10g} %{f' of {verdict.share_of}' if of is None else of}"
    return words.tolerance_words(tolerance).replace("percentage ", "")


# ---------------------------------------------------------------- subjects


def where(subject: Subject) -> str:
    """Put the subject of a claim into words, as the first column of a table."""
    match subject.kind:
        case "all rows" | "covariates":
            return subject.name or subject.kind
        case "most probable class" | "whole":
            return f"the {subject.kind}"
        case "group" if subject.name.startswith("group = ") or " = " not in subject.name:
            return f"group {subject.name.removeprefix('group = ')}"  # a column that is called so, or has no name
        case "group" | "models" | "pair" | "region":
            return subject.name
        case "parts":
            return f"any {subject.name} by one covariate" if subject.name != "all rows" else subject.name
        case "set":
            distance = "" if subject.low is None else f", distances of {subject.low:.2g}"
            return f"{'generated points' if subject.name == 'generated' else f'set {subject.name}'}{distance}"
        case "class":
            return f"class {subject.name}"
        case "coordinate":
            return f"coordinate {subject.name}" if subject.name.isdigit() else subject.name
        case "scores":
            return f"scores {range_words(subject.low or 0.0, subject.high or 0.0)}"
        case "quantile":
            return f"the {words.level_words(subject.level or 0.0)} quantile"
        case "sets" if subject.level is None:
            return "sets"
        case _:  # intervals or sets
            central, _, things = subject.kind.rpartition(" ")
            of = {None: "", "coordinate": " of {}", "place": " around {}"}.get(subject.part, f" of {subject.part} {{}}")
            return f"{central} {words.level_words(subject.level or 0.0)} {things}{of.format(subject.name)}".lstrip()


PREDICTIONS = dict.fromkeys(("rms_error", "mean_error", "cutoff_error", "bias", "frequency"), "probabilities")


def who(claim: Claim) -> str:
    things = PREDICTIONS.get(claim.quantity, "predictions")
    match claim.subject.kind:
        case "all rows":
            return things
        case "group" | "class" | "most probable class" | "coordinate":
            return f"{things} of {where(claim.subject)}"
        case "scores":
            return f"{things} of {range_words(claim.subject.low or 0.0, claim.subject.high or 0.0)}"
        case _:
            return where(claim.subject)


def range_words(low: float, high: float) -> str:
    """Write the range (low, high] with three digits, or more where ends would look alike.

    >>> range_words(0.00680685, 0.01862251), range_words(0.99951, 0.99987), range_words(5e-324, 0.2)
    ('0.00681 to 0.0186', '0.9995 to 0.9999', 'above 0, up to 0.2')
    """
    if high == 0:
        return "0"
    if low == ABOVE_0:
        return f"above 0, up to {high:.3g}"
    return " to ".join(words.apart(low, high, least=3))
