"""CSV: delimiters, encodings and decimal commas. None is guessed; errors suggest the likely one."""

from __future__ import annotations

import gzip
import zlib
from codecs import getincrementaldecoder
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from calibrant.errors import InputError, shown
from calibrant.files.lazy_libraries import pl

DELIMITERS = {",": ",", ";": ";", "\t": "tab", "|": "|"}  # and how each is typed
MARKS = {b"\xff\xfe\x00\x00": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
UNREAD = {b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x04\x22\x4d\x18": "LZ4"}  # compressions that are not read
OTHER_ENCODING = "Add {encoding='cp1252'} if Windows or Excel wrote it, or the name of its own encoding"


@dataclass(frozen=True)
class Dialect:
    """How a CSV is written; None is a comma, or UTF-8."""

    delimiter: str | None = None
    encoding: str | None = None
    decimal_comma: bool = False

    @classmethod
    def read(cls, delimiter: Any, encoding: str | None, decimal_comma: bool) -> Self:
        return cls(None if delimiter is None else read_delimiter(delimiter), encoding, decimal_comma)


USUAL = Dialect()


def read_delimiter(given: Any) -> str:
    r"""Return the character that a user means; a tab may be spelled out.

    >>> read_delimiter("tab"), read_delimiter(";")
    ('\t', ';')
    """
    spelled = {"tab": "\t", "\\t": "\t"}
    character = spelled.get(given, given) if isinstance(given, str) else ""
    if len(character) != 1 or not character.isascii() or character in '"\r\n':
        message = "delimiter must be one character, such as ';' or '|', or the word tab; got {value}"
        raise InputError(message, option="delimiter", value=given)
    return character


def check(path: Path, start: bytes, dialect: Dialect) -> None:
    for mark, packed in UNREAD.items():
        if start.startswith(mark):
            raise InputError(f"{path} is compressed by {packed}, which is not read; unpack it, or save it as Parquet")
    if start.startswith(ZSTD):
        return
    start = unpacked(start)
    if dialect.encoding is None:
        _check_encoding(path, start)
    header = _decoded(path, start, dialect.encoding, errors="ignore").partition("\n")[0].rstrip("\r")
    delimiter = dialect.delimiter or ","
    others = [other for other in DELIMITERS if other in header]
    if others and delimiter not in header:
        likely = DELIMITERS[max(others, key=header.count)]
        used, most = (each if each == "tab" else shown(each) for each in (DELIMITERS.get(delimiter, delimiter), likely))
        message = (
            "{file} has one column only, {header}, when it is split at {used}; it seems to be split at {most}. "
            "Add {delimiter=typed}"
        )
        raise InputError(message, file=str(path), header=shown(header), used=used, most=most, typed=likely)


def long_line(path: Path, dialect: Dialect) -> str:
    """Return a description of the first line with more fields than the header; empty if none is found."""
    import csv

    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding=dialect.encoding or "utf-8-sig", errors="replace", newline="") as file:
        lines = csv.reader(file, delimiter=dialect.delimiter or ",")
        with suppress(csv.Error, EOFError, OSError, zlib.error):
            header = len(next(lines, []))
            for fields in lines:
                if len(fields) > header:
                    return f"line {lines.line_num:,} has {len(fields)} fields, and the header {header}"
    return ""


def unpacked(start: bytes) -> bytes:
    """Return the first bytes of a file, or what gzip packed into them."""
    if not start.startswith(GZIP):
        return start
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(start)
    except zlib.error:  # this is said when the file is read
        return b""


def scan(path: Path, dialect: Dialect, decided_by: int | None) -> pl.LazyFrame:
    """Return the rows, with types decided by so many of them (None: all)."""
    source: Path | bytes = path
    if dialect.encoding is not None:
        source = _decoded(path, path.read_bytes(), dialect.encoding).encode()
    return pl.scan_csv(
        source,
        separator=dialect.delimiter or ",",
        decimal_comma=dialect.decimal_comma,
        infer_schema_length=decided_by,
        with_column_names=lambda names: [name.replace('""', '"') for name in names],  # polars leaves quotes doubled
        glob=False,
    )


def remedy(problem: str) -> str:
    """Return what to do about a problem that polars names, for the template of a message."""
    if "utf-8" in problem:
        return OTHER_ENCODING
    if "more fields" in problem:
        return "If fields are split at something else, add {delimiter=}; a field with a comma needs quotation marks"
    if "conversion error" in problem:
        return "Fix that value, or save the file as Parquet, where a column has one type"
    return "Look at the file in an editor"


def _check_encoding(path: Path, start: bytes) -> None:
    found = next((name for mark, name in MARKS.items() if start.startswith(mark)), None)
    if found is None and start.count(0) > len(start) // 4:  # of Latin letters in UTF-16 every other byte is zero
        found = "utf-16-le" if start[1:2] == b"\x00" else "utf-16-be"
    if found:
        message = "{file} is not in UTF-8 but seems to be in {name}. Add {encoding=found}"
        raise InputError(message, file=str(path), name=found.upper(), found=found)
    try:
        getincrementaldecoder("utf-8")().decode(start)  # the last character may be cut
    except UnicodeDecodeError:
        raise InputError("{file} is not in UTF-8. " + OTHER_ENCODING, file=str(path)) from None


def _decoded(path: Path, content: bytes, encoding: str | None, *, errors: str = "strict") -> str:
    name = encoding or "utf-8"
    try:
        return content.decode(name, errors)
    except LookupError:
        raise InputError(
            f"there is no encoding {shown(name)}; known ones are utf-16, cp1252, latin-1 and more"
        ) from None
    except UnicodeError as problem:
        raise InputError(
            "{file} is not in {name}: {problem}. Name the encoding it was written in ({encoding=})",
            file=str(path),
            name=name,
            problem=str(problem),
        ) from None
