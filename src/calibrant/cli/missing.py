"""Rows without a prediction, such as refusals of a language model: counted by group, left out, and said."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from calibrant.cli.candidates import cells
from calibrant.cli.columns import Columns
from calibrant.cli.conditions import MISSING, plain, read_condition
from calibrant.cli.options import Request
from calibrant.core.evidence import Note, note
from calibrant.core.findings import Line, Measurement, Section, Table
from calibrant.errors import InputError, shown
from calibrant.files.scan import Scan
from calibrant.files.values import absent
from calibrant.files.where import Clause, Where, quoted
from calibrant.inputs.groups import batch_labels, read_groups
from calibrant.judging.notes import text_of
from calibrant.report.audit import Audit


class Missing(NamedTuple):
    """How many of `n` rows have no prediction, and of each group that has such rows, the most first."""

    column: str
    rows: int
    n: int
    groups: tuple[tuple[str, int, int], ...] = ()  # name, rows without a prediction, all rows

    @property
    def note(self) -> Note:
        return note(MISSING, missing=self.rows, n=self.n, column=self.column, groups=self.groups)

    @property
    def line(self) -> Line:
        return Line(*text_of(self.note))

    @property
    def section(self) -> Section:
        title, details = "Rows without a prediction", {"rows": float(self.n), "share": self.rows / self.n}
        found = Measurement(MISSING, title.lower(), self.rows, details=details)
        groups = dict(zip(("where", MISSING, "n"), zip(*self.groups, strict=True), strict=False))
        tables = (Table(MISSING, "Groups with such rows", groups),) if groups else ()
        return Section(MISSING, title, "They are counted and not judged.", (found,), tables=tables)


def with_predictions(scan: Scan, columns: Columns, request: Request) -> tuple[Scan, Missing | None]:
    """Return the scan of the rows that have a prediction, and how many have none.

    A person reads what an audit says of them; a check, which nobody reads, must name how many there may be.
    """
    if columns.kind != "binary":
        return scan, None
    (p,), file = columns.p, scan.files[0].path
    missing = _counted(scan, p, columns.by)
    if not missing.rows:
        return scan, None
    if missing.rows == missing.n:
        raise InputError(f"column {shown(p)} of {file} has no value in any of {missing.n:,} rows; name another column")
    conditions = [plain(read_condition(text).path) for text in request.fail_if]
    if request.command == "check" and not any(path.partition(".")[0] == MISSING for path in conditions):
        raise InputError(
            f"{missing.line.text}. A check must say how many there may be: add --fail-if 'missing.share > 0.05', or "
            f"leave them out with --where '{quoted(p)} is not null'"
        )
    typed = scan.where or Where("", ())
    return replace(scan, where=Where(typed.text, (*typed.clauses, Clause(p, "not null", ())), True)), missing


def _counted(scan: Scan, p: str, by: tuple[str, ...]) -> Missing:
    n = rows = 0
    for frame in scan.reading().frames((p,)):
        n, rows = n + frame.height, rows + int(absent(cells(frame, p)).sum())
    without, every = Counter[str](), Counter[str]()
    for frame in scan.reading().frames((p, *by)) if rows and by else ():
        labels = {name: batch_labels(cells(frame, name), name=name) for name in by}
        is_absent = absent(cells(frame, p)).to_numpy()
        for code, names in read_groups(labels, frame.height, intersections=1, keep=None, is_batch=True):
            for counter, which in ((without, code[is_absent]), (every, code)):
                counter.update(dict(zip(names, np.bincount(which, minlength=len(names)).tolist(), strict=True)))
    return Missing(p, rows, n, tuple((name, some, every[name]) for name, some in without.most_common() if some))


def with_missing(found: Audit, missing: Missing | None) -> Audit:
    """Return the audit that says what was left out: first beside the verdict, and in a section."""
    if missing is None:
        return found
    findings, verdict = found.findings, found.findings.verdict
    said = replace(verdict, lines=(missing.line, *verdict.lines), notes=(missing.note, *verdict.notes))
    return Audit(replace(findings, verdict=said, sections=(*findings.sections, missing.section)))
