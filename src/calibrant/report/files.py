"""Files of results: written completely or not at all, and read back from a report or a JSON file."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from errno import EACCES, EISDIR, EWOULDBLOCK
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from calibrant.core.findings import Findings, Table
from calibrant.core.words import LONGEST_SENTENCE, stored_text
from calibrant.errors import CalibrantError, InputError


def replace_text(path: str | os.PathLike[str], text: str) -> None:
    replace_bytes(path, text.encode("utf-8", errors="replace"))


def replace_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file completely, or leave the old file unchanged: a complete temporary file replaces it at the end.

    A file that cannot be written is refused with its name and the reason.
    """
    given = Path(path)
    try:
        if given.is_dir():
            raise IsADirectoryError(EISDIR, "it is a folder")
        if given.exists() and not given.is_file():
            given.write_bytes(content)  # pipes and devices are never replaced
        else:
            with temporary_file(given) as temporary:
                temporary.write_bytes(content)
    except (OSError, ValueError) as error:
        raise CalibrantError(f"cannot write {given}: {_reason(error)}") from error


def read_text(path: str | os.PathLike[str]) -> str:
    """Read a text file; bytes that are not text become replacement characters."""
    try:
        return Path(path).read_text(encoding="utf-8-sig", errors="replace")
    except (OSError, ValueError) as error:
        raise CalibrantError(f"cannot read {os.fspath(path)}: {_reason(error)}") from error


def remove_temporary_files(path: str | os.PathLike[str]) -> None:
    """Remove temporary files of `path` that a killed process left; call it as the `sole_writer` of the file."""
    target = Path(os.path.realpath(path))
    for temporary in target.parent.glob(f"{_temporary_prefix(target)}*.tmp"):
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def sole_writer(path: Path, *, what: str) -> Iterator[None]:
    """Let one process at a time write a file, which messages call `what`; files that a killed one left are removed.

    The operating system releases the lock with the process. Systems without `fcntl` (Windows), and file systems
    without locks, have none. Folders, pipes and devices are refused: they cannot be replaced.
    """
    if path.exists() and not path.is_file():
        raise InputError(f"{what} {path} is not a regular file; name another file")
    target = Path(os.path.realpath(path))
    lock = target.with_name(f"{_temporary_prefix(target)}.lock")
    stream = _locked_file(lock, path, what)
    try:
        remove_temporary_files(path)
        yield
    finally:
        if stream is not None:
            with suppress(OSError):
                lock.unlink()
            stream.close()


def _locked_file(lock: Path, path: Path, what: str) -> IO[bytes] | None:
    try:
        import fcntl
    except ImportError:
        return None
    while True:
        try:
            stream = lock.open("ab")
        except OSError as problem:
            raise InputError(f"cannot write beside {what} {path}: {problem.strerror}; name another file") from None
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if lock.exists() and os.path.samestat(os.fstat(stream.fileno()), lock.stat()):
                return stream
            stream.close()  # the run before this one has just removed it
        except OSError as problem:
            stream.close()
            if problem.errno in (EWOULDBLOCK, EACCES):
                words = f"another run is using {what} {path}; wait until it ends, or name another file"
                raise InputError(words) from None
            return None


@contextmanager
def sigterm_as_exit() -> Iterator[None]:
    """Let SIGTERM end the process as an exception does, so that what was begun is cleaned up."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def leave(number: int, frame: object) -> None:
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _temporary_prefix(target: Path) -> str:
    """Return how the names of temporary files of this file begin; however long its name is, it is short."""
    return f".calibrant-{sha256(os.fsencode(target.name)).hexdigest()[:16]}-"


@contextmanager
def temporary_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give an empty temporary file, which replaces the file at `path` once it is written without an error."""
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f"{_temporary_prefix(target)}{secrets.token_hex(8)}.tmp")
    try:
        temporary.touch(exist_ok=False)
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o777)
        yield temporary
        with temporary.open("rb+") as stream:
            os.fsync(stream.fileno())
        temporary.replace(target)
    except BaseException:
        with suppress(OSError, ValueError):
            temporary.unlink()
        raise


def _reason(error: OSError | ValueError) -> str:
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]


_OPENING = '<script type="application/json" id="calibrant-results">'
_ELEMENT = re.compile(re.escape(_OPENING) + "(.*?)</script>", re.DOTALL)
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
_PARTS = {"kind", "n", "level", "verdict", "sections"}


def embedded(findings: Findings, rows: int) -> str:
    """Return a script element with the findings, without curves and with at most `rows` rows per table."""
    sections = [
        replace(section, figures=(), tables=tuple(first(table, rows) for table in section.tables))
        for section in findings.sections
    ]
    groups = findings.groups and first(findings.groups, rows)
    plain = replace(findings, sections=tuple(sections), groups=groups, group_figures=()).to_dict()
    plain["note"] = f"As embedded in a report: no figures, the first {rows} rows of each table, long texts shortened."
    plain["groups_total"] = findings.groups.length if findings.groups else 0
    return f"{_OPENING}{_escaped(plain)}</script>"


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the results in a report or a JSON file of calibrant, as `Findings.to_dict` returns them.

    The content of the file decides which of them it is; a file that is neither is refused.
    """
    content = read_text(path)
    element = _ELEMENT.search(content)
    try:
        results = json.loads(element[1] if element else content)
    except (ValueError, RecursionError):
        results = None
    if not isinstance(results, dict) or not results.keys() >= _PARTS:
        raise InputError(
            f"{os.fspath(path)} contains no results of calibrant; "
            "expected a report or a JSON file that `calibrant audit` wrote"
        )
    return results


def first(table: Table, rows: int) -> Table:
    """Return the first `rows` rows of a table, with texts shortened as on a page."""
    return replace(
        table,
        columns={
            name: tuple(stored_text(value) if isinstance(value, str) else value for value in column[:rows])
            for name, column in table.columns.items()
        },
    )


def _escaped(plain: Any) -> str:
    """Return JSON that cannot end the HTML element around it."""
    return json.dumps(_cut(plain), allow_nan=False, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPES)


def _cut(plain: Any) -> Any:
    """Shorten long texts and replace characters that UTF-8 cannot encode."""
    if isinstance(plain, dict):
        return {_cut(key): _cut(value) for key, value in plain.items()}
    if isinstance(plain, list):
        return [_cut(value) for value in plain]
    return stored_text(plain, LONGEST_SENTENCE) if isinstance(plain, str) else plain
