"""What an audit says on skill: whether predictions are better than the marginal distribution of the outcomes.

Calibration and skill are two questions. Exact tests of ranks use the whole error rate of a page, so what claims on
skill add must be negligible: they have a level of their own, and are false with a fiftieth of that rate.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from calibrant.auditing.measurements import of_rows
from calibrant.core.claims import ALL_ROWS, Claim, ClaimKind, Subject
from calibrant.core.findings import Measurement, Setting, Verdict
from calibrant.core.results import TestResult
from calibrant.core.words import NAMED, confidence_words, listed, outward
from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.rows import DistributionRows
from calibrant.inputs.samples import Samples
from calibrant.scores.skill import HEAVY_ROWS, MIN_DECIDING_ROWS, skill_test

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
MARGINAL = "the marginal distribution of the outcomes"


class Coordinate(NamedTuple):
    """What `skill_test` says of one coordinate."""

    claim: Claim
    guard: float
    rows: tuple[int, ...]
    heavy: tuple[float, float]


class SkillFound(NamedTuple):
    """What was found on skill: for the table, for the verdict, and why it was left out."""

    coordinates: tuple[Coordinate, ...] = ()
    method: str = ""
    missing: tuple[str, ...] = ()

    @property
    def values(self) -> dict[str, FloatArray]:
        """The skill of each coordinate, as a column of the table of coordinates."""
        return {QUANTITY: np.array([c.claim.estimate for c in self.coordinates])} if self.coordinates else {}

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """A line per coordinate; those of many are in the table only."""
        if len(self.coordinates) > MAX_COORDINATES_MEASURED:
            return ()
        return tuple(_measured(found.claim, self.method) for found in self.coordinates)

    def added_to(self, verdict: Verdict) -> Verdict:
        """Return the verdict with the claims and sentences on skill at its end."""
        claims = tuple(found.claim for found in self.coordinates)
        sentences = _sentences(self.coordinates, calibrated=verdict.status != "miscalibrated")
        return replace(verdict, claims=(*verdict.claims, *claims), sentences=(*verdict.sentences, *sentences))


def audited_skill(rows: DistributionRows, setting: Setting) -> SkillFound:
    """Compare the CRPS of each coordinate with that of the marginal distribution of the outcomes."""
    distribution, level = rows.distribution, 1 - SHARE_OF_ERRORS * (1 - setting.level)
    if isinstance(distribution, Samples) and (not distribution.finite or distribution.M < 2):
        return SkillFound()  # said with the scores, which are left out too
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            found: TestResult = of_rows(skill_test, rows, level=level, tolerance=TOLERANCE)
    except NotApplicableError as reason:
        return SkillFound(missing=(f"Whether predictions are informative is not tested: {reason}.",))
    if not np.isfinite(found.estimate).all():
        return SkillFound(missing=("Whether predictions are informative is not tested: scores exceed float64.",))
    names = setting.columns if distribution.shape else ()
    return SkillFound(tuple(_coordinates(found, names, level)), found.method)


def _coordinates(found: TestResult, names: tuple[str, ...], level: float) -> list[Coordinate]:
    details = found.details
    several = isinstance(details["claim"], tuple)

    def at(value: Any, d: int) -> Any:
        return value[d] if several else value

    coordinates = []
    for d in range(len(details["claim"]) if several else 1):
        kind = KINDS[at(details["claim"], d)]
        claim = Claim(
            kind,
            Subject("coordinate", name=names[d] if names else str(d)) if several else ALL_ROWS,
            QUANTITY,
            float(at(found.estimate, d)),
            float(at(details["low"], d)),
            float(at(details["high"], d)),
            None if kind == "limits" and at(details["guard"], d) < MIN_DECIDING_ROWS else level,
            found.n,
            tolerance=TOLERANCE,
            test="skill_test",
            pvalue=float(at(found.pvalue, d)),
        )
        rows = tuple(np.asarray(at(details["rows"], d)).tolist())
        coordinates.append(Coordinate(claim, float(at(details["guard"], d)), rows, at(details["heavy"], d)))
    return coordinates


def _measured(claim: Claim, method: str) -> Measurement:
    one = claim.subject == ALL_ROWS
    limits = "" if claim.level is None else f", {confidence_words(claim.level)} interval"
    of = "" if one else f" of {claim.subject.name}"
    label = f"skill{of}: share of the score of the marginal distribution that is saved{limits}"
    return Measurement(
        "skill" if one else f"skill.{claim.subject.name}",
        label,
        claim.estimate,
        interval=None if claim.level is None else (claim.low, claim.high),
        method=method,
    )


def _sentences(found: tuple[Coordinate, ...], *, calibrated: bool) -> list[str]:
    if len(found) == 1:
        return _of_one(found[0], calibrated=calibrated)
    words = {
        "informative": "Informative: the CRPS is lower than that of the marginal distribution",
        "no-better": "No better than always predicting the marginal distribution" if calibrated else NOT_EITHER,
        "worse": "Worse than always predicting the marginal distribution",
        "limits": "Cannot tell whether predictions are informative",
    }
    sentences = []
    for kind, start in words.items():
        mine = [each for each in found if each.claim.kind == kind]
        if mine:
            coordinates = "1 coordinate" if len(mine) == 1 else f"{len(mine):,} coordinates"
            sentences.append(f"{start}: {coordinates}, {_named([each.claim for each in mine])}.")
    together = ["Limits of skill cover in all coordinates together."] if len(found) > 1 else []
    return [*sentences, *together]


NOT_EITHER = "Not informative either: no better than always predicting the marginal distribution"


def _named(claims: list[Claim]) -> str:
    shown = [f"{claim.subject.name} (skill {_limits(claim)})" for claim in claims[:NAMED]]
    return listed([*shown, f"{len(claims) - NAMED:,} more"] if len(claims) > NAMED else shown)


def _limits(claim: Claim) -> str:
    """Write the skill and its limits in percent, rounded so that what is claimed stays true."""
    near = claim.tolerance if claim.kind == "no-better" else 0.0
    low, high, estimate = outward(claim.low, claim.high, claim.estimate, near)
    return f"{estimate} %, limits {low} to {high} %"


def _of_one(found: Coordinate, *, calibrated: bool) -> list[str]:
    claim = found.claim
    low, high, estimate = outward(claim.low, claim.high, claim.estimate, 0.0)
    confidence = confidence_words(claim.level or 0.0)
    match claim.kind:
        case "informative":
            limits = f"{confidence} limits: {low} to {high} %"
            return [f"Informative: the CRPS is {estimate} % lower than that of {MARGINAL} ({limits})."]
        case "worse":
            low, high, estimate = outward(-claim.high, -claim.low, -claim.estimate, 0.0)
            more = f"the CRPS is {estimate} % higher ({confidence} limits: {low} to {high} %)"
            return [f"Worse than always predicting {MARGINAL}: {more}."]
        case "no-better":
            start = f"No better than always predicting {MARGINAL}" if calibrated else NOT_EITHER
            return [f"{start} (skill {_limits(claim)}, {confidence})."]
        case _ if claim.level is None:
            return [_of_few_rows(found)]
        case _:
            heavy = _heavy(found)
            limits = f"skill {_limits(claim)}, {confidence}"
            return [f"Cannot tell whether predictions are informative ({limits}).{f' {heavy}' if heavy else ''}"]


def _of_few_rows(found: Coordinate) -> str:
    rows = ", ".join(str(row) for row in found.rows[:MAX_ROWS_SHOWN])
    heavy = _heavy(found)
    return (
        f"Cannot tell whether predictions are informative: a few rows decide, most of all rows {rows}."
        f"{f' {heavy}' if heavy else ''}"
    )


def _heavy(found: Coordinate) -> str:
    share, others = found.heavy
    if not share >= HEAVY_LOSS:
        return ""
    return (
        f"{100 * HEAVY_ROWS:.0f} % of the rows have {100 * share:.0f} % of the loss; "
        f"the other rows have a skill of {100 * others:.1f} %."
    )
