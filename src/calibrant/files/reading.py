"""The rows of files one after the other, cut into batches that depend on the files alone."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, MissingExtraError, shown
from calibrant.files.csv_file import USUAL, Dialect
from calibrant.files.found import Found
from calibrant.files.holding import Holds, holding, together
from calibrant.files.recut import recut
from calibrant.files.rows_in_words import counting
from calibrant.files.stamp import Stamp
from calibrant.files.table_file import TableFile, open_table
from calibrant.files.where import Where
from calibrant.inputs.columns import FromColumns, NamedColumns

BATCH = 1 << 21  # rows; the same files give the same bits as long as nobody changes it
ROW = 8  # bytes, on disk


class Piece(NamedTuple):
    """Consecutive rows of a file: those from `start` on, counted among those that the filter keeps.

    `known` says what the columns were seen to hold up to here, and in which file.
    """

    file: int
    start: int
    frame: Any
    known: Mapping[str, Holds]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.frame)


class Position(NamedTuple):
    """How far a pass is: so many rows of this file, and all rows of the files before it."""

    file: int = 0
    rows: int = 0


START = Position()


@dataclass
class Reading:
    """One pass over files, from a position to the end.

    `known` says what the columns were seen to hold so far, and in which file; `stamps` how each file was when it was
    opened, by its number.
    """

    files: Sequence[Found]
    columns: NamedColumns
    where: Where | None = None
    format: str | None = None
    dialect: Dialect = USUAL
    known: dict[str, Holds] = field(default_factory=dict)
    stamps: dict[int, Stamp] = field(default_factory=dict)

    def pieces(self, position: Position = START) -> Iterator[Piece]:
        """Yield the rows of each file in batches of `BATCH` rows, the last one of fewer."""
        for number, found in enumerate(self.files):
            if number < position.file:
                continue
            skip = position.rows if number == position.file else 0
            table = open_table(found.path, format=self.format, dialect=self.dialect)
            self.stamps[number] = Stamp.of(found.path)
            self.check_names(table, found)
            for k, frame in enumerate(self._frames(table, found.constants, skip)):
                if k == 0:
                    self.check_kinds(table, found, frame)
                piece = Piece(number, skip + k * BATCH, frame, self.known)
                self._check_present(piece)
                yield piece

    @cached_property
    def expected(self) -> int:
        """About the number of rows, by the sizes of the files alone: the same files are always measured alike."""
        return sum(found.path.stat().st_size for found in self.files if found.path.exists()) // ROW

    @property
    def scores(self) -> tuple[str, ...]:
        """The columns of the prediction."""
        p = self.columns.prediction
        return p.needed if isinstance(p, FromColumns) else (p,) if isinstance(p, str) else p

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns that are labels of rows and nothing else."""
        return tuple(name for name in self.columns.groups if name not in self.columns.checked)

    def check_numbers(self, piece: Piece) -> None:
        """Refuse a piece with NaN in it, naming the column; verbs refuse it too, but do not know its name."""
        for name in self.columns.checked:
            values = np.asarray(piece.frame[name])
            missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(0, bool)
            if missing.any():
                raise self._refusal("column {name} is NaN in {row}", piece, name, missing)

    def check_names(self, table: TableFile, found: Found) -> None:
        """Refuse a file that lacks one of the columns, or of those that the filter looks at."""
        names = list(dict.fromkeys((*_names(table), *found.constants)))
        self.columns.check(names, str(table.path))
        if self.where is not None:
            NamedColumns(None, self.where.columns).check(names, str(table.path), option="where")

    def check_kinds(self, table: TableFile, found: Found, frame: Any) -> None:
        """Refuse a file, of which `frame` has rows, whose columns hold something else than those of the files before.

        This goes for the columns of the filter too: as texts, 9 is more than 10.
        """
        names = [] if self.where is None else [name for name in self.where.columns if name not in found.constants]
        filtered = holding(_without_rows(table), names, found.path) if names else {}
        held = holding(frame, self.columns.needed, found.path)
        self.known = together(self.known, {**filtered, **held}, self.scores, self.labels)

    def _check_present(self, piece: Piece) -> None:
        """Refuse a piece in which a value is missing: where there are none, this looks at no value."""
        for name in self.columns.checked:
            column = piece.frame[name]
            counted = column.null_count
            if counted() if callable(counted) else counted:
                raise self._refusal("column {name} has no value in {row}", piece, name, np.asarray(column.is_null()))

    def _refusal(self, problem: str, piece: Piece, name: str, bad: NDArray[np.bool_]) -> InputError:
        """Return the error that names the first bad row of a piece."""
        row, path = piece.start + int(bad.argmax()), self.files[piece.file].path
        place = f"row {row:,} of {path}"
        return InputError(f"{problem} ({counting(self.where)})", name=shown(name), row=row, place=place, file=str(path))

    def _frames(self, table: TableFile, constants: Mapping[str, Any], skip: int) -> Iterator[Any]:
        """Yield frames of polars or tables of pyarrow of `BATCH` rows."""
        needed = self.columns.needed
        if engine() == "polars":
            import polars as pl

            frames = table.frames(needed, self.where, size=BATCH, skip=skip, constants=constants, labels=self.labels)
            return recut(frames, BATCH, lambda parts: pl.concat(parts, rechunk=False))
        from calibrant.files import arrow_file

        tables = arrow_file.tables(table, needed, self.where, skip=skip, constants=constants, labels=self.labels)
        return recut(tables, BATCH, arrow_file.joined)


def engine() -> str:
    """Return the library that reads files: polars where it is installed, or pyarrow."""
    for name in ("polars", "pyarrow"):
        if name in sys.modules and sys.modules[name] is None:
            continue
        if name in sys.modules or importlib.util.find_spec(name) is not None:
            return name
    raise MissingExtraError("reading files", extra="cli")


def _names(table: TableFile) -> list[str]:
    return list(table.schema()) if engine() == "polars" else list(_without_rows(table).column_names)


def _without_rows(table: TableFile) -> Any:
    if engine() == "polars":
        return table.head(0)
    from calibrant.files import arrow_file

    return arrow_file.without_rows(table)
