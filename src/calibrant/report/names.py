"""Names of the user as a report shows them: printable, short, and all different."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from calibrant.errors import InputError, printable, shown

MAX_NAME_LENGTH = 60  # characters


def displayed(names: Sequence[str]) -> tuple[str, ...]:
    """Return names as a report shows them: printable, with the middle of long names left out.

    Names that then look alike are numbered.

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
    """Return the names that the user gives to outcome, prediction and source; refuse all but a mapping of texts."""
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
    return {printable(key, one_line=True): printable(value, one_line=True) for key, value in names.items()}


def coordinate_names(columns: Any, given: Sequence[str], d: int) -> tuple[str, ...]:
    """Return the names of d coordinates: `columns` if given, else the names in the data, else numbers."""
    if columns is None:
        found = tuple(given) if len(set(given)) == len(given) == d else tuple(f"column {j}" for j in range(d))
        return displayed(found)
    try:
        found = () if isinstance(columns, (str, bytes, bytearray, set, frozenset)) else tuple(map(str, columns))
    except TypeError:  # not iterable, such as an array of no dimension
        found = ()
    if not len(set(found)) == len(found) == d:
        raise InputError(
            f"columns must be a list of {d} different names, one for each coordinate; got {shown(columns)}"
        )
    return displayed(found)


def _short(name: str) -> str:
    most, half = MAX_NAME_LENGTH, MAX_NAME_LENGTH // 2
    text = printable(name[: 2 * most] + name[-2 * most :] if len(name) > 4 * most else name, one_line=True)
    return text if len(text) <= most else f"{text[:half]}…{text[1 - half :]}"
