"""The precision of scores, in which they are put into bins."""

from __future__ import annotations

from calibrant.errors import SummaryError


def one_precision(a: str, b: str) -> str:
    """Return the type of the scores of two summaries, of which one may be unknown; refuse two types.

    >>> one_precision("float32", "")
    'float32'
    """
    if a and b and a != b:
        raise SummaryError(
            f"scores of type {a} and {b} fall into different bins at the edges; "
            "convert all batches to one type before they are summarised"
        )
    return a or b
