"""Names in messages: the nearest one that is known, and lists of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from calibrant.errors import shown


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question that names the closest known word, or nothing."""
    by_folded = {name.casefold(): name for name in known}
    close = get_close_matches(word.casefold(), by_folded, n=1, cutoff=0.75)
    return f"Did you mean {shown(by_folded[close[0]])}?" if close else ""


def listing(names: Sequence[object], *, most: int = 12) -> str:
    """Return the names with commas, and how many more there are."""
    listed = ", ".join(shown(name) for name in names[:most])
    return listed if len(names) <= most else f"{listed} and {len(names) - most:,} more"
