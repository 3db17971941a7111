"""One pass of a job over files, which can be interrupted and resumed."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from calibrant.core.dispatch import expecting
from calibrant.core.ordered import Ordered
from calibrant.core.several import PerLabel, Several
from calibrant.core.summary import Summary
from calibrant.engines.jobs import Job, Measuring, Result_co
from calibrant.engines.merging import Merging
from calibrant.errors import CalibrantError, InputError, NotApplicableError, SummaryError
from calibrant.files.checkpoint import Checkpoint, RunDescription, Total
from calibrant.files.found import stamp_of
from calibrant.files.reading import START, Piece, Position, Reading
from calibrant.files.table_file import open_table
from calibrant.files.values import counting, nothing_to_measure
from calibrant.inputs.columns import NamedColumns
from calibrant.progress import rows_counted
from calibrant.writing import sigterm_as_exit, sole_writer

CHECKPOINT_BATCHES = 16  # batches between two checkpoints
CHECKPOINT_SECONDS = 30.0  # after which one is written even after fewer batches
MAX_CHECKPOINT_SHARE = 0.05  # of the time at most goes into writing checkpoints that grow
MIN_SHARE_DIFFERENT = 0.99  # of scores in the first batch, from which most scores of all rows differ
ENTRY_BYTES = 70  # of memory for each different score, at the peak of the last merge
REMEDY = "fix the file or delete it, and run the same again to resume from there"
MAX_FILES_COUNTED = 1000  # files whose rows are counted beforehand, to show the remaining time


def run_job(
    job: Job[Result_co], reading: Reading, *, asked: RunDescription, checkpoint: Path | None = None
) -> Result_co:
    """Return the result of a job for all rows.

    With a `checkpoint` the total is saved to that file regularly. If it exists, the run resumes from it, provided that
    the same was `asked`, in words. It is removed at the end, and stays after an error, an interrupt (SIGINT) or a
    request to terminate (SIGTERM).
    """
    if checkpoint is None:
        return _run(job, reading, None)
    if not checkpoint.parent.is_dir():
        raise InputError(f"there is no folder {checkpoint.parent} to keep the checkpoint {checkpoint.name} in")
    with sigterm_as_exit(), sole_writer(checkpoint, what="the checkpoint"):
        return _run(job, reading, _Checkpointing(checkpoint, asked, reading))


def _run(job: Job[Result_co], reading: Reading, kept: _Checkpointing | None) -> Result_co:
    merging: Merging[Summary] = Merging()
    start = kept.resume(merging) if kept else START
    done = kept.now.done if kept else 0
    total = _number_of_rows(reading)
    try:
        with closing(reading.pieces(start)) as pieces:
            for piece in rows_counted(pieces, label="reading", rows=_rows, before=done, total=total):
                with _named(reading, piece), expecting(reading.expected):
                    part = _part(job, reading.columns, piece, merging.parts)
                    if part is not None:
                        if not merging.parts:
                            _check_memory(part, piece, reading)
                        merging.add(part)
                if kept:
                    kept.after(merging, piece)
        summary = merging.total()
    except (CalibrantError, KeyboardInterrupt, SystemExit) as problem:
        if kept and kept.leave() and isinstance(problem, CalibrantError):
            advice = f"The {kept.now.done:,} rows before are kept in {kept.path}: {REMEDY}"
            raise problem.within("", ". {advice}", advice=advice) from problem
        raise
    if summary is None:
        raise nothing_to_measure([found.path for found in reading.files], reading.where, reading.columns.weights)
    changed = _changed_file(reading)
    if changed is not None:
        if kept:
            kept.path.unlink(missing_ok=True)
        raise InputError(
            f"{changed} was changed while the files were measured. Measure again when nothing writes to it"
        )
    found = job.finish(summary)
    if kept:
        kept.path.unlink(missing_ok=True)
    return found


def _changed_file(reading: Reading) -> Path | None:
    """Return a file that is not as it was when it was opened; one that was removed since does no harm."""
    paths = ((reading.files[number].path, stamp) for number, stamp in reading.stamps.items())
    return next((path for path, stamp in paths if stamp_of(path) not in (None, stamp)), None)


def _check_memory(part: Summary, piece: Piece, reading: Reading) -> None:
    """Refuse to keep more different scores than fit in memory, as the first batch and the sizes of files suggest."""
    share = _entries(part) / piece.rows
    if share < MIN_SHARE_DIFFERENT or reading.where is not None or not hasattr(os, "sysconf"):
        return
    rows, memory = reading.likely_rows(), os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    needed = share * rows * ENTRY_BYTES
    if needed > memory:
        raise NotApplicableError(
            f"exact=True keeps every different score: about {rows:,} rows need {needed / 1e9:,.1f} GB of memory, and "
            f"this machine has {memory / 1e9:,.1f} GB. Without it rows are counted in cells, and each result has a "
            "bound of its rounding. Or measure on a cluster with calibrant.dask or calibrant.spark"
        )


def _entries(summary: Summary) -> int:
    if isinstance(summary, (Several, PerLabel)):
        return sum(map(_entries, summary.parts))
    return summary.score.size if isinstance(summary, Ordered) else 0


def _part(job: Job[Any], columns: NamedColumns, piece: Piece, number: int) -> Summary | None:
    """Return the summary of a piece, in the chunks it was decoded in if possible; None if no row counts."""
    if isinstance(job, Measuring) and (chunks := columns.pieces(piece.frame)):
        part = job.part_of_pieces(chunks)
        if part is not None:
            return part
    batch = columns.batch(piece.frame, number)
    return None if batch.weightless else job.part(batch)


class _Checkpointing:
    """The checkpoint of a run; if it cannot be written, a warning says so once and the run goes on."""

    def __init__(self, path: Path, asked: RunDescription, reading: Reading) -> None:
        self.path, self.asked, self.reading = path, asked, reading
        self.now = self.whole = Total()
        self.since, self.written = 0, time.monotonic()  # batches since the last checkpoint, and when it was written
        self.cost = 0.0  # seconds that it took
        self.warned = False

    def resume(self, merging: Merging[Summary]) -> Position:
        """Take over the total of an existing checkpoint, and return where it ends."""
        if self.path.exists():
            files = self.reading.files
            found = Checkpoint.read(self.path, files).fitting(self.path, self.asked, files)
            self.now, self.whole = found.now, found.whole
            self.reading.known = dict(found.now.known)
            self.reading.stamps = dict(enumerate(found.stamps))
            merging.stack = list(found.now.stack)
        return self.now.position

    def after(self, merging: Merging[Summary], piece: Piece) -> None:
        if piece.file != self.now.position.file:
            self.whole = self.now._replace(position=Position(piece.file))
        position = Position(piece.file, piece.start + piece.rows)
        self.now = Total(position, self.now.done + piece.rows, tuple(merging.stack), piece.known)
        self.since += 1
        begun = time.monotonic()
        ago = begun - self.written
        if (self.since >= CHECKPOINT_BATCHES or ago >= CHECKPOINT_SECONDS) and self.cost <= MAX_CHECKPOINT_SHARE * ago:
            try:
                self.write()
            except (CalibrantError, OSError) as problem:
                self.warn(problem)
            self.since, self.written = 0, time.monotonic()
            self.cost = self.written - begun

    def write(self) -> None:
        stamps = tuple(self.reading.stamps[number] for number in range(self.now.position.file + 1))
        Checkpoint(self.asked, stamps, self.now, self.whole).write(self.path, self.reading.files)

    def leave(self) -> bool:
        """Write a last checkpoint if any rows were read, and tell whether it contains them."""
        if self.now.done:
            with suppress(CalibrantError, OSError):
                self.write()
                return True
        return False

    def warn(self, problem: Exception) -> None:
        if not self.warned:
            before = "the checkpoint before" if self.path.exists() else "the start"
            words = f"the checkpoint was not written: {problem}. The run continues, and would resume from {before}"
            warnings.warn(words, RuntimeWarning, stacklevel=2)
        self.warned = True


def _rows(piece: Piece) -> int:
    return piece.rows


@contextmanager
def _named(reading: Reading, piece: Piece) -> Iterator[None]:
    try:
        yield
    except NotApplicableError:
        raise
    except (InputError, SummaryError) as problem:
        reading.check_numbers(piece)
        row = None if problem.row is None else piece.start + problem.row
        counted = f" ({counting(reading.where)})" if reading.where else ""
        raise problem.within(
            f"{{file}}, rows {{first:,}} to {{last:,}}{counted}: ",
            row=row,
            place=None if row is None else f"row {row:,}",
            file=reading.files[piece.file].path,
            first=piece.start,
            last=piece.start + piece.rows - 1,
        ) from problem


def _number_of_rows(reading: Reading) -> int | None:
    watched = sys.stderr is not None and sys.stderr.isatty()
    if not watched or reading.where is not None or len(reading.files) > MAX_FILES_COUNTED:
        return None
    try:
        rows = [open_table(each.path, format=reading.format, dialect=reading.dialect).rows() for each in reading.files]
    except InputError:  # reported when the file is read
        return None
    known = [number for number in rows if number is not None]
    return sum(known) if len(known) == len(rows) else None
