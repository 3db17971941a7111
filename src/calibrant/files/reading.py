"""The rows of files, one file after the other, in batches that depend only on the files."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from calibrant.errors import InputError, shown
from calibrant.files.csv_file import USUAL, Dialect
from calibrant.files.found import FoundFile, stamp_of
from calibrant.files.lazy_libraries import pl
from calibrant.files.table_file import TableFile, format_of, open_table
from calibrant.files.values import ColumnType, Values, column_types, merged_types, nothing_to_measure, roles_of
from calibrant.files.where import Where
from calibrant.inputs.columns import NamedColumns

BATCH = 1 << 21  # rows; the same files give the same bits as long as nobody changes it
ROW_BYTES = 8  # bytes, on disk
READERS: dict[str, int] = {}  # the number of the process that read files first, which a fork inherits


class Piece(NamedTuple):
    """Consecutive rows of a file."""

    file: int
    start: int  # of the first row, counted among those that the filter keeps
    frame: Any
    known: Mapping[str, ColumnType]  # what the columns were seen to contain up to here, and in which file

    @property
    def rows(self) -> int:
        return len(self.frame)


class Position(NamedTuple):
    """How far a pass has come: rows of this file, after all rows of the files before it."""

    file: int = 0
    rows: int = 0


START = Position()


@dataclass
class Reading:
    """One pass over files, from a position to the end."""

    files: Sequence[FoundFile]
    columns: NamedColumns
    where: Where | None = None
    format: str | None = None
    dialect: Dialect = USUAL
    known: dict[str, ColumnType] = field(default_factory=dict)  # what the columns were seen to contain so far
    stamps: dict[int, str | None] = field(default_factory=dict)  # how each file was when it was opened, by its number
    lengths: list[int] = field(default_factory=list)  # rows of each file, once they are read as a whole

    def __post_init__(self) -> None:
        """Refuse to read in a process made by fork: polars would wait there for threads that only its parent has."""
        if READERS.setdefault("first", os.getpid()) != os.getpid():
            raise InputError(
                "files cannot be read in a process made by fork after its parent has read files: the threads of the "
                'reader are missing there. Start it with multiprocessing.get_context("spawn"), or read files in it only'
            )

    def pieces(self, position: Position = START) -> Generator[Piece, None, None]:
        """Yield the rows of each file in batches of `BATCH` rows, the last one of fewer."""
        self.check_types_first(position)
        needed, start = self.columns.needed, position.rows
        for number, found in enumerate(self.files[position.file :], start=position.file):
            table, constants = self.open(number), found.constants
            frames = table.frames(needed, self.where, size=BATCH, skip=start, constants=constants, labels=self.labels)
            for k, frame in enumerate(recut(frames, BATCH, partial(pl.concat, rechunk=False))):
                if k == 0:
                    self.check_kinds(table, found, frame)
                yield self._checked(Piece(number, start + k * BATCH, frame, self.known))
            start = 0

    def whole(self) -> Any:
        """Return all rows as one polars frame; afterwards `place` returns the file of a row."""
        frames: list[Any] = []
        for number, found in enumerate(self.files):
            table = self.open(number)
            frame = table.read(self.columns.needed, self.where, found.constants, self.labels)
            self.lengths.append(frame.height)
            if not frame.height:
                continue
            self.check_kinds(table, found, frame)
            piece = self._checked(Piece(number, 0, frame, self.known))
            self.check_numbers(piece)
            frames.append(piece.frame)
            self._check_widths(frames[0], piece)
        if not frames:
            raise nothing_to_measure([found.path for found in self.files], self.where)
        return pl.concat(frames, how="vertical_relaxed", rechunk=True) if len(frames) > 1 else frames[0]

    def frames(self, names: Sequence[str], size: int = BATCH) -> Iterator[pl.DataFrame]:
        """Yield these columns of all files, unchecked, about `size` rows at a time."""
        for number, found in enumerate(self.files):
            table = self.open(number)
            yield from table.frames(names, self.where, size=size, constants=found.constants, labels=self.labels)

    def place(self, row: int) -> tuple[Path, int]:
        """Return the file that a row of the whole came from, and its row number there."""
        ends = list(accumulate(self.lengths))
        k = min(bisect_right(ends, row), len(ends) - 1)
        return self.files[k].path, row - ends[k] + self.lengths[k]

    def open(self, number: int) -> TableFile:
        found = self.files[number]
        table = open_table(found.path, format=self.format, dialect=self.dialect)
        self.stamps[number] = stamp_of(found.path)
        self.check_names(table, found)
        return table

    def likely_rows(self) -> int:
        """Return the number of all rows, before any filter, as far as the files tell it without being read."""
        return sum(open_table(f.path, format=self.format, dialect=self.dialect).likely_rows() for f in self.files)

    @cached_property
    def expected(self) -> int:
        """Roughly the number of rows, from the sizes of the files alone, so that a run can be repeated exactly."""
        return sum(found.path.stat().st_size for found in self.files if found.path.exists()) // ROW_BYTES

    @cached_property
    def roles(self) -> dict[str, str]:
        return roles_of(self.columns)

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns that are labels of rows and nothing else."""
        return tuple(name for name in self.columns.groups if name not in self.columns.checked)

    def check_numbers(self, piece: Piece) -> None:
        """Refuse a piece with NaN in it, naming the column; verbs refuse it too, but do not know its name."""
        for name in self.columns.checked:
            self._values(piece, name).check_present()

    def check_names(self, table: TableFile, found: FoundFile) -> None:
        """Refuse a file that lacks one of the columns, or of those that the filter looks at."""
        names = list(dict.fromkeys((*table.schema(), *table.list_schema(), *found.constants)))
        self.columns.check(names, str(table.path))
        for name in self.columns.needed:
            if f"{name}_duplicated_0" in names:  # as polars calls the second one
                raise InputError(f"{table.path} has two columns named {shown(name)}; rename one of them")
        if self.where is not None:
            NamedColumns(None, self.where.columns).check(names, str(table.path), option="where")

    def check_types_first(self, position: Position) -> None:
        """Refuse files whose columns differ in type before any row is read, where a file tells its types."""
        known: Mapping[str, ColumnType] = self.known
        for found in self.files[position.file :]:
            if (self.format or format_of(found.path)) not in ("parquet", "arrow"):
                continue
            try:
                held = open_table(found.path, format=self.format).column_types(self.columns.needed)
            except ValueError:  # of polars too, of decimal numbers with too many digits
                continue
            known = merged_types(known, held, self.columns.predicted, self.labels)

    def check_kinds(self, table: TableFile, found: FoundFile, frame: Any) -> None:
        """Refuse a file whose columns differ in type from those of the files before; `frame` has some of its rows."""
        # This goes for the columns of the filter too: as texts, 9 is more than 10.
        names = [] if self.where is None else [name for name in self.where.columns if name not in found.constants]
        filtered = column_types(table.head(0), names, found.path) if names else {}
        held = column_types(frame, self.columns.needed, found.path)
        self.known = merged_types(self.known, {**filtered, **held}, self.columns.predicted, self.labels)

    def _checked(self, piece: Piece) -> Piece:
        """Return a piece in which every column contains what its role asks for; only texts and lists are looked at."""
        frame = piece.frame
        for name, role in self.roles.items():
            values = self._values(piece, name)
            column = values.checked(role)
            if column is not values.column:
                frame = frame.clone()
                frame.replace_column(frame.get_column_index(name), column.alias(name))
        return piece._replace(frame=frame)

    def _values(self, piece: Piece, name: str) -> Values:
        path = self.files[piece.file].path
        column = piece.frame[name].alias("cells")  # methods of a series named ^p.*$ would look for a pattern
        is_csv = (self.format or format_of(path)) == "csv"
        return Values(name, column, path, self.where, piece.start, is_csv=is_csv)

    def _check_widths(self, first: Any, piece: Piece) -> None:
        for name in self.roles:
            then, now = first[name].dtype, piece.frame[name].dtype
            if getattr(then, "shape", None) != getattr(now, "shape", None):
                message = "contains lists of lengths {now}, and of lengths {then} in the files before; save one length"
                raise self._values(piece, name).refusal(message, now=now.shape, then=then.shape)


def recut(frames: Iterable[Any], size: int, together: Callable[[list[Any]], Any]) -> Iterator[Any]:
    """Yield the same rows as frames of `size` rows, the last one of fewer; `together` joins frames.

    >>> import polars as pl
    >>> frames = [pl.DataFrame({"x": range(n)}) for n in (2, 5, 0, 1)]
    >>> [frame["x"].to_list() for frame in recut(frames, 3, pl.concat)]
    [[0, 1, 0], [1, 2, 3], [4, 0]]
    """
    held: list[Any] = []
    rows = 0
    for frame in frames:
        start, length = 0, len(frame)
        while length - start >= size - rows:
            stop = start + size - rows
            yield together([*held, frame.slice(start, stop - start)])
            held, rows, start = [], 0, stop
        if start < length:
            held.append(frame.slice(start, length - start))
            rows += length - start
    if held:
        yield together(held)
