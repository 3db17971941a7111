"""Which files a path means: a file, a folder, a pattern, or several of these."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from calibrant.errors import InputError, listing, shown
from calibrant.files.table_file import SUFFIXES, check_file, format_of, spelled_format
from calibrant.files.where import date, number

HIDDEN = (".", "_")  # what Spark and others leave beside the data: _SUCCESS, _metadata, .part-0.crc
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
DIGITS = re.compile(r"(\d+)")
COMPRESSIONS = (".gz", ".zst", ".bz2", ".xz", ".lz4", ".zip", ".br", ".snappy")  # compressions, read or not
UNREAD_TABLES = (".orc", ".avro", ".xlsx", ".xls")  # tables that are not read
URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+([^/].*)")
TABLE_FORMATS = (
    ("_delta_log", "Delta Lake", "pl.scan_delta({folder}).sink_parquet('rows.parquet')"),
    ("metadata", "Iceberg", "pl.scan_iceberg(table).sink_parquet('rows.parquet')"),
    (".hoodie", "Hudi", "spark.read.format('hudi').load({folder}).write.parquet('rows')"),
)
"""What marks a folder of a table format, its name, and the call that saves its rows."""


@dataclass(frozen=True)
class FoundFile:
    """A file, and the columns that the names of its folders give it: `date` of ``date=2024-01-01/part-0.parquet``."""

    path: Path
    constants: Mapping[str, Any] = field(default_factory=dict)


def stamp_of(path: Path) -> str | None:
    """Return a digest of a file's place, size and time of change; None if it is not there."""
    if not path.exists():
        return None
    about, place = path.stat(), os.path.abspath(path)  # noqa: PTH100  # links are not followed
    return sha256(os.fsencode(f"{place}\0{about.st_size}\0{about.st_mtime_ns}")).hexdigest()


def find_files(given: Any, *, format: str | None = None) -> tuple[FoundFile, ...]:
    r"""Return the files that are meant, those of a folder or a pattern in the natural order of their names.

    Links to folders are followed. A table among them that cannot be read is refused, rather than left out.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("part-10.csv", "part-2.csv", "_SUCCESS"):
    ...         _ = (Path(folder) / name).write_text("y,p\n0,0.5\n")
    ...     [found.path.name for found in find_files(folder)]
    ['part-2.csv', 'part-10.csv']
    """
    several = [given] if isinstance(given, (str, os.PathLike)) else given
    if not isinstance(several, (list, tuple)) or not all(isinstance(one, (str, os.PathLike)) for one in several):
        raise InputError(f"path must be that of a file or a folder, a pattern, or a list of these; got {shown(given)}")
    if not several:
        raise InputError("there are no files: the list of paths is empty")
    found = [each for one in several for each in _meant_by(Path(one), format)]
    seen: dict[Path, Path] = {}
    for path, _ in found:
        first = seen.setdefault(path.resolve(), path)
        if first is not path:
            what = "is named twice" if first == path else f"is a link to {first}"
            raise InputError(f"the file {path} {what}, and its rows would count twice; name it once")
    _check_one_format([path for path, _ in found], format)
    return _with_constants(found)


def refuse_url(path: Path) -> None:
    """Refuse a URL; a path of it has lost a slash."""
    found = URL.match(str(path))
    if found and not path.exists():
        url = f"{found[1]}://{found[2]}"
        raise InputError(
            f"{url} is a URL, and calibrant reads local files. Download it first, or save the rows that are needed "
            f"with polars: pl.scan_parquet({url!r}).sink_parquet('rows.parquet')"
        )


def refuse_table_of_versions(folder: Path, names: Iterable[str]) -> None:
    """Refuse a folder of a table format that keeps removed rows in its files; `names` are the folders in it."""
    for name in names:
        for mark, format, call in TABLE_FORMATS:
            if name == mark and (name != "metadata" or any((folder / name).glob("*.metadata.json"))):
                raise InputError(
                    f"{folder} is a table of {format}, whose files contain removed rows too. Save the rows that count "
                    f"with its own reader: {call.format(folder=repr(str(folder)))}"
                )


def natural(path: Path) -> list[list[tuple[int, int, str]]]:
    """Return what paths are sorted by, so that part-2 comes before part-10.

    >>> sorted([Path("b/1"), Path("a10/1"), Path("a9/1")], key=natural)[0].as_posix()
    'a9/1'
    """
    return [
        [(0, int(piece), piece) if piece.isdecimal() else (1, 0, piece) for piece in DIGITS.split(part)]
        for part in path.parts
    ]


def _meant_by(path: Path, format: str | None) -> list[tuple[Path, Path]]:
    """Return files, each with the folder below which its own folders may name values."""
    refuse_url(path)
    if path.is_dir():
        _refuse_below_a_table(path)
        inside = _inside(path, format)
        if not inside:
            raise InputError(f"there are no files of predictions in the folder {path}; calibrant reads {_endings()}")
        return [(file, path) for file in inside]
    if not path.exists() and glob.has_magic(str(path)):
        matching = sorted((Path(name) for name in glob.iglob(str(path), recursive=True)), key=natural)  # noqa: PTH207
        root = _fixed_part(path)
        seen = [each for each in matching if not any(part.startswith(HIDDEN) for part in _below(each, root))]
        if not seen:
            raise InputError(f"no file is like {shown(str(path))}. Check the path")
        for folder in dict.fromkeys(each.parent for each in seen):
            _refuse_below_a_table(folder)
            refuse_table_of_versions(folder, (inside.name for inside in folder.iterdir() if inside.is_dir()))
        files = [file for each in seen for file in (_inside(each, format) if each.is_dir() else [each])]
        return [(file, root) for file in dict.fromkeys(files)]
    check_file(path)
    return [(path, path.parent)]


def _refuse_below_a_table(folder: Path) -> None:
    """Refuse a folder in `data` of an Iceberg table, whose `metadata` stands beside it."""
    for place in (folder, *folder.parents):
        if place.name == "data":
            refuse_table_of_versions(place.parent, ["metadata"])


def _inside(folder: Path, format: str | None) -> list[Path]:
    """Return the files below a folder that can be read, in their order; refuse a table among them that cannot."""
    found: list[Path] = []
    for name, folders, names in os.walk(folder, followlinks=True):
        place = Path(name)
        refuse_table_of_versions(place, folders)
        folders[:] = [each for each in folders if not each.startswith(HIDDEN) and not _leads_back(place / each)]
        found += [place / each for each in names if not each.startswith(HIDDEN)]
    found.sort(key=natural)
    if format is not None:
        return found
    readable = [file for file in found if format_of(file)]
    unread = [file for file in found if not format_of(file) and _is_unread_table(file)]
    if unread:
        remedy = (
            f"or name those that are meant, such as '*{_ending(readable[0])}'" if readable else f"one of {_endings()}"
        )
        raise InputError(
            f"calibrant does not read files like {unread[0]}, and would leave its rows out. Save it in another format, "
            f"{remedy}"
        )
    return readable


def _leads_back(folder: Path) -> bool:
    return folder.is_symlink() and any(each.resolve().is_relative_to(folder.resolve()) for each in folder.parents)


def _is_unread_table(file: Path) -> bool:
    ending = file.suffix.lower()
    return ending in UNREAD_TABLES or (ending in COMPRESSIONS and format_of(file.with_suffix("")) is not None)


def _below(path: Path, root: Path) -> tuple[str, ...]:
    return path.relative_to(root).parts if path.is_relative_to(root) else path.parts[-1:]


def _fixed_part(pattern: Path) -> Path:
    parts = []
    for part in pattern.parts[:-1]:
        if glob.has_magic(part) or "=" in part:
            break
        parts.append(part)
    return Path(*parts)


def _check_one_format(paths: Iterable[Path], format: str | None) -> None:
    """Refuse a mixture: the same rows are often saved twice."""
    first: dict[str, Path] = {}
    for path in paths:
        first.setdefault(format or format_of(path) or "", path)
    known = {name: path for name, path in first.items() if name}
    if len(known) > 1:
        (one, a), (other, b) = list(known.items())[:2]
        raise InputError(
            f"{a} is {spelled_format(one)} and {b} is {spelled_format(other)}; files that are read together have one "
            f"format. Name those that are meant, such as '*{b.suffix}'"
        )


def _with_constants(found: list[tuple[Path, Path]]) -> tuple[FoundFile, ...]:
    texts = [_texts(path, root) for path, root in found]
    values = {name: _values([each[name] for each in texts if name in each]) for each in texts for name in each}
    return tuple(
        FoundFile(path, {name: values[name][text] for name, text in each.items()})
        for (path, _), each in zip(found, texts, strict=True)
    )


def _texts(path: Path, root: Path) -> dict[str, str]:
    pairs = (part.partition("=") for part in _below(path, root)[:-1])
    return {unquote(name): unquote(text) for name, sign, text in pairs if name and sign}


def _values(texts: list[str]) -> dict[str, Any]:
    """Return what texts mean: whole numbers if all are, dates if all are, or themselves."""
    told = dict.fromkeys(text for text in texts if text != HIVE_NULL)
    for read in (_whole, date):
        values = {text: read(text) for text in told}
        if None not in values.values():
            return {**values, HIVE_NULL: None}
    return {**{text: text for text in told}, HIVE_NULL: None}


def _whole(text: str) -> int | None:
    value = number(text)
    return value if isinstance(value, int) and str(value) == text else None


def _ending(path: Path) -> str:
    return max((ending for ending in SUFFIXES if path.name.lower().endswith(ending)), key=len)


def _endings() -> str:
    return listing(list(SUFFIXES), most=20).replace("'", "")
