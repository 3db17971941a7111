"""Rows without a prediction, such as refusals of a language model: counted by group, left out, and said."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from calibrant.cli.candidates import cells
from calibrant.cli.columns import Columns
from calibrant.cli.conditions import MISSING, plain, read_condition
from calibrant.cli.options import Request
from calibrant.core.evidence import Note, note
from calibrant.core.findings import Line, Measurement, Section, Table
from calibrant.errors import InputError, shown
from calibrant.files.reading import BATCH
from calibrant.files.scan import Scan
from calibrant.files.values import absent
from calibrant.files.where import Clause, Where, quoted
from calibrant.inputs.groups import batch_labels, read_groups
from calibrant.judging.notes import text_of
from calibrant.report.audit import Audit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from calibrant.files.lazy_libraries import pl


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
    def words(self) -> str:
        return text_of(self.note)[1]

    @property
    def section(self) -> Section:
        details = {"rows": float(self.n), "share": self.rows / self.n}
        found = Measurement(MISSING, "rows without a prediction", self.rows, details=details)
        columns = (
            dict(zip(("where", "missing", "n"), zip(*self.groups, strict=True), strict=True)) if self.groups else {}
        )
        tables = (Table(MISSING, "Groups with such rows", columns),) if columns else ()
        return Section(
            MISSING, "Rows without a prediction", "They are counted and not judged.", (found,), tables=tables
        )


def with_predictions(scan: Scan, columns: Columns, request: Request) -> tuple[Scan, Missing | None]:
    """Return the scan of the rows that have a prediction, and how many have none.

    A person reads what an audit says of them; a check, which nobody reads, must name how many there may be.
    """
    if columns.kind != "binary":
        return scan, None
    (p,) = columns.p
    missing = _counted(scan, p, columns.by)
    if not missing.rows:
        return scan, None
    file, where = scan.files[0].path, scan.where
    if missing.rows == missing.n:
        raise InputError(f"column {shown(p)} of {file} has no value in any of {missing.n:,} rows; name another column")
    if request.command == "check" and not any(_is_on_missing(text) for text in request.fail_if):
        raise InputError(
            f"{missing.words}. A check must say how many there may be: add --fail-if 'missing.share > 0.05', or leave "
            f"them out with --where '{quoted(p)} is not null'"
        )
    present = (*(where.clauses if where else ()), Clause(p, "not null", ()))
    return replace(scan, where=Where(where.text if where else "", present, predicted=True)), missing


def _is_on_missing(condition: str) -> bool:
    return plain(read_condition(condition).path).partition(".")[0] == MISSING


def _counted(scan: Scan, p: str, by: tuple[str, ...]) -> Missing:
    n = rows = 0
    for frame in _frames(scan, (p,)):
        n, rows = n + frame.height, rows + int(absent(cells(frame, p)).sum())
    without, every = Counter[str](), Counter[str]()
    for frame in _frames(scan, (p, *by)) if rows and by else ():
        labels = {name: batch_labels(cells(frame, name), name=name) for name in by}
        is_absent: NDArray[np.bool_] = absent(cells(frame, p)).to_numpy()
        for code, names in read_groups(labels, frame.height, intersections=1, keep=None, is_batch=True):
            for counter, which in ((without, code[is_absent]), (every, code)):
                counter.update(dict(zip(names, np.bincount(which, minlength=len(names)).tolist(), strict=True)))
    return Missing(p, rows, n, tuple((name, some, every[name]) for name, some in without.most_common() if some))


def _frames(scan: Scan, names: tuple[str, ...]) -> Iterator[pl.DataFrame]:
    reading = scan.reading()
    for number, found in enumerate(scan.files):
        table = reading.open(number)
        yield from table.frames(names, scan.where, size=BATCH, constants=found.constants, labels=reading.labels)


def with_missing(found: Audit, missing: Missing | None) -> Audit:
    """Return the audit that says what was left out: first beside the verdict, and in a section."""
    if missing is None:
        return found
    findings, verdict = found.findings, found.findings.verdict
    lines = (Line(*text_of(missing.note)), *verdict.lines)
    said = replace(verdict, lines=lines, notes=(missing.note, *verdict.notes))
    return Audit(replace(findings, verdict=said, sections=(*findings.sections, missing.section)))
