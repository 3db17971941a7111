"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from errno import EISDIR
from pathlib import Path

from calibrant.errors import CalibrantError


def replace_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, or leave what was there; see `replace_bytes`."""
    replace_bytes(path, text.encode("utf-8", errors="replace"))


def replace_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file, or leave what was there: a temporary file beside it takes its place when it is complete.

    Raises
    ------
    CalibrantError
        If it cannot be written, naming the file and the reason.
    """
    given = Path(path)
    try:
        if given.is_dir():
            raise IsADirectoryError(EISDIR, "it is a folder")
        if given.exists() and not given.is_file():
            given.write_bytes(content)  # a pipe or a device is written to, never replaced
        else:
            _replace(Path(os.path.realpath(given)), content)
    except (OSError, ValueError) as error:
        raise CalibrantError(f"cannot write {given}: {_reason(error)}") from error


def read_text(path: str | os.PathLike[str]) -> str:
    """Read a text file; bytes that are no text become replacement characters."""
    try:
        return Path(path).read_text(encoding="utf-8-sig", errors="replace")
    except (OSError, ValueError) as error:
        raise CalibrantError(f"cannot read {os.fspath(path)}: {_reason(error)}") from error


def _replace(target: Path, content: bytes) -> None:
    temporary = target.with_name(f".calibrant-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as stream:
            if target.exists():
                temporary.chmod(target.stat().st_mode & 0o777)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    except BaseException:
        with suppress(OSError, ValueError):
            temporary.unlink()
        raise


def _reason(error: OSError | ValueError) -> str:
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]
