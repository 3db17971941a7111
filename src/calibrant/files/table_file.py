"""Files of predictions: Parquet, CSV, Arrow, NDJSON and NPZ, of which only the needed columns are read."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from calibrant.errors import InputError, did_you_mean, listing, shown
from calibrant.files import csv_file, npz_file
from calibrant.files.ahead import handed_over
from calibrant.files.holding import Holds, holding
from calibrant.files.where import Where

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")

SUFFIXES: Mapping[str, str] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".csv.zst": "csv",
    ".tsv": "csv",
    ".tsv.gz": "csv",
    ".parq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".npz": "npz",
}
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))
MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"PK\x03\x04": "npz"}
LINES = 1 << 16  # bytes whose lines tell how many there are
PACKED_ROW = 4  # bytes, about, where the lines cannot be looked at
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

    def read(
        self, columns: Sequence[str], where: Where | None = None, constants: Mapping[str, Any] | None = None
    ) -> pl.DataFrame:
        """Return these columns, of the rows that `where` keeps; those not in the file are taken from `constants`."""
        needed = _needed(columns, where)
        frame = self._attempt(lambda rows: _chosen(rows, columns, where, constants or {}).collect(), needed)
        frame.columns = list(columns)
        return frame

    def frames(
        self,
        columns: Sequence[str],
        where: Where | None,
        *,
        size: int,
        skip: int = 0,
        constants: Mapping[str, Any] | None = None,
        labels: Sequence[str] = (),
    ) -> Iterator[pl.DataFrame]:
        """Yield these columns of the rows that `where` keeps, in their order, about `size` rows at a time.

        Columns that are not in the file are taken from `constants`. The first `skip` rows are left out. A column holds
        the same in all frames. Decimal numbers become floating point numbers, but for `labels`, which are not rounded.
        """
        import polars as pl

        needed = _needed(columns, where)
        for k, look in enumerate(self._looks):
            if (skip and self._is_text) or (k > 0 and where):  # rows were handed out, or a filter was understood
                self._check_lasting(needed if skip else where.columns if where else ())
            try:
                chosen = _chosen(self._scan(look, needed), columns, where, constants or {}, labels).slice(skip)
                with closing(_batches(chosen, size)) as frames:
                    for frame in frames:
                        skip += frame.height
                        frame.columns = list(columns)
                        yield frame
                return
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
                problem = error
        raise self.refusal(problem) from problem

    def likely_rows(self) -> int:
        """Return the number of rows; of a text file about, from the lengths of its first lines, of NPZ 0."""
        if self.format == "npz":
            return 0  # it is always read as a whole
        if not self._is_text:
            return self.rows() or 0
        size, start = self.path.stat().st_size, _start(self.path, LINES)
        if start.startswith(csv_file.ZSTD):
            return size // PACKED_ROW
        return size * max(1, csv_file.unpacked(start).count(b"\n")) // len(start)

    def rows(self) -> int | None:
        """Return the number of rows where the file tells it without being read."""
        import polars as pl

        if self.format not in ("parquet", "arrow"):
            return None
        return self._attempt(lambda rows: int(rows.select(pl.len()).collect().item()))

    @property
    def _is_text(self) -> bool:
        return self.format in ("csv", "ndjson")

    @property
    def _looks(self) -> tuple[int | None, ...]:
        """How many rows decide the types of columns, None for all; the next look where one was too short."""
        return (FIRST_LOOK, None) if self._is_text else (None,)

    def _check_lasting(self, columns: Sequence[str]) -> None:
        """Refuse a text file whose columns hold something else when all rows are looked at than by the first ones."""
        first, all_rows = (self._holding(look, columns) for look in self._looks)
        for name, holds in all_rows.items():
            if name in first and first[name].what != holds.what:
                raise InputError(
                    f"column {shown(name)} of {self.path} holds {first[name].what} in the first {FIRST_LOOK:,} rows "
                    f"and {holds.what} later; mend it, or save the file as Parquet, where a column has one type"
                )

    def _holding(self, look: int | None, columns: Sequence[str]) -> dict[str, Holds]:
        """Return what columns hold after a look."""
        import polars as pl

        try:
            nothing = self._scan(look, None).head(0).collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as problem:
            raise self.refusal(problem) from problem
        return holding(nothing, [name for name in columns if name in nothing.columns], self.path)

    def _attempt(self, use: Callable[[pl.LazyFrame], T], columns: Sequence[str] | None = None) -> T:
        """Use the rows, after one look or the next."""
        import polars as pl

        for look in self._looks:
            try:
                return use(self._scan(look, columns))
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
                problem = error
        raise self.refusal(problem) from problem

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

    def refusal(self, problem: BaseException) -> InputError:
        """Return the error of a file that could not be read."""
        first_line = (str(problem).strip() or type(problem).__name__).splitlines()[0]
        if type(problem).__name__ == "PanicException":  # its words are about polars, not about the file
            first_line = "it is damaged inside"
        remedy = csv_file.remedy(first_line) if self.format == "csv" else "Is it complete? Write it again"
        return InputError(
            "{file} cannot be read as {format}: {problem}. " + remedy,
            file=str(self.path),
            format=spelled_format(self.format),
            problem=first_line,
        )


def open_table(path: Path, *, format: str | None = None, dialect: csv_file.Dialect | None = None) -> TableFile:
    """Return the file at `path`, after a look at whether it can be what it is said to be."""
    check_file(path)
    chosen = format or format_of(path)
    if chosen is None:
        raise InputError(
            "{file} has no ending that tells what it is; calibrant reads {endings}. "
            "If it is one of these, say which ({format=}): {formats}",
            file=str(path),
            endings=", ".join(SUFFIXES),
            formats=listing(FORMATS),
        )
    start = _start(path, 4096)
    found = next((format for magic, format in MAGIC.items() if start.startswith(magic)), None)
    if found and found != chosen:
        raise InputError(
            "{file} is not {told}: it begins like {true}. Add {format=found}",
            file=str(path),
            told=spelled_format(chosen),
            true=spelled_format(found),
            found=found,
        )
    dialect = dialect or csv_file.USUAL
    if chosen == "csv":
        if dialect.delimiter is None and ".tsv" in path.suffixes[-2:]:
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


def _needed(columns: Sequence[str], where: Where | None) -> list[str]:
    return list(dict.fromkeys((*columns, *(where.columns if where else ()))))


def _chosen(
    rows: pl.LazyFrame,
    columns: Sequence[str],
    where: Where | None,
    constants: Mapping[str, Any],
    labels: Sequence[str] = (),
) -> pl.LazyFrame:
    """Return columns under plain names 0, 1, ..., of the rows that `where` keeps, decimal numbers as floating point.

    They are taken by number and get plain names, because polars takes ``*`` and ``^p.*$`` for patterns.
    """
    import polars as pl

    schema = dict(rows.collect_schema())
    number = {name: i for i, name in enumerate(schema)}
    plain = {name: str(i) for i, name in enumerate(_needed(columns, where))}
    fixed = {name: pl.lit(constants[name]) for name in plain if name not in number}
    types = schema | {name: _type_of(constants[name]) for name in fixed}
    rows = rows.select(fixed.get(name, pl.nth(number.get(name, 0))).alias(plain[name]) for name in plain)
    decimal = {name for name in plain if isinstance(types[name], pl.Decimal)}
    rounded = {name: pl.col(plain[name]).cast(pl.Float64) for name in decimal.difference(labels)}
    rows = rows.with_columns(rounded.values())
    if where is not None:
        rows = rows.filter(where.expression(types, plain))
    return rows.select(plain[name] for name in columns)


def _batches(rows: pl.LazyFrame, size: int) -> Generator[pl.DataFrame, None, None]:
    """Yield rows as they are decoded.

    `collect_batches` of polars does the same, but ends without a word where a damaged file makes a thread panic.
    """
    return handed_over(
        lambda give: rows.sink_batches(lambda frame: not give(frame), chunk_size=size, maintain_order=True)
    )


def _type_of(value: Any) -> pl.DataType:
    import polars as pl

    return pl.Series([value]).dtype


def _literal_path(path: Path) -> str:
    """Return the path with its brackets and stars quoted, for the formats whose paths polars always expands."""
    return glob.escape(str(path))


def _is_stream(path: Path) -> bool:
    """Tell Arrow's streaming format, which begins with a message, from its file format, which begins with a name."""
    return _start(path, 4) == b"\xff\xff\xff\xff"


def _start(path: Path, length: int) -> bytes:
    with path.open("rb") as file:
        return file.read(length)


def spelled_format(format: str) -> str:
    """Return the format as it is written in a sentence."""
    return {"parquet": "Parquet", "arrow": "Arrow"}.get(format, format.upper())
