"""Options as people type them: files speak of ``--where``, and Python of ``where=``.

A sentence that names an option writes it as the command line takes it: ``--where``, ``--delimiter ';'`` or
``--format csv``. The value, if there is one, is in quotes or one word, and `scan` takes it too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from calibrant.errors import CalibrantError

OPTION = re.compile(r"--(where|format|delimiter|encoding)\b(?: (?=['\"])|(?<!--where) ([\w-]+))?")


@contextmanager
def as_keywords() -> Iterator[None]:
    """Let what is refused name keywords, where the command line has options."""
    try:
        yield
    except CalibrantError as problem:
        words = spelled_as_keywords(str(problem))
        if words == str(problem):
            raise
        raise type(problem)(words) from problem


def spelled_as_keywords(words: str) -> str:
    """Return a sentence with its options as keywords of `scan`.

    >>> spelled_as_keywords("Add --delimiter ';' or --format csv (--where)")
    "Add delimiter=';' or format='csv' (where=)"
    """
    return OPTION.sub(lambda option: f"{option[1]}={repr(option[2]) if option[2] else ''}", words)
