"""What generated sets are called in the report, and in the names of measurements, where each must mean one thing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calibrant.audit.names import displayed
from calibrant.errors import InputError, shown

REAL = "real"
GENERATED = "generated"
PARTS = ("accuracy",)  # what may stand between the name of a verb and that of a set: c2st, c2st.accuracy
FIELDS = ("value", "expected", "pvalue", "low", "high")  # what may follow the name of a measurement


def set_labels(names: Sequence[Any]) -> tuple[str, ...]:
    r"""Return the names of sets as they are shown.

    >>> set_labels(["first", "run\n2"])
    ('first', 'run\\n2')
    """
    for name in names:
        if not isinstance(name, str) or not name.strip() or name == REAL:
            raise InputError(f"names of sets must be texts, other than {REAL!r}; got {shown(name)}")
    found = displayed(names)
    for a in found:
        for b in (*(f"{part}.{a}" for part in PARTS), *(f"{a}.{field}" for field in FIELDS)):
            if b in found:
                raise InputError(
                    f"sets called {a!r} and {b!r} would have measurements of one name, such as "
                    f"{_measurement(a, b)}; rename one of them"
                )
    return found


def _measurement(a: str, b: str) -> str:
    return f"'mmd_test.{b}'" if b.startswith(a) else f"'c2st.{b}'"
