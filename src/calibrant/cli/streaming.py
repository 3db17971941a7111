"""An audit of more rows than are read at once: batch by batch, and gone on with after an interrupt."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.cli.columns import Columns
from calibrant.cli.messages import tell
from calibrant.cli.options import Request
from calibrant.cli.tables import Tables
from calibrant.errors import InputError
from calibrant.files.where import Where

if TYPE_CHECKING:
    from calibrant.report.audit import Audit

MOST = 20_000_000  # rows that are read at once


def streams(tables: Tables, request: Request, columns: Columns, where: Where | None) -> bool:
    """Tell whether the rows are read batch by batch: there are many of them, or it was asked for."""
    asked = [option for option in ("--stream", "--resume") if option in request.given]
    if columns.kind in ("binary", "classes"):
        return bool(asked) or tables.rows() > MOST
    if asked:
        raise InputError(f"{asked[0]} is for probabilities (--p, --p-cols); {_in_python(columns)}")
    if tables.rows() > MOST and tables.count(columns.y[:1], where) > MOST:
        raise InputError(
            f"{tables} has more than {MOST:,} rows, and an audit of {columns.kind} reads all of them at once. Take "
            f"fewer with --where; {_in_python(columns)}"
        )
    return False


def stream(
    tables: Tables,
    request: Request,
    columns: Columns,
    where: Where | None,
    *,
    labels: Mapping[str, Any],
    names: Mapping[str, str],
    output: Path | None,
) -> Audit:
    """Audit probabilities batch by batch."""
    from calibrant.auditing.batches import AuditJob
    from calibrant.files.checkpoint import Checkpoint
    from calibrant.files.scan import Scan
    from calibrant.inputs.columns import NamedColumns

    prediction = columns.p[0] if columns.kind == "binary" else columns.p
    named = NamedColumns(columns.y[0], prediction, columns.weights, columns.by)
    scan = Scan(tables.found, named, where, labels, request.format, request.dialect)
    job = AuditJob(exact=request.exact, names=names, **request.measured, **labels)
    kept = checkpoint_of(output) if request.resume else None
    if kept is not None and kept.exists():
        start = Checkpoint.read(kept).fitting(kept, scan.asked(job), scan.files)
        tell(f"going on after {start.done:,} rows, which are kept in {kept}")
    found: Audit = scan.found(job, kept)
    return found


def checkpoint_of(output: Path | None) -> Path:
    """Return where the state of a run is kept: beside its report, or in the current folder."""
    return Path("calibrant.checkpoint") if output is None else output.with_name(f"{output.name}.checkpoint")


def _in_python(columns: Columns) -> str:
    return f"single measurements of {columns.kind} in any number of rows are made in Python: scan(...).measure(...)"
