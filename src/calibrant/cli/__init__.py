"""The command line: the same words as the library."""

from __future__ import annotations

import gc
import logging
import sys
import warnings
from importlib.util import find_spec

NEEDED = ("click", "polars")
ALLOCATIONS_BETWEEN_COLLECTIONS = 100_000  # most objects live as long as the command: looking for others takes a tenth


def main() -> None:
    """Run the command line."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        sys.stderr.write(f"calibrant: the command line needs {' and '.join(missing)}; pip install 'calibrant[cli]'\n")
        sys.exit(2)
    gc.set_threshold(ALLOCATIONS_BETWEEN_COLLECTIONS)
    from calibrant.cli.commands import commands

    for stream in (sys.stdout, sys.stderr):  # a terminal that knows no emoji gets their numbers
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if not sys.warnoptions and "--debug" not in sys.argv:  # an error is one sentence, and other libraries warn of more
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
    commands(prog_name="calibrant")
