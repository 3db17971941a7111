"""Files of predictions that are read together, all rows at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.files.found import Found, find_files
from calibrant.files.reading import Reading
from calibrant.files.rows_in_words import nothing
from calibrant.files.table_file import TableFile, open_table
from calibrant.files.where import Where
from calibrant.inputs.columns import NamedColumns

if TYPE_CHECKING:
    import polars as pl

    from calibrant.cli.options import Request


@dataclass
class Tables:
    """The files that a person named; `lengths` are the rows that were kept of each, once they are read."""

    typed: tuple[Path, ...]
    found: tuple[Found, ...]
    tables: tuple[TableFile, ...]
    lengths: list[int] = field(default_factory=list)

    @classmethod
    def named(cls, paths: Sequence[Path], request: Request) -> Tables:
        """Find and open the files."""
        found = find_files(list(paths), format=request.format)
        tables = tuple(open_table(file.path, format=request.format, dialect=request.dialect) for file in found)
        return cls(tuple(paths), found, tables)

    @property
    def paths(self) -> list[Path]:
        """Where the files are."""
        return [table.path for table in self.tables]

    @property
    def first(self) -> TableFile:
        """The file that columns are looked up in."""
        return self.tables[0]

    @property
    def several(self) -> bool:
        """Whether there is more than one file."""
        return len(self.tables) > 1

    @property
    def names(self) -> list[str]:
        """The columns of the first file, and those that its folders name."""
        return list(dict.fromkeys((*self.first.schema(), *self.found[0].constants)))

    @property
    def called(self) -> str:
        """What the files are called in a report."""
        if not self.several:
            return self.first.path.name
        where = self.typed[0].name or str(self.typed[0])
        return f"{where} ({len(self.tables):,} files)" if len(self.typed) == 1 else f"{len(self.tables):,} files"

    def __str__(self) -> str:
        return str(self.typed[0]) if len(self.typed) == 1 else f"{self.typed[0]} and {len(self.typed) - 1:,} more"

    def rows(self) -> int:
        """Return the number of all rows: of Parquet and Arrow files as they tell it, of texts as their length does."""
        return sum(table.likely_rows() for table in self.tables)

    def read(
        self,
        columns: Sequence[str],
        scores: Sequence[str],
        where: Where | None,
        check: Callable[[pl.DataFrame, TableFile], None],
    ) -> pl.DataFrame:
        """Return all rows that `where` keeps; `check` looks at those of each file."""
        import polars as pl

        reading, frames, self.lengths = self._reading(columns, where, scores), [], []
        for table, found in zip(self.tables, self.found, strict=True):
            if self.several:
                reading.check_names(table, found)
            frame = table.read(columns, where, found.constants)
            self.lengths.append(frame.height)
            if frame.height or not self.several:
                check(frame, table)
                if self.several:
                    reading.check_kinds(table, found, frame)
                frames.append(frame)
        if not frames:
            raise nothing(self.paths, where)
        return pl.concat(frames, how="vertical_relaxed", rechunk=True) if len(frames) > 1 else frames[0]

    def place(self, row: int) -> str:
        """Return where a row is, in words."""
        if not self.several:
            return f"row {row}"
        ends = list(accumulate(self.lengths))
        k = min(bisect_right(ends, row), len(ends) - 1)
        return f"row {row - ends[k] + self.lengths[k]} of {self.tables[k].path}"

    def count(self, columns: Sequence[str], where: Where | None) -> int:
        """Return the number of rows that `where` keeps."""
        if where is None:
            return self.rows()
        return sum(frame.height for frame in self.frames(columns, where, size=1 << 20))

    def frames(self, columns: Sequence[str], where: Where | None, *, size: int) -> Iterator[pl.DataFrame]:
        """Yield the rows that `where` keeps, some at a time."""
        reading = self._reading(columns, where)
        for table, found in zip(self.tables, self.found, strict=True):
            reading.check_names(table, found)
            yield from table.frames(columns, where, size=size, constants=found.constants)

    def _reading(self, columns: Sequence[str], where: Where | None, scores: Sequence[str] = ()) -> Reading:
        """Return what looks after these columns in all files."""
        return Reading(self.found, NamedColumns(None, tuple(scores), groups=tuple(columns)), where)
