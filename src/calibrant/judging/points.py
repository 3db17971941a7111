"""The verdict on sets of points: different, copies, no evidence of a difference, cannot tell, or no truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from calibrant.core.claims import Claim
from calibrant.core.evidence import ALL_ROWS, Note, note
from calibrant.core.findings import Line, PointCase, Verdict
from calibrant.core.results import Curve
from calibrant.judging.notes import text_of
from calibrant.judging.voice import statement

DETECTABLE_SHIFT = 0.5  # of one coordinate, in sd: it must be detectable for "no evidence"
COPIES = ("copied", "memorised")  # quantities of claims on points that equal real ones, or nearly so
OPENINGS = {
    "different": "",
    "copies": "copies: ",
    "no evidence": "no evidence that ",
    "cannot tell": "too few points to tell whether ",
    "no truth": "no real points to compare with: ",
}


def verdict_on_points(case: PointCase) -> Verdict:
    """Return the verdict; sets of which only copies or near copies of real points were found are not different."""
    claims = [claim for each in case.sets for claim in each.claims]
    # Of each set the claim on copies of real points, or else the one on near copies.
    first = (next((c for q in COPIES for c in each.claims if c.quantity == q), None) for each in case.sets)
    copied = [claim for claim in first if claim is not None]
    different = [each.name for each in case.sets if each.differs]
    if different:
        notes = []
        if len(case.sets) > 1:
            notes.append(note("sets differ", different=len(different), tested=len(case.sets), names=different))
        unexplained = [each.name for each in case.sets if each.differs and not each.claims]
        if unexplained:
            notes.append(note("only the whole", names=unexplained))
        return _in_words(Verdict("different", claims=(case.whole, *claims)), notes)
    if copied:
        others = (claim for claim in claims if claim not in copied)
        return _in_words(Verdict("copies", claims=(*copied, *others)), [note("only copies")])
    unseen = Claim("description", ALL_ROWS, "unseen_shift", case.unseen_shift, rows=case.whole.rows)
    status = "cannot tell" if case.unseen_shift > DETECTABLE_SHIFT else "no evidence"
    return _in_words(Verdict(status, claims=(case.whole, unseen)), [note("no proof", only="no evidence")])


def verdict_without_truth(curve: Curve, claims: Sequence[Claim]) -> Verdict:
    """Return the verdict without real points: which sets have collapsed, and how diverse each is."""
    collapsed = [claim for claim in claims if claim.kind == "collapse"]
    said = (
        statement(min(collapsed, key=lambda claim: claim.pvalue or 0.0)) if collapsed else "only diversity is measured"
    )
    finer = float(curve.bandwidth[0] / curve.bandwidth[-1])
    found = [sorted(zip(row, curve.names, strict=True), reverse=True) for row in (curve.score[0], curve.score[-1])]
    first, last = ([f"{name} {value:.3g}" for value, name in row] for row in found)
    notes = [note("effective numbers", points=curve.points, first=first, finer=finer, last=last)]
    return _in_words(Verdict("no truth", claims=tuple(claims)), notes, said)


def _in_words(verdict: Verdict, notes: Sequence[Note], said: str = "") -> Verdict:
    headline = OPENINGS[verdict.status] + (said or statement(verdict.claims[0]))
    kept = tuple(each for each in notes if each.only in (None, verdict.status))
    lines = tuple(Line(*text_of(each)) for each in kept)
    return replace(verdict, headline=f"{headline[0].upper()}{headline[1:]}", notes=kept, lines=lines)
