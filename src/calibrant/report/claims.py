"""Claims as a report shows them: which measurements decide, which lines of tables a claim names."""

from __future__ import annotations

import math
from collections.abc import Sequence

from calibrant.core.claims import Claim
from calibrant.core.findings import Findings, Measurement, Table

SIDES = {"miscalibrated": "bad", "below": "bad", "above": "bad", "within": "good"}
"""The tone of each kind of claim that marks a line of a table."""
RESTS = "Used for the verdict"
DESCRIBES = "Description: not part of the verdict"


def parts(measurements: Sequence[Measurement], findings: Findings) -> list[tuple[str, list[Measurement]]]:
    """Return some measurements in two parts with headings: those that decide the verdict, and the others.

    If the verdict rests on no measurement of the findings, they are one part without a heading.
    """
    if not any(m.decides for m in findings.measurements):
        return [("", list(measurements))] if measurements else []
    decisive, others = [m for m in measurements if m.decides], [m for m in measurements if not m.decides]
    return [(heading, part) for heading, part in ((RESTS, decisive), (DESCRIBES, others)) if part]


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
