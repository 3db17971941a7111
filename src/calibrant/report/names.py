"""What people call things, as a report can show it: printable, short, and no two alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from calibrant.errors import InputError, shown

LONGEST = 60  # letters
# Control characters, ends of lines, marks that turn the writing direction, and halves of broken characters.
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printed(text: str) -> str:
    r"""Return text with whatever is no printable character spelled out.

    >>> printed("run\t7")
    'run\\t7'
    """
    return UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def displayed(names: Sequence[str]) -> tuple[str, ...]:
    """Return different names as a report shows them: printable, and without the middle of those that are too long.

    Names that look alike then are numbered.

    >>> displayed(["a" * 40 + "b" * 40, "short"])
    ('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…bbbbbbbbbbbbbbbbbbbbbbbbbbbbb', 'short')
    """
    short = [_short(name) for name in names]
    many, seen = Counter(short), Counter[str]()
    found = []
    for name in short:
        seen[name] += 1
        found.append(f"{name} ({seen[name]})" if many[name] > 1 else name)
    return tuple(found) if len(set(found)) == len(found) else tuple(f"{k}: {name}" for k, name in enumerate(short))


def report_names(names: Mapping[str, str] | None, such_as: str) -> dict[str, str]:
    """Return what the report calls things, or refuse what is no mapping of texts."""
    if names is None:
        return {}
    if not isinstance(names, Mapping):
        raise InputError(f"names must be a mapping such as {such_as}; got {shown(names)}")
    for key, value in names.items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise InputError(
                f"names must map texts to texts, such as {such_as}; got {shown(key)}: {shown(value)}. "
                "Pass str(...) of both"
            )
    return {printed(key): printed(value) for key, value in names.items()}


def coordinate_names(columns: Any, given: Sequence[str], d: int) -> tuple[str, ...]:
    """Return the names of d coordinates: those that were asked for, those that came with the data, or numbers."""
    if columns is None:
        own = tuple(given) if len(set(given)) == len(given) == d else tuple(f"column {j}" for j in range(d))
        return displayed(own)
    if isinstance(columns, (set, frozenset)):
        raise InputError(f"columns must be in an order, such as a list of {d} names; got the set {shown(columns)}")
    if isinstance(columns, (str, bytes, bytearray)) or not hasattr(columns, "__iter__"):
        raise InputError(f"columns must be a list of {d} names; got {shown(columns)}")
    found = tuple(map(str, columns))
    if len(found) != d:
        raise InputError(f"columns must have one name for each of the {d} coordinates; got {len(found)}")
    if len(set(found)) < d:
        raise InputError(f"columns must have different names; got {shown(list(found))}")
    return displayed(found)


def _short(name: str) -> str:
    text = printed(name[: LONGEST * 2] + name[-LONGEST * 2 :] if len(name) > 4 * LONGEST else name)
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}…{text[1 - LONGEST // 2 :]}"
