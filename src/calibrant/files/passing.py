"""One pass of a job over files, which may be broken off and gone on with."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from calibrant.core.dispatch import expecting
from calibrant.core.summary import Summary
from calibrant.engines.job import Job, TakesPieces
from calibrant.engines.running import Running
from calibrant.errors import CalibrantError, InputError, NotApplicableError, SummaryError
from calibrant.files.ahead import ahead
from calibrant.files.checkpoint import Asked, Checkpoint, Kept
from calibrant.files.holding import Holds
from calibrant.files.reading import START, Piece, Position, Reading, engine
from calibrant.files.table_file import open_table
from calibrant.files.values import counting, nothing
from calibrant.inputs.columns import NamedColumns
from calibrant.progress import rows_counted

EVERY = 16  # batches between two checkpoints
SECONDS = 30.0  # after which there is one, though the batches be few
SHARE = 0.05  # of the time may go into writing checkpoints that grow
MOST_COUNTED = 1000  # files that are asked for their number of rows, to tell the time that is left


def measured(job: Job, reading: Reading, *, asked: Asked, checkpoint: Path | None = None) -> Any:
    """Return what a job has to say of all rows.

    Parameters
    ----------
    job, reading
        What is measured, of what.
    asked
        The same in words; a checkpoint is gone on with only where they are the same.
    checkpoint
        A file in which the total is kept now and then; the run goes on from it if it is there. It is removed at the
        end, and stays after an error or an interrupt.
    """
    kept = _Keeping(checkpoint, asked, reading) if checkpoint is not None else None
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
    except (CalibrantError, KeyboardInterrupt) as problem:
        if kept is None or not kept.leave(running) or isinstance(problem, KeyboardInterrupt):
            raise
        raise problem.within("", ". {advice}", advice=kept.how_to_go_on()) from problem
    summary = running.total()
    if summary is None:
        raise nothing([found.path for found in reading.files], reading.where, reading.columns.weights)
    found = job.finish(summary)
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
        running.remove()
    return found


def _part(job: Job, columns: NamedColumns, piece: Piece, number: int) -> Summary | None:
    """Return the summary of a piece, in the chunks it was decoded in if possible; None if no row counts."""
    if isinstance(job, TakesPieces) and (chunks := columns.pieces(piece.frame)):
        part = job.part_of_pieces(chunks)
        if part is not None:
            return part
    batch = columns.batch(piece.frame, number)
    return None if batch.weightless else job.part(batch)


class _Keeping:
    """The checkpoint of a run: when it is written, and what is in it."""

    def __init__(self, path: Path, asked: Asked, reading: Reading) -> None:
        self.path, self.asked, self.reading = path, asked, reading
        self.folder = f"{path.name}.{secrets.token_hex(4)}.rows"  # for rows that are sorted on disk
        self.position, self.done, self.saved, self.settled = START, 0, 0, True
        self.known: Mapping[str, Holds] = {}
        self.whole = Kept(0, 0, b"")  # the total of whole files
        self.on_disk: list[bytes] = []  # the states that the checkpoint has now
        self.written, self.since = _Clock(), 0
        self.remembered = _Clock()

    def begin(self) -> tuple[Running, Position]:
        """Go on from what is there, or begin."""
        if not self.path.exists():
            if not self.path.parent.is_dir():
                raise InputError(f"there is no folder {self.path.parent} to keep the checkpoint {self.path.name} in")
            running = Running(folder=self.path.with_name(self.folder))
            self.whole = Kept(0, 0, running.state())
            return running, START
        found = Checkpoint.read(self.path).fitting(self.path, self.asked, self.reading.files)
        self.position, self.done, self.whole = found.position, found.done, found.whole
        self.saved, self.on_disk = self.done, [found.state, found.whole.state]
        self.known = self.reading.known = dict(found.known)
        self.reading.stamps, self.folder = dict(enumerate(found.files)), found.folder
        folder = self.path.with_name(found.folder)
        return Running.resumed(found.state, folder=folder, beside=[found.whole.state]), self.position

    def before(self, running: Running, piece: Piece, part: Summary | None) -> None:
        """Remember the total before another file begins, so that whoever must repair that file loses nothing else."""
        another = piece.file != self.position.file
        if another and (part is None or not part.grows or self.remembered.is_due()):
            with self.remembered:
                self.whole = Kept(piece.file, self.done, running.state())
                running.settle([*self.on_disk, self.whole.state])
        self.settled = False

    def after(self, running: Running, piece: Piece) -> None:
        """Count the rows of a piece, and write the checkpoint now and then."""
        self.position, self.done = Position(piece.file, piece.start + piece.rows), self.done + piece.rows
        self.known = piece.known
        self.settled = True
        self.since += 1
        if (self.since >= EVERY or self.written.ago() >= SECONDS) and self.written.is_due():
            with self.written:
                self.write(running)
            self.since = 0

    def write(self, running: Running) -> None:
        """Write all that is known."""
        now = Kept(self.position.file, self.done, running.state())
        files = tuple(self.reading.stamps[number] for number in range(self.position.file + 1))
        Checkpoint(self.asked, files, self.position.rows, self.folder, self.known, now, self.whole).write(self.path)
        self.saved, self.on_disk = self.done, [now.state, self.whole.state]
        running.settle(self.on_disk)

    def leave(self, running: Running) -> bool:
        """Write a last checkpoint, and tell whether everything so far is in it; one problem is told at a time."""
        if not self.settled:  # an interrupt, or a problem, while the total changed
            return False
        try:
            if self.done != self.saved or (self.done and not self.path.exists()):
                self.write(running)
        except (CalibrantError, OSError):
            return False
        return self.done > 0

    def how_to_go_on(self) -> str:
        """Say what is not lost."""
        return (
            f"The {self.done:,} rows before are kept in {self.path}: mend this or take the file away, and run the same "
            "again to go on from there"
        )


class _Clock:
    """What something took the last time, and how long ago that was."""

    def __init__(self) -> None:
        self.ended, self.cost = time.monotonic(), 0.0

    def ago(self) -> float:
        """Return the seconds since then."""
        return time.monotonic() - self.ended

    def is_due(self) -> bool:
        """Tell whether doing it again takes no more than its share of the time."""
        return self.cost <= SHARE * self.ago()

    def __enter__(self) -> None:
        self.begun = time.monotonic()

    def __exit__(self, *problem: object) -> None:
        self.ended = time.monotonic()
        self.cost = self.ended - self.begun


def _rows(piece: Piece) -> int:
    return piece.rows


@contextmanager
def _named(reading: Reading, piece: Piece) -> Iterator[None]:
    """Let a refusal name the file and the row."""
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
    """Return the number of all rows, if somebody watches and the files tell it without being read."""
    watched = sys.stderr is not None and sys.stderr.isatty()
    if not watched or reading.where is not None or len(reading.files) > MOST_COUNTED or engine() != "polars":
        return None
    total = 0
    for found in reading.files:
        try:
            rows = open_table(found.path, format=reading.format, dialect=reading.dialect).rows()
        except InputError:  # this is said when its turn comes
            return None
        if rows is None:
            return None
        total += rows
    return total
