"""Everything that a page says agrees: verdict, claims, tolerances, marks, JSON and conditions.

On 400 random inputs of all kinds: the designs of `benchmarks/validity/claims.py` with few rows, random levels and
tolerances, half of them with outcomes in random order, which are wrong in ways that no design is.
"""

import json
import math
from collections import Counter
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from benchmarks.validity.claim_designs import DESIGNS, KINDS, kind_of
from benchmarks.validity.claims import FAULTS

from calibrant import audit
from calibrant.cli.conditions import judge, read_condition
from calibrant.core.claims import Status
from calibrant.errors import NotApplicableError
from calibrant.judging.voice import FAULTS as FAULTY
from calibrant.judging.voice import rows_of, where
from calibrant.report.page import SIDES, marked
from calibrant.results import Audit

INPUTS = {  # fewer of what takes long
    "one probability per row": 80,
    "one probability per row, groups": 50,
    "classes": 30,
    "intervals": 80,
    "sets": 80,
    "quantiles": 40,
    "distributions": 20,
    "draws": 20,
}
LEVELS = (0.75, 0.85, 0.95, 0.99)
TOLERANCES = (None, None, 0.005, 0.02, 0.05, 0.1, 0.2, 0.4)
SLOW = ("300 classes", "large", "clusters", "99 draws, D = 5", "D = 5, shift", "D = 5, spread")


def random_audit(kind, rng):
    """Return the audit of one random input, or None if it is refused."""
    names = [name for name in DESIGNS if kind_of(name) == kind and not any(word in name for word in SLOW)]
    data = DESIGNS[rng.choice(names)].draw(rng, int(rng.integers(8, 60)))
    y = rng.permutation(data.y) if rng.random() < 0.5 else data.y
    options = {"tolerance": rng.choice(TOLERANCES), "level": float(rng.choice(LEVELS)), **data.options}
    try:
        return audit(y, data.prediction, resamples=19, rng=0, **options)
    except NotApplicableError:
        return None


def level_claims(found: Audit) -> list:
    """Return the claims that the level covers."""
    return [claim for claim in found.verdict.claims if claim.level is not None]


def status_is_that_of_the_claims(found: Audit) -> None:
    """Where all rows have an outcome it is the status, unless a part of the rows is miscalibrated.

    Beside a tolerance, claims without one say that a part is off by more than chance, not by how much.
    """
    verdict, claims = found.verdict, level_claims(found)
    if not claims:
        assert verdict.status == "cannot tell"
        return
    faults = [claim for claim in claims if claim.kind in FAULTS and claim.tolerance in (None, verdict.tolerance)]
    if verdict.status == "miscalibrated":
        assert claims[0] in faults
        return
    first = next(
        claim.kind for claim in claims if claim.kind in get_args(Status) and claim.tolerance == verdict.tolerance
    )
    assert first == verdict.status or (first == "within" and verdict.status == "cannot tell" and faults)
    assert not any(claim.kind == "miscalibrated" and claim.tolerance == verdict.tolerance for claim in claims)
    pvalues = [m.pvalue for m in found.findings.measurements if m.decides and m.pvalue is not None]
    rejected = min(pvalues, default=1.0) <= 1 - found.findings.level
    assert not (rejected and verdict.status == "cannot tell" and verdict.tolerance is None)


def tolerances_agree(found: Audit) -> None:
    chosen = [step.status for step in found.verdict.at if step.tolerance == found.verdict.tolerance]
    assert chosen in ([], [found.verdict.status])


def marks_are_claims(found: Audit) -> None:
    findings, claims = found.findings, level_claims(found)
    tables = [table for section in findings.sections for table in section.tables]
    for table in (*tables, *([findings.groups] if findings.groups else [])):
        tones = marked(table, found.verdict.claims)
        kinds = {SIDES[claim.kind] for claim in claims if claim.kind in SIDES}
        assert {tone for tone in tones if tone} <= kinds
        if found.verdict.status == "within":
            assert not (findings.groups is table and "bad" in tones)


def rows_are_claims(found: Audit) -> None:
    rows = rows_of(found.verdict.claims)
    shown, claimed = {row.where for row in rows}, {where(claim.subject) for claim in found.verdict.claims}
    assert shown <= claimed
    assert all(subject.startswith("scores") for subject in claimed - shown)  # ranges that overlap one that is shown
    assert any(row.is_fault for row in rows) == any(claim.kind in FAULTY for claim in found.verdict.claims)


def json_is_the_same(found: Audit, folder: Path) -> None:
    written = json.loads(found.to_json(folder / "audit.json").read_text(encoding="utf-8"))
    verdict = written["verdict"]
    assert (verdict["status"], verdict["headline"]) == (found.verdict.status, found.verdict.headline)
    assert len(verdict["claims"]) == len(found.verdict.claims)
    for line, claim in zip(verdict["claims"], found.verdict.claims, strict=True):
        assert (line["kind"], line["quantity"], line["level"]) == (claim.kind, claim.quantity, claim.level)
        for name in ("estimate", "low", "high", "tolerance", "pvalue"):
            value = getattr(claim, name)
            assert line[name] == (None if value is None or math.isnan(value) else value)
    statuses = get_args(Status)
    judged = judge([read_condition(f"verdict = {status}") for status in statuses], written)
    assert [outcome.failed for outcome in judged] == [status == found.verdict.status for status in statuses]


@pytest.mark.usefixtures("no_power")
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_agrees_with_itself(kind: str, tmp_path: Path) -> None:
    rng, seen = np.random.default_rng(list(KINDS).index(kind)), Counter()
    while seen.total() < INPUTS[kind]:
        found = random_audit(kind, rng)
        if found is None:
            continue
        seen[found.verdict.status] += 1
        status_is_that_of_the_claims(found)
        tolerances_agree(found)
        marks_are_claims(found)
        rows_are_claims(found)
        json_is_the_same(found, tmp_path)
    assert len(seen) > 1, seen  # several outcomes were among them
