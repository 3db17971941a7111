"""One pass of a job over files, which may be broken off and gone on with."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from calibrant.engines.job import Job, TakesPieces
from calibrant.engines.running import Running
from calibrant.errors import CalibrantError, InputError, NotApplicableError, SummaryError, shown
from calibrant.files.ahead import ahead
from calibrant.files.checkpoint import Asked, Checkpoint, Kept, Stamp
from calibrant.files.holding import Holds
from calibrant.files.reading import START, Piece, Position, Reading, engine
from calibrant.files.table_file import open_table
from calibrant.inputs.named_columns import NamedColumns
from calibrant.primitives.dispatch import expecting
from calibrant.progress import rows_counted
from calibrant.summaries import Summary

EVERY = 16  # batches between two checkpoints
SHARE = 0.05  # of the time may go into writing checkpoints that grow
MOST_COUNTED = 1000  # files that are asked for their number of rows, to tell the time that is left
ROW = re.compile(r"\brow (\d+)\b")


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
                with _named(reading, piece):
                    running.add(part)
                if kept:
                    kept.after(running, piece)
    except (CalibrantError, KeyboardInterrupt) as problem:
        if kept is None or not kept.leave(running) or isinstance(problem, KeyboardInterrupt):
            raise
        raise type(problem)(f"{str(problem).rstrip('.')}. {kept.how_to_go_on()}") from problem
    summary = running.total()
    if summary is None:
        raise _nothing(reading)
    found = job.finish(summary)
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    return found


def _part(job: Job, columns: NamedColumns, piece: Piece, number: int) -> Summary:
    """Return the summary of a piece, if possible without joining the chunks it was decoded in."""
    if isinstance(job, TakesPieces) and (chunks := columns.pieces(piece.frame)):
        part = job.part_of_pieces(chunks)
        if part is not None:
            return part
    return job.part(columns.batch(piece.frame, number))


class _Keeping:
    """The checkpoint of a run: when it is written, and what is in it."""

    def __init__(self, path: Path, asked: Asked, reading: Reading) -> None:
        self.path, self.asked, self.reading = path, asked, reading
        self.position, self.done, self.saved, self.settled = START, 0, 0, True
        self.known: Mapping[str, Holds] = {}
        self.whole = Kept(0, 0, b"")  # the total of whole files
        self.written, self.cost, self.since = time.monotonic(), 0.0, 0

    def begin(self) -> tuple[Running, Position]:
        """Go on from what is there, or begin."""
        if not self.path.exists():
            if not self.path.parent.is_dir():
                raise InputError(f"there is no folder {self.path.parent} to keep the checkpoint {self.path.name} in")
            self.whole = Kept(0, 0, Running().state())
            return Running(), START
        found = Checkpoint.read(self.path).fitting(self.path, self.asked, self.reading.files)
        self.position, self.done, self.whole = found.position, found.done, found.whole
        self.saved = self.done
        self.known = self.reading.known = dict(found.known)
        return Running.resumed(found.state), self.position

    def before(self, running: Running, piece: Piece, part: Summary) -> None:
        """Remember the total before another file begins, so that whoever must repair that file loses nothing else."""
        now = time.monotonic()
        if piece.file != self.position.file and (not part.grows or self.cost <= SHARE * (now - self.written)):
            self.whole = Kept(piece.file, self.done, running.state())
            self.cost, self.written = time.monotonic() - now, time.monotonic()
        self.settled = False

    def after(self, running: Running, piece: Piece) -> None:
        """Count the rows of a piece, and write the checkpoint now and then."""
        self.position, self.done = Position(piece.file, piece.start + piece.rows), self.done + piece.rows
        self.known = piece.known
        self.settled = True
        self.since += 1
        now = time.monotonic()
        if self.since >= EVERY and self.cost <= SHARE * (now - self.written):
            self.write(running)
            self.since, self.written = 0, time.monotonic()
            self.cost = self.written - now

    def write(self, running: Running) -> None:
        """Write all that is known."""
        files = tuple(Stamp.of(found.path) for found in self.reading.files[: self.position.file + 1])
        now = Kept(self.position.file, self.done, running.state())
        Checkpoint(self.asked, files, self.position.rows, self.known, now, self.whole).write(self.path)
        self.saved = self.done

    def leave(self, running: Running) -> bool:
        """Write a last checkpoint, and tell whether everything so far is in it; one problem is told at a time."""
        if not self.settled:  # an interrupt, or a problem, while the total changed
            return False
        try:
            if self.done != self.saved:
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
        words = ROW.sub(lambda row: f"row {piece.start + int(row[1]):,}", str(problem))
        path, last = reading.files[piece.file].path, piece.start + piece.rows - 1
        raise type(problem)(f"{path}, rows {piece.start:,} to {last:,}: {words}") from problem


def _nothing(reading: Reading) -> InputError:
    files = reading.files
    where = f"{files[0].path} has" if len(files) == 1 else f"the {len(files):,} files, from {files[0].path} on, have"
    why = f"--where {shown(reading.where.text)} keeps none of their rows" if reading.where else "there are no rows"
    return InputError(f"{where} nothing to measure: {why}")


def _number_of_rows(reading: Reading) -> int | None:
    """Return the number of all rows, if somebody watches and the files tell it without being read."""
    watched = sys.stderr is not None and sys.stderr.isatty()
    if not watched or reading.where is not None or len(reading.files) > MOST_COUNTED or engine() != "polars":
        return None
    return number_of_rows(reading)


def number_of_rows(reading: Reading) -> int | None:
    """Return the number of all rows where the files tell it without being read."""
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
