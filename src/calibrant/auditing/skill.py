"""What an audit says on skill: whether predictions are better than the marginal distribution of the outcomes.

Calibration and skill are two questions. Exact tests of ranks use the whole error rate of a page, so what claims on
skill add must be negligible: they have a level of their own, and are false with a fiftieth of that rate.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from calibrant.auditing.measurements import of_rows
from calibrant.core.claims import Claim, ClaimKind
from calibrant.core.evidence import ALL_ROWS, Note, Subject, note
from calibrant.core.findings import Facts, KindFindings, Measurement, Setting
from calibrant.core.results import TestResult
from calibrant.core.words import confidence_words
from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.rows import DistributionRows
from calibrant.scores.skill import skill_test
from calibrant.scores.skill_rows import HEAVY_ROWS, MIN_DECIDING_ROWS

QUANTITY = "skill"
SHARE_OF_ERRORS = 0.02  # of the error rate of the page, for the claims on skill
TOLERANCE = 0.05  # skill below which predictions are called no better
HEAVY_LOSS = 0.25  # share of the loss in 5 % of the rows that is worth a sentence; normal scores have 0.16
MAX_COORDINATES_MEASURED = 9  # more are shown in the table only
MAX_ROWS_SHOWN = 5
KINDS: dict[str, ClaimKind] = {
    "informative": "informative",
    "worse": "worse",
    "no better": "no-better",
    "cannot tell": "limits",
}


class Coordinate(NamedTuple):
    """What `skill_test` says of one coordinate."""

    claim: Claim
    rows: tuple[int, ...]
    heavy: tuple[float, float]


class SkillFound(NamedTuple):
    """What was found on skill: for the table, for the verdict, and why it was left out."""

    coordinates: tuple[Coordinate, ...] = ()
    method: str = ""
    missing: tuple[str, ...] = ()

    @property
    def values(self) -> dict[str, FloatArray]:
        return {QUANTITY: np.array([c.claim.estimate for c in self.coordinates])} if self.coordinates else {}

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        if len(self.coordinates) > MAX_COORDINATES_MEASURED:
            return ()
        return tuple(_measured(found.claim, self.method) for found in self.coordinates)

    def added_to(self, found: KindFindings) -> KindFindings:
        claims = tuple(each.claim for each in self.coordinates)
        notes = (*found.case.notes, *(text for each in self.coordinates for text in _heavy(each)))
        return replace(found, case=replace(found.case, notes=notes), further=(*found.further, *claims))


def audited_skill(facts: Facts, setting: Setting) -> SkillFound:
    """Compare the CRPS of each coordinate with that of the marginal distribution of the outcomes."""
    rows: DistributionRows = facts.rows
    samples, level = rows.samples, 1 - SHARE_OF_ERRORS * (1 - setting.level)
    if samples is not None and (not samples.finite or samples.M < 2):
        return SkillFound()  # said with the scores, which are left out too
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            found: TestResult = of_rows(skill_test, rows, level=level, tolerance=TOLERANCE)
    except NotApplicableError as reason:
        return SkillFound(missing=(f"Whether predictions are informative is not tested: {reason}.",))
    if not np.isfinite(found.estimate).all():
        return SkillFound(missing=("Whether predictions are informative is not tested: scores exceed float64.",))
    names = setting.columns if rows.distribution.shape else ()
    return SkillFound(tuple(_coordinates(found, names, level, numbered=facts.complete)), found.method)


def _coordinates(found: TestResult, names: tuple[str, ...], level: float, *, numbered: bool) -> list[Coordinate]:
    details = found.details
    several = isinstance(details["claim"], tuple)

    def at(value: Any, d: int) -> Any:
        return value[d] if several else value

    coordinates = []
    for d in range(len(details["claim"]) if several else 1):
        kind, guard = KINDS[at(details["claim"], d)], at(details["guard"], d)
        subject = Subject("coordinate", name=names[d] if names else str(d)) if several else ALL_ROWS
        estimate, low, high = (float(at(each, d)) for each in (found.estimate, details["low"], details["high"]))
        stated = None if kind == "limits" and guard < MIN_DECIDING_ROWS else level
        tested: dict[str, Any] = {"tolerance": TOLERANCE, "test": "skill_test", "pvalue": float(at(found.pvalue, d))}
        claim = Claim(kind, subject, QUANTITY, estimate, low, high, stated, found.n, **tested)
        rows = tuple(np.asarray(at(details["rows"], d)).tolist()) if numbered else ()
        coordinates.append(Coordinate(claim, rows, at(details["heavy"], d)))
    return coordinates


def _measured(claim: Claim, method: str) -> Measurement:
    key, of = (
        ("skill", "") if claim.subject == ALL_ROWS else (f"skill.{claim.subject.name}", f" of {claim.subject.name}")
    )
    label, limits = f"skill{of}: share of the score of the marginal distribution that is saved", None
    if claim.level is not None:
        label, limits = f"{label}, {confidence_words(claim.level)} interval", (claim.low, claim.high)
    return Measurement(key, label, claim.estimate, interval=limits, method=method)


def _heavy(found: Coordinate) -> list[Note]:
    name = f" of {found.claim.subject.name}" if found.claim.subject.name else ""
    share, others = found.heavy
    if found.claim.level is None:
        rows = [str(row) for row in found.rows[:MAX_ROWS_SHOWN]]
        few = note("few rows decide skill", name=name, rows=rows)
        return [few if rows else note("few drawn rows decide skill", name=name)]
    if found.claim.kind != "limits" or not share >= HEAVY_LOSS:
        return []
    return [note("heavy loss", name=name, rows=HEAVY_ROWS, share=share, others=others)]
