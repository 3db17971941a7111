"""How a file looked when it was read, to tell whether it is still the same."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple, Self


class Stamp(NamedTuple):
    """A file as it was when it was read."""

    path: str
    size: int
    changed: int

    @classmethod
    def of(cls, path: Path) -> Self:
        """Look at a file."""
        about = path.stat()
        return cls(cls.path_of(path), about.st_size, about.st_mtime_ns)

    @staticmethod
    def path_of(path: str | Path) -> str:
        """Return the whole path, links not followed."""
        return os.path.abspath(path)  # noqa: PTH100
