"""Claims as a report shows them: the status in words, boxes with limits, tolerances, and marked lines of tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from calibrant.core import words
from calibrant.core.claims import ALL_ROWS, Claim, Status
from calibrant.core.findings import Findings, Measurement, Table, Verdict

MAX_BOXES = 3
DIGITS = 4  # significant ones, as `words.number` writes them
SHARES = {
    "cutoff_error": "cutoff calibration error",
    "bias": "observed less predicted frequency",
    "frequency": "observed frequency",
    "coverage": "coverage",
    "coverage_error": "error of coverage",
    "share_below": "share of outcomes below",
}
"""What quantities that are shares, shown in percent, are called in a box."""
OTHER_QUANTITIES = {"recalibration_gain": "gain of the log score by recalibration"}
"""What other quantities are called in a box; those not listed are called by their names."""
DIFFERENCE = "difference of "  # before the metric, in claims on two models
COMPARED = {"ece": "squared calibration error", "cutoff_error": "cutoff error", "brier_score": "Brier score"}
"""What metrics are called in comparisons of predictions; others are called by their names."""
SIDES = {"miscalibrated": "bad", "below": "bad", "above": "bad", "within": "good"}
"""The tone of each kind of claim that marks a line of a table."""
RESTS = "Used for the verdict"
DESCRIBES = "Description: not part of the verdict"
WHICH_TOLERANCE = "Which tolerance do these rows support?"
WITHIN, BEYOND, OPEN = "no error is larger", "an error is larger", "cannot tell"  # of all rows, groups and classes
SHOWN: dict[Status, str] = {"within": WITHIN, "miscalibrated": BEYOND, "cannot tell": OPEN}
TONES: dict[Status, str] = {"within": "good", "miscalibrated": "bad", "cannot tell": "unsure"}


class Box(NamedTuple):
    """A number beside the verdict, what it is, and lines below it."""

    label: str
    value: str
    lines: tuple[str, ...]


def parts(measurements: Sequence[Measurement], findings: Findings) -> list[tuple[str, list[Measurement]]]:
    """Return some measurements in two parts with headings: those that decide the verdict, and the others.

    If the verdict rests on no measurement of the findings, they are one part without a heading.
    """
    if not any(m.decides for m in findings.measurements):
        return [("", list(measurements))] if measurements else []
    decisive, others = [m for m in measurements if m.decides], [m for m in measurements if not m.decides]
    return [(heading, part) for heading, part in ((RESTS, decisive), (DESCRIBES, others)) if part]


class Supported(NamedTuple):
    """A tolerance in words, what the verdict would be at it, its tone, and whether this verdict is about it."""

    tolerance: str
    outcome: str
    tone: str
    chosen: bool


def boxes(findings: Findings) -> list[Box]:
    """Return what stands beside the verdict: claims that the level covers, the headline's first.

    Of claims that differ in a range or a name alone, the one that is most clearly off is shown; pairs of models are
    all shown.
    """
    if findings.kind == "points":
        return _measured_boxes(findings)
    found: dict[tuple[str, str, str | None], Claim] = {}
    for claim in findings.verdict.claims:
        if claim.level is None or claim.kind == "description" or math.isnan(claim.estimate):
            continue
        subject = claim.subject
        sort = claim.quantity, subject.kind, subject.name if subject.kind == "models" else subject.part
        if sort not in found or (found[sort] is not findings.verdict.claims[0] and _off(claim) > _off(found[sort])):
            found[sort] = claim
    return [_box(claim) for claim in found.values()][:MAX_BOXES]


def _off(claim: Claim) -> tuple[float, float]:
    """Return how far a claim is from calibration: by its p-value if it has one, then by its distance."""
    return -(1.0 if claim.pvalue is None else claim.pvalue), abs(claim.estimate - claim.expected)


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
    name = _quantity_words(claim.quantity) + (f" as a share of {claim.share_of}" if claim.share_of else "")
    of = "" if claim.subject == ALL_ROWS else f", {words.text(claim.subject)}"
    lines = []
    if math.isnan(claim.low) or math.isnan(claim.high):
        value = f"{100 * claim.estimate:.1f}\u00a0%" if _is_share(claim) else words.number(claim.estimate)
    else:
        low, high, value = claim_numbers(claim)
        lines.append(f"{words.level_percent(claim.level or 0)} limits: {low} to {high}")
    if claim.expected:
        is_enough = claim.expected < claim.low and claim.kind in ("within", "cannot tell")  # more is right too
        lines.append(f"{'at least ' if is_enough else ''}{_expected(claim, value)} if calibrated")
    if claim.tolerance is not None:
        tau = words.accepted_words(claim.tolerance, claim) if _is_share(claim) else f"{claim.tolerance:g}"
        lines.append(f"tolerance: {tau}")
    return Box(words.label(name) + of, value, tuple(lines))


def _quantity_words(quantity: str) -> str:
    if quantity.startswith(DIFFERENCE):
        return f"{DIFFERENCE}{metric_words(quantity.removeprefix(DIFFERENCE))}"
    return (SHARES | OTHER_QUANTITIES).get(quantity, words.heading(quantity))


def metric_words(metric: str) -> str:
    """Return a metric of a comparison in words.

    >>> metric_words("brier_score"), metric_words("interval_score")
    ('Brier score', 'interval score')
    """
    return COMPARED.get(metric, metric.removesuffix("_test").replace("_", " "))


def claim_numbers(claim: Claim) -> tuple[str, str, str]:
    r"""Return the limits of a claim and its estimate in words.

    >>> claim_numbers(Claim("within", ALL_ROWS, "cutoff_error", 0.008, 0.00449, 0.0131, 0.95, tolerance=0.02))
    ('0.4\xa0%', '1.4\xa0%', '0.8\xa0%')
    """
    if not _is_share(claim):
        least = words.significant(claim.low, DIGITS, words.round_down)
        most = words.significant(claim.high, DIGITS, words.round_up)
        return words.number(least), words.number(most), words.number(claim.estimate)
    if claim.share_of:
        low, high, estimate = words.error_numbers(claim)
        return f"{low}\u00a0%", f"{high}\u00a0%", f"{estimate}\u00a0%"
    expected = claim.expected if claim.expected or claim.quantity == "bias" else None
    low, high, estimate = words.outward(claim.low, claim.high, claim.estimate, claim.tolerance, expected)
    return f"{low}\u00a0%", f"{high}\u00a0%", f"{estimate}\u00a0%"


def _is_share(claim: Claim) -> bool:
    """Tell whether a quantity is written as a percentage."""
    return claim.quantity in SHARES


def _expected(claim: Claim, beside: str) -> str:
    r"""Write what calibration gives: a level as it was given, other shares with the digits of the estimate beside them.

    There are more digits where these would bring it to the other side of a limit.

    >>> _expected(Claim("below", ALL_ROWS, "coverage", 0.39, 0.3, 0.48, 0.95, expected=18 / 71), "39.0\xa0%")
    '25.4\xa0%'
    """
    if not _is_share(claim):
        return words.number(claim.expected)
    exact = 100 * claim.expected
    if math.isclose(exact, round(exact, 2)):
        return words.level_percent(round(claim.expected, 4))
    for digits in range(len(beside.partition("\u00a0")[0].partition(".")[2]), words.MAX_DIGITS):
        shown = round(exact, digits)
        if all((shown > 100 * limit) == (exact > 100 * limit) for limit in (claim.low, claim.high)):
            break
    return f"{shown:.{digits}f}\u00a0%"


def tolerances(verdict: Verdict) -> list[Supported]:
    """Return what the verdict would be at each tolerance, the smallest first."""
    return [
        Supported(step.words, SHOWN[step.status], TONES[step.status], step.tolerance == verdict.tolerance)
        for step in verdict.at
    ]


def marked(table: Table, claims: Sequence[Claim]) -> list[str]:
    """Return the tone of each line of a table that a claim names, empty texts for the others.

    The heading of the first column is the kind of the claim's subject, and the line has its name. Of several lines with
    one name, those with the claim's p-value are meant, if there are any. A part of the rows has a line for each level
    of intervals or sets, so a claim on one level marks only the line with its p-value.
    """
    tones = [""] * table.length
    if not table.length:
        return tones
    noun, labels = next(iter(table.columns.items()))
    pvalues = table.columns.get("pvalue_adjusted", (None,) * table.length)
    for claim in claims:
        if claim.level is None or claim.kind not in SIDES or noun != (claim.subject.part or claim.subject.kind):
            continue
        named = [i for i, label in enumerate(labels) if str(label) == claim.subject.name]
        exact = [i for i in named if _same_pvalue(claim.pvalue, pvalues[i])]
        for i in exact or (named if claim.subject.part is None else ()):
            tones[i] = SIDES[claim.kind]
    return tones


def _same_pvalue(of_claim: float | None, of_line: float | None) -> bool:
    if of_claim is None or of_line is None:
        return False
    return math.isclose(of_claim, of_line, rel_tol=1e-9)
