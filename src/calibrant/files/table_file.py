"""Files of predictions: Parquet, CSV, Arrow, NDJSON, NPZ and logs. Only the needed columns are read."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Full, Queue
from threading import Event, Thread
from typing import Any, NamedTuple, TypeVar

from calibrant.errors import InputError, MissingExtraError, did_you_mean, listing, shown
from calibrant.files import answers, csv_file, npz_file
from calibrant.files.lazy_libraries import pl
from calibrant.files.values import ColumnType, column_types
from calibrant.files.where import Where

T = TypeVar("T")

SUFFIXES: Mapping[str, str] = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".csv", ".csv.gz", ".csv.zst", ".tsv", ".tsv.gz"), "csv"),
    ".parq": "parquet",
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    **{".ndjson": "ndjson", ".jsonl": "ndjson", ".npz": "npz"},
}
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))
READ = (*FORMATS, *answers.LOGS)
MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"PK\x03\x04": "npz"}
HEAD_BYTES = 1 << 16  # bytes whose lines tell how many there are
PACKED_ROW_BYTES = 4  # bytes, about, where the lines cannot be looked at
GUARD = "guard"  # the column that makes polars read whole lines
WAIT_SECONDS = 0.1  # after which the thread that decodes looks whether its rows are still wanted
ROWS_FOR_TYPES = 10_000  # decide the types of the columns of a text file; all rows when that fails


@dataclass(frozen=True)
class TableFile:
    """A file of rows, its format, and the dialect of a CSV."""

    path: Path
    format: str
    csv: csv_file.Dialect = csv_file.USUAL

    def schema(self) -> dict[str, pl.DataType]:
        if self.format == "npz":
            return npz_file.schema(self.path)
        return self._attempt(lambda rows: dict(rows.collect_schema()))

    def list_schema(self) -> dict[str, pl.DataType]:
        if self.format == "npz":
            return npz_file.list_schema(self.path)
        return {name: dtype for name, dtype in self.schema().items() if dtype.is_nested()}

    def head(self, count: int) -> pl.DataFrame:
        return self._attempt(lambda rows: rows.head(count).collect())

    def read(
        self,
        columns: Sequence[str],
        where: Where | None = None,
        constants: Mapping[str, Any] | None = None,
        labels: Sequence[str] = (),
    ) -> pl.DataFrame:
        """Return these columns, of the rows that `where` keeps, as `frames` gives them."""
        needed, whole_lines = _needed(columns, where), self.format == "csv"
        frame = self._attempt(
            lambda rows: _chosen(rows, columns, where, constants, labels, whole_lines).collect(), needed
        )
        return _named(frame, columns)

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
        needed, whole_lines = _needed(columns, where), self.format == "csv"
        for k, decided_by in enumerate(self._rows_for_types):
            if (skip and self._is_text) or (k > 0 and where):  # rows were handed out, or a filter was understood
                self._check_types_last(needed if skip else where.columns if where else ())
            try:
                rows = self._scan(decided_by, needed)
                chosen = _chosen(rows, columns, where, constants, labels, whole_lines).slice(skip)
                with closing(sunk_batches(chosen, size)) as frames:
                    for frame in frames:
                        skip += frame.height
                        yield _named(frame, columns)
                return
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
                problem = error
        raise self.refusal(problem) from problem

    def as_written(self, *, texts: bool) -> pl.LazyFrame:
        """Return all rows and columns of a text file; with `texts` a CSV as texts: 007 as a number loses its zeros.

        All rows of NDJSON decide which columns there are, and all rows of a CSV which types, so they are read twice.
        """
        if self.format == "csv":
            return csv_file.scan(self.path, self.csv, 0 if texts else None)
        schema = self._attempt(pl.LazyFrame.collect_schema, None, (None,))
        return pl.scan_ndjson(_literal_path(self.path), schema=schema)

    def likely_rows(self) -> int:
        """Return the number of rows; an estimate for text files, and 0 for NPZ and logs."""
        if self.format == "npz" or self.format in answers.LOGS:
            return 0  # they are always read as a whole
        if not self._is_text:
            return self.rows() or 0
        size, start = self.path.stat().st_size, _start(self.path, HEAD_BYTES)
        if start.startswith(csv_file.ZSTD):
            return size // PACKED_ROW_BYTES
        return size * max(1, csv_file.unpacked(start).count(b"\n")) // len(start)

    def rows(self) -> int | None:
        """Return the number of rows where the file tells it without being read."""
        if self.format not in ("parquet", "arrow"):
            return None
        return self._attempt(lambda rows: int(rows.select(pl.len()).collect().item()))

    @property
    def _is_text(self) -> bool:
        return self.format in ("csv", "ndjson")

    @property
    def _rows_for_types(self) -> tuple[int | None, ...]:
        """How many rows decide the types of columns (None: all), tried in this order."""
        return (ROWS_FOR_TYPES, None) if self._is_text else (None,)

    def _check_types_last(self, columns: Sequence[str]) -> None:
        first, all_rows = (self.column_types(columns, rows) for rows in self._rows_for_types)
        for name, holds in all_rows.items():
            if name in first and first[name].what != holds.what:
                raise InputError(
                    f"column {shown(name)} of {self.path} contains {first[name].what} in the first {ROWS_FOR_TYPES:,} "
                    f"rows and {holds.what} later; fix it, or save the file as Parquet, where a column has one type"
                )

    def column_types(self, columns: Sequence[str], decided_by: int | None = None) -> dict[str, ColumnType]:
        """Return what those columns contain that the file has; so many first rows decide the types of a text file."""
        empty = self._attempt(lambda rows: rows.head(0).collect(), None, (decided_by,))
        return column_types(empty, [name for name in columns if name in empty.columns], self.path)

    def _attempt(
        self,
        use: Callable[[pl.LazyFrame], T],
        columns: Sequence[str] | None = None,
        rows_for_types: Sequence[int | None] = (),
    ) -> T:
        """Apply a function to the rows; if types were decided by too few rows, try again with all."""
        for decided_by in rows_for_types or self._rows_for_types:
            try:
                return use(self._scan(decided_by, columns))
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
                problem = error
        raise self.refusal(problem) from problem

    def _scan(self, decided_by: int | None, columns: Sequence[str] | None) -> pl.LazyFrame:
        if self.format == "csv":
            return csv_file.scan(self.path, self.csv, decided_by)
        if self.format == "ndjson":
            return pl.scan_ndjson(_literal_path(self.path), infer_schema_length=decided_by)
        if self.format == "npz":
            return npz_file.scan(self.path, columns)
        if self.format in answers.LOGS:
            return answers.scan(self.path, self.format)
        if self.format == "parquet":
            return pl.scan_parquet(self.path, glob=False, hive_partitioning=False)
        if is_arrow_stream(self.path):
            return pl.read_ipc_stream(self.path).lazy()
        return pl.scan_ipc(_literal_path(self.path))

    def refusal(self, problem: BaseException) -> InputError:
        first_line = (str(problem).strip() or type(problem).__name__).splitlines()[0]
        if type(problem).__name__ == "PanicException":  # its words are about polars, not about the file
            if "KeyboardInterrupt" in first_line:  # Ctrl-C while polars called Python
                raise problem
            first_line = "it is damaged inside"
        remedy = csv_file.remedy(first_line) if self.format == "csv" else "Is it complete? Write it again"
        if "more fields" in first_line:
            first_line = csv_file.long_line(self.path, self.csv) or first_line
        if "precision must be between" in first_line:
            remedy = "Save decimal numbers with at most 38 digits, or as floating point numbers"
        message = "{file} cannot be read as {format}: {problem}. " + remedy
        return InputError(message, file=str(self.path), format=spelled_format(self.format), problem=first_line)


def open_table(path: Path, *, format: str | None = None, dialect: csv_file.Dialect | None = None) -> TableFile:
    os.environ.setdefault("POLARS_IGNORE_TIMEZONE_PARSE_ERROR", "1")  # a zone such as +05:30 in a column nobody needs
    try:
        import polars  # noqa: F401
    except ImportError:
        raise MissingExtraError("reading files", extra="cli") from None
    check_file(path)
    chosen = format or format_of(path)
    if chosen is None:
        message = (
            "{file} has no ending that calibrant knows; it reads {endings}. "
            "If it is one of these, say which ({format=}): {formats}"
        )
        raise InputError(message, file=str(path), endings=", ".join(SUFFIXES), formats=listing(FORMATS))
    start = _start(path, 4096)
    found = next((format for magic, format in MAGIC.items() if start.startswith(magic)), None)
    if found and found != chosen and chosen not in answers.LOGS:
        message = "{file} is not {told}: it begins like {true}. Add {format=found}"
        raise InputError(message, file=str(path), told=spelled_format(chosen), true=spelled_format(found), found=found)
    dialect = dialect or csv_file.USUAL
    if chosen == "csv":
        if dialect.delimiter is None and ".tsv" in path.suffixes[-2:]:
            dialect = csv_file.Dialect("\t", dialect.encoding, dialect.decimal_comma)
        csv_file.check(path, start, dialect)
    return TableFile(path, chosen, dialect)


def format_of(path: Path) -> str | None:
    name = path.name.lower()
    return next((format for suffix, format in SUFFIXES.items() if name.endswith(suffix)), None)


def check_file(path: Path) -> None:
    if path.is_dir():
        inside = sorted(entry.name for entry in path.iterdir() if format_of(entry))
        remedy = f"name a file in it: {listing(inside, most=5)}" if inside else "name a file"
        raise InputError(f"{path} is a folder; {remedy}")
    if any("\ud800" <= character <= "\udfff" for character in str(path)):  # bytes that are not UTF-8
        raise InputError(f"the name of {shown(str(path))} is not in UTF-8, and such files cannot be opened; rename it")
    if path.is_symlink() and not path.exists():
        raise InputError(f"{path} is a link to {path.readlink()}, which does not exist. Check the link")
    if not path.exists():
        folder = path.parent
        if not folder.is_dir():
            raise InputError(f"there is no file {path}, nor a folder {folder}. Check the path")
        hint = did_you_mean(path.name, (entry.name for entry in folder.iterdir()))
        raise InputError(f"there is no file {path}. {hint or 'Check the path'}")
    if not path.is_file():
        raise InputError(f"{path} is not a regular file but a device or a pipe; save its content to a file first")
    if not os.access(path, os.R_OK):
        raise InputError(f"you do not have permission to read {path}; ask its owner, or change that with chmod")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty (0 bytes); write the predictions to it first")


def _needed(columns: Sequence[str], where: Where | None) -> list[str]:
    return list(dict.fromkeys((*columns, *(where.columns if where else ()))))


def _chosen(
    rows: pl.LazyFrame,
    columns: Sequence[str],
    where: Where | None,
    constants: Mapping[str, Any] | None,
    labels: Sequence[str],
    whole_lines: bool,
) -> pl.LazyFrame:
    """Return columns under plain names 0, 1, ..., of the rows that `where` keeps, decimal numbers as floating point.

    They are taken by number and get plain names, because polars takes ``*`` and ``^p.*$`` for patterns. With
    `whole_lines` there is one more column that depends on all others: otherwise polars cuts lines of a CSV that have
    too many fields, without a word.
    """
    schema = dict(rows.collect_schema())
    number = {name: i for i, name in enumerate(schema)}
    plain = {name: str(i) for i, name in enumerate(_needed(columns, where))}
    values = constants or {}
    fixed = {name: pl.lit(values[name]) for name in plain if name not in number}
    types = schema | {name: pl.Series([values[name]]).dtype for name in fixed}
    kept = [fixed.get(name, pl.nth(number.get(name, 0))).alias(plain[name]) for name in plain]
    others = [pl.nth(i).is_null() for name, i in number.items() if name not in plain] if whole_lines else []
    rows = rows.select(*kept, *([pl.any_horizontal(others).alias(GUARD)] if others else []))
    decimal = {name for name in plain if isinstance(types[name], pl.Decimal)}
    rounded = {name: pl.col(plain[name]).cast(pl.Float64) for name in decimal.difference(labels)}
    rows = rows.with_columns(rounded.values())
    if where is not None:
        rows = rows.filter(where.expression(types, plain))
    return rows.select(*(plain[name] for name in columns), *([GUARD] if others else []))


def _named(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    frame = frame.drop(GUARD, strict=False)
    frame.columns = list(columns)
    return frame


class _Ended(NamedTuple):
    """The end of the rows, by an error or without one."""

    problem: BaseException | None


def sunk_batches(rows: pl.LazyFrame, size: int) -> Generator[pl.DataFrame, None, None]:
    """Yield rows while another thread decodes the next ones; its errors are raised in turn.

    `collect_batches` of polars does the same, but ends without a word where a damaged file makes a thread panic.
    """
    queue: Queue[pl.DataFrame | _Ended] = Queue(1)
    unwanted = Event()

    def give(item: pl.DataFrame | _Ended) -> bool:
        """Wait until the item before is taken, and tell polars whether to stop."""
        while not unwanted.is_set():
            with suppress(Full):
                queue.put(item, timeout=WAIT_SECONDS)
                return False
        return True

    def work() -> None:
        problem: BaseException | None = None
        try:
            rows.sink_batches(give, chunk_size=size, maintain_order=True)
        except BaseException as error:  # whatever it is, it belongs to whoever wants the rows
            problem = error
        give(_Ended(problem))

    thread = Thread(target=work, name="calibrant-decoding", daemon=True)
    thread.start()
    try:
        while not isinstance(item := queue.get(), _Ended):
            yield item
            del item  # not kept in memory while the next one is waited for
        if item.problem is not None:
            raise item.problem
    finally:
        unwanted.set()
        thread.join()


def _literal_path(path: Path) -> str:
    """Return the path with its brackets and stars quoted, for the formats whose paths polars always expands."""
    return glob.escape(str(path))


def is_arrow_stream(path: Path) -> bool:
    """Tell Arrow's streaming format, which begins with a message, from its file format, which begins with a name."""
    return _start(path, 4) == b"\xff\xff\xff\xff"


def _start(path: Path, length: int) -> bytes:
    with path.open("rb") as file:
        return file.read(length)


def spelled_format(format: str) -> str:
    """Return the format as it is written in a sentence."""
    return {"parquet": "Parquet", "arrow": "Arrow"}.get(format, format.upper())
