"""Every error calibrant raises on purpose, and how its sentences are made."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any


class CalibrantError(Exception):
    """Base of all errors that calibrant raises on purpose."""


class InputError(CalibrantError, ValueError):
    """The data or an option is not what a measurement can be made from."""


class NotApplicableError(InputError):
    """The data are sound, but this measurement says nothing about them."""


class SummaryError(CalibrantError, ValueError):
    """A summary cannot be merged, read back, or used for this measurement."""


class MissingExtraError(CalibrantError, ImportError):
    """An optional library is not installed."""

    def __init__(self, purpose: str, *, extra: str) -> None:
        super().__init__(f"{purpose} needs an optional library that is not installed; pip install 'calibrant[{extra}]'")


def shown(value: Any) -> str:
    """Return `value` as a message shows it: plain Python, never longer than a line, whatever it is.

    >>> shown(0.5), shown(10**5000), shown([10**5000])
    ('0.5', 'a whole number of about 5,001 digits', 'a list that cannot be shown')
    """
    try:
        if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
            value = value.item()
        text = repr(value)
    except Exception:  # the words of a refusal must not fail on what is refused
        return _unprintable(value)
    if "\n" in text:
        text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."


def _unprintable(value: Any) -> str:
    """Name a value that has no `repr`: Python writes no whole number of more than 4,300 digits."""
    if type(value) is int:
        return f"a whole number of about {math.floor(math.log10(abs(value))) + 1:,} digits"
    return f"a {type(value).__name__} that cannot be shown"


def refuse_choice(name: str, value: object, choices: tuple[object, ...]) -> InputError:
    """Return the error for an option that is not one of its choices."""
    return InputError(f"{name} must be one of {listing(choices, most=len(choices))}; got {shown(value)}")


def did_you_mean(word: str, known: Iterable[str], *, spelled: Callable[[str], str] = shown) -> str:
    """Return a question that names the closest known word, or nothing.

    >>> did_you_mean("SCROE", ["label", "score"])
    "Did you mean 'score'?"
    """
    by_folded = {name.casefold(): name for name in known}
    close = get_close_matches(word.casefold(), by_folded, n=1, cutoff=0.75)
    return f"Did you mean {spelled(by_folded[close[0]])}?" if close else ""


def listing(names: Sequence[object], *, most: int = 12) -> str:
    """Return the names with commas, and how many more there are.

    >>> listing(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    listed = ", ".join(shown(name) for name in names[:most])
    return listed if len(names) <= most else f"{listed} and {len(names) - most:,} more"
