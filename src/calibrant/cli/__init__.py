"""The command line: the same words as the library."""

from __future__ import annotations

import sys
from importlib.util import find_spec

NEEDED = ("click", "rich")


def main() -> None:
    """Run the command line."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        sys.stderr.write(f"calibrant: the command line needs {' and '.join(missing)}; pip install 'calibrant[cli]'\n")
        sys.exit(2)
    from calibrant.cli.commands import commands

    commands(prog_name="calibrant")
