"""A sorted run of entries on disk, one file per column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from calibrant.core.pool import Pool
from calibrant.engines.column_file import REAL, SINGLE, WHOLE, Column, ColumnFile
from calibrant.errors import SummaryError
from calibrant.inputs.arrays import unit_weights

COLUMNS = Pool._fields


@dataclass(frozen=True)
class RunFiles:
    """Entries in the order of (score, weight), in the files `stem`.score, `stem`.weight, ... of a folder.

    A column all of whose values are equal, such as weights of 1 or single rows, has no file. Scores that had 32 bits or
    less are written as such, unless `is_wide`.
    """

    stem: Path
    columns: Mapping[str, Column]

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.columns["score"].size

    @property
    def nbytes(self) -> int:
        """Bytes on disk."""
        return sum(column.nbytes for column in self.columns.values())

    @property
    def is_wide(self) -> bool:
        """Whether the scores are written in the 64 bits in which verbs read them."""
        return self.columns["score"].dtype == REAL[-1]

    def read(self, start: int, stop: int) -> Pool:
        """Return the entries from `start` to `stop`."""
        score, *others = (column.read(path, start, stop) for path, column in self._files())
        return _pool(score.astype(np.float64, copy=False), *others)

    def mapped(self) -> Pool:
        """Return all entries as they lie on disk, read-only."""
        return _pool(*(column.mapped(path) for path, column in self._files()))

    def remove(self) -> None:
        """Remove the files; one that is mapped into memory stays readable there."""
        for path, _ in self._files():
            path.unlink(missing_ok=True)

    def plain(self) -> dict[str, Any]:
        """Return what `read_back` makes this of, as plain values."""
        return {"name": self.stem.name, "columns": {name: column.plain() for name, column in self.columns.items()}}

    @classmethod
    def read_back(cls, folder: Path, plain: Mapping[str, Any]) -> Self:
        """Find the files of a run again, and refuse what is not as it was left."""
        found = cls(folder / plain["name"], {name: Column(**plain["columns"][name]) for name in COLUMNS})
        for path, column in found._files():
            if not column.nbytes:
                continue
            there = path.stat().st_size if path.is_file() else None
            if there != column.nbytes:
                seen = "is missing" if there is None else f"has {there:,} bytes"
                raise SummaryError(
                    f"the file {path} {seen}; expected {column.nbytes:,} bytes of sorted rows. "
                    "It was changed after it was written: start again without it"
                )
        return found

    def _files(self) -> list[tuple[Path, Column]]:
        return [(path_of(self.stem, name), self.columns[name]) for name in COLUMNS]


def write_run(stem: Path, pools: Iterable[Pool], *, dtype: str, wide: bool, durable: bool) -> RunFiles:
    """Write sorted entries that come piece by piece; nothing is left of them if that does not succeed."""
    scores = REAL if wide or np.dtype(dtype).itemsize > 4 else SINGLE
    types = dict(zip(COLUMNS, (scores, REAL, WHOLE, WHOLE), strict=True))
    files = {name: ColumnFile(path_of(stem, name), types[name]) for name in COLUMNS}
    try:
        for pool in pools:
            for file, values in zip(files.values(), pool, strict=True):
                file.append(values)
        return RunFiles(stem, {name: file.finish(durable=durable) for name, file in files.items()})
    except BaseException:
        for file in files.values():
            file.discard()
        raise


def path_of(stem: Path, column: str) -> Path:
    """Return the file of a column."""
    return stem.with_name(f"{stem.name}.{column}")


def _pool(score: Any, weight: Any, rows: Any, events: Any) -> Pool:
    """Return the columns; weights of 1 are those that verbs know as such."""
    unit = weight.strides == (0,) and weight.size and weight[0] == 1
    return Pool(score, unit_weights(weight.size) if unit else weight, rows, events)
