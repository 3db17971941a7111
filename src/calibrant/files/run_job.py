"""One pass of a job over files, which can be interrupted and resumed."""

from __future__ import annotations

import glob
import secrets
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from calibrant.core.dispatch import expecting
from calibrant.core.summary import Summary
from calibrant.engines.jobs import Job, Measuring
from calibrant.engines.run_files import remove_runs
from calibrant.engines.totals import Running
from calibrant.errors import CalibrantError, InputError, NotApplicableError, SummaryError
from calibrant.files.ahead import ahead
from calibrant.files.checkpoint import ROWS_FOLDER, Checkpoint, Kept, RunDescription, file_lock, refuse_special_file
from calibrant.files.found import FileStamp
from calibrant.files.reading import START, Piece, Position, Reading
from calibrant.files.table_file import open_table
from calibrant.files.values import ColumnType, counting, nothing_to_measure
from calibrant.inputs.columns import NamedColumns
from calibrant.progress import rows_counted
from calibrant.report.files import remove_temporary_files

CHECKPOINT_BATCHES = 16  # batches between two checkpoints
CHECKPOINT_SECONDS = 30.0  # after which one is written even after fewer batches
MAX_CHECKPOINT_SHARE = 0.05  # of the time at most goes into writing checkpoints that grow
MAX_FILES_COUNTED = 1000  # files whose rows are counted beforehand, to show the remaining time


def run_job(job: Job, reading: Reading, *, asked: RunDescription, checkpoint: Path | None = None) -> Any:
    """Return the result of a job for all rows.

    With a `checkpoint` the total is saved to that file regularly. If it exists, the run resumes from it, provided that
    the same was `asked`, in words. It is removed at the end, and stays after an error, an interrupt (SIGINT) or a
    request to terminate (SIGTERM).
    """
    with _sigterm_as_exit():
        if checkpoint is None:
            return _run(job, reading, None)
        refuse_special_file(checkpoint)
        if not checkpoint.parent.is_dir():
            raise InputError(f"there is no folder {checkpoint.parent} to keep the checkpoint {checkpoint.name} in")
        with file_lock(checkpoint):
            return _run(job, reading, _Checkpointing(checkpoint, asked, reading))


def _run(job: Job, reading: Reading, kept: _Checkpointing | None) -> Any:
    running, position = kept.begin() if kept else (Running(spill=True), START)
    done = kept.done if kept else 0
    total = _number_of_rows(reading)
    try:
        with closing(ahead(reading.pieces(position))) as pieces:
            for piece in rows_counted(pieces, label="reading", rows=_rows, before=done, total=total):
                with _named(reading, piece), expecting(reading.expected):
                    part = _part(job, reading.columns, piece, running.parts)
                if kept:
                    kept.before(running, piece, part)
                if part is not None:
                    with _named(reading, piece):
                        running.add(part)
                if kept:
                    kept.after(running, piece)
        summary = running.total()
    except BaseException as problem:
        expected = isinstance(problem, (CalibrantError, KeyboardInterrupt, SystemExit))
        saved = kept is not None and expected and kept.leave(running)
        if kept and not kept.path.exists():
            running.remove()  # no checkpoint names the rows on disk
        if kept and saved and isinstance(problem, CalibrantError):
            raise problem.within("", ". {advice}", advice=kept.how_to_resume()) from problem
        raise
    if summary is None:
        raise nothing_to_measure([found.path for found in reading.files], reading.where, reading.columns.weights)
    changed = _changed_file(reading)
    found = job.finish(summary) if changed is None else None
    if kept:
        kept.path.unlink(missing_ok=True)
        running.remove()
    if changed is not None:
        raise InputError(
            f"{changed} was changed while the files were measured, so the result may mix two versions of it. Measure "
            "again when nothing writes to it"
        )
    return found


def _changed_file(reading: Reading) -> str | None:
    """Return a file that is not as it was when it was opened; one that was removed since does no harm."""
    stamps = reading.stamps.values()
    return next((s.path for s in stamps if Path(s.path).exists() and FileStamp.of(Path(s.path)) != s), None)


@contextmanager
def _sigterm_as_exit() -> Iterator[None]:
    """Let SIGTERM end the process as an exception does: a last checkpoint is written, temporary files are removed."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def leave(number: int, frame: object) -> None:
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _part(job: Job, columns: NamedColumns, piece: Piece, number: int) -> Summary | None:
    """Return the summary of a piece, in the chunks it was decoded in if possible; None if no row counts."""
    if isinstance(job, Measuring) and (chunks := columns.pieces(piece.frame)):
        part = job.part_of_pieces(chunks)
        if part is not None:
            return part
    batch = columns.batch(piece.frame, number)
    return None if batch.weightless else job.part(batch)


class _Checkpointing:
    """The checkpoint of a run: when it is written, and what is in it.

    A checkpoint that cannot be written does not end the run; a warning says so once.
    """

    def __init__(self, path: Path, asked: RunDescription, reading: Reading) -> None:
        self.path, self.asked, self.reading = path, asked, reading
        self.folder = f"{path.name}.{secrets.token_hex(4)}.rows"  # for rows that are sorted on disk
        self.position, self.done, self.saved, self.settled = START, 0, 0, True
        self.known: Mapping[str, ColumnType] = {}
        self.whole = Kept(0, 0, b"")  # the total of whole files
        self.on_disk: list[bytes] = []  # the states that the checkpoint has now
        self.written, self.since = _Clock(), 0
        self.remembered = _Clock()
        self.warned = False

    def begin(self) -> tuple[Running, Position]:
        """Resume from an existing checkpoint, or start; temporary files that a killed run left are removed."""
        remove_temporary_files(self.path)
        if not self.path.exists():
            self._remove_orphans()
            running = Running(folder=self.path.with_name(self.folder))
            self.whole = Kept(0, 0, running.state())
            return running, START
        found = Checkpoint.read(self.path).fitting(self.path, self.asked, self.reading.files)
        self.position, self.done, self.whole = found.position, found.now.done, found.whole
        self.saved, self.on_disk = self.done, [found.now.state, found.whole.state]
        self.known = self.reading.known = dict(found.known)
        self.reading.stamps, self.folder = dict(enumerate(found.files)), found.folder
        folder = self.path.with_name(found.folder)
        try:
            return Running.resumed(found.now.state, folder=folder, beside=[found.whole.state]), self.position
        except SummaryError as problem:
            raise InputError(
                f"{self.path} cannot be read as a checkpoint: {problem}. Delete it to start again"
            ) from problem

    def before(self, running: Running, piece: Piece, part: Summary | None) -> None:
        """Remember the total before another file begins, so that a bad file costs only its own rows."""
        another = piece.file != self.position.file
        if another and (part is None or not part.grows or self.remembered.is_due()):
            with self.remembered, self._warned_if_it_fails():
                self.whole = Kept(piece.file, self.done, running.state())
                running.settle([*self.on_disk, self.whole.state])
        self.settled = False

    def after(self, running: Running, piece: Piece) -> None:
        """Count the rows of a piece, and write the checkpoint regularly."""
        self.position, self.done = Position(piece.file, piece.start + piece.rows), self.done + piece.rows
        self.known = piece.known
        self.settled = True
        self.since += 1
        if (self.since >= CHECKPOINT_BATCHES or self.written.ago() >= CHECKPOINT_SECONDS) and self.written.is_due():
            with self.written, self._warned_if_it_fails():
                self.write(running)
            self.since = 0

    def write(self, running: Running) -> None:
        """Write the checkpoint."""
        now = Kept(self.position.file, self.done, running.state())
        files = tuple(self.reading.stamps[number] for number in range(self.position.file + 1))
        Checkpoint(self.asked, files, self.position.rows, self.folder, self.known, now, self.whole).write(self.path)
        self.saved, self.on_disk = self.done, [now.state, self.whole.state]
        running.settle(self.on_disk)

    def leave(self, running: Running) -> bool:
        """Write a last checkpoint, and tell whether it contains everything so far."""
        if not self.settled:  # an interrupt or an error while the total changed
            return False
        try:
            if self.done != self.saved or (self.done and not self.path.exists()):
                self.write(running)
        except (CalibrantError, OSError):
            return False
        return self.done > 0

    def how_to_resume(self) -> str:
        """Say what is not lost."""
        return (
            f"The {self.done:,} rows before are kept in {self.path}: fix the file or delete it, and run the same "
            "again to resume from there"
        )

    @contextmanager
    def _warned_if_it_fails(self) -> Iterator[None]:
        try:
            yield
        except (CalibrantError, OSError) as problem:
            if not self.warned:
                self.warned = True
                warnings.warn(
                    f"the checkpoint was not written: {problem}. The run continues, and would resume from "
                    f"{'the checkpoint before' if self.path.exists() else 'the start'}",
                    RuntimeWarning,
                    stacklevel=2,
                )

    def _remove_orphans(self) -> None:
        """Remove sorted rows that a run left that was killed before its first checkpoint; no other run has the lock."""
        for folder in self.path.parent.glob(f"{glob.escape(self.path.name)}.*.rows"):
            if ROWS_FOLDER.fullmatch(folder.name) and folder.is_dir() and not folder.is_symlink():
                remove_runs(folder)


class _Clock:
    """How long something took the last time, and how long ago that was."""

    def __init__(self) -> None:
        self.ended, self.cost = time.monotonic(), 0.0

    def ago(self) -> float:
        """Return the seconds since then."""
        return time.monotonic() - self.ended

    def is_due(self) -> bool:
        """Tell whether doing it again takes no more than its share of the time."""
        return self.cost <= MAX_CHECKPOINT_SHARE * self.ago()

    def __enter__(self) -> None:
        self.begun = time.monotonic()

    def __exit__(self, *problem: object) -> None:
        self.ended = time.monotonic()
        self.cost = self.ended - self.begun


def _rows(piece: Piece) -> int:
    return piece.rows


@contextmanager
def _named(reading: Reading, piece: Piece) -> Iterator[None]:
    """Add the file and the row to an error."""
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
    """Return the number of all rows, if progress is shown and the files tell it without being read."""
    watched = sys.stderr is not None and sys.stderr.isatty()
    if not watched or reading.where is not None or len(reading.files) > MAX_FILES_COUNTED:
        return None
    total = 0
    for found in reading.files:
        try:
            rows = open_table(found.path, format=reading.format, dialect=reading.dialect).rows()
        except InputError:  # reported when the file is read
            return None
        if rows is None:
            return None
        total += rows
    return total
