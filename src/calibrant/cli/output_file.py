"""Files that a command is to write: checked before the work, so that nobody waits for a refusal."""

from __future__ import annotations

import os
from pathlib import Path

from calibrant.errors import InputError

STDOUT = "-"


def check_output(path: Path, *, endings: tuple[str, ...], option: str, source: Path | None = None) -> None:
    """Refuse a place that cannot be written, or that holds what is to be read."""
    if path.suffix.lower() not in endings:
        raise InputError(f"the file of {option} must end in {' or '.join(endings)}; got {path}")
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it, such as {path / ('report' + endings[0])}")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent} to write {path.name} to; make it first")
    if source is not None and path.exists() and source.exists() and path.samefile(source):
        raise InputError(f"{option} would overwrite {source}, which is to be read; choose another name")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"you may not write to the folder {path.parent}; choose another one for {option}")
