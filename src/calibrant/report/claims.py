"""Claims as a report shows them: the status in words, boxes with limits, tolerances, and marked lines of tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from calibrant.core import words
from calibrant.core.claims import ALL_ROWS, USUAL_TOLERANCES, Claim
from calibrant.core.findings import Findings, Measurement, Table, Verdict

MAX_BOXES = 3
MAX_DIGITS = 6  # of a percentage
QUANTITIES = {
    "cutoff_error": "cutoff calibration error",
    "coverage": "coverage",
    "frequency": "observed frequency",
    "ece": "expected calibration error",
}
"""What the quantities of claims are called in a box; others are called by their names."""
SIDES = {"miscalibrated": "bad", "below": "bad", "above": "bad", "within": "good"}
"""The tone of each kind of claim that marks a line of a table."""
RESTS = "The verdict rests on these"
DESCRIBES = "Description: not part of the verdict"
WHICH_TOLERANCE = "Which tolerance do these rows support?"
WITHIN, BEYOND, OPEN = "shown to be within", "shown to be beyond", "cannot tell"


class Box(NamedTuple):
    """A number beside the verdict, what it is, and lines below it."""

    label: str
    value: str
    lines: tuple[str, ...]


def parts(measurements: Sequence[Measurement]) -> list[tuple[str, list[Measurement]]]:
    """Return the measurements in two parts with headings: those that decide the verdict, and the others.

    If the verdict rests on none of them, they are one part without a heading.
    """
    decisive = [m for m in measurements if m.decides]
    if not decisive:
        return [("", list(measurements))] if measurements else []
    others = [m for m in measurements if not m.decides]
    return [(RESTS, decisive), *([(DESCRIBES, others)] if others else [])]


class Supported(NamedTuple):
    """A tolerance, what the limits say about it, and whether the verdict is about it."""

    tolerance: str
    outcome: str
    tone: str
    chosen: bool


def points_words(tolerance: float) -> str:
    """Write a tolerance in percentage points, rounded upwards to three digits.

    >>> points_words(0.01), points_words(0.02), points_words(0.07), points_words(0.000123456)
    ('1 percentage point', '2 percentage points', '7 percentage points', '0.0124 percentage points')
    """
    percent = float(f"{100 * tolerance:.10g}")
    if percent > 0:
        unit = 10.0 ** (math.floor(math.log10(percent)) - 2)
        percent = float(f"{math.ceil(round(percent / unit, 6)) * unit:.3g}")
    return f"{percent:g} percentage point{'' if percent == 1 else 's'}"


def boxes(findings: Findings) -> list[Box]:
    """Return what stands beside the verdict: claims that the level covers, the headline's first."""
    if findings.kind == "points":
        return _measured_boxes(findings)
    covered = [claim for claim in findings.verdict.claims if claim.level is not None and claim.kind != "description"]
    first_of = {(claim.subject, claim.quantity): claim for claim in reversed(covered)}
    return [_box(claim) for claim in covered if first_of[claim.subject, claim.quantity] is claim][:MAX_BOXES]


def _measured_boxes(findings: Findings) -> list[Box]:
    """Return the two measurements of sets of points with the smallest p-values."""
    known = [m for m in findings.measurements if m.expected is not None]
    known.sort(key=lambda m: 1.0 if m.pvalue is None else m.pvalue)
    return [
        Box(
            words.label(m.label),
            words.number(m.value),
            (
                f"{words.number(m.expected)} if equal",
                *(() if m.pvalue is None else (words.pvalue_words(m.pvalue),)),
            ),
        )
        for m in known[:2]
    ]


def _box(claim: Claim) -> Box:
    name = QUANTITIES.get(claim.quantity, words.heading(claim.quantity))
    of = "" if claim.subject == ALL_ROWS else f", {words.text(claim.subject)}"
    value, low, high = claim_numbers(claim)
    lines = []
    if not math.isnan(claim.low) and not math.isnan(claim.high):
        lines.append(f"{words.level_percent(claim.level or 0)} limits: {low} to {high}")
    if claim.expected:
        lines.append(f"{_number(claim.expected, claim)} if calibrated")
    if claim.tolerance is not None:
        lines.append(f"tolerance: {points_words(claim.tolerance)}")
    return Box(words.label(name) + of, value, tuple(lines))


def claim_numbers(claim: Claim) -> tuple[str, str, str]:
    r"""Return estimate and limits in words; limits are rounded outwards, with digits enough to compare them.

    >>> claim_numbers(Claim("within", ALL_ROWS, "cutoff_error", 0.008, 0.00449, 0.0131, 0.95, tolerance=0.02))
    ('0.8\xa0%', '0.4\xa0%', '1.4\xa0%')
    >>> claim_numbers(Claim("miscalibrated", ALL_ROWS, "cutoff_error", 0.024, 0.02001, 0.03, 0.95, tolerance=0.02))
    ('2.400\xa0%', '2.001\xa0%', '3.000\xa0%')
    """
    if not _is_share(claim):
        return words.number(claim.estimate), words.number(claim.low), words.number(claim.high)
    tau = claim.tolerance or 0.0
    for digits in range(1, MAX_DIGITS + 1):
        low, high = _floor(claim.low, digits), -_floor(-claim.high, digits)
        if _sides(low, high, claim.expected, tau) == _sides(claim.low, claim.high, claim.expected, tau):
            break
    texts = (f"{100 * value:.{digits}f}\u00a0%" for value in (claim.estimate, low, high))
    return tuple(texts)  # type: ignore[return-value]


def _sides(low: float, high: float, expected: float, tau: float) -> tuple[bool, ...]:
    """Return which limits are within the tolerance, and which are beyond it."""
    return high <= expected + tau, low > expected + tau, low >= expected - tau, high < expected - tau


def _floor(share: float, digits: int) -> float:
    """Round a share down to `digits` of a percentage; what is a whole step up to rounding stays."""
    step = 10.0 ** (digits + 2)
    return share if math.isnan(share) else math.floor(round(share * step, 6)) / step


def _is_share(claim: Claim) -> bool:
    """Tell whether a quantity is written as a percentage."""
    return claim.quantity in QUANTITIES or claim.tolerance is not None


def _number(value: float, claim: Claim) -> str:
    return words.level_percent(float(f"{value:.4g}")) if _is_share(claim) else words.number(value)


def tolerances(verdict: Verdict) -> list[Supported]:
    """Return which tolerances the limits of the first claim support; none if they do not tell.

    Where only one direction counts as an error, the limits say less than the verdict, and there is no table.
    """
    if not verdict.claims or verdict.claims[0].level is None:
        return []
    claim = verdict.claims[0]
    if math.isnan(claim.low) or math.isnan(claim.high) or not _is_share(claim):
        return []
    gaps = claim.low - claim.expected, claim.high - claim.expected
    least, most = max(0.0, gaps[0], -gaps[1]), max(abs(gap) for gap in gaps)
    asked = () if verdict.tolerance is None else (verdict.tolerance,)
    found = [_supported(tau, least, most, chosen=tau in asked) for tau in sorted({*USUAL_TOLERANCES, *asked})]
    expected = {"within": WITHIN, "miscalibrated": BEYOND, "cannot tell": OPEN}.get(verdict.status)
    contradicts = any(line.chosen and line.outcome != expected for line in found)
    return [] if contradicts and verdict.status != "cannot tell" else found


def _supported(tau: float, least: float, most: float, *, chosen: bool) -> Supported:
    outcome, tone = (WITHIN, "good") if most <= tau else (BEYOND, "bad") if least > tau else (OPEN, "unsure")
    return Supported(points_words(tau), outcome, tone, chosen)


def marked(table: Table, claims: Sequence[Claim]) -> list[str]:
    """Return the tone of each line of a table that a claim names, empty texts for the others.

    Lines are named by their first column. Of several lines with one name, those with the claim's p-value are meant, if
    there are any.
    """
    tones = [""] * table.length
    if not table.length:
        return tones
    noun, labels = next(iter(table.columns.items()))
    pvalues = table.columns.get("pvalue_adjusted", (None,) * table.length)
    for claim in claims:
        if claim.level is None or claim.kind not in SIDES:
            continue
        lines = [i for i, label in enumerate(labels) if claim.subject in _subjects(noun, label)]
        exact = [i for i in lines if claim.pvalue is not None and pvalues[i] == claim.pvalue]
        for i in exact or lines:
            tones[i] = SIDES[claim.kind]
    return tones


def _subjects(noun: str, label: Any) -> tuple[str, str]:
    return str(label), f"{noun} {label}"
