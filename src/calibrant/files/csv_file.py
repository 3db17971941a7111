"""CSV: delimiters, encodings and decimal commas, none of them guessed and all of them hinted at."""

from __future__ import annotations

from codecs import getincrementaldecoder
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.errors import InputError, shown

if TYPE_CHECKING:
    import polars as pl

DELIMITERS = {",": "','", ";": "';'", "\t": "tab", "|": "'|'"}  # and how each is typed
MARKS = {b"\xff\xfe\x00\x00": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
GZIP = b"\x1f\x8b"
OTHER_ENCODING = "Add --encoding cp1252 if Windows or Excel wrote it, or the name of its own encoding"


@dataclass(frozen=True)
class Dialect:
    """How a CSV is written; None is a comma, or UTF-8."""

    delimiter: str | None = None
    encoding: str | None = None
    decimal_comma: bool = False


USUAL = Dialect()


def check(path: Path, start: bytes, dialect: Dialect) -> None:
    """Refuse a file whose first bytes show another encoding or another delimiter."""
    if start.startswith(GZIP):
        return
    if dialect.encoding is None:
        _check_encoding(path, start)
    header = _decoded(path, start, dialect.encoding, errors="ignore").splitlines()[:1]
    delimiter = dialect.delimiter or ","
    if header and delimiter not in header[0]:
        others = [other for other in DELIMITERS if other in header[0]]
        if others:
            used, most = DELIMITERS.get(delimiter, shown(delimiter)), max(others, key=header[0].count)
            raise InputError(
                f"{path} has one column only, {shown(header[0])}, when it is split at {used}; "
                f"it seems to be split at {DELIMITERS[most]}. Add --delimiter {DELIMITERS[most]}"
            )


def scan(path: Path, dialect: Dialect, look: int | None) -> pl.LazyFrame:
    """Return the rows, with types decided by the first `look` of them (None: all)."""
    import polars as pl

    source: Path | bytes = path
    if dialect.encoding is not None:
        source = _decoded(path, path.read_bytes(), dialect.encoding).encode()
    return pl.scan_csv(
        source,
        separator=dialect.delimiter or ",",
        decimal_comma=dialect.decimal_comma,
        infer_schema_length=look,
        with_column_names=_unquoted,
        glob=False,
    )


def remedy(problem: str) -> str:
    """Return what to do about a problem that polars names."""
    if "utf-8" in problem:
        return OTHER_ENCODING
    if "more fields" in problem:
        return "A line has more fields than the header; if they are split at something else, add --delimiter"
    return "Look at the file in an editor"


def _check_encoding(path: Path, start: bytes) -> None:
    found = next((name for mark, name in MARKS.items() if start.startswith(mark)), None)
    if found is None and start.count(0) > len(start) // 4:  # of Latin letters in UTF-16 every other byte is zero
        found = "utf-16-le" if start[1:2] == b"\x00" else "utf-16-be"
    if found:
        raise InputError(f"{path} is not in UTF-8 but seems to be in {found.upper()}. Add --encoding {found}")
    try:
        getincrementaldecoder("utf-8")().decode(start)  # the last character may be cut
    except UnicodeDecodeError:
        raise InputError(f"{path} is not in UTF-8. {OTHER_ENCODING}") from None


def _decoded(path: Path, content: bytes, encoding: str | None, *, errors: str = "strict") -> str:
    name = encoding or "utf-8"
    try:
        return content.decode(name, errors)
    except LookupError:
        raise InputError(
            f"there is no encoding {shown(name)}; known ones are utf-16, cp1252, latin-1 and more"
        ) from None
    except UnicodeError as problem:
        raise InputError(f"{path} is not in {name}: {problem}. Add the --encoding that it was written with") from None


def _unquoted(columns: list[str]) -> list[str]:
    """Undo the doubled quotation marks that polars leaves in column names."""
    return [name.replace('""', '"') for name in columns]
