"""Files that are written completely or not at all, by one process at a time."""

from __future__ import annotations

import os
import secrets
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EACCES, EISDIR, EWOULDBLOCK
from hashlib import sha256
from pathlib import Path
from typing import IO

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
