"""Files of predictions: Parquet, CSV, Arrow, NDJSON and NPZ, of which only the needed columns are read."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from calibrant.cli import csv_file, npz_file
from calibrant.cli.messages import did_you_mean, listing
from calibrant.cli.where import Where
from calibrant.errors import InputError, shown

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")

SUFFIXES: Mapping[str, str] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "csv",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".npz": "npz",
}
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))
MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"PK\x03\x04": "npz"}
FIRST_LOOK = 10_000  # rows that decide the types of the columns of a text file; all of them when that fails


@dataclass(frozen=True)
class TableFile:
    """A file of rows, its format, and what a CSV needs to be known about it."""

    path: Path
    format: str
    csv: csv_file.Dialect = csv_file.USUAL

    def schema(self) -> dict[str, pl.DataType]:
        """Return the type of each column, in the order of the file."""
        if self.format == "npz":
            return npz_file.schema(self.path)
        return self._attempt(lambda rows: dict(rows.collect_schema()))

    def list_schema(self) -> dict[str, pl.DataType]:
        """Return the type of each column of lists."""
        if self.format == "npz":
            return npz_file.list_schema(self.path)
        return {name: dtype for name, dtype in self.schema().items() if dtype.is_nested()}

    def head(self, count: int) -> pl.DataFrame:
        """Return the first rows, all columns."""
        return self._attempt(lambda rows: rows.head(count).collect())

    def read(self, columns: Sequence[str], where: Where | None = None) -> pl.DataFrame:
        """Return these columns, of the rows that `where` keeps."""
        import polars as pl

        # Columns are taken by number and get plain names, because polars takes "*" and "^p.*$" for patterns.
        needed = dict.fromkeys((*columns, *(where.columns if where else ())))
        plain = {name: str(i) for i, name in enumerate(needed)}

        def wanted(rows: pl.LazyFrame) -> pl.DataFrame:
            schema = rows.collect_schema()
            number = {name: i for i, name in enumerate(schema)}
            rows = rows.select(pl.nth(number[name]).alias(plain[name]) for name in needed)
            rows = rows.cast({pl.Decimal: pl.Float64})
            if where is not None:
                rows = rows.filter(where.expression(schema, plain))
            return rows.select(plain[name] for name in columns).collect()

        frame = self._attempt(wanted, list(needed))
        frame.columns = list(columns)
        return frame

    def _attempt(self, use: Callable[[pl.LazyFrame], T], columns: Sequence[str] | None = None) -> T:
        """Use the rows; where the first look at a text file was too short for its types, look at all of it."""
        import polars as pl

        looks: tuple[int | None, ...] = (FIRST_LOOK, None) if self.format in ("csv", "ndjson") else (None,)
        for look in looks:
            try:
                return use(self._scan(look, columns))
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
                problem = error
        raise self._refusal(problem) from problem

    def _scan(self, look: int | None, columns: Sequence[str] | None) -> pl.LazyFrame:
        import polars as pl

        if self.format == "csv":
            return csv_file.scan(self.path, self.csv, look)
        if self.format == "ndjson":
            return pl.scan_ndjson(_literal_path(self.path), infer_schema_length=look)
        if self.format == "npz":
            return npz_file.scan(self.path, columns)
        if self.format == "parquet":
            return pl.scan_parquet(self.path, glob=False, hive_partitioning=False)
        if _is_stream(self.path):
            return pl.read_ipc_stream(self.path).lazy()
        return pl.scan_ipc(_literal_path(self.path))

    def _refusal(self, problem: BaseException) -> InputError:
        """Return the error of a file that polars could not read."""
        first_line = (str(problem).strip() or type(problem).__name__).splitlines()[0]
        remedy = csv_file.remedy(first_line) if self.format == "csv" else "Is it complete? Write it again"
        return InputError(f"{self.path} cannot be read as {_spelled(self.format)}: {first_line}. {remedy}")


def open_table(path: Path, *, format: str | None = None, dialect: csv_file.Dialect | None = None) -> TableFile:
    """Return the file at `path`, after a look at whether it can be what it is said to be."""
    check_file(path)
    chosen = format or format_of(path)
    if chosen is None:
        raise InputError(
            f"{path} has no ending that tells what it is; calibrant reads {', '.join(SUFFIXES)}. "
            f"If it is one of these, add --format {'|'.join(FORMATS)}"
        )
    start = _start(path, 4096)
    found = next((format for magic, format in MAGIC.items() if start.startswith(magic)), None)
    if found and found != chosen:
        raise InputError(f"{path} is not {_spelled(chosen)}: it begins like {_spelled(found)}. Add --format {found}")
    dialect = dialect or csv_file.USUAL
    if chosen == "csv":
        if dialect.delimiter is None and path.suffix == ".tsv":
            dialect = csv_file.Dialect("\t", dialect.encoding, dialect.decimal_comma)
        csv_file.check(path, start, dialect)
    return TableFile(path, chosen, dialect)


def format_of(path: Path) -> str | None:
    """Return the format that the name of a file tells."""
    name = path.name.lower()
    return next((format for suffix, format in SUFFIXES.items() if name.endswith(suffix)), None)


def check_file(path: Path) -> None:
    """Refuse a path at which there is no file with something in it that may be read."""
    if path.is_dir():
        inside = sorted(entry.name for entry in path.iterdir() if format_of(entry))
        remedy = f"name a file in it: {listing(inside, most=5)}" if inside else "name a file"
        raise InputError(f"{path} is a folder; {remedy}")
    if not path.exists():
        folder = path.parent
        if not folder.is_dir():
            raise InputError(f"there is no file {path}, nor a folder {folder}. Check the path")
        hint = did_you_mean(path.name, (entry.name for entry in folder.iterdir()))
        raise InputError(f"there is no file {path}. {hint or 'Check the path'}")
    if not path.is_file():
        raise InputError(f"{path} is not a file but a device or a pipe; save its content to a file first")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path} may not be read by you; ask its owner, or change its permissions with chmod")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty (0 bytes); write the predictions to it first")


def cells(rows: pl.DataFrame, column: str) -> pl.Series:
    """Return a column under a plain name, because methods of a series named ``^p.*$`` would look for a pattern."""
    return rows.get_column(column).alias("cells")


def matrix(rows: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return columns under plain names."""
    import polars as pl

    return pl.DataFrame([rows.get_column(name).alias(str(k)) for k, name in enumerate(columns)])


def find_column(name: str, columns: Sequence[str], path: Path, *, option: str) -> str:
    """Return a column of the file, or say which ones there are."""
    if name not in columns:
        hint = did_you_mean(name, columns)
        raise InputError(
            f"{path} has no column {shown(name)} ({option}). {hint}".rstrip()
            + ("" if hint else f" Its columns are {listing(columns)}")
        )
    if f"{name}_duplicated_0" in columns:
        raise InputError(f"{path} has two columns named {shown(name)} ({option}); rename one of them")
    return name


def _literal_path(path: Path) -> str:
    """Return the path with its brackets and stars quoted, for the formats whose paths polars always expands."""
    return glob.escape(str(path))


def _is_stream(path: Path) -> bool:
    """Tell Arrow's streaming format, which begins with a message, from its file format, which begins with a name."""
    return _start(path, 4) == b"\xff\xff\xff\xff"


def _start(path: Path, length: int) -> bytes:
    with path.open("rb") as file:
        return file.read(length)


def _spelled(format: str) -> str:
    return {"parquet": "Parquet", "arrow": "Arrow"}.get(format, format.upper())
